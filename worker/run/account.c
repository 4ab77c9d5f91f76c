/* Owns the account that a step acts on: the task's own, or the person's in the tenant's other
 * directory; what is looked up of it, and what the cache is told. Knows no directory protocol. */
#include <apr_strings.h>

#include "core/base/json.h"
#include "core/cache/person.h"
#include "core/cache/sync.h"
#include "core/queue/rehire.h"
#include "core/store/directory.h"
#include "worker/hold/rules.h"
#include "worker/run/step.h"

void run_account_is(run *r, const char *object_id)
{
    r->own.object_id = r->task->object_id = object_id;
}

/* --- the other one --- */

/* Told by the cache: its row of the person in the directory that the run acts on now; NULL: it
 * knows none. */
static const char *cached_id(run *r)
{
    ida_user *user;
    ida_ctx *c = run_ctx(r);
    if (cache_user_by_upn(r->main, c, r->task->tenant, r->task->upn, &user) ||
        !user->in[r->account->directory]) {
        return NULL;
    }
    return user->directory == r->account->directory ? user->id : user->other_id;
}

static directory_class call_find_by_upn(run *r, const directory_ops *ops, directory *dir,
                                        void *baton, directory_error *e)
{
    return ops->find(dir, r->pool, NULL, r->task->upn, baton, e);
}

/* A cache may be a round behind: then the directory itself is asked, by UPN. */
static step_end find_other(run *r)
{
    directory_user user = {0};
    directory_error e;
    const char *known = ida_json_string(r->progress, "twinId");
    if (known) {
        r->other.object_id = apr_pstrdup(r->pool, known); /* the member goes when it is set anew */
        return STEP_ON;
    }
    r->other.object_id = cached_id(r);
    if (r->other.object_id) {
        return STEP_ON;
    }
    step_end end = run_ask(r, call_find_by_upn, &user, &e);
    r->other.object_id = end == STEP_ON && e.class != DIRECTORY_NOT_FOUND ? user.id : NULL;
    return end;
}

/* The claim has looked at the task's own directory alone. */
static step_end other_held(run *r)
{
    store_directory state;
    if (store_directory_get(r->main, run_ctx(r), r->task->tenant, r->other.directory, &state)) {
        return STEP_ON;
    }
    if (state.hold_reason && state.hold_until > ida_now(&r->w->env)) {
        r->step.detail = state.hold_reason;
        r->held_until = state.hold_until;
        return STEP_HELD;
    }
    r->other.known = hold_probe(r->w, r->main, r->pool, &state);
    return STEP_ON;
}

step_end run_other_account(run *r, int *found)
{
    directory_error e;
    ida_directory_kind where = r->own.directory == IDA_DIR_CLOUD ? IDA_DIR_ON_PREMISES
                                                                 : IDA_DIR_CLOUD;
    *found = 0;
    if (!r->own.session->tenant->has_directory[where]) {
        return STEP_ON;
    }
    r->other = (run_account){.directory = where};
    r->account = &r->other;
    step_end end = other_held(r);
    if (end != STEP_ON) {
        return end;
    }
    if (run_session_get(&r->runner->sessions, r->main, r->pool, r->task->tenant, where,
                        &r->other.session, &e) != DIRECTORY_OK) {
        return run_fails(r, &e);
    }
    end = find_other(r);
    *found = end == STEP_ON && r->other.object_id;
    if (*found) {
        ida_json_put(r->progress, "twinId", r->other.object_id);
    }
    return end;
}

/* --- whichever it is --- */

static ida_kind write_gone(run *r, store *cache, ida_ctx *c, void *baton)
{
    const run_account *gone = baton;
    return cache_tell_gone(cache, c, r->task->tenant, gone->directory, gone->object_id);
}

step_end run_cache_gone(run *r)
{
    return run_cache(r, write_gone, r->account);
}

static ida_kind write_user(run *r, store *cache, ida_ctx *c, void *baton)
{
    const directory_user *user = baton;
    return cache_tell_user(cache, c, r->task->tenant, r->account->directory, &user->cache);
}

step_end run_cache_user(run *r, directory_user *user)
{
    return run_cache(r, write_user, user);
}

static directory_class call_find(run *r, const directory_ops *ops, directory *dir, void *baton,
                                 directory_error *e)
{
    return ops->find(dir, r->pool, r->account->object_id, NULL, baton, e);
}

step_end run_find(run *r, directory_user *user, directory_error *e)
{
    return run_call(r, call_find, user, e);
}

step_end step_absent(run *r)
{
    step_end end = r->account->object_id ? run_cache_gone(r) : STEP_ON;
    return end == STEP_ON
               ? step_says(r, IDA_STEP_ALREADY, "already absent: the directory has no such account")
               : end;
}

step_end step_still_wanted(run *r, const char *so)
{
    const char *offboarding;
    ida_ctx *c = run_ctx(r);
    ida_kind kind = queue_offboarded_since(r->main, c, r->task, &offboarding);
    if (kind) {
        return step_later(r, "Whether the person was offboarded since cannot be read: %s",
                          c->message ? c->message : ida_kind_text(kind));
    }
    if (offboarding) {
        return step_fails(
            r, "The person was offboarded by task %s, which was asked for after this one: %s.",
            offboarding, so);
    }
    return STEP_ON;
}

static directory_class call_disable(run *r, const directory_ops *ops, directory *dir, void *baton,
                                    directory_error *e)
{
    return ops->disable(dir, r->pool, r->account->object_id, baton, e);
}

static ida_kind put_disabled(run *r, store *cache, ida_ctx *c, void *baton)
{
    const directory_user *after = baton;
    return cache_tell_enabled(cache, c, r->task->tenant, r->account->directory,
                              r->account->object_id, 0, after->cache.stamp);
}

step_end run_disable(run *r, directory_user *after, directory_error *e)
{
    step_end end = run_call(r, call_disable, after, e);
    int is_there = e->class == DIRECTORY_OK || e->class == DIRECTORY_ALREADY;
    return end == STEP_ON && is_there ? run_cache(r, put_disabled, after) : end;
}

static directory_class call_sessions(run *r, const directory_ops *ops, directory *dir, void *baton,
                                     directory_error *e)
{
    const run_account *of = baton;
    return ops->revoke_sessions(dir, r->pool, of->object_id, e);
}

step_end run_sign_out(run *r, directory_error *e)
{
    return run_ask(r, call_sessions, r->account, e);
}
