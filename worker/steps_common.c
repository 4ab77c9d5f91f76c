/* Owns what steps of several task types share. Knows no directory protocol. */
#include "core/store_sync.h"
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
