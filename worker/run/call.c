/* Owns calls to a directory: the lease before them, the time limit, the single repetition, and
 * what an answer means for the step. Must not know directory protocols or the meaning of a
 * single step. */
#include <string.h>

#include "core/governance/whom.h"
#include "core/queue/change.h"
#include "core/store/directory.h"
#include "worker/base/counts.h"
#include "worker/hold/rules.h"
#include "worker/hold/slot.h"
#include "worker/run/notes.h"
#include "worker/run/step.h"

#define LAG_NAP_MS 300   /* most of what lags is there after this, without waiting its turn */
#define HELD_NAP_MS 5000 /* the other directory is held, and until when cannot be read */

step_end run_commit(run *r)
{
    step_end end = run_note_flush(r);
    if (end == STEP_ON) {
        hold_lease_extend(r->w, r->lease, r->main, r->pool);
    }
    return end;
}

step_end run_may_call(run *r)
{
    worker *w = r->w;
    /* The current step continues while a whole call still fits into the time the process has
     * left. */
    if (worker_stopping(w) &&
        ida_monotonic(&w->env) + DIRECTORY_CALL_MS > atomic_load(&w->stop_by)) {
        return STEP_YIELD;
    }
    if (hold_lease_left(w, r->lease) <= DIRECTORY_CALL_MS) {
        ida_log(&r->runner->env, IDA_LOG_WARN, "IDA0313",
                "task %s: the lease has not enough time left for a directory call; this run stops",
                r->task->id);
        return STEP_LOST;
    }
    return STEP_ON;
}

static const ida_step *step_named(const ida_task *task, const char *name)
{
    for (int i = 0; i < task->step_count; i++) {
        if (strcmp(task->steps[i].name, name) == 0) {
            return &task->steps[i];
        }
    }
    return NULL;
}

static int took_effect(const ida_step *step)
{
    return step && (step->outcome == IDA_STEP_DONE || step->outcome == IDA_STEP_ALREADY);
}

int64_t run_made_lately(run *r, const char *upn)
{
    worker *w = r->w;
    int64_t lag = r->account->session->ops->lag_ms, total;
    const ida_task *creation = r->task;
    if (!lag) {
        return 0;
    }
    if (upn || r->task->type != IDA_USER_CREATE) {
        queue_person person;
        queue_task_filter filter = {.type = ida_task_type_text(IDA_USER_CREATE),
                                    .person = &person,
                                    .limit = 1};
        ida_task *tasks;
        ida_user *user;
        int count = 0;
        if ((upn ? governance_whom_past(r->main, run_ctx(r), r->task->tenant, upn, &person, &user)
                 : governance_person_of_task(r->main, run_ctx(r), r->task, &person)) ||
            queue_task_list(r->main, run_ctx(r), r->task->tenant, &filter, &tasks, &count,
                            &total) ||
            !count) {
            return 0;
        }
        creation = &tasks[0];
    }
    const ida_step *made = step_named(creation, "createAccount");
    return took_effect(made) && ida_now(&w->env) - made->at < lag ? made->at : 0;
}

int64_t run_last_write(const run *r)
{
    int64_t last = r->task->started_at;
    for (int i = 0; i < r->task->step_count; i++) {
        const ida_step *step = &r->task->steps[i];
        last = took_effect(step) && step->at > last ? step->at : last;
    }
    return last;
}

step_end run_lags(run *r, int64_t since, const char *message)
{
    step_says(r, IDA_STEP_NONE, "%s", message);
    r->lag_since = since;
    return ida_now(&r->runner->env) - since < r->account->session->ops->lag_ms ? STEP_LAG
                                                                               : STEP_LATER;
}

/* An account that this service made a moment ago is not gone because one replica does not know it
 * yet. (The other directory's account is not made by us.) */
static void not_found_yet(run *r, directory_error *e)
{
    int64_t made_at = e->field || r->account == &r->other ? 0 : run_made_lately(r, NULL);
    if (made_at) {
        e->class = DIRECTORY_LAG;
        e->message = ida_printf(
            r->pool, "The account was made a moment ago and is not visible everywhere yet: %s",
            e->message ? e->message : "not found");
        r->lag_since = made_at;
    }
}

step_end run_call(run *r, directory_call call, void *baton, directory_error *e)
{
    run_account *account = r->account;
    /* The repetition is on a new connection; so is a probe, which would learn nothing from one that
     * died in the outage. */
    int anew = account->known.held;
    r->lag_since = 0;
    for (int try = 1;; try++) {
        step_end end = run_commit(r);
        end = end == STEP_ON ? run_may_call(r) : end;
        if (end != STEP_ON) {
            return end;
        }
        *e = (directory_error){.class = DIRECTORY_OK};
        account->known.begun = ida_now(&r->w->env);
        hold_call_begins(r->w, r->runner->slot, r->task->tenant, account->directory);
        directory_class class = account->session->dir && !anew
                                    ? DIRECTORY_OK
                                    : run_session_renew(&r->runner->sessions, account->session, e);
        if (class == DIRECTORY_OK) {
            class = call(r, account->session->ops, account->session->dir, baton, e);
        }
        e->class = class;
        count_one(COUNT_CALLS, ida_directory_name(account->directory), directory_class_word(class));
        int64_t watched = hold_call_ends(r->w, r->runner->slot);
        if (watched) {
            account->known.watched = 1;
            account->known.until = account->known.held ? account->known.until : watched;
        }
        if (class == DIRECTORY_NOT_FOUND) {
            not_found_yet(r, e);
        }
        if (try == 2 || (e->class != DIRECTORY_LAG && !hold_verdict_repeats(e->class))) {
            break;
        }
        if (e->class == DIRECTORY_TRANSIENT && account->known.watched) {
            break; /* it was given time enough */
        }
        anew = e->class != DIRECTORY_LAG;
        if (!anew) {
            worker_nap(r->w, LAG_NAP_MS);
        }
    }
    /* Any answer, even an error, proves that the directory is reachable. */
    if ((account->known.held || account->known.watched) && !directory_holds(e->class) &&
        e->class != DIRECTORY_LOCAL && e->class != DIRECTORY_UNSURE) {
        hold_answered(r->w, r->main, r->pool, r->task->tenant, account->directory, account->known);
        account->known = (hold_known){0};
    }
    return STEP_ON;
}

static int64_t held_until(run *r)
{
    store_directory state;
    int64_t now = ida_now(&r->runner->env);
    return store_directory_get(r->main, run_ctx(r), r->task->tenant, r->account->directory,
                               &state) ||
                   state.hold_until <= now
               ? now + HELD_NAP_MS
               : state.hold_until;
}

const char *run_why(const directory_error *e)
{
    return e->message ? e->message : directory_class_text(e->class);
}

step_end run_fails(run *r, const directory_error *e)
{
    const char *message = run_why(e);
    switch (hold_verdict_of(e->class)) {
    case VERDICT_HOLD:
        r->step.detail = hold_put(r->w, r->main, r->pool, r->task->tenant, r->account->directory,
                                  r->account->known, e);
        r->held_until = r->account == &r->other ? held_until(r) : 0;
        return STEP_HELD;
    case VERDICT_LAG: return run_lags(r, r->lag_since ? r->lag_since : run_last_write(r), message);
    case VERDICT_UNSURE:
        step_says(r, IDA_STEP_UNKNOWN, "The answer was lost and looking again failed too: %s",
                  message);
        return STEP_UNSURE;
    case VERDICT_NEVER:
        r->guarded |= e->class == DIRECTORY_PROTECTED;
        step_says(r, IDA_STEP_FAILED, "%s", message);
        if (e->class == DIRECTORY_FORBIDDEN) {
            ida_log(&r->runner->env, IDA_LOG_ERROR, "IDA0316",
                    "tenant %s: the service account lacks a right in the directory %s: %s",
                    r->task->tenant, ida_directory_name(r->account->directory), message);
        }
        return STEP_FAILED;
    default: return step_later(r, "%s", message);
    }
}

step_end run_ask(run *r, directory_call call, void *baton, directory_error *e)
{
    step_end end = run_call(r, call, baton, e);
    return end == STEP_ON && hold_verdict_of(e->class) != VERDICT_GOOD ? run_fails(r, e) : end;
}
