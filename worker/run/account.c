/* Owns the account that a step acts on (the task's own, or the person's account in the tenant's
 * other directory), how it is looked up, and the write-through to the cache. Must not know
 * directory protocols. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/cache/person.h"
#include "core/queue/rehire.h"
#include "core/store/directory.h"
#include "worker/hold/rules.h"
#include "worker/run/actions.h"

void run_account_is(run *r, const char *object_id)
{
    r->task->who = r->task->object_id ? r->task->who : object_id;
    r->own.object_id = r->task->object_id = object_id;
}

/* --- the other one --- */

typedef struct find_by_upn {
    const char *upn;
    directory_user user;
} find_by_upn;

static directory_class call_find_by_upn(run *r, const directory_ops *ops, directory *dir,
                                        void *baton, directory_error *e)
{
    find_by_upn *call = baton;
    return ops->find(dir, r->pool, NULL, call->upn, &call->user, e);
}

/* As the cache shows it; NULL: it does not know the ID, or nothing at all. */
static ida_user *cached(run *r, const char *id)
{
    ida_user *user = NULL;
    return id && !cache_user_details(r->main, run_ctx(r), r->task->tenant, id, &user, NULL) ? user
                                                                                            : NULL;
}

static const char *account_in(const ida_user *user, ida_directory_kind where)
{
    return !user->in[where] ? NULL : user->directory == where ? user->id : user->other_id;
}

static const char *described(run *r, const directory_user *user)
{
    return ida_printf(r->pool, "%s (ID %s, %s)", user->upn ? user->upn : r->task->upn, user->id,
                      user->enabled ? "enabled" : "disabled");
}

/* What the person is called where the account is mastered, which may be another name than when the
 * task was queued. *upn NULL: that account is gone. */
static step_end own_upn(run *r, const ida_user *known, const char **upn)
{
    directory_user user = {0};
    directory_error e;
    *upn = known ? known->upn : r->own.object_id ? NULL : r->task->upn;
    if (*upn) {
        return STEP_ON;
    }
    r->account = &r->own;
    step_end end = run_find(r, &user, &e);
    if (end == STEP_ON && e.class != DIRECTORY_NOT_FOUND) {
        end = hold_verdict_of(e.class) == VERDICT_GOOD ? STEP_ON : run_fails(r, &e);
        *upn = end == STEP_ON ? user.upn : NULL;
    }
    r->account = &r->other;
    return end;
}

/* Whether the account found by UPN in the other directory is this person's: not when it, or the
 * person's own, is joined to another one. */
static int is_same_person(run *r, const ida_user *known, const directory_user *found)
{
    const ida_user *theirs = cached(r, found->id);
    const char *partner = theirs ? account_in(theirs, r->own.directory) : NULL;
    if (partner) {
        return r->own.object_id && strcmp(partner, r->own.object_id) == 0;
    }
    return !known || !known->anchor || !found->cache.anchor ||
           strcmp(known->anchor, found->cache.anchor) == 0;
}

/* The cache may be one run behind: read from the directory itself, by the person's present UPN. */
static step_end find_other(run *r)
{
    directory_error e;
    const char *noted = ida_json_string(r->progress, "twinId"), *upn;
    if (noted) {
        r->other.object_id = apr_pstrdup(r->pool, noted); /* the old member is removed when it is
                                                             set again */
        return STEP_ON;
    }
    const ida_user *known = cached(r, r->own.object_id);
    r->other.object_id = known ? account_in(known, r->other.directory) : NULL;
    if (r->other.object_id) {
        return STEP_ON;
    }
    step_end end = own_upn(r, known, &upn);
    find_by_upn call = {.upn = upn ? upn : r->task->upn};
    end = end == STEP_ON ? run_ask(r, call_find_by_upn, &call, &e) : end;
    if (end != STEP_ON || e.class == DIRECTORY_NOT_FOUND) {
        return end;
    }
    if (upn && is_same_person(r, known, &call.user)) {
        r->other.object_id = call.user.id;
    } else {
        r->other.stranger = described(r, &call.user);
    }
    return STEP_ON;
}

/* The claim has checked only the task's own directory. */
static step_end other_held(run *r)
{
    store_directory state;
    if (store_directory_get(r->main, run_ctx(r), r->task->tenant, r->other.directory, &state)) {
        return STEP_ON;
    }
    if (state.hold_reason && state.hold_until > ida_now(&r->runner->env)) {
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

/* The ID is gone: once for each run look up the address, so that a person who can sign in under
 * it is not reported as absent. */
static step_end look_under_address(run *r)
{
    run_account *a = r->account;
    find_by_upn call = {.upn = r->task->upn};
    directory_error e;
    if (!a->object_id || a->looked) {
        return STEP_ON;
    }
    step_end end = run_ask(r, call_find_by_upn, &call, &e);
    if (end != STEP_ON) {
        return end;
    }
    a->looked = 1;
    if (e.class == DIRECTORY_NOT_FOUND) {
        return STEP_ON;
    }
    if (strcmp(call.user.id, a->object_id) == 0) {
        return step_later(r, "The directory shows the account by its name and not by its ID %s.",
                          a->object_id);
    }
    a->stranger = described(r, &call.user);
    return STEP_ON;
}

step_end step_stranger(run *r, const run_account *of)
{
    step_says(r, IDA_STEP_FAILED,
              "The account%s%s is gone, and another account has its address, with the ID %s. "
              "Nothing was done to that account. If it is the same person, cancel this task and "
              "ask anew; if it is somebody else, cancel it.",
              of->object_id ? " with the ID " : "", of->object_id ? of->object_id : "",
              of->stranger);
    r->failure = ida_printf(r->pool, "%s: %s", run_shown(r), r->step.detail);
    r->failure_unknown = 1;
    action_meets_stranger(r);
    return STEP_ON;
}

step_end step_absent(run *r)
{
    step_end end = r->account->object_id ? run_cache_gone(r) : STEP_ON;
    end = end == STEP_ON ? look_under_address(r) : end;
    if (end != STEP_ON) {
        return end;
    }
    return r->account->stranger ? step_stranger(r, r->account)
                                : step_says(r, IDA_STEP_ALREADY,
                                            "already absent: the directory has no such account");
}

step_end step_gone(run *r, const char *why)
{
    step_end end = r->account->object_id ? run_cache_gone(r) : STEP_ON;
    end = end == STEP_ON ? look_under_address(r) : end;
    if (end != STEP_ON) {
        return end;
    }
    if (r->account->stranger) {
        step_stranger(r, r->account);
        return STEP_FAILED;
    }
    return step_fails(r, "%s", why);
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

step_end action_answered(run *r, const directory_error *e)
{
    return e->class == DIRECTORY_OK || e->class == DIRECTORY_ALREADY ? STEP_ON
           : e->class == DIRECTORY_NOT_FOUND
               ? step_gone(r, "The directory does not show the account any more.")
               : run_fails(r, e);
}
