/* Owns the figures of the queue. Must not know what they are shown for. */
#include "core/queue/figures.h"

#include "core/store/rows.h"

ida_kind queue_figures_get(store *s, ida_ctx *c, const char *tenant, queue_figures *out)
{
    db_result r;
    *out = (queue_figures){0};
    ida_kind kind = store_read(s, c, STMT_queue_figures, DB_ARGS(DB_T(tenant)), &r);
    if (!kind) {
        const row_queue_figures *row = DB_ROW(queue_figures, &r, 0);
        *out = (queue_figures){row->queued.number, row->running.number, row->failed.number,
                               row->attention.number, row->braked.number};
    }
    return kind;
}

ida_kind queue_day_get(store *s, ida_ctx *c, const char *tenant, int64_t from, int64_t to,
                       queue_day *out)
{
    db_result r;
    *out = (queue_day){0};
    ida_kind kind = store_read(s, c, STMT_queue_day, DB_ARGS(DB_T(tenant), DB_I(from), DB_I(to)),
                               &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_queue_day *row = DB_ROW(queue_day, &r, i);
        int type = ida_task_type_parse(row->type.text);
        int64_t *of = type == IDA_USER_CREATE   ? &out->creates
                      : type == IDA_USER_UPDATE ? &out->updates
                      : type == IDA_USER_DELETE ? &out->deletes
                                                : &out->access;
        *of += row->tasks.number;
        out->done += row->done.number;
        out->late += row->late.number;
    }
    return kind;
}

ida_kind queue_done_count(store *s, ida_ctx *c, const char *tenant, ida_task_type type,
                          int64_t from, int64_t to, int64_t *count)
{
    return store_number(s, c, STMT_queue_done,
                        DB_ARGS(DB_T(tenant), DB_T(ida_task_type_text(type)), DB_I(from), DB_I(to)),
                        count);
}

ida_kind queue_oldest_known(store *s, ida_ctx *c, const char *tenant, int64_t *at)
{
    return store_number(s, c, STMT_queue_oldest, DB_ARGS(DB_T(tenant)), at);
}

STORE_FILL(begun_of, queue_begun, queue_begun, row->started_at.number, row->ready_at.number)

ida_kind queue_begun_list(store *s, ida_ctx *c, const char *tenant, int64_t from,
                          const queue_begun **rows, int *count)
{
    return store_rows(s, c, STMT_queue_begun,
                      DB_ARGS(DB_T(tenant), DB_I(from), DB_I(QUEUE_BEGUN_MAX)), begun_of,
                      sizeof **rows, rows, count);
}

ida_kind queue_waiting_since(store *s, ida_ctx *c, const char *tenant, int64_t now, int64_t *at)
{
    return store_number(s, c, STMT_queue_waiting, DB_ARGS(DB_T(tenant), DB_I(now)), at);
}

STORE_FILL(overdue_of, queue_overdue, queue_overdue,
           (ida_task_type)ida_task_type_parse(row->type.text), row->tasks.number, row->since.number)

ida_kind queue_overdue_list(store *s, ida_ctx *c, const char *tenant, int64_t now,
                            const queue_overdue **rows, int *count)
{
    return store_rows(s, c, STMT_queue_overdue, DB_ARGS(DB_T(tenant), DB_I(now)), overdue_of,
                      sizeof **rows, rows, count);
}
