/* Owns the long-term maintenance of the queue: due times under new zone rules, removal of old
 * tasks. */
#include "core/queue/claim.h"
#include "core/queue/inner.h"
#include "core/queue/mark.h"
#include "core/store/tenant.h"

ida_kind queue_next_zone(store *s, ida_ctx *c, const char *after, const char **zone)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_queue_next_zone, DB_ARGS(DB_T(after)), &r);
    *zone = kind ? NULL : DB_ROW(zone, &r, 0)->zone.text;
    return kind;
}

ida_kind queue_zone_changes_in(store *s, ida_ctx *c, const char *zone, const char *after_id,
                               int max, ida_task **tasks, int *count)
{
    db_result r;
    *count = 0;
    ida_kind kind = store_read(s, c, STMT_queue_zone_changes,
                               DB_ARGS(DB_T(zone), DB_T(after_id ? after_id : ""), DB_I(max)), &r);
    if (kind) {
        return kind;
    }
    *tasks = apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof **tasks);
    for (int row = 0; !kind && row < r.rows; row++) {
        kind = queue_task_of_row(c, &r, row, &(*tasks)[row]);
    }
    *count = kind ? 0 : r.rows;
    return kind;
}

ida_kind queue_set_due(store *s, ida_ctx *c, const ida_task *task, int64_t due_at)
{
    db_result r;
    ida_kind kind = store_write(
        s, c, STMT_queue_set_due,
        DB_ARGS(DB_T(task->tenant), DB_T(task->id), DB_I(task->due_at), DB_I(due_at)), &r);
    kind = kind || !r.changes ? kind : queue_mark(s, c, task->tenant, task->id, QUEUE_MARK_DUE, 0);
    return kind || r.changes
               ? kind
               : ida_fail(c, IDA_CONFLICT, "Task %s was moved or started meanwhile.", task->id);
}

typedef struct retention {
    const char *tenant;
    int64_t before;
    int max;
    db_statement find; /* IDs of tasks that are old enough */
    ida_kind (*one)(store *s, ida_ctx *c, const char *tenant, const char *id);
    int removed; /* out */
} retention;

static ida_kind remove_task(store *s, ida_ctx *c, const char *tenant, const char *id)
{
    ida_kind kind = queue_task_give_back_seat(s, c, tenant, id);
    kind = kind ? kind : queue_task_free_names(s, c, tenant, id);
    kind = kind ? kind
                : store_write(s, c, STMT_queue_delete_runs, DB_ARGS(DB_T(tenant), DB_T(id)), NULL);
    return kind ? kind
                : store_write(s, c, STMT_queue_delete, DB_ARGS(DB_T(tenant), DB_T(id)), NULL);
}

static ida_kind remove_photo(store *s, ida_ctx *c, const char *tenant, const char *id)
{
    return queue_task_drop_photo(s, c, &(ida_task){.tenant = tenant, .id = id}, 1);
}

static ida_kind retain(store *s, ida_ctx *c, void *baton)
{
    retention *t = baton;
    db_result r;
    t->removed = 0;
    ida_kind kind = store_tenant_lock(s, c, t->tenant);
    kind = kind ? kind
                : store_read(s, c, t->find, DB_ARGS(DB_T(t->tenant), DB_I(t->before), DB_I(t->max)),
                             &r);
    for (int row = 0; !kind && row < r.rows; row++) {
        kind = t->one(s, c, t->tenant, DB_ROW(id, &r, row)->id.text);
        t->removed += !kind;
    }
    return kind;
}

static ida_kind retain_with(store *s, ida_ctx *c, retention t, int *removed)
{
    ida_kind kind = store_transaction(s, c, retain, &t);
    *removed = kind ? 0 : t.removed;
    return kind;
}

ida_kind queue_retain_photos(store *s, ida_ctx *c, const char *tenant, int64_t before, int max,
                             int *removed)
{
    return retain_with(s, c,
                       (retention){tenant, before, max, STMT_queue_retain_photos, remove_photo, 0},
                       removed);
}

ida_kind queue_retain(store *s, ida_ctx *c, const char *tenant, int64_t before, int max,
                      int *removed)
{
    return retain_with(s, c, (retention){tenant, before, max, STMT_queue_retain, remove_task, 0},
                       removed);
}
