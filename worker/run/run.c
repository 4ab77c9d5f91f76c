/* Owns the run of one task: the order of effects, leases around every call, what a failure means
 * for the task. Knows no directory protocol and no single step's meaning. */
#include "worker/run/run.h"

#include <apr_strings.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/grant.h"
#include "core/queue/change.h"
#include "core/queue/workflow.h"
#include "core/store/directory.h"
#include "worker/hold/health.h"
#include "worker/hold/rules.h"
#include "worker/run/actions.h"
#include "worker/run/grant.h"
#include "worker/run/notes.h"

#define LAG_NAP_MS                                                                               \
    300 /* most of what lags is there after this: then the step goes on without waiting its turn \
         */
#define HELD_NAP_MS 5000 /* the other directory is held, and until when cannot be read */

static const struct {
    const char *name;
    step_function function;
} steps[] = {
    {"createAccount", step_create_account},
    {"setManager", step_set_manager},
    {"setPhoto", step_set_photo},
    {"disableAccount", step_disable_account},
    {"revokeSessions", step_revoke_sessions},
    {"revokeMemberships", step_revoke_memberships},
    {"verify", step_verify},
    {"updateAccount", step_update_account},
    {"restoreMemberships", step_restore_memberships},
    {"awaitSynchronisation", step_await_synchronisation},
};

/* "<step>@cloud": the other account's; workflows and groups may be called what they like. */
static size_t twin_mark(const char *name)
{
    size_t len = strcspn(name, "@");
    return strcmp(name + len, "@cloud") == 0 ? len : 0;
}

step_function step_find(const char *name)
{
    size_t marked = twin_mark(name), len = marked ? marked : strlen(name);
    if (strchr(name, '/')) {
        return step_workflow_action;
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strncmp(steps[i].name, name, len) == 0 && !steps[i].name[len]) {
            return steps[i].function;
        }
    }
    return NULL;
}

static int is_access(const ida_task *task)
{
    return task->type == IDA_ACCESS_GRANT || task->type == IDA_ACCESS_REVOKE;
}

/* Steps of access tasks are named after what they give, so that any name may come. */
static step_function function_of(const ida_task *task, const ida_step *step)
{
    return is_access(task) ? step_access : step_find(step->name);
}

static int is_twin_step(const ida_task *task, const ida_step *step)
{
    return !is_access(task) && !strchr(step->name, '/') && twin_mark(step->name);
}

step_end step_says(run *r, ida_outcome outcome, const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->step.outcome = outcome;
    r->step.detail = text[0] ? ida_clean(r->pool, text, strlen(text), 2000) : NULL;
    return STEP_ON;
}

void run_warn(run *r, const char *text)
{
    size_t i;
    json_t *had;
    json_array_foreach (r->warnings, i, had) {
        if (strcmp(json_string_value(had), text) == 0) {
            return;
        }
    }
    json_array_append_new(r->warnings, json_string(ida_clean(r->pool, text, strlen(text), 2000)));
}

static uint32_t random_number(const worker *w)
{
    uint32_t number;
    ida_random(&w->env, &number, sizeof number);
    return number;
}

/* --- directory calls --- */

step_end run_may_call(run *r)
{
    worker *w = r->r->w;
    /* A step in hand goes on while a whole call still fits into the time the process has left. */
    if (worker_stopping(w) &&
        ida_monotonic(&w->env) + DIRECTORY_CALL_MS > atomic_load(&w->stop_by)) {
        return STEP_YIELD;
    }
    if (!hold_lease_ready(w, r->lease, r->r->main, worker_ctx(w, r->pool))) {
        ida_log(&w->env, IDA_LOG_WARN, "IDA0313",
                "task %s: the lease has not enough time left for a directory call; this run stops",
                r->task->id);
        return STEP_LOST;
    }
    return run_note_flush(r);
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
    worker *w = r->r->w;
    int64_t lag = r->session->ops->lag_ms, total;
    const ida_task *creation = r->task;
    if (!lag) {
        return 0;
    }
    if (r->task->type != IDA_USER_CREATE ||
        strcmp(ida_fold_address(r->pool, upn), r->task->person) != 0) {
        queue_task_filter filter = {.type = ida_task_type_text(IDA_USER_CREATE),
                                    .person = ida_fold_address(r->pool, upn),
                                    .limit = 1};
        ida_task *tasks;
        int count = 0;
        if (queue_task_list(r->r->main, worker_ctx(w, r->pool), r->task->tenant, &filter, &tasks,
                            &count, &total) ||
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
    return ida_now(&r->r->w->env) - since < r->session->ops->lag_ms ? STEP_LAG : STEP_LATER;
}

/* An account that this service made a moment ago is not gone because one replica does not know it
 * yet. (The other directory's account is not made by us.) */
static void not_found_yet(run *r, directory_error *e)
{
    int64_t made_at = e->field || r->in_twin ? 0 : run_made_lately(r, r->task->upn);
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
    int anew = 0; /* the repetition is on a new connection */
    r->lag_since = 0;
    for (int try = 1;; try++) {
        step_end end = run_may_call(r);
        if (end != STEP_ON) {
            return end;
        }
        *e = (directory_error){.class = DIRECTORY_OK};
        hold_call_begins(r->r->w, r->r->slot, r->task->tenant, r->task->directory);
        directory_class class = r->session->dir && !anew
                                    ? DIRECTORY_OK
                                    : run_session_renew(&r->r->sessions, r->session, e);
        if (class == DIRECTORY_OK) {
            class = call(r, r->session->ops, r->session->dir, baton, e);
        }
        e->class = class;
        int64_t watched = hold_call_ends(r->r->w, r->r->slot);
        if (watched) {
            r->known.watched = 1;
            r->known.until = r->known.held ? r->known.until : watched;
        }
        if (class == DIRECTORY_NOT_FOUND) {
            not_found_yet(r, e);
        }
        if (try == 2 || (e->class != DIRECTORY_LAG && !hold_verdict_repeats(e->class))) {
            break;
        }
        if (e->class == DIRECTORY_TRANSIENT && r->known.watched) {
            break; /* it was given time enough */
        }
        anew = e->class != DIRECTORY_LAG;
        if (!anew) {
            worker_nap(r->r->w, LAG_NAP_MS);
        }
    }
    /* Whatever else the directory said, it spoke: it is not away. */
    if ((r->known.held || r->known.watched) && !directory_holds(e->class) &&
        e->class != DIRECTORY_LOCAL && e->class != DIRECTORY_UNSURE) {
        hold_answered(r->r->w, r->r->main, r->pool, r->task->tenant, r->task->directory, r->known);
        r->known = (hold_known){0};
    }
    return STEP_ON;
}

static int64_t held_until(run *r)
{
    store_directory state;
    int64_t now = ida_now(&r->r->w->env);
    return store_directory_get(r->r->main, worker_ctx(r->r->w, r->pool), r->task->tenant,
                               r->task->directory, &state) ||
                   state.hold_until <= now
               ? now + HELD_NAP_MS
               : state.hold_until;
}

step_end run_fails(run *r, const directory_error *e)
{
    const char *message = e->message ? e->message : directory_class_text(e->class);
    switch (hold_verdict_of(e->class)) {
    case VERDICT_HOLD:
        r->step.detail = hold_put(r->r->w, r->r->main, r->pool, r->task->tenant, r->task->directory,
                                  r->known, e);
        r->held_until = r->in_twin ? held_until(r) : 0;
        return STEP_HELD;
    case VERDICT_LAG: return run_lags(r, r->lag_since ? r->lag_since : run_last_write(r), message);
    case VERDICT_UNSURE:
        step_says(r, IDA_STEP_UNKNOWN, "The answer was lost and looking again failed too: %s",
                  message);
        return STEP_UNSURE;
    case VERDICT_NEVER:
        step_says(r, IDA_STEP_FAILED, "%s", message);
        if (e->class == DIRECTORY_FORBIDDEN) {
            ida_log(&r->r->w->env, IDA_LOG_ERROR, "IDA0316",
                    "tenant %s: the service account lacks a right in the directory %s: %s",
                    r->task->tenant, ida_directory_name(r->task->directory), message);
        }
        return STEP_FAILED;
    default: step_says(r, IDA_STEP_NONE, "%s", message); return STEP_LATER;
    }
}

/* --- ends --- */

typedef struct ending {
    ida_task_state state;
    const char *error;
    int64_t next_at;
    int counts;
} ending;

static ida_kind write_finish(run *r, ida_ctx *c, void *baton)
{
    static const char *const actions[] = {
        [IDA_DONE] = "task.done", [IDA_FAILED] = "task.failed", [IDA_ATTENTION] = "task.attention"};
    const ending *end = baton;
    int left = r->task->type == IDA_USER_DELETE && end->state == IDA_DONE;
    /* Who is out holds nothing that was granted: in the transaction that says so. */
    ida_kind kind = left ? governance_grant_leave(r->r->main, c, r->task) : IDA_OK;
    kind = kind ? kind
                : queue_finish(r->r->main, c, r->task, end->state, end->error,
                               ida_json_text(c->pool, r->warnings),
                               run_audit(r, c, actions[end->state],
                                         end->state == IDA_DONE ? "ok"
                                                                : ida_task_state_text(end->state),
                                         end->error));
    return kind || end->state == IDA_DONE
               ? kind
               : queue_workflow_left(r->r->main, c, r->task->id,
                                     ida_printf(c->pool, "not carried out: %s", end->error));
}

static ida_kind write_again(run *r, ida_ctx *c, void *baton)
{
    const ending *end = baton;
    const audit_record *record = end->error ? run_audit(r, c, "task.waits", "ok", end->error)
                                            : NULL;
    ida_kind kind = queue_again(r->r->main, c, r->task, end->next_at, end->error, end->counts,
                                record);
    return kind || !r->action
               ? kind
               : queue_workflow_tell(r->r->main, c, r->task, action_waits(r, end->error));
}

static void finish(run *r, ida_task_state state, const char *error)
{
    actions_sum_up(r);
    ending end = {.state = state, .error = error};
    r->step.name = NULL; /* the record is the task's */
    r->is_done = state == IDA_DONE;
    hold_lease_closes(r->r->w, r->lease);
    if (run_note_end(r, write_finish, &end) != STEP_ON) {
        return;
    }
    if (state == IDA_DONE) {
        ida_log(&r->r->w->env, IDA_LOG_INFO, NULL, "task %s (%s %s of %s) is done", r->task->id,
                ida_task_type_text(r->task->type), r->task->upn, r->task->tenant);
    } else if (state == IDA_FAILED) {
        ida_log(&r->r->w->env, IDA_LOG_WARN, "IDA0317", "task %s (%s %s of %s) has failed: %s",
                r->task->id, ida_task_type_text(r->task->type), r->task->upn, r->task->tenant,
                error);
    } else {
        ida_log(&r->r->w->env, IDA_LOG_ERROR, "IDA0318",
                "task %s (%s %s of %s) needs attention, its outcome is unknown: %s", r->task->id,
                ida_task_type_text(r->task->type), r->task->upn, r->task->tenant, error);
    }
}

static void again(run *r, int64_t wait, const char *reason, int counts)
{
    ending end = {.error = reason, .next_at = ida_now(&r->r->w->env) + wait, .counts = counts};
    hold_lease_closes(r->r->w, r->lease);
    run_note_end(r, write_again, &end);
    ida_log(&r->r->w->env, IDA_LOG_DEBUG, NULL, "task %s waits %lld ms: %s", r->task->id,
            (long long)wait, reason ? reason : "the worker stops");
}

int run_last_try(const run *r)
{
    return r->task->attempts - r->tries_before + 1 >= TRIES_MAX;
}

/* A try that counted. The last one ends the task: `attention` when the step may have happened. */
static void try_again(run *r, step_end why)
{
    int64_t tries = r->task->attempts - r->tries_before + 1;
    const char *reason = r->step.detail ? r->step.detail : "The step could not be carried out.";
    if (why == STEP_UNSURE && run_note_step(r) != STEP_ON) {
        return;
    }
    if (!run_last_try(r)) {
        int64_t wait = hold_backoff_ms(tries - 1, random_number(r->r->w));
        again(r, wait > r->retry_after ? wait : r->retry_after, reason, 1);
        return;
    }
    reason = ida_printf(r->pool, "%s: given up after %lld tries: %s", r->step.name,
                        (long long)tries, reason);
    if (why == STEP_LATER) {
        r->step.outcome = IDA_STEP_FAILED;
        if (run_note_step(r) != STEP_ON) {
            return;
        }
    }
    finish(r, why == STEP_UNSURE ? IDA_ATTENTION : IDA_FAILED, reason);
}

/* What the end of a step short of the last one means for the task. */
static void stop(run *r, step_end end)
{
    switch (end) {
    case STEP_LATER:
    case STEP_UNSURE: try_again(r, end); break;
    case STEP_LAG:
        again(r, hold_lag_ms(ida_now(&r->r->w->env) - r->lag_since, random_number(r->r->w)),
              r->step.detail, 0);
        break;
    case STEP_HELD:
        again(r, r->held_until ? r->held_until - ida_now(&r->r->w->env) : 0, r->step.detail,
              0); /* claimed again when the hold's time is over, or is cleared by another probe */
        break;
    case STEP_FAILED: {
        const char *error = ida_printf(r->pool, "%s: %s", r->step.name,
                                       r->step.detail ? r->step.detail : "failed");
        if (run_note_step(r) == STEP_ON) {
            finish(r, IDA_FAILED, error);
        }
        break;
    }
    case STEP_YIELD: again(r, 0, NULL, 0); break;
    case STEP_ON:
    case STEP_LOST: break;
    }
}

static int settled(const run *r, const ida_step *step)
{
    return (step->outcome != IDA_STEP_NONE && action_ended(r, step->name)) ||
           step->outcome == IDA_STEP_DONE || step->outcome == IDA_STEP_ALREADY ||
           step->outcome == IDA_STEP_SKIPPED;
}

static step_end run_step(run *r, ida_step *step)
{
    step_function function = function_of(r->task, step);
    r->step = (ida_step){.position = step->position, .name = step->name};
    r->recorded = 0;
    r->retry_after = 0;
    r->action = NULL;
    r->begun_at = ida_now(&r->r->w->env);
    if (!function) {
        step_says(r, IDA_STEP_FAILED, "This version of idadmin-worker does not know the step %s.",
                  step->name);
        return STEP_FAILED;
    }
    ida_log(&r->r->w->env, IDA_LOG_DEBUG, NULL, "task %s: %s begins", r->task->id, step->name);
    step_end end = is_twin_step(r->task, step) ? run_twin_step(r, function) : function(r);
    run_twin_leave(r); /* actions go where their group is */
    if (end == STEP_ON) {
        end = run_note_step(r);
        *step = r->step;
        r->action = NULL; /* told; what comes now is not about it */
    }
    return end;
}

static void run_steps(run *r)
{
    for (int i = 0; i < r->task->step_count; i++) {
        ida_step *step = &r->task->steps[i];
        if (settled(r, step)) {
            continue;
        }
        step_end end = worker_stopping(r->r->w) ? STEP_YIELD : run_step(r, step);
        if (end != STEP_ON) {
            stop(r, end);
            return;
        }
    }
    actions_sum_up(r);
    finish(r, !r->failure ? IDA_DONE : r->failure_unknown ? IDA_ATTENTION : IDA_FAILED, r->failure);
}

static json_t *loaded(apr_pool_t *pool, const char *text, json_t *(*empty)(void))
{
    json_t *value = text ? ida_json_load(pool, text) : NULL;
    return value ? value : ida_json_keep(pool, empty());
}

void run_task(runner *rn, apr_pool_t *pool, ida_task *task, int64_t claimed_at)
{
    run r = {.r = rn, .pool = pool, .c = worker_ctx(rn->w, pool), .task = task};
    directory_error e;
    r.lease = hold_lease_begin(rn->w, LEASE_TASK, task->tenant, task->id, task->directory,
                               task->fence, claimed_at);
    if (!r.lease) {
        return; /* more runs than threads: not possible; the task would be taken over */
    }
    r.progress = loaded(pool, task->progress, json_object);
    r.warnings = loaded(pool, task->warnings, json_array);
    store_directory state;
    if (!store_directory_get(rn->main, r.c, task->tenant, task->directory, &state)) {
        r.known = hold_known_of(&state, task->probe_until);
    }
    actions_begin(&r);
    r.step.name = "start";
    step_end end = STEP_ON;
    if (run_session_get(&rn->sessions, rn->main, pool, task->tenant, task->directory, &r.session,
                        &e) != DIRECTORY_OK) {
        end = run_fails(&r, &e);
    } else if (task->type == IDA_USER_CREATE && task->object_id) {
        end = step_still_wanted(
            &r, "nothing more is done for the account"); /* between two tries the person may have
                                                            gone already */
    }
    if (end == STEP_ON) {
        run_steps(&r);
    } else {
        stop(&r, end);
    }
    hold_lease_end(rn->w, r.lease);
}
