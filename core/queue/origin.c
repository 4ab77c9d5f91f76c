/* Owns the check that an audit record exists for the queueing of each task. Must not know how the
 * result is reported. */
#include "core/queue/origin.h"

#include <apr_strings.h>

#include "core/base/text.h"
#include "core/store/rows.h"

#define RUNS 500
#define TASK "task"

static ida_kind page(store *s, ida_ctx *c, const char *tenant, const char *after, int limit,
                     const store_origin **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_origin_task,
                               DB_ARGS(DB_T(tenant), DB_T(after), DB_I(limit)), &r);
    *count = kind ? 0 : r.rows;
    store_origin *all = apr_palloc(c->pool, sizeof *all * (apr_size_t)(*count + 1));
    for (int i = 0; i < *count; i++) {
        const row_origin_task *t = DB_ROW(origin_task, &r, i);
        all[i] = (store_origin){t->id.text, t->created_at.number, (int)t->origin.number,
                                t->finished_at.number == 0, NULL};
    }
    *rows = all;
    return kind;
}

ida_kind queue_origins(store *s, ida_ctx *c, const char *tenant, store_origins *out)
{
    return store_origins_look(s, c, tenant, TASK, "no audit record queued it", page, out);
}

static ida_kind judge_run(store *s, ida_ctx *c, const char *tenant, const row_run_ended *run,
                          int64_t seen, store_origins *out)
{
    const char *id = run->id.text;
    int64_t origin = run->origin.number, at = id ? ida_id_time(id) : -1;
    db_result waits = {.rows = 0};
    ida_kind kind = IDA_OK;
    if (id && !origin) { /* the record of another node may come late: outbox first, see origin.c */
        kind = store_read(s, c, STMT_origin_waits, DB_ARGS(DB_T(tenant), DB_T(id)), &waits);
        kind = kind ? kind
                    : store_number(s, c, STMT_run_queued, DB_ARGS(DB_T(tenant), DB_T(id), DB_I(at)),
                                   &origin);
        origin = waits.rows ? 1 : origin;
    }
    int old = at < out->since &&
              (run->seq.number <= seen || store_origins_knew(out, TASK, id ? id : ""));
    int marked = id && out->known && store_origins_knew(out, STORE_STRAY_RUN, id);
    if (!kind && id && !origin && (!old || marked)) {
        if (!marked) {
            APR_ARRAY_PUSH(out->seen, const char *) = apr_pstrcat(c->pool, STORE_STRAY_RUN ":", id,
                                                                  NULL);
        }
        store_origins_add(c, out, TASK, id, "it was carried out, and no audit record queued it",
                          at);
    }
    return kind;
}

ida_kind queue_origins_of_runs(store *s, ida_ctx *c, const char *tenant, int64_t after, int64_t to,
                               int64_t seen, store_origins *out)
{
    ida_kind kind = IDA_OK;
    for (int count = RUNS; !kind && count == RUNS && !out->more;) {
        apr_pool_t *pool;
        db_result r;
        apr_pool_create(&pool, c->pool);
        ida_ctx *own = ida_ctx_make(c->env, pool);
        kind = store_read(s, own, STMT_run_ended,
                          DB_ARGS(DB_T(tenant), DB_I(after), DB_I(to), DB_I(RUNS)), &r);
        count = kind ? 0 : r.rows;
        for (int i = 0; !kind && i < count; i++) {
            const row_run_ended *run = DB_ROW(run_ended, &r, i);
            after = run->seq.number;
            kind = judge_run(s, c, tenant, run, seen, out);
        }
        if (kind && !c->kind) {
            ida_fail(c, kind, "%s", own->message ? own->message : ida_kind_text(kind));
        }
        apr_pool_destroy(pool);
    }
    return kind;
}
