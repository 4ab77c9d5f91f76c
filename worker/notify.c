/* Owns when events are sent to receivers, and what an answer means for the event and the
 * receiver. Must not know how a call is signed and sent (worker/send/webhook.h) or which event
 * is next (core/queue/delivery.h). */
#include "worker/notify.h"

#include <apr_hash.h>
#include <stdio.h>
#include <string.h>

#include "core/base/correlation.h"
#include "core/base/json.h"
#include "core/queue/delivery.h"
#include "core/queue/event.h"
#include "core/store/tenant.h"
#include "worker/hold/idle.h"
#include "worker/hold/rules.h"
#include "worker/send/webhook.h"

#define THREADS 8
#define LOOK_MS 500
#define LOOK_MAX 256
#define SLICE_MS 5000                 /* then other receivers have their turn */
#define RESERVE_MS 15000              /* part of a lease kept for recording the result of a call */
#define STORE_NAP_MS 500              /* until that is tried again while the store is away */
#define SAID_AFTER 3                  /* successive calls that failed before it is logged */
#define GIVE_UP_MS INT64_C(259200000) /* three days: a weekend and a day to notice */

struct notifier {
    worker *w;
    /* Held while looking for work: one thread at a time, which alone uses the members below. */
    pthread_mutex_t looking;
    apr_pool_t *seen_pool;
    apr_hash_t *seen; /* receiver -> standing, for receivers that a worker has leased */
    pthread_mutex_t lock;
    char at[THREADS][72]; /* the receiver that each thread is calling, under the lock; "": none */
    hold_threads threads;
};

/* Since when a fencing number has not changed, by this process's own clock: a taker waits a
 * whole lease, and a holder begins no call when less of it is left than a call and its record
 * may take. */
typedef struct standing {
    int64_t fence, since;
} standing;

/* One receiver in this thread's hands. */
typedef struct turn {
    notifier *n;
    worker *w;
    int thread; /* this one's number */
    store *main;
    apr_pool_t *pool; /* of one event */
    queue_receiver receiver;
    int64_t proven;         /* monotonic ms just before the last write that found it to be ours */
    const char *fault;      /* why it must not be called, or NULL */
    const json_t *settings; /* of the sealed document; NULL: it names no such receiver */
} turn;

/* --- taking one --- */

/* 1: the holder's number has not changed for a whole lease. */
static int stands_still(const notifier *n, apr_hash_t *now_seen, apr_pool_t *pool,
                        const queue_receiver *r, int64_t now)
{
    const char *key = ida_printf(pool, "%s\n%s", r->tenant, r->url);
    const standing *before = n->seen ? apr_hash_get(n->seen, key, APR_HASH_KEY_STRING) : NULL;
    standing *s = apr_palloc(pool, sizeof *s);
    *s = (standing){r->fence, before && before->fence == r->fence ? before->since : now};
    apr_hash_set(now_seen, key, APR_HASH_KEY_STRING, s);
    return now - s->since > LEASE_MS;
}

/* As with run threads: no company has more threads than are left for the others. */
static int begin_at(turn *t, const char *tenant)
{
    int there = 0, free = 0;
    notifier *n = t->n;
    pthread_mutex_lock(&n->lock);
    for (int i = 0; i < THREADS; i++) {
        if (i != t->thread) {
            there += strcmp(n->at[i], tenant) == 0;
            free += !n->at[i][0];
        }
    }
    if (there <= free) {
        snprintf(n->at[t->thread], sizeof n->at[0], "%s", tenant);
    }
    pthread_mutex_unlock(&n->lock);
    return there <= free;
}

static void end_at(turn *t)
{
    pthread_mutex_lock(&t->n->lock);
    t->n->at[t->thread][0] = '\0';
    pthread_mutex_unlock(&t->n->lock);
}

static int take(turn *t, ida_ctx *c, const queue_receiver *r)
{
    if (!begin_at(t, r->tenant)) {
        return 0;
    }
    t->proven = ida_monotonic(&t->w->env);
    t->receiver = *r;
    if (queue_receiver_take(t->main, c, &t->receiver, t->w->id)) {
        ida_ctx_clear(c);
        end_at(t);
        return 0;
    }
    return 1;
}

/* 1: *t has one. */
static int look(notifier *n, turn *t, apr_pool_t *pool)
{
    const queue_receiver *rows;
    int count, taken = 0;
    apr_pool_t *fresh;
    if (hold_idle_reason(t->w)) {
        return 0;
    }
    ida_ctx *c = worker_ctx(t->w, pool);
    if (queue_receiver_due(t->main, c, ida_now(&t->w->env), LOOK_MAX, &rows, &count)) {
        return 0; /* the store is unreachable: the run threads log that */
    }
    apr_pool_create(&fresh, NULL);
    apr_hash_t *seen = apr_hash_make(fresh);
    int64_t now = ida_monotonic(&t->w->env);
    for (int i = 0; i < count; i++) {
        int free = !rows[i].owner || stands_still(n, seen, fresh, &rows[i], now);
        taken = taken || (free && take(t, c, &rows[i]));
    }
    if (n->seen_pool) {
        apr_pool_destroy(n->seen_pool);
    }
    n->seen_pool = fresh;
    n->seen = seen;
    return taken;
}

/* --- one event --- */

/* Uses the sealed document, whatever the rows derived from it contain. */
static void read_settings(turn *t, apr_pool_t *pool)
{
    ida_tenant *tenant;
    size_t i;
    const json_t *one;
    const queue_receiver *r = &t->receiver;
    ida_ctx *c = worker_ctx(t->w, pool);
    t->settings = NULL;
    t->fault = store_tenant_get(t->main, c, r->tenant, &tenant, NULL)
                   ? ida_printf(pool, "The tenant's document cannot be read: %s", c->message)
                   : NULL;
    if (t->fault) {
        return;
    }
    json_array_foreach (json_object_get(tenant->document, "notifications"), i, one) {
        if (strcmp(ida_json_string(one, "url"), r->url) == 0) {
            t->settings = one;
        }
    }
}

static webhook_outcome call(turn *t, const queue_event *event, int *retry_after,
                            const char **detail)
{
    *retry_after = 0;
    if (t->fault) {
        *detail = t->fault;
        return WEBHOOK_LATER;
    }
    if (!t->settings) {
        *detail = "The tenant's document names this receiver no more";
        return WEBHOOK_GONE;
    }
    if (!queue_event_is_ours(worker_ctx(t->w, t->pool), event)) {
        *detail =
            "No worker said what the store has of this event: somebody else wrote it, or it is "
            "older than the upgrade that gave events a proof";
        return WEBHOOK_GONE;
    }
    const webhook_call made = {.url = t->receiver.url,
                               .secret_file = ida_json_string(t->settings, "secretFile"),
                               .ca_file = ida_json_string(t->settings, "caFile"),
                               .id = event->id,
                               .body = event->body,
                               .allow_private = json_is_true(
                                   json_object_get(t->settings, "allowPrivate"))};
    ida_correlation correlation;
    ida_env env = t->w->env;
    if (event->correlation) {
        ida_correlation_take(&env, event->correlation, event->trace, &correlation);
        env = ida_env_correlated(&t->w->env, &correlation);
    }
    return webhook_send(&env, t->pool, &made, retry_after, detail);
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What the record of a call is repeated for while the store is away: another call would be the
 * other choice. */
static ida_kind record(turn *t, const queue_delivery *d, const queue_delivery_failure *failure)
{
    while (1) {
        ida_ctx *c = worker_ctx(t->w, t->pool);
        int64_t begun = ida_monotonic(&t->w->env);
        ida_kind kind = failure ? queue_delivery_failed(t->main, c, &t->receiver, d, failure)
                                : queue_delivery_done(t->main, c, &t->receiver, d);
        t->proven = kind ? t->proven : begun;
        if (kind != IDA_SERVICE_UNAVAILABLE || begun - t->proven > LEASE_MS) {
            return kind;
        }
        worker_nap(t->w, STORE_NAP_MS);
        if (worker_stopping(t->w)) {
            return kind;
        }
    }
}

/* The part after "?" may be a secret of the receiver. */
static const char *shown(const turn *t)
{
    const char *url = t->receiver.url;
    return ida_printf(t->pool, "%.*s", (int)strcspn(url, "?"), url);
}

static ida_kind took(turn *t, const queue_delivery *d)
{
    int64_t failures = t->receiver.failures;
    ida_kind kind = record(t, d, NULL);
    if (!kind && failures >= SAID_AFTER) {
        ida_log(&t->w->env, IDA_LOG_INFO, NULL, "tenant %s: the receiver %s takes events again",
                t->receiver.tenant, shown(t));
    }
    return kind;
}

static ida_kind took_not(turn *t, const queue_delivery *d, const queue_event *event, int gone,
                         int retry_after, const char *detail)
{
    uint32_t random;
    const queue_receiver *r = &t->receiver;
    int64_t now = ida_now(&t->w->env);
    ida_random(&t->w->env, &random, sizeof random);
    const queue_delivery_failure failure = {
        .error = detail,
        .next_at = now + longer(hold_event_ms(d->tries, random), retry_after),
        .receiver_next_at = now + longer(hold_backoff_ms(r->failures, random), retry_after),
        .give_up = gone || (d->failed_at && now - d->failed_at >= GIVE_UP_MS)};
    ida_kind kind = record(t, d, &failure);
    if (kind) {
        return kind;
    }
    if (failure.give_up) {
        ida_log(&t->w->env, IDA_LOG_ERROR, "IDA0371",
                "tenant %s: the receiver %s has not taken event %s (%s, task %s), which is given "
                "up: %s; look at the receiver, then idadminctl notification retry",
                r->tenant, shown(t), event->id, event->type, event->task_id, detail);
    } else if (r->failures == SAID_AFTER) {
        ida_log(&t->w->env, IDA_LOG_WARN, "IDA0370",
                "tenant %s: the receiver %s does not take events, they wait and are tried again: "
                "%s",
                r->tenant, shown(t), detail);
    }
    return IDA_OK;
}

/* IDA_OK: the next event may be sent; IDA_NOT_FOUND: no more for now; IDA_CONFLICT: another
 * worker has the receiver. */
static ida_kind tell_next(turn *t)
{
    const queue_event *event;
    queue_delivery next;
    int count, retry_after;
    const char *detail;
    ida_ctx *c = worker_ctx(t->w, t->pool);
    ida_kind kind = queue_delivery_next(t->main, c, &t->receiver, &next);
    kind = kind ? kind
                : queue_event_list(t->main, c, t->receiver.tenant, next.seq - 1, 1, &event, &count);
    if (kind || !count || event->seq != next.seq) {
        return kind ? kind : IDA_NOT_FOUND; /* removed meanwhile */
    }
    if (ida_monotonic(&t->w->env) - t->proven > LEASE_MS - WEBHOOK_MS - RESERVE_MS) {
        return IDA_NOT_FOUND;
    }
    webhook_outcome outcome = call(t, event, &retry_after, &detail);
    if (outcome == WEBHOOK_TAKEN) {
        return took(t, &next);
    }
    kind = took_not(t, &next, event, outcome == WEBHOOK_GONE, retry_after, detail);
    return kind ? kind : IDA_NOT_FOUND;
}

static void serve(turn *t, apr_pool_t *pool)
{
    ida_kind kind = IDA_OK;
    int64_t until = ida_monotonic(&t->w->env) + SLICE_MS;
    read_settings(t, pool);
    apr_pool_create(&t->pool, pool);
    while (!kind && !worker_stopping(t->w) && ida_monotonic(&t->w->env) < until) {
        kind = tell_next(t);
        apr_pool_clear(t->pool);
    }
    if (kind == IDA_CONFLICT) {
        ida_log(&t->w->env, IDA_LOG_WARN, "IDA0372",
                "tenant %s: another worker took the receiver %s over; this worker calls it no more",
                t->receiver.tenant, shown(t));
    } else {
        queue_receiver_leave(t->main, worker_ctx(t->w, pool), &t->receiver);
    }
    end_at(t);
}

/* --- threads --- */

static void notify_thread(hold_thread *thread)
{
    notifier *n = thread->baton;
    worker *w = thread->w;
    turn t = {.n = n, .w = w, .thread = thread->index, .main = thread->main};
    while (!worker_stopping(w)) {
        int taken = 0;
        pthread_mutex_lock(&n->looking);
        while (!taken && !worker_stopping(w)) {
            taken = look(n, &t, thread->pool);
            if (!taken) {
                apr_pool_clear(thread->pool);
                worker_nap(w, LOOK_MS);
            }
        }
        pthread_mutex_unlock(&n->looking);
        if (taken) {
            serve(&t, thread->pool);
        }
        apr_pool_clear(thread->pool);
    }
}

static notifier *make(worker *w, apr_pool_t *pool)
{
    notifier *n = apr_pcalloc(pool, sizeof *n);
    n->w = w;
    pthread_mutex_init(&n->looking, NULL);
    pthread_mutex_init(&n->lock, NULL);
    return n;
}

notifier *notify_start(worker *w, apr_pool_t *pool)
{
    notifier *n = make(w, pool);
    for (int i = 0; i < THREADS; i++) {
        hold_thread_start(&n->threads, w, notify_thread, n);
    }
    return n->threads.count ? n : NULL;
}

int notify_join(notifier *n, int64_t until)
{
    return hold_threads_join(&n->threads, n->w, until);
}

void notify_once(worker *w, store *main, apr_pool_t *pool)
{
    notifier *n = make(w, pool);
    turn t = {.n = n, .w = w, .main = main};
    apr_pool_t *each;
    apr_pool_create(&each, pool);
    while (!worker_stopping(w) && look(n, &t, each)) {
        serve(&t, each);
        apr_pool_clear(each);
    }
    apr_pool_destroy(each);
}
