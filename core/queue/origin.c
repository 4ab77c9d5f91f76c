/* Owns the look at whether each task was queued by what the audit recorded. Must not know who is
 * told. */
#include "core/queue/origin.h"

#include <apr_strings.h>

#include "core/store/rows.h"

static ida_kind page(store *s, ida_ctx *c, const char *tenant, const char *after, int limit,
                     const store_origin **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_task_origin,
                               DB_ARGS(DB_T(tenant), DB_T(after), DB_I(limit)), &r);
    *count = kind ? 0 : r.rows;
    store_origin *all = apr_palloc(c->pool, sizeof *all * (apr_size_t)(*count + 1));
    for (int i = 0; i < *count; i++) {
        const row_task_origin *t = DB_ROW(task_origin, &r, i);
        all[i] = (store_origin){t->id.text, t->created_at.number, (int)t->origin.number,
                                t->finished_at.number == 0, NULL};
    }
    *rows = all;
    return kind;
}

ida_kind queue_origins(store *s, ida_ctx *c, const char *tenant, store_origins *out)
{
    return store_origins_look(s, c, tenant, "task", "no audit record queued it", page, out);
}
