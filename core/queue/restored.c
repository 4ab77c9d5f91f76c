/* Owns the hold on tasks that a restored store would run a second time. Must not know backups. */
#include "core/queue/restored.h"

#include "core/queue/change.h"
#include "core/queue/event.h"
#include "core/store/rows.h"
#include "core/store/tenant.h"

STORE_FILL(later_of, queue_later, restored_later, row->id.text, row->type.text, row->state.text,
           row->upn.text, row->created_at.number)

ida_kind queue_later_than(store *s, ida_ctx *c, const char *tenant, int64_t at,
                          const queue_later **rows, int *count)
{
    return store_rows(s, c, STMT_restored_later, DB_ARGS(DB_T(tenant), DB_I(at)), later_of,
                      sizeof **rows, rows, count);
}

static ida_kind hold_one(store *s, ida_ctx *c, const ida_task *task, int over, int64_t now,
                         const char *why)
{
    ida_kind kind = store_write(s, c, STMT_restored_hold,
                                DB_ARGS(DB_T(task->tenant), DB_T(task->id), DB_T(why), DB_I(over)),
                                NULL);
    kind = kind ? kind
                : store_write(s, c, STMT_restored_unlock,
                              DB_ARGS(DB_T(task->tenant), DB_T(task->id)), NULL);
    return kind ? kind : queue_event_tell(s, c, task, IDA_ATTENTION, now, why);
}

ida_kind queue_hold_restored(store *s, ida_ctx *c, const char *tenant, const char *over,
                             int64_t now, const char *why, ida_task ***tasks, int *count)
{
    db_result r = {.rows = 1};
    *count = 0;
    ida_kind kind = store_tenant_lock(s, c, tenant);
    kind = kind ? kind : store_write(s, c, STMT_restored_sent, DB_ARGS(DB_T(tenant)), NULL);
    kind = kind || over ? kind
                        : store_read(s, c, STMT_restored_due, DB_ARGS(DB_T(tenant), DB_I(now)), &r);
    if (kind) {
        return kind;
    }
    *tasks = apr_palloc(c->pool, sizeof **tasks * (apr_size_t)(r.rows + 1));
    for (int i = 0; !kind && i < r.rows; i++) {
        ida_task *task;
        kind = queue_task_get(s, c, tenant, over ? over : DB_ROW(id, &r, i)->id.text, 0, &task);
        kind = kind ? kind : hold_one(s, c, task, over != NULL, now, why);
        if (!kind) {
            (*tasks)[(*count)++] = task;
        }
    }
    return kind;
}
