/* Owns the steps of an offboarding: disable the account, revoke sessions and memberships, and
 * verify at the end that nothing came back. Must not know directory protocols. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#include "core/cache/groups.h"
#include "core/cache/recheck.h"
#include "core/queue/claim.h"
#include "core/queue/rehire.h"
#include "worker/hold/rules.h"
#include "worker/run/actions.h"
#include "worker/run/belongings.h"
#include "worker/run/shut.h"
#include "worker/run/steps.h"

#define VERIFY_ROUNDS 3

/* --- who it is --- */

typedef struct find_call {
    const char *id, *upn;
    directory_user user;
} find_call;

static directory_class call_find(run *r, const directory_ops *ops, directory *dir, void *baton,
                                 directory_error *e)
{
    find_call *call = baton;
    return ops->find(dir, r->pool, call->id, call->upn, &call->user, e);
}

static ida_kind write_object_id(run *r, store *s, ida_ctx *c, void *baton)
{
    queue_task_change change = {.object_id = baton};
    return queue_change(s, c, r->task, &change);
}

/* The account by its immutable ID, on the first look by its UPN. *gone: the directory has none. */
static step_end look(run *r, directory_user *user, int *gone)
{
    find_call call = {.id = r->account->object_id,
                      .upn = r->account->object_id ? NULL : r->task->upn};
    directory_error e;
    step_end end = run_ask(r, call_find, &call, &e);
    *gone = end == STEP_ON && e.class == DIRECTORY_NOT_FOUND;
    if (end != STEP_ON || *gone) {
        return end;
    }
    *user = call.user;
    if (!r->account->object_id) {
        end = run_store(r, write_object_id, (void *)(uintptr_t)call.user.id);
        run_account_is(r, call.user.id);
    }
    return end;
}

/* --- disable --- */

static step_end disable(run *r, run_shutting *how, int *gone)
{
    directory_error e;
    step_end end = run_shut(r, how, &e);
    if (end != STEP_ON) {
        return end;
    }
    *gone = e.class == DIRECTORY_NOT_FOUND;
    end = hold_verdict_of(e.class) == VERDICT_GOOD ? STEP_ON : run_fails(r, &e);
    r->account->open = end == STEP_FAILED;
    return end;
}

step_end step_disable_account(run *r)
{
    directory_user user = {.enabled = 1};
    run_shutting how = {0};
    int gone;
    step_end end = look(r, &user, &gone);
    if (end == STEP_ON && !gone) {
        end = disable(r, &how, &gone);
    }
    if (end != STEP_ON) {
        return end;
    }
    if (gone) {
        return step_absent(r);
    }
    run_shut_judge(r, &how);
    return step_says(r,
                     how.refused    ? IDA_STEP_FAILED
                     : user.enabled ? IDA_STEP_DONE
                                    : IDA_STEP_ALREADY,
                     "%s%s", user.enabled ? "disabled" : "was disabled already",
                     run_shut_text(r, &how));
}

/* --- sessions --- */

step_end step_revoke_sessions(run *r)
{
    directory_error e;
    if (!r->account->session->ops->revoke_sessions) {
        return step_says(r, IDA_STEP_SKIPPED, "a directory of this kind keeps no sign-in sessions");
    }
    if (!r->account->object_id) {
        return step_absent(r);
    }
    step_end end = run_sign_out(r, &e);
    if (end != STEP_ON) {
        return end;
    }
    return e.class == DIRECTORY_NOT_FOUND
               ? step_absent(r)
               : step_says(r, e.class == DIRECTORY_OK ? IDA_STEP_DONE : IDA_STEP_ALREADY,
                           "signed out everywhere");
}

/* --- memberships --- */

typedef struct groups_call {
    const ida_group *cached; /* what the candidates are in the cache */
    const char **candidates;
    int candidate_count;
    const directory_membership *rows;
    int count;
} groups_call;

typedef struct sweep {
    apr_array_header_t *removed, *granted, *kept,
        *refused;                 /* names, with the reason for the last two */
    apr_array_header_t *taken;    /* names of attributes (worker/run/belongings.h) */
    apr_array_header_t *owned;    /* groups, with who else owns them (worker/run/belongings.h) */
    apr_array_header_t *refusals; /* queue_refusal, as `refused` */
    int gone;
} sweep;

static directory_class call_groups(run *r, const directory_ops *ops, directory *dir, void *baton,
                                   directory_error *e)
{
    groups_call *call = baton;
    return ops->memberships(dir, r->pool, r->account->object_id, call->candidates,
                            call->candidate_count, &call->rows, &call->count, e);
}

static directory_class call_remove(run *r, const directory_ops *ops, directory *dir, void *baton,
                                   directory_error *e)
{
    const directory_membership *row = baton;
    return ops->remove_member(dir, r->pool, row->group_id, r->account->object_id, e);
}

static ida_kind put_removed(run *r, store *cache, ida_ctx *c, void *baton)
{
    const directory_membership *row = baton;
    return cache_tell_member(cache, c, r->task->tenant, r->account->directory, row->group_id,
                             r->account->object_id, 1);
}

/* Groups that the cache knows: a directory without a back-link is asked about each of them.
 * Without the cache the directory's own list has to suffice. */
static void cached_groups(run *r, groups_call *call)
{
    int count = 0;
    ida_ctx *c = run_ctx(r);
    if (cache_user_groups(r->main, c, r->task->tenant, r->account->directory, r->account->object_id,
                          &call->cached, &count)) {
        return;
    }
    call->candidates = apr_palloc(r->pool, sizeof *call->candidates * (apr_size_t)(count + 1));
    for (int i = 0; i < count; i++) {
        call->candidates[i] = call->cached[i].id;
    }
    call->candidate_count = count;
}

static void note(apr_array_header_t *list, const char *text)
{
    *(const char **)apr_array_push(list) = text;
}

/* On disk before the first membership goes: what a rehire is offered. */
static step_end keep_had(run *r, const directory_membership *rows, int count)
{
    queue_membership *had = apr_palloc(r->pool, sizeof *had * (apr_size_t)(count + 1));
    for (int i = 0; i < count; i++) {
        had[i] = (queue_membership){r->account->directory, rows[i].group_id, rows[i].group_name,
                                    rows[i].retained, 0};
    }
    return run_keep_memberships(r, had, count);
}

/* Evaluates the attempt to leave a group. A final refusal does not keep the others from being
 * left. */
static step_end left(run *r, const directory_membership *row, sweep *s, const directory_error *e)
{
    if (e->class == DIRECTORY_OK || e->class == DIRECTORY_ALREADY ||
        e->class == DIRECTORY_NOT_FOUND) {
        if (e->class == DIRECTORY_OK) {
            note(s->removed, row->group_name);
        }
        return run_cache(r, put_removed, (void *)(uintptr_t)row);
    }
    step_end end = run_fails(r, e);
    if (end == STEP_FAILED) {
        note(s->refused, ida_printf(r->pool, "%s (%s)", row->group_name, r->step.detail));
        APR_ARRAY_PUSH(s->refusals, queue_refusal) = (queue_refusal){row->group_id, r->step.detail};
        return STEP_ON;
    }
    return end;
}

static step_end leave(run *r, const directory_membership *row, sweep *s)
{
    directory_error e;
    step_end end = run_call(r, call_remove, (void *)(uintptr_t)row, &e);
    return end == STEP_ON ? left(r, row, s, &e) : end;
}

/* Groups that an action of this offboarding put the person into are meant to stay. */
static int granted_by_action(run *r, sweep *s, const char *group_id, const char *name)
{
    if (!action_granted(r, group_id)) {
        return 0;
    }
    note(s->granted, name);
    return 1;
}

static int shows(const groups_call *call, const char *group_id)
{
    for (int i = 0; i < call->count; i++) {
        if (strcmp(call->rows[i].group_id, group_id) == 0) {
            return 1;
        }
    }
    return 0;
}

/* 1 if members are not managed by hand, or not in this directory. */
static int left_by_itself(const ida_group *group)
{
    return group->synced || strcmp(group->kind, "dynamic") == 0 ||
           strcmp(group->kind, "distribution") == 0 ||
           strcmp(group->kind, "mailEnabledSecurity") == 0;
}

/* A membership that the cache has and the directory does not show. If the directory shows writes
 * at once, it is gone: an earlier attempt removed it and ended before it could record that, or
 * an administrator did. Otherwise the answer may be older than the membership, and the person
 * would stay in the group: remove it anyway, which does no harm if there is none. */
static step_end leave_unseen(run *r, const ida_group *group, sweep *s, int keep)
{
    directory_membership row = {.group_id = group->id, .group_name = group->name};
    directory_error e;
    if (!r->account->session->ops->lag_ms) {
        return run_cache(r, put_removed, &row);
    }
    if (left_by_itself(group) || granted_by_action(r, s, group->id, group->name)) {
        return STEP_ON;
    }
    int before = s->removed->nelts;
    step_end end = run_call(r, call_remove, &row, &e);
    if (end == STEP_ON && e.class == DIRECTORY_INVALID) { /* of a kind that cannot be left here: an
                                                             administrator must look */
        note(s->kept, ida_printf(r->pool, "%s (%s)", group->name, e.message));
        return STEP_ON;
    }
    end = end == STEP_ON ? left(r, &row, s, &e) : end;
    return end == STEP_ON && keep && s->removed->nelts > before ? keep_had(r, &row, 1) : end;
}

static ida_kind write_swept(run *r, store *s, ida_ctx *c, void *baton)
{
    const sweep *w = baton;
    return queue_memberships_swept(s, c, r->task, r->account->directory,
                                   (const queue_refusal *)w->refusals->elts, w->refusals->nelts);
}

/* Reads the memberships and removes what can be removed, keys and certificates with them. `keep`:
 * what is found is what the person had. */
static step_end sweep_groups(run *r, sweep *s, int keep)
{
    groups_call call = {0};
    directory_error e;
    *s = (sweep){apr_array_make(r->pool, 8, sizeof(char *)),
                 apr_array_make(r->pool, 4, sizeof(char *)),
                 apr_array_make(r->pool, 4, sizeof(char *)),
                 apr_array_make(r->pool, 4, sizeof(char *)),
                 apr_array_make(r->pool, 4, sizeof(char *)),
                 apr_array_make(r->pool, 4, sizeof(char *)),
                 apr_array_make(r->pool, 4, sizeof(queue_refusal)),
                 0};
    cached_groups(r, &call);
    step_end end = run_ask(r, call_groups, &call, &e);
    s->gone = end == STEP_ON && e.class == DIRECTORY_NOT_FOUND;
    if (end != STEP_ON || s->gone) {
        return end;
    }
    end = keep ? keep_had(r, call.rows, call.count) : STEP_ON;
    for (int i = 0; i < call.candidate_count && end == STEP_ON; i++) {
        end = shows(&call, call.candidates[i]) ? STEP_ON
                                               : leave_unseen(r, &call.cached[i], s, keep);
    }
    for (int i = 0; i < call.count && end == STEP_ON; i++) {
        if (granted_by_action(r, s, call.rows[i].group_id, call.rows[i].group_name)) {
            continue;
        }
        if (call.rows[i].retained) {
            note(s->kept,
                 ida_printf(r->pool, "%s (%s)", call.rows[i].group_name, call.rows[i].retained));
        } else {
            end = leave(r, &call.rows[i], s);
        }
    }
    end = end == STEP_ON ? run_store(r, write_swept, s) : end;
    return end == STEP_ON ? run_attributes_take(r, s->taken, s->refused) : end;
}

static void warn_kept(run *r, const sweep *s)
{
    for (int i = 0; i < s->kept->nelts; i++) {
        run_warn(r, ida_printf(r->pool, "The membership of %s cannot be revoked.",
                               APR_ARRAY_IDX(s->kept, i, const char *)));
    }
}

/* "removed from 2 groups: A, B; kept: C (dynamic); refused: D (...)" */
static const char *summary(run *r, const sweep *s)
{
    apr_pool_t *pool = r->pool;
    const char *text = s->removed->nelts == 0 ? "member of no group that could be left"
                       : s->removed->nelts == 1
                           ? apr_pstrcat(pool, "removed from ", run_listed(r, s->removed), NULL)
                           : ida_printf(pool, "removed from %d groups: %s", s->removed->nelts,
                                        run_listed(r, s->removed));
    if (s->kept->nelts) {
        text = apr_pstrcat(pool, text, "; cannot be revoked: ", run_listed(r, s->kept), NULL);
    }
    if (s->taken->nelts) {
        text = apr_pstrcat(pool, text, "; taken away: ", run_listed(r, s->taken), NULL);
    }
    if (s->owned->nelts) {
        text = apr_pstrcat(pool, text, "; owned: ", run_listed(r, s->owned), NULL);
    }
    return s->refused->nelts
               ? apr_pstrcat(pool, text, "; refused: ", run_listed(r, s->refused), NULL)
               : text;
}

step_end step_revoke_memberships(run *r)
{
    sweep s;
    if (!r->account->object_id) {
        return step_absent(r);
    }
    step_end end = sweep_groups(r, &s, 1);
    if (end == STEP_ON && s.gone) {
        return step_absent(r);
    }
    end = end == STEP_ON ? run_owned(r, s.owned) : end;
    if (end != STEP_ON) {
        return end;
    }
    warn_kept(r, &s);
    /* `verify` tries refused removals once more and decides how the task ends. */
    ida_outcome outcome = s.refused->nelts                     ? IDA_STEP_FAILED
                          : s.removed->nelts || s.taken->nelts ? IDA_STEP_DONE
                                                               : IDA_STEP_ALREADY;
    return step_says(r, outcome, "%s", summary(r, &s));
}

/* --- verify --- */

/* STEP_ON if the directory should show the write by now. */
static step_end enabled_still(run *r)
{
    int64_t last = run_last_write(r);
    int64_t age = ida_now(&r->runner->env) - last;
    return age < r->account->session->ops->lag_ms
               ? run_lags(r, last,
                          "The account was disabled, but the directory still shows it as enabled.")
               : STEP_ON;
}

static ida_kind put_seen(run *r, store *cache, ida_ctx *c, void *baton)
{
    const directory_user *user = baton;
    return cache_tell_seen(cache, c, r->task->tenant, r->account->directory, &user->cache);
}

/* The end of `verify` where the directory does not let the account be disabled, or memberships be
 * revoked. */
static step_end not_shut(run *r, const sweep *s, const char *open)
{
    const char *left = run_listed(r, s->refused);
    if (!open) {
        r->failure = ida_printf(
            r->pool,
            "verify: the account is disabled, but these memberships could not be revoked: %s",
            left);
        return step_says(r, IDA_STEP_FAILED, "%s", summary(r, s));
    }
    r->failure = r->failure ? r->failure
                            : ida_printf(r->pool, "verify: the account is not disabled: %s", open);
    return step_says(r, IDA_STEP_FAILED, "the account is not disabled: %s; %s", open,
                     summary(r, s));
}

/* Reads the account and repairs what came back, until a read finds nothing. */
step_end step_verify(run *r)
{
    const char *restored = NULL;
    for (int round = 1; round <= VERIFY_ROUNDS; round++) {
        directory_user user;
        sweep s;
        run_shutting how = {0};
        int gone = 0;
        step_end end = look(r, &user, &gone);
        if (end == STEP_ON && !gone) {
            end = run_shut_password(r, &how, &gone);
        }
        int renewed = how.renewed;
        int enabled = end == STEP_ON && !gone && (user.enabled || renewed);
        const char *open = NULL; /* why it stays enabled: the rest is looked at all the same */
        if (enabled) {
            end = disable(r, &how, &gone);
            open = end == STEP_FAILED && !r->guarded ? r->step.detail : NULL;
            end = open ? STEP_ON : end;
            enabled = !open;
        } else if (end == STEP_ON && !gone && r->account->session->ops->lag_ms) {
            end = run_cache(r, put_seen, &user);
        }
        /* The read is older than our write, or an administrator has enabled the account since.
         * The write that was just repeated serves both cases, and a later read decides. */
        if (end == STEP_ON && enabled && !gone && r->account->session->ops->lag_ms) {
            end = enabled_still(r);
        }
        if (end == STEP_ON && !gone) {
            end = sweep_groups(r, &s, 0);
            gone = s.gone;
        }
        if (end != STEP_ON) {
            return end;
        }
        if (gone) {
            return step_absent(r);
        }
        warn_kept(r, &s);
        if (!enabled && (s.refused->nelts || (open && !s.removed->nelts && !s.taken->nelts))) {
            return not_shut(r, &s, open);
        }
        if (!enabled && how.refused) {
            run_shut_judge(r, &how);
            return step_says(r, IDA_STEP_FAILED, "%s%s", summary(r, &s), run_shut_text(r, &how));
        }
        if (!enabled && !s.removed->nelts && !s.taken->nelts) {
            const char *kept = s.kept->nelts
                                   ? apr_pstrcat(r->pool,
                                                 "disabled; memberships that cannot be revoked: ",
                                                 run_listed(r, s.kept), NULL)
                               : s.granted->nelts ? "disabled"
                                                  : "disabled, member of no group";
            const char *granted = s.granted->nelts
                                      ? apr_pstrcat(r->pool,
                                                    "; member of what a workflow added it to: ",
                                                    run_listed(r, s.granted), NULL)
                                      : "";
            return step_says(r, IDA_STEP_DONE, "%s%s%s%s", kept, granted, run_shut_text(r, &how),
                             restored ? restored : "");
        }
        apr_array_cat(s.removed, s.taken);
        restored = ida_printf(r->pool, "%s; came back and was put right: %s%s%s",
                              restored ? restored : "",
                              renewed   ? "a new password"
                              : enabled ? "enabled"
                                        : "",
                              enabled && s.removed->nelts ? ", " : "", run_listed(r, s.removed));
    }
    return step_later(
        r,
        "The account keeps coming back: a person or a program enables it or adds it to groups%s.",
        restored ? restored : "");
}
