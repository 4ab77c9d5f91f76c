/* Owns the steps that creations and updates share: manager and photo. Knows no directory protocol.
 */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/person.h"
#include "core/governance/named.h"
#include "core/model/unsupported.h"
#include "core/queue/change.h"
#include "core/queue/claim.h"
#include "core/zone/schedule.h"
#include "worker/hold/rules.h"
#include "worker/run/meant.h"
#include "worker/run/steps.h"

/* a mailbox that does not exist by then may take hours: the photo is not waited for */
#define PHOTO_LAG_MS 60000
#define MANAGER_SOON_MS 60000 /* a manager who starts within this time is waited for */

typedef struct profile {
    ida_update wants; /* also of a creation, whose absent members are not given */
    int photo_left;   /* it was given, and is not in the store any more */
    const json_t *stored;
} profile;

static step_end read_profile(run *r, profile *p)
{
    ida_ctx *c = run_ctx(r);
    json_t *stored = r->task->payload ? ida_json_load(r->pool, r->task->payload) : NULL;
    ida_create person = {0};
    *p = (profile){0};
    ida_kind kind = !stored ? ida_fail(c, IDA_INTERNAL_ERROR, "the stored request cannot be read")
                    : r->task->type == IDA_USER_CREATE ? ida_create_from_json(c, stored, &person)
                                                       : ida_update_from_json(c, stored, &p->wants);
    if (kind) {
        return step_fails(r, "%s", c->message);
    }
    if (r->task->type == IDA_USER_CREATE) {
        p->wants = (ida_update){.manager_given = person.manager != NULL,
                                .manager = person.manager,
                                .photo_given = person.photo != NULL,
                                .photo = person.photo,
                                .photo_len = person.photo_len,
                                .photo_type = person.photo_type};
    }
    p->stored = stored;
    p->photo_left = json_is_true(json_object_get(stored, IDA_PHOTO_LEFT));
    return STEP_ON;
}

/* --- setManager --- */

typedef struct manager_call {
    const char *upn, *key, *manager_id; /* key: what the directory is asked for */
} manager_call;

static directory_class call_manager(run *r, const directory_ops *ops, directory *dir, void *baton,
                                    directory_error *e)
{
    manager_call *call = baton;
    return ops->set_manager(dir, r->pool, r->account->object_id, call->key, &call->manager_id, e);
}

static ida_kind put_manager(run *r, store *cache, ida_ctx *c, void *baton)
{
    const manager_call *call = baton;
    return cache_tell_manager(cache, c, r->task->tenant, r->account->directory,
                              r->account->object_id, call->manager_id);
}

/* The task ends `failed`, after all that has nothing to do with the manager. */
static step_end without_manager(run *r, const char *reason)
{
    step_says(r, IDA_STEP_FAILED, "%s %s", reason,
              r->task->type == IDA_USER_CREATE
                  ? "Give the person a manager, or see that this one exists, then retry the task: "
                    "it takes the manager whom the person has by then."
                  : "Retry the task once the manager exists, or ask for another one.");
    r->failure = ida_printf(r->pool, "%s: %s", run_shown(r), r->step.detail);
    return STEP_ON;
}

typedef struct later_manager {
    ida_task *task;
    const ida_step *step;
    const char *progress;
    const audit_record *audit;
} later_manager;

typedef struct later_work {
    run *r;
    const later_manager *later;
} later_work;

/* Step and task in one transaction: a repeated run orders nothing twice. */
static ida_kind write_later_in(store *s, ida_ctx *c, void *baton)
{
    const later_work *w = baton;
    ida_kind kind = queue_step(s, c, w->r->task, w->later->step, w->later->progress,
                               w->later->audit);
    return kind ? kind : queue_task_insert(s, c, w->later->task);
}

static ida_kind write_later(run *r, store *s, ida_ctx *c, void *baton)
{
    later_work w = {r, baton};
    return store_transaction(s, c, write_later_in, &w);
}

/* A manager who starts on a later day is set then, by a separate task: neither the other steps
 * nor the person's further tasks wait for that day. */
static step_end manager_comes_later(run *r, const manager_call *call, const ida_task *creation)
{
    ida_ctx *c = run_ctx(r);
    const ida_update update = {.upn = r->task->upn,
                               .values = ida_json_keep(r->pool, json_object()),
                               .enabled = -1,
                               .manager_given = 1,
                               .manager = call->upn};
    json_t *payload = ida_update_to_json(r->pool, &update);
    ida_json_put(payload, "managerTask", creation->id); /* with which it is moved */
    ida_task *task = apr_pcalloc(r->pool, sizeof *task);
    *task = (ida_task){.id = ida_new_id(r->pool, &r->runner->env),
                       .tenant = r->task->tenant,
                       .type = IDA_USER_UPDATE,
                       .state = IDA_QUEUED,
                       .directory = r->task->directory,
                       .object_id = r->task->object_id,
                       .upn = r->task->upn,
                       .person = r->task->person,
                       .mail = r->task->mail,
                       .display_name = r->task->display_name,
                       .wall_date = creation->wall_date,
                       .wall_time = creation->wall_time,
                       .wall_fixed = creation->wall_fixed,
                       .zone = creation->zone,
                       .due_at = creation->due_at,
                       .next_at = creation->due_at,
                       .created_at = ida_now(&r->runner->env),
                       .payload = ida_json_text(r->pool, payload),
                       .progress = "{}",
                       .warnings = "[]",
                       .username = r->task->username,
                       .label = r->task->label,
                       .via = r->task->via,
                       .steps = apr_pcalloc(r->pool, sizeof(ida_step)),
                       .step_count = 1};
    task->steps[0] = (ida_step){.position = 1, .name = "setManager"};
    const char *day = zone_schedule_people(c, creation->zone, creation->due_at);
    step_says(r, IDA_STEP_SKIPPED, "The manager %s is created at %s; task %s sets it then.",
              call->upn, day, task->id);
    r->step.at = ida_now(&r->runner->env);
    audit_record *record = run_audit(r, c, "task.step", "ok", r->step.detail);
    json_t *parameters = ida_json_load(r->pool, record->parameters);
    ida_json_put(parameters, "queued", task->id);
    record->parameters = ida_json_text(r->pool, parameters);
    later_manager later = {.task = task,
                           .step = &r->step,
                           .progress = ida_json_text(r->pool, r->progress),
                           .audit = record};
    step_end end = run_store(r, write_later, &later);
    r->recorded = end == STEP_ON;
    if (end == STEP_ON) {
        run_warn(r, r->step.detail);
    }
    return end;
}

/* The manager may be a creation that is not done yet. One that is due is waited for while
 * attempts remain, one of a later day is not. */
static step_end manager_missing(run *r, const manager_call *call)
{
    int64_t made_at = run_made_lately(r, call->upn);
    if (made_at) {
        return run_lags(
            r, made_at,
            ida_printf(r->pool, "The manager %s was created a moment ago and is not visible yet.",
                       call->upn));
    }
    ida_ctx *c = run_ctx(r);
    ida_task *queued;
    const queue_person person = {.address = ida_fold_address(r->pool, call->upn)};
    ida_kind kind = queue_task_open(r->main, c, r->task->tenant, &person, IDA_USER_CREATE, &queued);
    if (kind == IDA_NOT_FOUND) {
        return without_manager(
            r, ida_printf(r->pool, "The manager %s was not found in the directory.", call->upn));
    }
    if (!kind && queued->state == IDA_QUEUED &&
        queued->due_at > ida_now(&r->runner->env) + MANAGER_SOON_MS) {
        return manager_comes_later(r, call, queued);
    }
    if (!kind && run_last_try(r)) {
        return without_manager(
            r, ida_printf(r->pool,
                          "The manager %s is not created yet by task %s; given up after %d tries.",
                          call->upn, queued->id, TRIES_MAX));
    }
    if (kind) {
        step_says(r, IDA_STEP_NONE,
                  "The manager %s is not in the directory, and whether a task creates it cannot be "
                  "read: %s",
                  call->upn, c->message);
    } else {
        step_says(r, IDA_STEP_NONE, "Waits for the creation of the manager %s by task %s.",
                  call->upn, queued->id);
    }
    return STEP_LATER;
}

/* A manager who was set after the creation was requested stays, because that is the later
 * decision. */
static const char *present_manager(run *r, const meant *wanted, const char *named)
{
    ida_user *user;
    int made = r->task->type == IDA_USER_CREATE &&
               !cache_user_details(r->main, run_ctx(r), r->task->tenant, r->account->object_id,
                                   &user, NULL);
    const char *has = made ? user->manager_upn : NULL;
    return !has || (wanted->user ? governance_user_is(wanted->user, user->manager_id)
                                 : strcmp(ida_fold_address(r->pool, has),
                                          ida_fold_address(r->pool, named)) == 0)
               ? NULL
               : has;
}

static step_end account_gone(run *r)
{
    return step_gone(
        r, r->task->type == IDA_USER_CREATE
               ? "The account was made by this task, but the directory does not show it any more."
               : "The directory has no such account any more.");
}

step_end step_set_manager(run *r)
{
    profile p;
    directory_error e;
    step_end end = read_profile(r, &p);
    if (end != STEP_ON) {
        return end;
    }
    if (!p.wants.manager_given) {
        return step_says(r, IDA_STEP_SKIPPED, "no manager was given");
    }
    meant manager = {0};
    end = p.wants.manager ? run_meant_manager(r, p.stored, &manager) : STEP_ON;
    if (end != STEP_ON) {
        return end;
    }
    manager_call call = {.upn = p.wants.manager,
                         .key = p.wants.manager ? run_meant_here(r, &manager) : NULL};
    call.upn = manager.user && manager.user->upn ? manager.user->upn : call.upn;
    const char *present = present_manager(r, &manager, p.wants.manager);
    if (present) {
        return step_says(r, IDA_STEP_ALREADY,
                         "%s, by a later change than the request, which named %s", present,
                         p.wants.manager);
    }
    if (manager.fault) {
        return without_manager(r, ida_printf(r->pool, "The manager %s", manager.fault));
    }
    end = run_ask(r, call_manager, &call, &e);
    if (end != STEP_ON) {
        return end;
    }
    if (e.class == DIRECTORY_NOT_FOUND) {
        return e.field && strcmp(e.field, "manager") == 0 ? manager_missing(r, &call)
                                                          : account_gone(r);
    }
    end = call.manager_id || !call.upn ? run_cache(r, put_manager, &call) : STEP_ON;
    return end == STEP_ON ? step_says(r, e.class == DIRECTORY_OK ? IDA_STEP_DONE : IDA_STEP_ALREADY,
                                      "%s", call.upn ? call.upn : "no manager")
                          : end;
}

/* --- setPhoto --- */

static directory_class call_photo(run *r, const directory_ops *ops, directory *dir, void *baton,
                                  directory_error *e)
{
    const profile *p = baton;
    return ops->set_photo(dir, r->pool, r->account->object_id, p->wants.photo, p->wants.photo_len,
                          p->wants.photo_type, e);
}

/* Best effort: what is permanent, the last try, and what has lagged for long enough, become a
 * warning. */
static step_end photo_fails(run *r, const directory_error *e)
{
    step_end end = run_fails(r, e);
    int last = r->task->attempts + 1 >= TRIES_MAX,
        late = end == STEP_LAG && ida_now(&r->runner->env) - r->lag_since >= PHOTO_LAG_MS;
    if (late || end == STEP_FAILED || ((end == STEP_LATER || end == STEP_UNSURE) && last)) {
        ida_outcome outcome = end == STEP_UNSURE ? IDA_STEP_UNKNOWN : IDA_STEP_FAILED;
        run_warn(r, ida_printf(r->pool, "The photo was not set: %s", r->step.detail));
        r->step.outcome = outcome;
        return STEP_ON;
    }
    return end;
}

step_end step_set_photo(run *r)
{
    profile p;
    directory_error e;
    step_end end = read_profile(r, &p);
    if (end != STEP_ON) {
        return end;
    }
    if (p.photo_left) {
        run_warn(r, "The photo was not set: it left the store because the task had failed long "
                    "ago. Send it again with a change of the user.");
        return step_says(r, IDA_STEP_SKIPPED, "the photo is not in the store any more");
    }
    if (!p.wants.photo_given) {
        return step_says(r, IDA_STEP_SKIPPED, "no photo was given");
    }
    int partly = 0;
    const char *why = p.wants.photo
                          ? ida_unsupported(r->account->session->tenant, r->account->directory,
                                            "profilePhoto", p.wants.photo_type, &partly)
                          : NULL;
    if (why && !partly) {
        run_warn(r, ida_printf(r->pool, "The photo was not set: it %s", why));
        return step_says(r, IDA_STEP_SKIPPED, "profilePhoto %s", why);
    }
    end = run_call(r, call_photo, &p, &e);
    if (end != STEP_ON) {
        return end;
    }
    if (e.class != DIRECTORY_OK && e.class != DIRECTORY_ALREADY) {
        return e.class == DIRECTORY_NOT_FOUND ? account_gone(r) : photo_fails(r, &e);
    }
    ida_outcome outcome = e.class == DIRECTORY_OK ? IDA_STEP_DONE : IDA_STEP_ALREADY;
    return p.wants.photo
               ? step_says(r, outcome, "%zu bytes, %s", p.wants.photo_len, p.wants.photo_type)
               : step_says(r, outcome, "no photo");
}
