/* Owns what steps of several task types share. Knows no directory protocol. */
#include "core/cache/sync.h"
#include "core/queue/rehire.h"
#include "worker/run/run.h"

static ida_kind write_gone(run *r, store *cache, ida_ctx *c, void *baton)
{
    (void)baton;
    return cache_tell_gone(cache, c, r->task->tenant, r->task->directory, r->task->object_id);
}

step_end run_cache_gone(run *r)
{
    return run_cache(r, write_gone, NULL);
}

static ida_kind write_user(run *r, store *cache, ida_ctx *c, void *baton)
{
    const directory_user *user = baton;
    return cache_tell_user(cache, c, r->task->tenant, r->task->directory, &user->cache);
}

step_end run_cache_user(run *r, directory_user *user)
{
    return run_cache(r, write_user, user);
}

static directory_class call_find(run *r, const directory_ops *ops, directory *dir, void *baton,
                                 directory_error *e)
{
    return ops->find(dir, r->pool, r->task->object_id, NULL, baton, e);
}

step_end run_find(run *r, directory_user *user, directory_error *e)
{
    return run_call(r, call_find, user, e);
}

step_end step_absent(run *r)
{
    step_end end = r->task->object_id ? run_cache_gone(r) : STEP_ON;
    return end == STEP_ON
               ? step_says(r, IDA_STEP_ALREADY, "already absent: the directory has no such account")
               : end;
}

step_end step_still_wanted(run *r, const char *so)
{
    const char *offboarding;
    ida_ctx *c = worker_ctx(r->r->w, r->pool);
    ida_kind kind = queue_offboarded_since(r->r->main, c, r->task, &offboarding);
    if (kind) {
        step_says(r, IDA_STEP_NONE, "Whether the person was offboarded since cannot be read: %s",
                  c->message ? c->message : ida_kind_text(kind));
        return STEP_LATER;
    }
    if (offboarding) {
        step_says(r, IDA_STEP_FAILED,
                  "The person was offboarded by task %s, which was asked for after this one: %s.",
                  offboarding, so);
        return STEP_FAILED;
    }
    return STEP_ON;
}
