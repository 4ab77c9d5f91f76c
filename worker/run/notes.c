/* Owns how a run's records reach store and cache: under the fence, repeated while the store is
 * unavailable and the lease lasts, and several in one commit if there is no outside call between
 * them. Must not know steps or directories. */
#include "worker/run/notes.h"

#include "core/base/json.h"
#include "core/queue/claim.h"
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
    if (r->own.session) { /* the document that the run follows */
        json_object_set_new(parameters, "revision", json_integer(r->own.session->revision));
    }
    if (r->step.name) {
        ida_json_put(parameters, "step", run_shown(r));
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

/* Repeated while the store is away and the lease lasts. *c: the context of the last try. */
static ida_kind write_until(run *r, store *s, run_write write, void *baton, ida_ctx **c)
{
    while (1) {
        *c = run_ctx(r);
        ida_kind kind = write(r, s, *c, baton);
        if (kind != IDA_SERVICE_UNAVAILABLE || hold_lease_left(r->w, r->lease) < LEASE_RESERVE_MS) {
            return kind;
        }
        worker_nap(r->w, STORE_NAP_MS);
    }
}

static const char *why(const ida_ctx *c, ida_kind kind)
{
    return c->message ? c->message : ida_kind_text(kind);
}

static step_end write_main(run *r, run_write write, void *baton)
{
    ida_ctx *c;
    ida_kind kind = write_until(r, r->main, write, baton, &c);
    if (kind == IDA_CONFLICT) {
        hold_lease_lose(r->w, r->lease);
        ida_log(&r->runner->env, IDA_LOG_WARN, "IDA0310",
                "task %s was taken by another worker; this run stops: %s", r->task->id,
                why(c, kind));
    } else if (kind) {
        ida_log(&r->runner->env, IDA_LOG_ERROR, "IDA0311",
                "task %s: the run stops because the store cannot be written; a worker will take it "
                "up again: %s",
                r->task->id, why(c, kind));
    }
    return kind ? STEP_LOST : STEP_ON;
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
    for (int i = 0; !kind && i < r->note_count; i++) {
        kind = r->notes[i].write(r, s, c, r->notes[i].baton);
    }
    return kind || !e->write ? kind : e->write(r, s, c, e->baton);
}

static ida_kind write_in_one(run *r, store *s, ida_ctx *c, void *baton)
{
    ending *e = baton;
    e->r = r;
    return store_transaction(s, c, write_together, e);
}

step_end run_note_end(run *r, run_write write, void *baton)
{
    ending e = {.write = write, .baton = baton};
    step_end end = write_main(r, write_in_one, &e);
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
    return end == STEP_ON ? write_main(r, write, baton) : end;
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

/* A copy of the state at the end of the step, because later steps may change the run. */
typedef struct said {
    ida_step step;
    const char *progress, *object_id;
    const audit_record *audit;
    const queue_workflow_news *news; /* the result of an action for its workflow's run; otherwise
                                        NULL */
} said;

static said *say(run *r)
{
    ida_ctx *c = run_ctx(r);
    int bad = r->step.outcome == IDA_STEP_FAILED || r->step.outcome == IDA_STEP_UNKNOWN;
    said *d = apr_pcalloc(r->pool, sizeof *d);
    r->step.at = ida_now(&r->runner->env);
    d->step = r->step;
    d->audit = run_audit(r, c, "task.step", bad ? ida_outcome_text(r->step.outcome) : "ok",
                         r->step.detail);
    return d;
}

static ida_kind write_step(run *r, store *s, ida_ctx *c, void *baton)
{
    const said *d = baton;
    ida_kind kind = queue_step(s, c, r->task, &d->step, d->progress, d->audit);
    return kind || !d->news ? kind : queue_workflow_tell(s, c, r->task, d->news);
}

step_end run_note_step(run *r)
{
    if (!r->step.position || r->recorded) {
        return STEP_ON; /* before the first step there is no row to write to */
    }
    said *d = say(r);
    d->progress = ida_json_text(r->pool, r->progress);
    d->news = r->step.workflow ? action_told(r) : NULL;
    return note(r, write_step, d);
}

static ida_kind write_made(run *r, store *s, ida_ctx *c, void *baton)
{
    const said *d = baton;
    return queue_account_made(s, c, r->task, &d->step, d->object_id, r->is_done, d->audit);
}

step_end run_account_made(run *r, const char *object_id)
{
    said *d = say(r);
    d->object_id = object_id;
    r->recorded = 1;
    return note(r, write_made, d);
}

/* --- the cache --- */

typedef struct cache_write {
    run_write write;
    void *baton;
} cache_write;

/* The cache has no fence, so a run that was suspended for longer than its lease must not write
 * an outdated state to it. */
static ida_kind write_cache(run *r, store *s, ida_ctx *c, void *baton)
{
    const cache_write *w = baton;
    return hold_lease_left(r->w, r->lease) ? w->write(r, s, c, w->baton)
                                           : ida_fail(c, IDA_CONFLICT, "the lease is over");
}

step_end run_cache(run *r, run_write write, void *baton)
{
    cache_write w = {write, baton};
    ida_ctx *c;
    ida_kind kind = write_until(r, r->cache, write_cache, &w, &c);
    if (kind == IDA_CONFLICT) {
        ida_log(&r->runner->env, IDA_LOG_WARN, "IDA0325",
                "task %s: this worker stood still for longer than its lease; the run stops and a "
                "worker will look again",
                r->task->id);
    } else if (kind) {
        ida_log(&r->runner->env, IDA_LOG_ERROR, "IDA0312",
                "task %s: the directory was changed but the cache cannot be written; the step is "
                "looked at again: %s",
                r->task->id, why(c, kind));
    }
    return kind ? STEP_LOST : STEP_ON;
}
