/* Owns the run of one task: the order of its steps, and the effect of a step's end on the task.
 * Must not know a directory protocol or what a single step does. */
#include "core/base/json.h"
#include "core/governance/grant.h"
#include "core/queue/claim.h"
#include "core/queue/workflow.h"
#include "core/store/directory.h"
#include "worker/base/counts.h"
#include "worker/hold/rules.h"
#include "worker/run/actions.h"
#include "worker/run/notes.h"
#include "worker/run/steps.h"

#define PAUSED_MS 60000 /* until a task of a paused company is looked at again */

static uint32_t random_number(const worker *w)
{
    uint32_t number;
    ida_random(&w->env, &number, sizeof number);
    return number;
}

/* --- ends --- */

typedef struct ending {
    ida_task_state state;
    const char *error;
    int64_t next_at;
    int counts;
} ending;

static ida_kind write_finish(run *r, store *s, ida_ctx *c, void *baton)
{
    static const char *const actions[] = {
        [IDA_DONE] = "task.done", [IDA_FAILED] = "task.failed", [IDA_ATTENTION] = "task.attention"};
    const ending *end = baton;
    int left = r->task->type == IDA_USER_DELETE && end->state == IDA_DONE;
    /* A person who has left holds no grants: recorded in the same transaction. */
    ida_kind kind = left ? governance_grant_leave(s, c, r->task) : IDA_OK;
    kind = kind ? kind
                : queue_finish(
                      s, c, r->task, end->state, end->error, ida_json_text(c->pool, r->warnings),
                      run_audit(r, c, actions[end->state],
                                end->state == IDA_DONE ? "ok" : ida_task_state_text(end->state),
                                end->error));
    if (!kind && end->state == IDA_DONE && r->own.session) {
        kind = queue_workflows_without_actions(
            s, c, r->task, json_object_get(r->own.session->tenant->document, "workflows"));
    }
    return kind || end->state == IDA_DONE
               ? kind
               : queue_workflow_left(s, c, r->task,
                                     ida_printf(c->pool, "not carried out: %s", end->error));
}

static ida_kind write_again(run *r, store *s, ida_ctx *c, void *baton)
{
    const ending *end = baton;
    const audit_record *record = end->error ? run_audit(r, c, "task.waits", "ok", end->error)
                                            : NULL;
    ida_kind kind = queue_again(s, c, r->task, end->next_at, end->error, end->counts, record);
    return kind || !r->step.workflow
               ? kind
               : queue_workflow_tell(s, c, r->task, action_waits(r, end->error));
}

static void finish(run *r, ida_task_state state, const char *error)
{
    static const struct {
        ida_level level;
        const char *id, *what;
    } said[] = {
        [IDA_DONE] = {IDA_LOG_INFO, NULL, "is done"},
        [IDA_FAILED] = {IDA_LOG_WARN, "IDA0317", "has failed: "},
        [IDA_ATTENTION] = {IDA_LOG_ERROR, "IDA0318", "needs attention: "},
    };
    actions_sum_up(r);
    ending end = {.state = state, .error = error};
    r->step = (ida_step){0}; /* the audit record is about the task, not about a step */
    r->is_done = state == IDA_DONE;
    hold_lease_closes(r->w, r->lease);
    if (run_note_end(r, write_finish, &end) == STEP_ON) {
        count_one(COUNT_RUNS, ida_task_type_text(r->task->type), ida_task_state_text(state));
        ida_log(&r->runner->env, said[state].level, said[state].id, "task %s (%s %s of %s) %s%s",
                r->task->id, ida_task_type_text(r->task->type), r->task->upn, r->task->tenant,
                said[state].what, error ? error : "");
    }
}

static void again(run *r, int64_t wait, const char *reason, int counts)
{
    ending end = {.error = reason, .next_at = ida_now(&r->runner->env) + wait, .counts = counts};
    hold_lease_closes(r->w, r->lease);
    run_note_end(r, write_again, &end);
    count_one(COUNT_RUNS, ida_task_type_text(r->task->type), counts ? "again" : "later");
    ida_log(&r->runner->env, IDA_LOG_DEBUG, NULL, "task %s waits %lld ms: %s", r->task->id,
            (long long)wait, reason ? reason : "the worker stops");
}

/* An attempt that counted. The last one ends the task: `attention` if the step may have
 * happened. */
static void try_again(run *r, step_end why)
{
    int64_t tries = r->task->attempts - r->tries_before + 1;
    const char *reason = r->step.detail ? r->step.detail : "The step could not be carried out.";
    if (why == STEP_UNSURE && run_note_step(r) != STEP_ON) {
        return;
    }
    if (!run_last_try(r)) {
        int64_t wait = hold_backoff_ms(tries - 1, random_number(r->w));
        again(r, wait > r->retry_after ? wait : r->retry_after, reason, 1);
        return;
    }
    reason = ida_printf(r->pool, "%s: given up after %lld tries: %s", run_shown(r),
                        (long long)tries, reason);
    if (why == STEP_LATER) {
        r->step.outcome = IDA_STEP_FAILED;
        if (run_note_step(r) != STEP_ON) {
            return;
        }
    }
    finish(r, why == STEP_UNSURE ? IDA_ATTENTION : IDA_FAILED, reason);
}

/* Handles the end of a step that stops the run. */
static void stop(run *r, step_end end)
{
    switch (end) {
    case STEP_LATER:
    case STEP_UNSURE: try_again(r, end); break;
    case STEP_LAG:
        again(r, hold_lag_ms(ida_now(&r->runner->env) - r->lag_since, random_number(r->w)),
              r->step.detail, 0);
        break;
    case STEP_HELD:
        again(r, r->held_until ? r->held_until - ida_now(&r->runner->env) : 0, r->step.detail,
              0); /* claimed again when the hold ends or another probe clears it */
        break;
    case STEP_FAILED: {
        const char *error = ida_printf(r->pool, "%s: %s", run_shown(r),
                                       r->step.detail ? r->step.detail : "failed");
        if (run_note_step(r) == STEP_ON) {
            finish(r, r->own.stranger || r->other.stranger ? IDA_ATTENTION : IDA_FAILED, error);
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
    return (step->outcome != IDA_STEP_NONE && action_ended(r, step)) ||
           step->outcome == IDA_STEP_DONE || step->outcome == IDA_STEP_ALREADY ||
           step->outcome == IDA_STEP_SKIPPED;
}

static step_end on_other_account(run *r, step_function function)
{
    int found;
    step_end end = run_other_account(r, &found);
    if (end != STEP_ON || found) {
        return end == STEP_ON ? function(r) : end;
    }
    if (r->other.stranger) {
        return step_stranger(r, &r->other);
    }
    /* An offboarding does not need the account; an assignment cannot be made without it. */
    return r->task->type == IDA_USER_DELETE
               ? step_says(r, IDA_STEP_ALREADY,
                           "already absent: the other directory has no account of this person")
               : step_later(r, "The other directory has no account of this person.");
}

/* What an offboarding can still take away does not depend on a step that was refused: that step
 * ends `failed`, the others follow, and then the task fails. Not so while it is in doubt who is
 * meant, or if the account must not be touched. */
static step_end go_on(run *r, step_end end)
{
    int last = (end == STEP_LATER || end == STEP_UNSURE) && run_last_try(r);
    if (r->task->type != IDA_USER_DELETE || r->step.workflow || !r->own.object_id || r->guarded ||
        r->own.stranger || r->other.stranger || !(end == STEP_FAILED || last)) {
        return end;
    }
    if (last) {
        action_count_anew(r); /* the next step has its own tries */
    }
    r->step.outcome = end == STEP_UNSURE ? IDA_STEP_UNKNOWN : IDA_STEP_FAILED;
    r->failure_unknown |= end == STEP_UNSURE;
    r->failure = r->failure
                     ? r->failure
                     : ida_printf(r->pool, "%s: %s%s", run_shown(r), last ? "given up: " : "",
                                  r->step.detail ? r->step.detail : "failed");
    return STEP_ON;
}

static step_end run_step(run *r, ida_step *step)
{
    step_function function = step_find(r->task->type, step);
    r->step = *step;
    step_says(r, IDA_STEP_NONE, "%s", "");
    r->recorded = 0;
    r->retry_after = 0;
    r->begun_at = ida_now(&r->runner->env);
    if (!function) {
        return go_on(r, step_fails(r, "This version of idadmin-worker does not know the step %s.",
                                   run_shown(r)));
    }
    ida_log(&r->runner->env, IDA_LOG_DEBUG, NULL, "task %s: %s begins", r->task->id, run_shown(r));
    step_end end = go_on(r, step->account ? on_other_account(r, function) : function(r));
    if (end == STEP_ON || end == STEP_FAILED) {
        count_one(COUNT_STEPS, step_word(r->task->type, step),
                  end == STEP_FAILED ? ida_outcome_text(IDA_STEP_FAILED)
                                     : ida_outcome_text(r->step.outcome));
    }
    r->account = &r->own; /* an action may have selected its group's account */
    if (end == STEP_ON) {
        end = run_note_step(r);
        *step = r->step;
        r->step = (ida_step){0};
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
        step_end end = worker_stopping(r->w) ? STEP_YIELD : run_step(r, step);
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

/* Lines, records, directory calls and further tasks name the request that queued this one. */
static void correlate(runner *rn, const ida_task *task)
{
    rn->env.correlation = NULL;
    if (task && task->correlation) {
        ida_correlation_take(&rn->env, task->correlation, task->trace, &rn->correlation);
        rn->env.correlation = &rn->correlation;
    }
}

static void carry_out(runner *rn, apr_pool_t *pool, ida_task *task, int64_t claimed_at)
{
    run r = {.runner = rn,
             .w = rn->w,
             .main = rn->main,
             .cache = rn->cache,
             .pool = pool,
             .task = task,
             .own = {.directory = task->directory, .object_id = task->object_id},
             .account = &r.own,
             .step = {.name = "start"}};
    directory_error e;
    store_directory state;
    step_end end = STEP_ON;
    int held = 0;
    r.lease = hold_lease_begin(rn->w, LEASE_TASK, task->tenant, task->id, task->directory,
                               task->fence, claimed_at);
    if (!r.lease) {
        return; /* cannot happen, because runs and threads are equal in number; the task would be
                   taken over */
    }
    r.progress = loaded(pool, task->progress, json_object);
    r.warnings = loaded(pool, task->warnings, json_array);
    if (!store_directory_get(rn->main, run_ctx(&r), task->tenant, task->directory, &state)) {
        r.own.known = hold_known_of(&state, task->probe_until);
        held = state.hold_reason && !r.own.known.held && state.hold_until > ida_now(&rn->env);
    }
    actions_begin(&r);
    if (held) { /* held since the claim, or the task was taken over: only its probe may call */
        step_says(&r, IDA_STEP_NONE, "%s", state.hold_reason);
        end = STEP_HELD;
    } else if (run_session_get(&rn->sessions, rn->main, pool, task->tenant, task->directory,
                               &r.own.session, &e) != DIRECTORY_OK) {
        end = run_fails(&r, &e);
    } else if (r.own.session->tenant->paused) { /* since the claim, or the task was taken over */
        step_says(&r, IDA_STEP_NONE, "The company is paused.");
        r.held_until = ida_now(&r.w->env) + PAUSED_MS;
        end = STEP_HELD;
    } else if (task->type == IDA_USER_CREATE && task->object_id) {
        /* Between two attempts the person may have been deleted. */
        end = step_still_wanted(&r, "nothing more is done for the account");
    }
    if (end == STEP_ON) {
        run_steps(&r);
    } else {
        stop(&r, end);
    }
    hold_lease_end(rn->w, r.lease);
}

void run_task(runner *rn, apr_pool_t *pool, ida_task *task, int64_t claimed_at)
{
    correlate(rn, task);
    carry_out(rn, pool, task, claimed_at);
    correlate(rn, NULL);
}
