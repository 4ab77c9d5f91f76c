/* Owns the effects and messages of each change of a task. The store has the rules of states. */
#include "core/operation/tasks/change.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/grant.h"
#include "core/governance/whom.h"
#include "core/operation/etag.h"
#include "core/operation/operation.h"
#include "core/store/tenant.h"

#define WAITING_NAMED_MAX 20
#define FOLLOWERS_MAX 1000

static ida_kind cancel(store *s, ida_ctx *c, ida_task_change *change)
{
    return queue_task_cancel(s, c, change->tenant, change->id);
}

static ida_kind retry(store *s, ida_ctx *c, ida_task_change *change)
{
    ida_kind kind = governance_whom_again(s, c, change->task);
    return kind ? kind : queue_task_retry(s, c, change->tenant, change->id);
}

static ida_kind release(store *s, ida_ctx *c, ida_task_change *change)
{
    ida_kind kind = governance_whom_again(s, c, change->task);
    return kind ? kind
                : queue_task_release(s, c, change->tenant, change->id,
                                     change->person ? NULL : change->by);
}

static ida_kind settle(store *s, ida_ctx *c, ida_task_change *change)
{
    ida_kind kind = queue_task_settle(s, c, change->tenant, change->id);
    return kind || change->task->type != IDA_USER_DELETE
               ? kind
               : governance_grant_leave(s, c, change->task);
}

/* The tasks that the worker queued for the time of a creation, to set its person as the manager
 * of others (worker/run/steps_profile.c), move with it. */
static ida_kind move_followers(store *s, ida_ctx *c, ida_task_change *change, const zone_due *due)
{
    ida_task *naming, *task;
    int count = 0, moved = 0;
    ida_kind kind = change->task->type == IDA_USER_CREATE
                        ? queue_task_naming_manager(s, c, change->tenant, change->task->person,
                                                    FOLLOWERS_MAX, &naming, &count)
                        : IDA_OK;
    for (int i = 0; !kind && i < count; i++) {
        kind = queue_task_get(s, c, change->tenant, naming[i].id, 1, &task);
        const json_t *payload = kind || !task->payload ? NULL
                                                       : ida_json_load(c->pool, task->payload);
        const char *of = ida_json_string(payload, "managerTask");
        if (kind || !of || strcmp(of, change->id) != 0) {
            continue;
        }
        kind = queue_task_move(s, c, change->tenant, task->id, due, NULL);
        kind = kind ? kind
                    : queue_task_changed(s, c, task, ida_task_change_name(IDA_TASK_RESCHEDULE),
                                         change->by);
        moved++;
    }
    if (!kind && moved) {
        change->waiting = ida_printf(c->pool, " %d %s this manager then moved with it.", moved,
                                     moved > 1 ? "tasks that set" : "task that sets");
    }
    return kind;
}

/* In the tenant's present zone, which the caller of a reschedule means. A missing part stays: a
 * new time alone must not move an offboarding from next month to today. */
static ida_kind reschedule(store *s, ida_ctx *c, ida_task_change *change)
{
    ida_tenant *tenant;
    zone_due due = {0};
    ida_kind kind = store_tenant_get(s, c, change->tenant, &tenant, NULL);
    if (!kind) {
        kind = zone_schedule(
            c, change->task->type == IDA_USER_DELETE ? ZONE_DUE_DELETE : ZONE_DUE_UPDATE,
            tenant->time_zone, change->date ? change->date : change->task->wall_date,
            change->time ? change->time : change->task->wall_time, &due);
    }
    kind = kind ? kind : ida_faults_raise(c);
    change->adjustment = kind ? NULL : due.adjustment;
    kind = kind ? kind : governance_whom_again(s, c, change->task);
    kind = kind ? kind : queue_task_move(s, c, change->tenant, change->id, &due, NULL);
    return kind ? kind : move_followers(s, c, change, &due);
}

static const char *when(ida_ctx *c, const ida_task *task)
{
    int held = ida_task_braked(task);
    if (task->state == IDA_CANCELLED || task->state == IDA_DONE) {
        return "nothing more will be executed";
    }
    return task->due_at <= ida_now(c->env)
               ? held ? "it is carried out as soon as it is released" : "it is carried out now"
               : ida_printf(c->pool, "%sit is carried out at %s", held ? "once released " : "",
                            zone_schedule_people(c, task->zone, task->due_at));
}

static const struct {
    const char *name, *done, *had; /* had: "anna has ... this task" */
    ida_kind (*carry_out)(store *s, ida_ctx *c, ida_task_change *change);
} verbs[] = {
    [IDA_TASK_CANCEL] = {"task.cancel", "is cancelled", "cancelled", cancel},
    [IDA_TASK_RESCHEDULE] = {"task.reschedule", "has been moved", "moved", reschedule},
    [IDA_TASK_RETRY] = {"task.retry", "is queued again", "retried", retry},
    [IDA_TASK_RELEASE] = {"task.release", "is released", "released", release},
    [IDA_TASK_SETTLE] = {"task.settle", "counts as done", "settled", settle},
};

const char *ida_task_change_name(ida_task_verb verb)
{
    return verbs[verb].name;
}

/* Finds the people whose manager will not be created after all. */
ida_kind ida_task_change_look(store *s, ida_ctx *c, ida_task_change *change)
{
    ida_task *task, *waiting;
    int count = 0;
    const char *named = NULL;
    ida_kind kind = change->verb == IDA_TASK_CANCEL
                        ? queue_task_get(s, c, change->tenant, change->id, 0, &task)
                        : IDA_NOT_FOUND;
    if (!kind && task->type == IDA_USER_CREATE) {
        kind = queue_task_naming_manager(s, c, change->tenant, task->person, WAITING_NAMED_MAX + 1,
                                         &waiting, &count);
    }
    for (int i = 0; !kind && i < count && i < WAITING_NAMED_MAX; i++) {
        named = ida_printf(c->pool, "%s%s%s (task %s)", named ? named : "", named ? ", " : "",
                           waiting[i].upn, waiting[i].id);
    }
    if (named) {
        change->waiting = ida_printf(
            c->pool,
            " It would have created the manager of %s%s, who will have none: cancel their queued "
            "tasks, or set another manager when these are done.",
            named, count > WAITING_NAMED_MAX ? " and others" : "");
    }
    if (kind == IDA_NOT_FOUND) { /* no such task: the change itself reports it */
        ida_ctx_clear(c);
        kind = IDA_OK;
    }
    return kind;
}

json_t *ida_task_result(ida_ctx *c, const ida_task *task)
{
    json_t *result = ida_json_keep(c->pool, json_pack("{s:o}", "task", ida_task_json(c, task)));
    ida_operation_clean(c->pool, result);
    return result;
}

/* The event since a task was seen in another state: a person's change if it was the last one,
 * otherwise the worker's. */
static const char *what_happened(ida_ctx *c, const ida_task *task)
{
    int by_person = task->change &&
                    (task->state == IDA_CANCELLED ||
                     (task->change_at >= task->started_at && task->change_at >= task->finished_at));
    for (int verb = 0; by_person && verb <= IDA_TASK_SETTLE; verb++) {
        if (strcmp(task->change, verbs[verb].name) == 0) {
            return ida_printf(c->pool, "%s has %s this task%s%s meanwhile", task->change_by,
                              verbs[verb].had, verb == IDA_TASK_RESCHEDULE ? " to " : "",
                              verb == IDA_TASK_RESCHEDULE
                                  ? zone_schedule_people(c, task->zone, task->due_at)
                                  : "");
        }
    }
    return ida_printf(c->pool, "the worker has continued this task meanwhile: its state is %s",
                      ida_task_state_text(task->state));
}

static ida_kind check_seen(ida_ctx *c, const ida_task_change *change)
{
    json_t *now = ida_task_result(c, change->task);
    if (!change->seen || ida_etag_named(change->seen, ida_etag(c->pool, now, 1))) {
        return IDA_OK;
    }
    ida_fail(c, IDA_CONFLICT,
             "Nothing was changed: %s. Look at the task again before you continue.",
             what_happened(c, change->task));
    return ida_because(c, "taskChanged", json_incref(now));
}

ida_kind ida_task_change_in(store *s, ida_ctx *c, ida_task_change *change)
{
    ida_kind kind = queue_task_get(s, c, change->tenant, change->id, 0, &change->task);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, IDA_NOT_FOUND, "No task with the id \"%s\" exists in this tenant.",
                        ida_clean(c->pool, change->id, strlen(change->id), 64));
    }
    kind = kind ? kind : check_seen(c, change);
    kind = kind ? kind : verbs[change->verb].carry_out(s, c, change);
    if (kind) {
        return kind;
    }
    kind = queue_task_changed(s, c, change->task, verbs[change->verb].name, change->by);
    kind = kind ? kind : queue_task_get(s, c, change->tenant, change->id, 0, &change->task);
    if (kind) {
        return kind;
    }
    change->own = strcmp(change->by, change->task->username) == 0 &&
                  strcmp(change->task->via, "console") == 0;
    change->message = ida_printf(c->pool, "The %s task of %s %s; %s.%s",
                                 ida_task_type_text(change->task->type), change->task->upn,
                                 verbs[change->verb].done, when(c, change->task),
                                 change->waiting ? change->waiting : "");
    return IDA_OK;
}
