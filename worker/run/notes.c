/* Owns how a run's words reach store and cache: under the fence, repeated while the store is away
 * and the lease lasts, and several in one commit where nothing leaves for the outside between them.
 * Knows no step and no directory. */
#include "worker/run/notes.h"

#include "core/base/json.h"
#include "core/queue/workflow.h"
#include "worker/run/actions.h"

#define STORE_NAP_MS 500
#define LEASE_RESERVE_MS 5000 /* a write is not begun with less of the lease left */

audit_record *run_audit(run *r, ida_ctx *c, const char *action, const char *outcome,
                        const char *detail)
{
    audit_record *record = audit_make(c, r->task->tenant, "workflow");
    json_t *parameters = ida_json_keep(c->pool,
                                       json_pack("{s:s, s:s}", "taskId", r->task->id, "type",
                                                 ida_task_type_text(r->task->type)));
    if (r->step.name) {
        ida_json_put(parameters, "step", r->step.name);
        ida_json_put(parameters, "outcome", ida_outcome_text(r->step.outcome));
    }
    record->actor = "worker";
    record->label = "";
    record->action = action;
    record->target = r->task->upn;
    record->parameters = ida_json_text(c->pool, parameters);
    record->outcome = outcome;
    record->detail = detail;
    return record;
}

/* --- the store under the fence --- */

static step_end write_until(run *r, run_write write, void *baton)
{
    worker *w = r->r->w;
    while (1) {
        ida_ctx *c = worker_ctx(w, r->pool);
        ida_kind kind = write(r, c, baton);
        if (!kind) {
            return STEP_ON;
        }
        if (kind == IDA_CONFLICT) {
            hold_lease_lose(w, r->lease);
            ida_log(&w->env, IDA_LOG_WARN, "IDA0310",
                    "task %s was taken by another worker; this run stops: %s", r->task->id,
                    c->message);
            return STEP_LOST;
        }
        if (kind != IDA_SERVICE_UNAVAILABLE || hold_lease_left(w, r->lease) < LEASE_RESERVE_MS) {
            ida_log(&w->env, IDA_LOG_ERROR, "IDA0311",
                    "task %s: the run stops because the store cannot be written; a worker will "
                    "take it up again: %s",
                    r->task->id, c->message ? c->message : ida_kind_text(kind));
            return STEP_LOST;
        }
        worker_nap(w, STORE_NAP_MS);
    }
}

/* --- what was noted and is not on disk yet --- */

typedef struct ending {
    run *r;
    run_write write; /* NULL: the notes alone */
    void *baton;
} ending;

static ida_kind write_together(store *s, ida_ctx *c, void *baton)
{
    const ending *e = baton;
    run *r = e->r;
    ida_kind kind = IDA_OK;
    (void)s; /* the writes use r->r->main, which is in this transaction */
    for (int i = 0; !kind && i < r->note_count; i++) {
        kind = r->notes[i].write(r, c, r->notes[i].baton);
    }
    return kind || !e->write ? kind : e->write(r, c, e->baton);
}

static ida_kind write_in_one(run *r, ida_ctx *c, void *baton)
{
    return store_transaction(r->r->main, c, write_together, baton);
}

step_end run_note_end(run *r, run_write write, void *baton)
{
    ending e = {r, write, baton};
    step_end end = write_until(r, write_in_one, &e);
    r->note_count = 0;
    return end;
}

step_end run_note_flush(run *r)
{
    return r->note_count ? run_note_end(r, NULL, NULL) : STEP_ON;
}

step_end run_store(run *r, run_write write, void *baton)
{
    step_end end = run_note_flush(r);
    return end == STEP_ON ? write_until(r, write, baton) : end;
}

static step_end note(run *r, run_write write, void *baton)
{
    step_end end = r->note_count == RUN_NOTES_MAX ? run_note_flush(r) : STEP_ON;
    if (end == STEP_ON) {
        r->notes[r->note_count++] = (run_note){write, baton};
    }
    return end;
}

/* --- what is said of a step --- */

/* As it was when the step ended: what comes next may change the run. */
typedef struct said {
    ida_step step;
    const char *progress, *object_id;
    const audit_record *audit;
    const queue_workflow_news *news; /* of an action, for its workflow's run; else NULL */
} said;

static said *say(run *r)
{
    ida_ctx *c = worker_ctx(r->r->w, r->pool);
    int bad = r->step.outcome == IDA_STEP_FAILED || r->step.outcome == IDA_STEP_UNKNOWN;
    said *d = apr_pcalloc(r->pool, sizeof *d);
    r->step.at = ida_now(&r->r->w->env);
    d->step = r->step;
    d->audit = run_audit(r, c, "task.step", bad ? ida_outcome_text(r->step.outcome) : "ok",
                         r->step.detail);
    return d;
}

static ida_kind write_step(run *r, ida_ctx *c, void *baton)
{
    const said *d = baton;
    ida_kind kind = queue_step(r->r->main, c, r->task, &d->step, d->progress, d->audit);
    return kind || !d->news ? kind : queue_workflow_tell(r->r->main, c, r->task, d->news);
}

step_end run_note_step(run *r)
{
    if (!r->step.position) {
        return STEP_ON; /* before the first step there is no row to write to */
    }
    if (r->recorded) {
        return STEP_ON;
    }
    said *d = say(r);
    d->progress = ida_json_text(r->pool, r->progress);
    d->news = r->action ? action_told(r) : NULL;
    return note(r, write_step, d);
}

static ida_kind write_made(run *r, ida_ctx *c, void *baton)
{
    const said *d = baton;
    return queue_account_made(r->r->main, c, r->task, &d->step, d->object_id, r->is_done, d->audit);
}

step_end run_account_made(run *r, const char *object_id)
{
    said *d = say(r);
    d->object_id = object_id;
    r->recorded = 1;
    return note(r, write_made, d);
}

/* --- the cache --- */

step_end run_cache(run *r, cache_write write, void *baton)
{
    worker *w = r->r->w;
    while (1) {
        ida_ctx *c = worker_ctx(w, r->pool);
        /* The cache knows no fence: a run that stood still for a lease must not tell it of a state
         * that has passed. */
        if (!hold_lease_left(w, r->lease)) {
            ida_log(&w->env, IDA_LOG_WARN, "IDA0325",
                    "task %s: this worker stood still for longer than its lease; the run stops and "
                    "a worker will look again",
                    r->task->id);
            return STEP_LOST;
        }
        ida_kind kind = write(r, r->r->cache, c, baton);
        if (!kind) {
            return STEP_ON;
        }
        if (kind != IDA_SERVICE_UNAVAILABLE || hold_lease_left(w, r->lease) < LEASE_RESERVE_MS) {
            ida_log(&w->env, IDA_LOG_ERROR, "IDA0312",
                    "task %s: the directory was changed but the cache cannot be written; the step "
                    "is looked at again: %s",
                    r->task->id, c->message ? c->message : ida_kind_text(kind));
            return STEP_LOST;
        }
        worker_nap(w, STORE_NAP_MS);
    }
}
