/* Owns leases: heartbeats, the state that takers watch, the takeover. Must not know clocks: the
 * taker decides how long to wait. */
#include "core/queue/brake.h"
#include "core/queue/claim.h"
#include "core/store/rows.h"

ida_kind queue_renew(store *s, ida_ctx *c, const char *tenant, const char *task_id, int64_t fence,
                     int64_t now, int64_t lease_ms)
{
    db_result r;
    ida_kind kind = store_write(
        s, c, STMT_queue_renew,
        DB_ARGS(DB_T(tenant), DB_T(task_id), DB_I(fence), DB_I(now + lease_ms)), &r);
    return kind || r.changes
               ? kind
               : ida_fail(c, IDA_CONFLICT, "The lease on task %s (fence %lld) is lost.", task_id,
                          (long long)fence);
}

STORE_FILL(running_of, queue_running_task, running, .tenant = row->tenant_id.text,
           .task_id = row->id.text, .owner = row->lease_owner.text, .fence = row->fence.number,
           .heartbeat = row->heartbeat.number, .lease_until = row->lease_until.number)

ida_kind queue_running(store *s, ida_ctx *c, int max, const queue_running_task **rows, int *count)
{
    return store_rows(s, c, STMT_queue_running, DB_ARGS(DB_I(max)), running_of, sizeof **rows, rows,
                      count);
}

typedef struct takeover {
    const queue_running_task *seen;
    const char *owner;
    int64_t lease_until;
    ida_task *task;
} takeover;

static ida_kind take_over(store *s, ida_ctx *c, void *baton)
{
    takeover *t = baton;
    int begun = 1;
    db_result r;
    t->task = NULL;
    ida_kind kind = store_schema_is_ours(s, c);
    kind = kind ? kind
                : store_write(s, c, STMT_queue_take_over,
                              DB_ARGS(DB_T(t->seen->tenant), DB_T(t->seen->task_id),
                                      DB_I(t->seen->fence), DB_I(t->seen->heartbeat),
                                      DB_T(t->owner), DB_I(t->lease_until)),
                              &r);
    if (!kind && !r.changes) {
        kind = ida_fail(c, IDA_NOT_FOUND, "Task %s is alive or no longer running.",
                        t->seen->task_id);
    }
    kind = kind ? kind : queue_task_get(s, c, t->seen->tenant, t->seen->task_id, 1, &t->task);
    if (!kind && queue_brake_counts(c, t->task)) {
        kind = queue_brake_has_begun(s, c, t->task, &begun);
    }
    if (!kind && !begun) { /* it was changed since its claim, which did not see what it disables */
        kind = queue_again(s, c, t->task, ida_now(c->env), t->task->error, 0, NULL);
        t->task = NULL;
    }
    return kind;
}

ida_kind queue_take_over(store *s, ida_ctx *c, const queue_running_task *seen, const char *owner,
                         int64_t now, int64_t lease_ms, ida_task **task)
{
    takeover t = {.seen = seen, .owner = owner, .lease_until = now + lease_ms};
    ida_kind kind = store_transaction(s, c, take_over, &t);
    *task = kind ? NULL : t.task;
    return kind || t.task ? kind : ida_fail(c, IDA_NOT_FOUND, "It is queued again.");
}
