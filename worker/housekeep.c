/* Owns the periodic duties and their rhythm. Knows what each is called, not how it is done. */
#include "worker/housekeep.h"

#include <time.h>
#include <unistd.h>

#include "core/audit/spool.h"
#include "core/base/text.h"
#include "core/queue/zone_changes.h"
#include "core/store/chain_key.h"
#include "core/store/directory.h"
#include "worker/connectors.h"
#include "worker/hold/health.h"
#include "worker/hold/idle.h"
#include "worker/hold/repairs.h"
#include "worker/hold/slot.h"
#include "worker/ingest.h"
#include "worker/metrics.h"
#include "worker/retention.h"
#include "worker/system_log.h"

#define OUTBOX_BATCHES 8 /* of one pass: then the spool has its turn */
#define METRICS_MS 10000
#define SHARE_MS 2000 /* how late a new worker is noticed by those that share limits with it */

typedef struct keeper {
    worker *w;
    takeover *watch;
    sync_plan *plan;
    store *main, *cache, *audit;
    retention *retention;
    int64_t again; /* ms; set by a duty that wants to be called again before its time */
    queue_zone_changes *walls;
} keeper;

struct housekeeping {
    keeper k;
    atomic_int heart_may_end;
    hold_threads threads;
};

/* --- heartbeat --- */

static void beat(worker *w, store *main, apr_pool_t *pool)
{
    hold_lease_renew_all(w, main, pool);
    ida_ctx *c = worker_ctx(w, pool);
    if (hold_seen(w, main, c)) {
        ida_log(&w->env, IDA_LOG_DEBUG, NULL, "the heartbeat cannot be written: %s",
                c->message ? c->message : "");
    }
}

/* The limits of a cloud directory belong to the application, so the workers on one store divide
 * them. A worker that has not been seen for a little more than three heartbeats is gone. */
static void share(worker *w, store *main, apr_pool_t *pool)
{
    const store_worker *rows;
    int count = 0, live = 0;
    int64_t now = ida_now(&w->env);
    if (store_worker_list(main, worker_ctx(w, pool), &rows, &count)) {
        return; /* the last known share stays valid */
    }
    for (int i = 0; i < count; i++) {
        live += now - rows[i].seen_at < 3 * LEASE_RENEW_MS + 5000;
    }
    connectors_share(live);
}

static void heart_thread(hold_thread *t)
{
    housekeeping *h = t->baton;
    worker *w = t->w;
    int64_t last = 0, shared = 0;
    while (!atomic_load(&h->heart_may_end)) {
        int64_t now = ida_monotonic(&w->env);
        if (!last || now - last >= LEASE_RENEW_MS) {
            last = now;
            beat(w, t->main, t->pool);
            apr_pool_clear(t->pool);
        }
        if (!shared || now - shared >= SHARE_MS) {
            shared = now;
            share(w, t->main, t->pool);
            apr_pool_clear(t->pool);
        }
        struct timespec pause = {.tv_nsec = 50 * 1000000};
        nanosleep(&pause, NULL);
    }
    store_worker_gone(t->main, worker_ctx(w, t->pool), w->id);
}

/* --- ingestion --- */

/* A lasting fault is logged once a minute, not once a second. */
static int say_now(worker *w, _Atomic int64_t *last)
{
    return ida_say_now(last, ida_monotonic(&w->env), 60000);
}

/* Another worker of this node may read the spool now and then; one that reads without pause, or
 * hangs, is logged. */
static void watch_reader(worker *w, const char *spool, int busy)
{
    static _Atomic int64_t said, since;
    int64_t now = ida_monotonic(&w->env), first = 0;
    if (!busy) {
        atomic_store(&since, 0);
    } else if (!atomic_compare_exchange_strong(&since, &first, now) && now - first >= 60000 &&
               say_now(w, &said)) {
        ida_log(&w->env, IDA_LOG_WARN, "IDA0413",
                "another process has been reading the spool %s for %lld s, and no audit record is "
                "taken from it here: a second worker or \"idadminctl audit ingest\" with much to "
                "read ends by itself; else find the one that holds %s/" AUDIT_SPOOL_READER_LOCK
                " (fuser) and end it",
                spool, (long long)((now - first) / 1000), spool);
    }
}

static int ingest_spool_once(worker *w, store *audit, apr_pool_t *pool, const worker_config *config)
{
    static _Atomic int64_t said, said_strange, said_stuck;
    ingest_summary summary;
    ida_ctx *c = worker_ctx(w, pool);
    ida_kind kind = ingest_spool(audit, c, config->spool, 0, &summary);
    int fine = kind == IDA_OK || kind == IDA_CONFLICT /* another worker of this node reads it */ ||
               (kind == IDA_NOT_FOUND && !config->spool_given);
    watch_reader(w, config->spool, kind == IDA_CONFLICT);
    if (!fine && say_now(w, &said)) {
        ida_log(&w->env, kind == IDA_NOT_FOUND ? IDA_LOG_WARN : IDA_LOG_ERROR, "IDA0601",
                "audit records cannot be taken from the spool: %s", c->message ? c->message : "");
    }
    if (summary.strangers && say_now(w, &said_strange)) {
        ida_log(
            &w->env, IDA_LOG_WARN, "IDA0410",
            "%s in the spool with the name of a segment, but not regular (%s): passed over; find "
            "out where they come from, and remove them",
            ida_count(pool, summary.strangers, "file", "files"), summary.strange);
    }
    if (summary.stuck && say_now(w, &said_stuck)) {
        ida_log(
            &w->env, IDA_LOG_WARN, "IDA0414",
            "%s of the spool cannot be removed after reading, because a process still holds them "
            "minutes after httpd let go (%s): find it (fuser) and end it, or the spool grows",
            ida_count(pool, summary.held, "segment", "segments"), summary.stuck);
    }
    return !fine;
}

int housekeep_ingest(worker *w, store *main, store *audit, apr_pool_t *pool,
                     store_audit_turns *turns)
{
    static _Atomic int64_t said;
    static _Atomic int64_t said_key;
    worker_config config;
    ida_ctx *c = worker_ctx(w, pool);
    ida_kind kind = store_audit_ready(audit, c);
    worker_settings(w, pool, &config);
    system_log_follow(audit, &config);
    turns->more = 0;
    if (kind && kind != IDA_SERVICE_UNAVAILABLE) { /* an unreachable store is logged below */
        if (say_now(w, &said_key)) {
            ida_log(&w->env, IDA_LOG_ERROR, "IDA0418",
                    "audit records stay in spool and outbox, nothing of them is lost: %s",
                    c->message ? c->message : ida_kind_text(kind));
        }
        return 1;
    }
    ida_ctx_clear(c);
    /* With another seal key than the store's every record in the outbox would seem to be forged. */
    hold_idle_look(w, main, pool);
    kind = hold_idle_reason(w) ? IDA_OK : ingest_outbox(main, audit, c, OUTBOX_BATCHES, turns);
    if (kind && say_now(w, &said)) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0602",
                "audit records cannot be taken from the outbox: %s", c->message ? c->message : "");
    }
    return (kind != IDA_OK) | ingest_spool_once(w, audit, pool, &config);
}

static void ingest_thread(hold_thread *t)
{
    store_audit_turns turns = {0};
    while (!worker_stopping(t->w)) {
        int failed = housekeep_ingest(t->w, t->main, t->audit, t->pool, &turns);
        apr_pool_clear(t->pool);
        worker_nap(t->w, turns.more && !failed ? 0 : 1000);
    }
}

/* --- duties of the housekeeper --- */

static void watch(keeper *k, apr_pool_t *pool)
{
    static _Atomic int64_t said;
    hold_idle_look(k->w, k->main, pool);
    hold_takeover_watch(k->watch, k->main, pool);
    hold_watch_calls(k->w, k->main, pool);
    hold_check_repairs(k->w, k->main, pool);
    ida_ctx *c = worker_ctx(k->w, pool);
    if (sync_plan_refresh(k->plan, k->main, c) && say_now(k->w, &said)) {
        ida_log(&k->w->env, IDA_LOG_WARN, "IDA0505",
                "the tenants cannot be read, syncs go on with what is known of them: %s",
                c->message ? c->message : "");
    }
}

static void alarms(keeper *k, apr_pool_t *pool)
{
    hold_alarmed(k->w, k->main, pool);
}

static void checkpoint(keeper *k, apr_pool_t *pool)
{
    store *const stores[] = {k->main, k->cache, k->audit};
    for (int i = 0; i < 3; i++) {
        ida_ctx *c = worker_ctx(k->w, pool);
        if (store_checkpoint(stores[i], c)) {
            ida_log(&k->w->env, IDA_LOG_DEBUG, NULL, "checkpoint put off: %s",
                    c->message ? c->message : "");
        }
    }
}

static void walls(keeper *k, apr_pool_t *pool)
{
    int moved;
    ida_ctx *c = worker_ctx(k->w, pool);
    if (queue_zone_changes_look(k->walls, k->main, c, worker_stopping, k->w, &moved)) {
        ida_log(&k->w->env, IDA_LOG_DEBUG, NULL, "due times could not be looked at: %s",
                c->message ? c->message : "");
    }
}

static void retain(keeper *k, apr_pool_t *pool)
{
    worker_config config;
    worker_settings(k->w, pool, &config);
    system_log_follow(k->audit, &config);
    k->again = retention_step(k->retention, k->main, k->audit, pool);
}

static void expiry(keeper *k, apr_pool_t *pool)
{
    expiry_say(k->w, k->main, pool);
}

static void metrics(keeper *k, apr_pool_t *pool)
{
    metrics_write(k->w, k->main, k->audit, pool);
}

static const struct duty {
    void (*carry_out)(keeper *k, apr_pool_t *pool);
    int64_t every, first; /* ms; first: after the start */
} duties[] = {
    {watch, 1000, 0},
    {checkpoint, 1000, 1000},
    {alarms, 10000, 1000},
    {walls, 10000, 2000},
    {retain, 3600000, 10000},
    {expiry, 86400000, 3000},
    {metrics, METRICS_MS, 1000},
};
#define DUTIES (sizeof duties / sizeof duties[0])

static void keeper_thread(hold_thread *t)
{
    housekeeping *h = t->baton;
    keeper *k = &h->k;
    worker *w = t->w;
    apr_pool_t *own;
    int64_t due[DUTIES];
    apr_pool_create(&own, NULL);
    k->main = t->main;
    k->cache = t->cache;
    k->audit = t->audit;
    k->walls = queue_zone_changes_make(own);
    k->retention = retention_make(w, own);
    for (size_t i = 0; i < DUTIES; i++) {
        due[i] = ida_monotonic(&w->env) + duties[i].first;
    }
    while (!worker_stopping(w)) {
        for (size_t i = 0; i < DUTIES && !worker_stopping(w); i++) {
            if (ida_monotonic(&w->env) >= due[i]) {
                k->again = 0;
                due[i] = ida_monotonic(&w->env) + duties[i].every;
                duties[i].carry_out(k, t->pool);
                due[i] = k->again ? ida_monotonic(&w->env) + k->again : due[i];
                apr_pool_clear(t->pool);
            }
        }
        worker_nap(w, 100);
    }
    apr_pool_destroy(own);
}

housekeeping *housekeep_start(worker *w, takeover *watched, sync_plan *plan, apr_pool_t *pool,
                              int heartbeat_alone)
{
    /* Three threads that probe directories: one company's directories are probed by one at a
     * time. */
    static const hold_work works[] = {heart_thread,  ingest_thread, keeper_thread, doctor_thread,
                                      doctor_thread, doctor_thread, verify_thread};
    housekeeping *h = apr_pcalloc(pool, sizeof *h);
    h->k = (keeper){.w = w, .watch = watched, .plan = plan};
    int count = heartbeat_alone ? 1 : (int)(sizeof works / sizeof *works);
    for (int i = 0; i < count; i++) {
        if (!hold_thread_start(&h->threads, w, works[i], h)) {
            return NULL; /* the caller ends the process */
        }
    }
    return h;
}

int housekeep_join(housekeeping *h, int64_t until)
{
    atomic_store(&h->heart_may_end, 1);
    return hold_threads_join(&h->threads, h->k.w, until);
}
