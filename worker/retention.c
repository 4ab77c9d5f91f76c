/* Owns the round of retention over all tenants and its pace. Must not know how rows are removed. */
#include "worker/retention.h"

#include "core/governance/decision.h"
#include "core/queue/claim.h"
#include "core/queue/event.h"
#include "core/store/audit.h"
#include "core/store/idempotency.h"
#include "core/store/tenant.h"
#include "worker/hold/idle.h"

#define DAY_MS INT64_C(86400000)
#define TASKS_AT_ONCE 50 /* each is several statements under the tenant's lock */
#define ROWS_AT_ONCE 1000
#define PHOTO_DAYS 30 /* of a task that failed */

struct retention {
    worker *w;
    apr_pool_t *pool; /* of the round */
    const store_tenant_id *ids;
    int count, at, begun; /* at: -1 for what belongs to no tenant */
    int kind;             /* of what is removed there: where the step before stopped */
    int away;             /* the store could not be used somewhere in this round */
    /* of the step in hand */
    store *main, *audit;
    int64_t until;
};

/* --- what is kept, and for how long (ms); 0: for ever --- */

static int64_t key_time(const ida_tenant *tenant)
{
    (void)tenant;
    return STORE_IDEMPOTENCY_KEPT_MS;
}

static int64_t history(const ida_tenant *tenant)
{
    return tenant->task_history_days * DAY_MS;
}

/* A failed task may be retried: its photo is kept for as long as a retry is likely. */
static int64_t photo_time(const ida_tenant *tenant)
{
    int64_t kept = history(tenant);
    return kept && kept < PHOTO_DAYS * DAY_MS ? kept : PHOTO_DAYS * DAY_MS;
}

static int64_t audit_time(const ida_tenant *tenant)
{
    return tenant->audit_days * DAY_MS;
}

static ida_kind remove_keys(store *s, ida_ctx *c, const char *tenant, int64_t before, int max,
                            int *removed)
{
    (void)tenant;
    return store_idempotency_retain(s, c, before, max, removed);
}

typedef struct kind_kept {
    int64_t (*kept)(const ida_tenant *tenant);
    /* One transaction: at most `max` of those older than `before` (ms UTC); less than that removed:
     * no more of them. */
    ida_kind (*remove)(store *s, ida_ctx *c, const char *tenant, int64_t before, int max,
                       int *removed);
    int at_once, in_audit;
} kind_kept;

static const kind_kept of_nobody[] = {{key_time, remove_keys, ROWS_AT_ONCE, 0}, {0}};
/* Events before their tasks, which would take them along: what is kept has no holes. */
static const kind_kept of_tenant[] = {{history, queue_event_retain, ROWS_AT_ONCE, 0},
                                      {history, queue_retain, TASKS_AT_ONCE, 0},
                                      {photo_time, queue_retain_photos, TASKS_AT_ONCE, 0},
                                      {history, governance_request_retain, ROWS_AT_ONCE, 0},
                                      {audit_time, store_audit_retain, ROWS_AT_ONCE, 1},
                                      {0}};

/* *more = 0 when nothing of the kind is left. `tenant` NULL: of no tenant. */
static ida_kind remove_some(const retention *t, const kind_kept *k, ida_ctx *c,
                            const ida_tenant *tenant, int *more)
{
    int removed = 0;
    int64_t kept = k->kept(tenant), before = ida_now(c->env) - kept;
    store *s = k->in_audit ? t->audit : t->main;
    ida_kind kind = kept > 0
                        ? k->remove(s, c, tenant ? tenant->id : NULL, before, k->at_once, &removed)
                        : IDA_OK;
    *more = !kind && removed == k->at_once;
    return kind;
}

/* --- the round --- */

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
    t->away = 0;
    t->begun = store_tenant_ids(main, worker_ctx(t->w, t->pool), &t->ids, &t->count) == IDA_OK;
    return t->begun;
}

/* One kind after the other, as long as there is time. IDA_OK with *left = 1: time is up. */
static ida_kind carry_out(retention *t, ida_ctx *c, const ida_tenant *tenant,
                          const kind_kept *kinds, int *left)
{
    for (; kinds[t->kind].kept; t->kind++) {
        for (int more = 1; more;) {
            if (worker_stopping(t->w) || ida_monotonic(c->env) >= t->until) {
                *left = 1;
                return IDA_OK;
            }
            ida_kind kind = remove_some(t, &kinds[t->kind], c, tenant, &more);
            if (kind) {
                return kind;
            }
        }
    }
    return IDA_OK;
}

static ida_kind of_one(retention *t, ida_ctx *c, int *left)
{
    ida_tenant *tenant;
    if (t->at < 0) {
        return carry_out(t, c, NULL, of_nobody, left);
    }
    ida_kind kind = store_tenant_get(t->main, c, t->ids[t->at].id, &tenant, NULL);
    return kind ? kind : carry_out(t, c, tenant, of_tenant, left);
}

static void say_put_off(const retention *t, const ida_ctx *c)
{
    const int nobody = t->at < 0;
    ida_log(&t->w->env, IDA_LOG_WARN, "IDA0603",
            "what is past its retention%s%s could not be removed; tried again in %s: %s",
            nobody ? "" : " in tenant ", nobody ? "" : t->ids[t->at].id,
            c->kind == IDA_SERVICE_UNAVAILABLE ? "a minute" : "an hour",
            c->message ? c->message : ida_kind_text(c->kind));
}

int64_t retention_step(retention *t, store *main, store *audit, apr_pool_t *pool)
{
    apr_pool_t *each;
    int left = 0;
    if (hold_idle_reason(t->w)) {
        return 0; /* with another key no document is to be followed */
    }
    if (!t->begun && !begin(t, main)) {
        return RETENTION_AWAY_MS;
    }
    t->main = main;
    t->audit = audit;
    t->until = ida_monotonic(&t->w->env) + RETENTION_STEP_MS;
    apr_pool_create(&each, pool);
    while (t->at < t->count && !left) {
        ida_ctx *c = worker_ctx(t->w, each);
        if (of_one(t, c, &left)) {
            say_put_off(t, c);
            t->away |= c->kind == IDA_SERVICE_UNAVAILABLE;
        }
        if (!left) {
            t->at++;
            t->kind = 0;
        }
        apr_pool_clear(each);
    }
    t->begun = left;
    return left ? RETENTION_MORE_MS : t->away ? RETENTION_AWAY_MS : 0;
}
