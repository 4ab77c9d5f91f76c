/* Owns what is counted of tasks. Must not know who looks. */
#include "core/queue/figures.h"

#include <string.h>

#include "core/queue/change.h"
#include "core/store/rows.h"

ida_kind queue_count_states(store *s, ida_ctx *c, const char *tenant, queue_states *out)
{
    db_result r;
    memset(out, 0, sizeof *out);
    ida_kind kind = store_read(s, c, STMT_figures_states, DB_ARGS(DB_T(tenant)), &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_counted *row = DB_ROW(counted, &r, i);
        switch (ida_task_state_parse(row->word.text)) {
        case IDA_QUEUED: out->queued = row->number.number; break;
        case IDA_RUNNING: out->running = row->number.number; break;
        case IDA_FAILED: out->failed = row->number.number; break;
        default: out->attention = row->number.number;
        }
    }
    if (!kind && out->attention) {
        queue_needed braked;
        kind = queue_need_of(s, c, tenant, QUEUE_NEED_BRAKED, INT64_MAX, &braked);
        out->braked = kind ? 0 : braked.count;
        out->attention -= out->braked;
    }
    return kind;
}

ida_kind queue_count_due(store *s, ida_ctx *c, const char *tenant, int64_t from, int64_t to,
                         queue_due_kinds *out)
{
    db_result r;
    memset(out, 0, sizeof *out);
    ida_kind kind = store_read(s, c, STMT_figures_due, DB_ARGS(DB_T(tenant), DB_I(from), DB_I(to)),
                               &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_counted *row = DB_ROW(counted, &r, i);
        int64_t *of = &out->access;
        switch (ida_task_type_parse(row->word.text)) {
        case IDA_USER_CREATE: of = &out->creates; break;
        case IDA_USER_UPDATE: of = &out->updates; break;
        case IDA_USER_DELETE: of = &out->deletes; break;
        }
        *of += row->number.number;
    }
    return kind;
}

ida_kind queue_count_day(store *s, ida_ctx *c, const char *tenant, int64_t from, int64_t to,
                         int64_t late_ms, queue_day *out)
{
    db_result r;
    memset(out, 0, sizeof *out);
    ida_kind kind = store_read(s, c, STMT_figures_day,
                               DB_ARGS(DB_T(tenant), DB_I(from), DB_I(to), DB_I(late_ms)), &r);
    if (!kind) {
        const row_today *row = DB_ROW(today, &r, 0);
        *out = (queue_day){row->total.number, row->done.number, row->late.number};
    }
    return kind;
}

ida_kind queue_open_of(store *s, ida_ctx *c, const char *tenant, int64_t from, int64_t to, int max,
                       ida_task **tasks, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_figures_open,
                               DB_ARGS(DB_T(tenant), DB_I(from), DB_I(to), DB_I(max)), &r);
    *count = 0;
    *tasks = kind ? NULL : apr_palloc(c->pool, sizeof **tasks * (apr_size_t)(r.rows + 1));
    for (int i = 0; !kind && i < r.rows; i++) {
        ida_task *task;
        kind = queue_task_get(s, c, tenant, DB_ROW(id, &r, i)->id.text, 0, &task);
        if (!kind) {
            (*tasks)[(*count)++] = *task;
        } else if (kind == IDA_NOT_FOUND) { /* deleted since */
            ida_ctx_clear(c);
            kind = IDA_OK;
        }
    }
    return kind;
}

ida_kind queue_need_of(store *s, ida_ctx *c, const char *tenant, queue_need need,
                       int64_t due_before, queue_needed *out)
{
    static const struct {
        db_statement count, sample;
    } needs[QUEUE_NEEDS] = {
        [QUEUE_NEED_OFFBOARDING_FAILED] = {STMT_need_offboarding_failed_count,
                                           STMT_need_offboarding_failed},
        [QUEUE_NEED_OFFBOARDING_OVERDUE] = {STMT_need_offboarding_overdue_count,
                                            STMT_need_offboarding_overdue},
        [QUEUE_NEED_FAILED] = {STMT_need_failed_count, STMT_need_failed},
        [QUEUE_NEED_ATTENTION] = {STMT_need_attention_count, STMT_need_attention},
        [QUEUE_NEED_BRAKED] = {STMT_need_braked_count, STMT_need_braked},
    };
    db_result r;
    memset(out, 0, sizeof *out);
    db_arg args[] = {DB_T(tenant), DB_I(due_before)};
    ida_kind kind = store_read(s, c, needs[need].count, args, 2, &r);
    if (kind) {
        return kind;
    }
    out->count = DB_ROW(need, &r, 0)->number.number;
    out->since = DB_ROW(need, &r, 0)->since.number;
    if (!out->count) {
        return IDA_OK;
    }
    kind = store_read(s, c, needs[need].sample, args, 2, &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_task_told *row = DB_ROW(task_told, &r, i);
        out->sample[i].id = row->id.text;
        out->sample[i].upn = row->upn.text;
        out->sample[i].display_name = row->display_name.text;
        out->sample[i].error = row->error.text;
        out->samples++;
    }
    return kind;
}

ida_kind queue_count_done(store *s, ida_ctx *c, const char *tenant, ida_task_type type,
                          int64_t from, int64_t to, int64_t *count)
{
    return store_number(s, c, STMT_figures_done,
                        DB_ARGS(DB_T(tenant), DB_T(ida_task_type_text(type)), DB_I(from), DB_I(to)),
                        count);
}

ida_kind queue_history_from(store *s, ida_ctx *c, const char *tenant, int64_t *at)
{
    return store_number(s, c, STMT_figures_history, DB_ARGS(DB_T(tenant)), at);
}

static void begun_of(const db_result *r, int i, void *out)
{
    const row_begun *row = DB_ROW(begun, r, i);
    queue_begun *b = out;
    b->started_at = row->started_at.number;
    b->ready_at = row->created_at.number > row->due_at.number ? row->created_at.number
                                                              : row->due_at.number;
}

ida_kind queue_begun_since(store *s, ida_ctx *c, const char *tenant, int64_t since, int max,
                           const queue_begun **rows, int *count)
{
    return store_rows(s, c, STMT_figures_begun, DB_ARGS(DB_T(tenant), DB_I(since), DB_I(max)),
                      begun_of, sizeof **rows, rows, count);
}

ida_kind queue_waiting_since(store *s, ida_ctx *c, const char *tenant, int64_t *at)
{
    return store_number(s, c, STMT_figures_waiting, DB_ARGS(DB_T(tenant), DB_I(ida_now(c->env))),
                        at);
}
