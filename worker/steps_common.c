/* Owns what steps of several task types share. Knows no directory protocol. */
#include "core/store_sync.h"
#include "core/store_task_rehire.h"
#include "worker/run.h"

static ida_kind write_gone(run *r, store *cache, ida_ctx *c, void *baton)
{
    (void)baton;
    return store_cache_user_gone(cache, c, r->task->tenant, r->task->directory, r->task->object_id);
}

step_end step_absent(run *r)
{
    step_end end = r->task->object_id ? run_cache(r, write_gone, NULL) : STEP_ON;
    return end == STEP_ON ? step_says(r, IDA_STEP_ALREADY, "already absent: the directory has no such account") : end;
}

step_end step_still_wanted(run *r, const char *so)
{
    const char *offboarding;
    ida_ctx *c = worker_ctx(r->r->w, r->pool);
    ida_kind kind = store_offboarded_since(r->r->main, c, r->task, &offboarding);
    if (kind) {
        step_says(r, IDA_STEP_NONE, "Whether the person was offboarded since cannot be read: %s",
                  c->message ? c->message : ida_kind_text(kind));
        return STEP_LATER;
    }
    if (offboarding) {
        step_says(r, IDA_STEP_FAILED, "The person was offboarded by task %s, which was asked for after this one: %s.", offboarding, so);
        return STEP_FAILED;
    }
    return STEP_ON;
}
