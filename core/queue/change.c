/* Owns the transitions that callers request: move, cancel, retry, release. Must not know the
 * callers. */
#include <string.h>

#include "core/base/json.h"
#include "core/queue/brake.h"
#include "core/queue/event.h"
#include "core/queue/inner.h"
#include "core/queue/mark.h"
#include "core/queue/workflow.h"
#include "core/store/tenant.h"

int queue_task_account_possible(ida_ctx *c, const ida_task *task)
{
    for (int i = 0; i < task->step_count; i++) {
        ida_outcome outcome = task->steps[i].outcome;
        if (strcmp(task->steps[i].name, "createAccount") == 0 &&
            (outcome == IDA_STEP_DONE || outcome == IDA_STEP_ALREADY ||
             outcome == IDA_STEP_UNKNOWN)) {
            return 1;
        }
        if (strcmp(task->steps[i].name, "updateAccount") == 0 && outcome == IDA_STEP_UNKNOWN) {
            return 1;
        }
    }
    const json_t *progress = ida_json_load(c->pool, task->progress);
    return json_is_true(json_object_get(progress, "createSent")) ||
           json_is_true(json_object_get(progress, "enableSent"));
}

typedef struct transition {
    const char *tenant, *id;
    const zone_due *due; /* move */
    const char *payload;
    const char *username; /* release */
    int done;             /* settle */
} transition;

/* Locks tenant and task, in this order, and reads the task as it is now. */
static ida_kind lock_task(store *s, ida_ctx *c, const transition *t, int with_payload,
                          ida_task **task)
{
    db_result r;
    ida_kind kind = store_tenant_lock(s, c, t->tenant);
    kind = kind ? kind : queue_task_get(s, c, t->tenant, t->id, with_payload, task);
    /* The end of a run locks its task first and then the tenant. */
    if (kind || (*task)->state == IDA_RUNNING) {
        return kind;
    }
    kind = store_read(s, c, STMT_task_lock, DB_ARGS(DB_T(t->tenant), DB_T(t->id)), &r);
    if (kind) {
        return kind;
    }
    return r.rows ? queue_task_get(s, c, t->tenant, t->id, with_payload, task)
                  : queue_task_missing(c, t->id);
}

/* The error for a transition that comes too late, by the task's state. */
static ida_kind too_late(ida_ctx *c, const ida_task *task, const char *what)
{
    static const char *const reasons[] = {
        [IDA_QUEUED] = "it is queued",
        [IDA_RUNNING] = "it is running",
        [IDA_DONE] = "it is done",
        [IDA_FAILED] = "it has failed",
        [IDA_ATTENTION] = "it waits for attention",
        [IDA_CANCELLED] = "it was cancelled before",
    };
    static const char *const words[] = {
        [IDA_RUNNING] = "taskRunning",
        [IDA_DONE] = "taskOver",
        [IDA_CANCELLED] = "taskOver",
    };
    ida_fail(c, IDA_CONFLICT, "Task %s cannot be %s: %s (state %s).", task->id, what,
             reasons[task->state], ida_task_state_text(task->state));
    return words[task->state] ? ida_because(c, words[task->state], NULL) : IDA_CONFLICT;
}

static ida_kind move(store *s, ida_ctx *c, void *baton)
{
    const transition *t = baton;
    ida_task *task;
    ida_kind kind = lock_task(s, c, t, 0, &task);
    if (kind) {
        return kind;
    }
    if (!ida_task_allows(task, IDA_TASK_RESCHEDULE)) {
        return too_late(c, task, "moved");
    }
    kind = store_write(s, c, STMT_task_move,
                       DB_ARGS(DB_T(t->tenant), DB_T(t->id), DB_T(t->due->date), DB_T(t->due->time),
                               DB_T(t->due->zone), DB_I(t->due->at_ms)),
                       NULL);
    kind = kind ? kind : queue_mark(s, c, t->tenant, t->id, QUEUE_MARK_DUE, 0);
    if (!kind && t->payload) {
        kind = queue_task_put_payload(s, c, task, t->payload);
    }
    return kind ? kind : store_notify(s, c, QUEUE_CHANNEL);
}

ida_kind queue_task_called(store *s, ida_ctx *c, const ida_task *called)
{
    return store_write(s, c, STMT_task_called,
                       DB_ARGS(DB_T(called->tenant), DB_T(called->id), DB_T(called->upn),
                               DB_T(called->person), DB_T(called->mail),
                               DB_T(called->display_name)),
                       NULL);
}

ida_kind queue_task_move(store *s, ida_ctx *c, const char *tenant, const char *id,
                         const zone_due *due, const char *payload)
{
    transition t = {.tenant = tenant, .id = id, .due = due, .payload = payload};
    return store_transaction(s, c, move, &t);
}

/* Cancelled, or settled as done. */
static ida_kind over(store *s, ida_ctx *c, void *baton)
{
    const transition *t = baton;
    int64_t now = ida_now(c->env);
    ida_task *task;
    ida_kind kind = lock_task(s, c, t, 0, &task);
    if (kind) {
        return kind;
    }
    if (!ida_task_allows(task, t->done ? IDA_TASK_SETTLE : IDA_TASK_CANCEL)) {
        return too_late(c, task, t->done ? "settled" : "cancelled");
    }
    kind = queue_task_drop_photo(s, c, task, 0);
    kind = kind ? kind
                : store_write(s, c, t->done ? STMT_task_settle : STMT_task_cancel,
                              DB_ARGS(DB_T(t->tenant), DB_T(t->id), DB_I(now)), NULL);
    kind = kind ? kind : queue_workflow_cancelled(s, c, task);
    if (!kind && (t->done || !queue_task_account_possible(c, task))) {
        kind = queue_task_give_back_seat(s, c, t->tenant, t->id);
        kind = kind ? kind : queue_task_free_names(s, c, t->tenant, t->id);
    }
    return kind || !t->done ? kind : queue_event_tell(s, c, task, IDA_DONE, now, NULL);
}

ida_kind queue_task_cancel(store *s, ida_ctx *c, const char *tenant, const char *id)
{
    transition t = {.tenant = tenant, .id = id};
    return store_transaction(s, c, over, &t);
}

ida_kind queue_task_settle(store *s, ida_ctx *c, const char *tenant, const char *id)
{
    transition t = {.tenant = tenant, .id = id, .done = 1};
    return store_transaction(s, c, over, &t);
}

static ida_kind reserve_again(store *s, ida_ctx *c, const ida_task *task, const char *address)
{
    int taken = 0;
    ida_kind kind = address ? queue_address_taken(s, c, task->tenant, address, task->id, &taken)
                            : IDA_OK;
    return kind || !address || taken ? kind
                                     : queue_address_reserve(s, c, task->tenant, address, task->id);
}

/* A failed creation gave seat and names back: it takes them as a new one would. */
static ida_kind take_again(store *s, ida_ctx *c, const ida_task *task)
{
    ida_tenant *tenant;
    ida_kind kind = IDA_OK;
    if (!task->seat && queue_task_wants_seat(c, task)) {
        kind = store_tenant_get(s, c, task->tenant, &tenant, NULL);
        kind = kind ? kind : queue_seat_free(s, c, tenant);
        kind = kind ? kind : queue_task_take_seat(s, c, task->tenant, task->id);
    }
    kind = kind ? kind : reserve_again(s, c, task, task->upn);
    return kind ? kind : reserve_again(s, c, task, task->mail);
}

/* Now, unless it was moved to a later time while it waited. */
/* `released`: NULL: as before. */
static ida_kind requeue(store *s, ida_ctx *c, const ida_task *task, const char *released)
{
    int64_t now = ida_now(c->env), at = task->due_at > now ? task->due_at : now;
    ida_kind kind = store_write(
        s, c, STMT_task_requeue,
        DB_ARGS(DB_T(task->tenant), DB_T(task->id), DB_I(at), DB_T(released)), NULL);
    return kind ? kind : store_notify(s, c, QUEUE_CHANNEL);
}

static ida_kind retry(store *s, ida_ctx *c, void *baton)
{
    ida_task *task;
    ida_kind kind = lock_task(s, c, baton, 1, &task);
    if (kind) {
        return kind;
    }
    if (!ida_task_allows(task, IDA_TASK_RETRY)) {
        return too_late(c, task, "tried again");
    }
    if (task->type == IDA_USER_CREATE && !queue_task_account_possible(c, task)) {
        kind = take_again(s, c, task);
    }
    kind = kind ? kind : queue_workflow_retry(s, c, task);
    return kind ? kind : requeue(s, c, task, NULL);
}

ida_kind queue_task_retry(store *s, ida_ctx *c, const char *tenant, const char *id)
{
    transition t = {.tenant = tenant, .id = id};
    return store_transaction(s, c, retry, &t);
}

static ida_kind release(store *s, ida_ctx *c, void *baton)
{
    const transition *t = baton;
    ida_task *task;
    ida_kind kind = lock_task(s, c, baton, 0, &task);
    if (kind) {
        return kind;
    }
    if (task->state != IDA_ATTENTION) {
        too_late(c, task, "released");
        return c->reason ? IDA_CONFLICT : ida_because(c, "notBraked", NULL);
    }
    if (!ida_task_allows(task, IDA_TASK_RELEASE)) {
        ida_fail(c, IDA_CONFLICT,
                 "Task %s is not held by the brake: its outcome is unknown. Look at its steps, "
                 "then settle (`idadminctl task settle`), retry or cancel it.",
                 task->id);
        return ida_because(c, "notBraked", NULL);
    }
    if (t->username && strcmp(t->username, task->username) == 0) {
        return ida_fail(
            c, IDA_FORBIDDEN,
            "Task %s was asked for with this API key (%s), which cannot release it too: let a "
            "person do it (`idadminctl task release %s %s`), or another API key with full access.",
            task->id, task->username, t->tenant, task->id);
    }
    return requeue(s, c, task, queue_brake_release(c, task));
}

ida_kind queue_task_release(store *s, ida_ctx *c, const char *tenant, const char *id,
                            const char *username)
{
    transition t = {.tenant = tenant, .id = id, .username = username};
    return store_transaction(s, c, release, &t);
}

ida_kind queue_task_changed(store *s, ida_ctx *c, const ida_task *task, const char *action,
                            const char *by)
{
    return store_write(s, c, STMT_task_changed,
                       DB_ARGS(DB_T(task->tenant), DB_T(task->id), DB_T(action), DB_T(by),
                               DB_I(ida_now(c->env))),
                       NULL);
}
