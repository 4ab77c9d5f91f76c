/* Owns the round of retention over all tenants, and how much of it is done at once. Must not know how anything is removed. */
#include "worker/retention.h"

#include "core/store_audit.h"
#include "core/store_governance_write.h"
#include "core/store_idempotency.h"
#include "core/store_queue.h"
#include "core/store_tenant.h"

#define DAY_MS INT64_C(86400000)
#define TASKS_AT_ONCE 50 /* each is several statements under the tenant's lock */
#define ROWS_AT_ONCE 1000

struct retention {
    worker *w;
    apr_pool_t *pool; /* of the round */
    const store_tenant_id *ids;
    int count, at, begun; /* at: -1 for what belongs to no tenant */
    int kind;             /* of what is removed there: where the step before stopped */
};

/* One transaction of a kind; *more = 0 when nothing of it is left. */
typedef ida_kind (*slice)(store *main, store *audit, ida_ctx *c, const ida_tenant *tenant, int *more);

static ida_kind keys(store *main, store *audit, ida_ctx *c, const ida_tenant *tenant, int *more)
{
    int removed;
    (void)audit;
    (void)tenant;
    ida_kind kind = store_idempotency_retain(main, c, ida_now(c->env) - STORE_IDEMPOTENCY_KEPT_MS, ROWS_AT_ONCE, &removed);
    *more = !kind && removed == ROWS_AT_ONCE;
    return kind;
}

static ida_kind tasks(store *main, store *audit, ida_ctx *c, const ida_tenant *tenant, int *more)
{
    int removed = 0;
    (void)audit;
    ida_kind kind = tenant->task_history_days > 0
                        ? store_queue_retain(main, c, tenant->id, ida_now(c->env) - tenant->task_history_days * DAY_MS, TASKS_AT_ONCE, &removed)
                        : IDA_OK;
    *more = !kind && removed == TASKS_AT_ONCE;
    return kind;
}

static ida_kind requests(store *main, store *audit, ida_ctx *c, const ida_tenant *tenant, int *more)
{
    int removed = 0;
    (void)audit;
    ida_kind kind = tenant->task_history_days > 0
                        ? store_request_retain(main, c, tenant->id, ida_now(c->env) - tenant->task_history_days * DAY_MS, ROWS_AT_ONCE, &removed)
                        : IDA_OK;
    *more = !kind && removed == ROWS_AT_ONCE;
    return kind;
}

static ida_kind records(store *main, store *audit, ida_ctx *c, const ida_tenant *tenant, int *more)
{
    int64_t removed = 0;
    (void)main;
    ida_kind kind = tenant->audit_days > 0
                        ? store_audit_retain(audit, c, tenant->id, ida_now(c->env) - tenant->audit_days * DAY_MS, ROWS_AT_ONCE, &removed)
                        : IDA_OK;
    *more = !kind && removed == ROWS_AT_ONCE;
    return kind;
}

retention *retention_make(worker *w, apr_pool_t *pool)
{
    retention *t = apr_pcalloc(pool, sizeof *t);
    t->w = w;
    apr_pool_create(&t->pool, pool);
    return t;
}

static int begin(retention *t, store *main)
{
    apr_pool_clear(t->pool);
    t->at = -1;
    t->kind = 0;
    t->begun = store_tenant_ids(main, worker_ctx(t->w, t->pool), &t->ids, &t->count) == IDA_OK;
    return t->begun;
}

/* One kind after the other, as long as there is time. IDA_OK with *left = 1: time is up. */
static ida_kind carry_out(retention *t, store *main, store *audit, ida_ctx *c, const ida_tenant *tenant, const slice *slices, int count, int64_t until,
                          int *left)
{
    for (; t->kind < count; t->kind++) {
        for (int more = 1; more;) {
            if (worker_stopping(t->w) || ida_monotonic(c->env) >= until) {
                *left = 1;
                return IDA_OK;
            }
            ida_kind kind = slices[t->kind](main, audit, c, tenant, &more);
            if (kind) {
                return kind;
            }
        }
    }
    return IDA_OK;
}

static ida_kind of_one(retention *t, store *main, store *audit, ida_ctx *c, int64_t until, int *left)
{
    static const slice common[] = {keys}, own[] = {tasks, requests, records};
    ida_tenant *tenant;
    if (t->at < 0) {
        return carry_out(t, main, audit, c, NULL, common, 1, until, left);
    }
    ida_kind kind = store_tenant_get(main, c, t->ids[t->at].id, &tenant, NULL, NULL);
    return kind ? kind : carry_out(t, main, audit, c, tenant, own, 3, until, left);
}

int retention_step(retention *t, store *main, store *audit, apr_pool_t *pool)
{
    int64_t until = ida_monotonic(&t->w->env) + RETENTION_STEP_MS;
    apr_pool_t *each;
    int left = 0;
    if (!t->begun && !begin(t, main)) {
        return 0; /* the store is away; the next round is as good */
    }
    apr_pool_create(&each, pool);
    while (t->at < t->count && !left) {
        ida_ctx *c = worker_ctx(t->w, each);
        if (of_one(t, main, audit, c, until, &left)) {
            ida_log(&t->w->env, IDA_LOG_WARN, "IDA0603", "what is past its retention%s%s could not be removed; tried again in an hour: %s",
                    t->at < 0 ? "" : " in tenant ", t->at < 0 ? "" : t->ids[t->at].id, c->message ? c->message : ida_kind_text(c->kind));
        }
        if (!left) {
            t->at++;
            t->kind = 0;
        }
        apr_pool_clear(each);
    }
    t->begun = left;
    return left && !worker_stopping(t->w);
}
