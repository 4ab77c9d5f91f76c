/* Owns the waiting for the directory's own synchronisation: what was done where the person is
 * mastered has to arrive in the other directory. Knows no directory protocol. */

#include "core/base/json.h"
#include "core/governance/grant.h"
#include "worker/hold/rules.h"
#include "worker/run/actions.h"
#include "worker/run/shut.h"
#include "worker/run/steps.h"
#include "worker/run/update.h"

/* Entra Connect runs every 30 minutes and may be delayed; after this time an administrator must
 * look. */
#define SYNCHRONISATION_MS (3 * INT64_C(3600000))

/* Repeats soon at first, then every half minute, without counting attempts: nothing is wrong
 * yet. */
static step_end wait_for_it(run *r, const char *what)
{
    int64_t since = run_last_write(r), waited = ida_now(&r->runner->env) - since;
    if (waited >= SYNCHRONISATION_MS && r->account->stranger) {
        return step_gone(r, what);
    }
    if (waited >= SYNCHRONISATION_MS) {
        return step_fails(r,
                          "%s after %lld minutes: see whether the synchronisation between the "
                          "directories runs, then retry the task.",
                          what, (long long)(waited / 60000));
    }
    step_says(r, IDA_STEP_NONE, "Waits for the synchronisation between the directories: %s yet.",
              what);
    r->lag_since = since;
    return STEP_LAG;
}

/* --- a leaver: disabled there too --- */

/* Until now the person could sign in there, so sessions begun meanwhile are ended too. */
static step_end sign_out(run *r, int was_so, const run_shutting *how)
{
    directory_error e = {.class = DIRECTORY_OK};
    step_end end = r->account->session->ops->revoke_sessions ? run_sign_out(r, &e) : STEP_ON;
    if (end != STEP_ON) {
        return end;
    }
    run_shut_judge(r, how);
    return step_says(
        r, how->refused ? IDA_STEP_FAILED : IDA_STEP_DONE, "%s everywhere once more%s",
        was_so ? "the other directory shows the account as disabled; signed out"
               : "the other directory does not follow this one: disabled there too, signed out",
        run_shut_text(r, how));
}

static step_end await_disabled(run *r)
{
    directory_error e;
    run_shutting how;
    step_end end = run_shut(r, &how, &e);
    if (end != STEP_ON) {
        return end;
    }
    if (e.class == DIRECTORY_ELSEWHERE) {
        return r->own.open
                   ? step_fails(r, "the other directory follows this one, which did not let the "
                                   "account be disabled")
                   : wait_for_it(r, "the other directory does not show the account as disabled");
    }
    if (e.class == DIRECTORY_NOT_FOUND) {
        return step_absent(r);
    }
    return hold_verdict_of(e.class) == VERDICT_GOOD
               ? sign_out(r, e.class == DIRECTORY_ALREADY, &how)
               : run_fails(r, &e);
}

/* --- a joiner: there at all; who comes back: enabled there too --- */

/* It may appear under another ID than the one known so far. */
static step_end await_appearance(run *r)
{
    json_object_del(r->progress, "twinId");
    return wait_for_it(r, "the account has not appeared in the other directory");
}

static int in_cloud(run *r, const char *group)
{
    access_item item = {0};
    return !governance_membership_item(r->main, run_ctx(r), r->task->tenant, group, &item) &&
           item.directory == IDA_DIR_CLOUD;
}

static int template_in_cloud(run *r, const char *named)
{
    ida_ctx *c = run_ctx(r);
    ida_role_template *template;
    const access_item *items;
    int count = 0;
    if (governance_template_find(r->main, c, r->task->tenant, named, &template) ||
        governance_template_items(r->main, c, r->task->tenant, template, r->account->directory,
                                  &items, &count)) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (items[i].directory == IDA_DIR_CLOUD) {
            return 1;
        }
    }
    return 0;
}

/* 1 if an action of the task changes something in the cloud: the others need not wait. */
static int is_needed(run *r)
{
    for (int i = 0; i < r->task->step_count; i++) {
        const json_t *settings = action_settings(r, &r->task->steps[i]);
        const char *group = ida_json_string(settings, "group"),
                   *template = ida_json_string(settings, "roleTemplate");
        if ((group && in_cloud(r, group)) || (template && template_in_cloud(r, template))) {
            return 1;
        }
    }
    return 0;
}

static step_end await_account(run *r, int found)
{
    directory_user user = {0};
    directory_error e = {.class = DIRECTORY_NOT_FOUND};
    step_end end = found ? run_find(r, &user, &e) : STEP_ON;
    if (end != STEP_ON) {
        return end;
    }
    if (e.class == DIRECTORY_NOT_FOUND) {
        return await_appearance(r);
    }
    if (hold_verdict_of(e.class) != VERDICT_GOOD) {
        return run_fails(r, &e);
    }
    /* Updates the cache at once, so that the following actions find the person in both
     * directories. */
    end = run_cache_user(r, &user);
    return end == STEP_ON
               ? step_says(r, IDA_STEP_DONE, "the account has appeared in the other directory")
               : end;
}

static directory_class call_enable(run *r, const directory_ops *ops, directory *dir, void *baton,
                                   directory_error *e)
{
    return ops->update(dir, r->pool, r->account->object_id, NULL, 0, 1, baton, e);
}

/* As run_call; updates the cache. */
static step_end switch_there(run *r, int enabled, directory_error *e)
{
    directory_user user = {0};
    if (!enabled) {
        step_end end = run_disable(r, &user, e);
        for (const char *const *w = user.warnings; w && *w; w++) {
            run_warn(r, *w);
        }
        return end;
    }
    step_end end = step_still_wanted(r, "the account in the other directory was not enabled");
    end = end == STEP_ON ? run_call(r, call_enable, &user, e) : end;
    return end == STEP_ON && hold_verdict_of(e->class) == VERDICT_GOOD ? run_cache_user(r, &user)
                                                                       : end;
}

static step_end switched(run *r, int enabled, const directory_error *e)
{
    const char *how = enabled ? "enabled" : "disabled";
    return hold_verdict_of(e->class) != VERDICT_GOOD ? run_fails(r, e)
           : e->class == DIRECTORY_ALREADY
               ? step_says(r, IDA_STEP_DONE, "the other directory shows the account as %s", how)
               : step_says(r, IDA_STEP_DONE,
                           "the other directory does not follow this one: %s there too", how);
}

static step_end await_enabled(run *r)
{
    directory_error e;
    step_end end = switch_there(r, 1, &e);
    if (end != STEP_ON) {
        return end;
    }
    return e.class == DIRECTORY_NOT_FOUND ? await_appearance(r)
           : e.class == DIRECTORY_ELSEWHERE
               ? wait_for_it(r, "the other directory does not show the account as enabled")
               : switched(r, 1, &e);
}

static step_end await_return(run *r, int found, const ida_update *update)
{
    return !found                 ? await_appearance(r)
           : update->enabled == 1 ? await_enabled(r)
                                  : await_account(r, found);
}

/* --- enabled or disabled by itself: nothing waits for the other directory, but where nobody sees
 * to it, we do --- */

static step_end follow(run *r, int found, int enabled)
{
    directory_error e;
    step_end end = found ? switch_there(r, enabled, &e) : STEP_ON;
    if (end != STEP_ON) {
        return end;
    }
    return found && e.class == DIRECTORY_NOT_FOUND ? step_absent(r)
           : !found && r->other.stranger           ? step_stranger(r, &r->other)
           : !found
               ? step_says(r, IDA_STEP_ALREADY, "the other directory has no account of this person")
           : e.class == DIRECTORY_ELSEWHERE
               ? step_says(r, IDA_STEP_SKIPPED,
                           "the other directory follows this one with its next synchronisation")
               : switched(r, enabled, &e);
}

/* For each type of task what has to be so before the steps that follow. */
step_end step_await_synchronisation(run *r)
{
    int found;
    ida_update update = {0};
    int leaves = r->task->type == IDA_USER_DELETE, returns = r->task->type == IDA_USER_UPDATE;
    if (!r->account->session->tenant->has_directory[IDA_DIR_CLOUD] ||
        !r->account->session->tenant->has_directory[IDA_DIR_ON_PREMISES]) {
        return step_says(r, IDA_STEP_SKIPPED, "the tenant has one directory");
    }
    if (!leaves && !returns && !is_needed(r)) {
        return step_says(r, IDA_STEP_SKIPPED,
                         "no action of the workflows gives anything in the cloud directory");
    }
    step_end end = returns ? run_read_update(r, &update) : STEP_ON;
    end = end == STEP_ON ? run_other_account(r, &found) : end;
    if (end == STEP_ON && leaves) {
        end = found ? await_disabled(r)
              : r->other.stranger
                  ? step_stranger(r, &r->other)
                  : step_says(r, IDA_STEP_ALREADY,
                              "already absent: the other directory has no account of this person");
    } else if (end == STEP_ON) {
        end = !returns             ? await_account(r, found)
              : update.memberships ? await_return(r, found, &update)
                                   : follow(r, found, update.enabled);
    }
    return end;
}
