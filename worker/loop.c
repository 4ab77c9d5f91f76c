/* Owns the claim loop: what is next, sleeping until it is due, waking for new work. Knows nothing
 * of what a task does. */
#include "worker/loop.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "worker/hold/health.h"
#include "worker/run/warm.h"

#define STORE_AWAY_NAP_MS 1000
#define RESERVE_POLL_MS 100 /* how soon a reserve thread sees that it is needed */

typedef struct loop_thread {
    struct loop *l;
    int index, started;
    pthread_t thread;
} loop_thread;

struct loop {
    worker *w;
    takeover *watch;
    queue_heads *heads;
    int drain, count;
    pthread_mutex_t reserve_claims; /* one at a time: the next one sees what this one took */
    atomic_int alive;
    _Atomic int64_t runs;
    atomic_int away; /* 1: the store was away at the last look; said once */
    loop_thread threads[];
};

int loop_slots(const worker *w)
{
    return 2 * w->config.threads;
}

int64_t loop_runs(loop *l)
{
    return atomic_load(&l->runs);
}

int loop_store_away(loop *l)
{
    return atomic_load(&l->away);
}

/* A reserve thread's part of the queue. */
typedef struct part {
    worker *w;
    hold_room room;
} part;

static int not_for_reserve(void *baton, const char *tenant, ida_directory_kind where)
{
    const part *p = baton;
    return hold_crowded(p->w, p->room, tenant, where);
}

/* `p` NULL: anything. */
static ida_kind next_task(loop *l, runner *rn, part *p, ida_ctx *c, ida_task **task,
                          int64_t *claimed_at)
{
    worker *w = l->w;
    int braked = 0;
    *claimed_at = ida_monotonic(&w->env);
    ida_kind kind = l->drain || (p && p->room == ROOM_FIRST)
                        ? IDA_NOT_FOUND
                        : hold_takeover_next(l->watch, rn->main, c, task);
    if (kind != IDA_NOT_FOUND) {
        return kind;
    }
    ida_ctx_clear(c);
    *claimed_at = ida_monotonic(&w->env);
    int64_t now = ida_now(&w->env);
    kind = p ? queue_claim_but(rn->main, c, w->id, now, LEASE_MS, PROBE_MS, not_for_reserve, p,
                               task, &braked)
             : queue_claim_next(rn->main, c, l->heads, w->id, now, LEASE_MS, PROBE_MS, task,
                                &braked);
    if (!kind && braked) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0319",
                "tenant %s: %s of %s (task %s) is held by the brake; look at it, then idadminctl "
                "task release",
                (*task)->tenant,
                (*task)->type == IDA_USER_DELETE ? "the offboarding" : "disabling the account",
                (*task)->upn, (*task)->id);
        *task = NULL;
    }
    if (!kind && *task) {
        hold_run_begins(w, rn->slot, (*task)->tenant, (*task)->directory);
    }
    return kind;
}

/* Until the next due instant, new work, or the poll's end. */
static void wait_for_work(loop *l, runner *rn, ida_ctx *c, int reserve)
{
    int64_t next_at = 0, ms = POLL_MS;
    if (queue_next_at(rn->main, c, &next_at)) {
        return;
    }
    if (reserve < 0 && next_at && next_at != rn->warmed_for &&
        next_at - ida_now(&l->w->env) <= WARM_AHEAD_MS) {
        rn->warmed_for = next_at;
        run_warm_up(rn, c->pool, next_at);
    }
    int64_t left = next_at - ida_now(&l->w->env);
    if (next_at && left < ms) {
        ms = left > 0 ? left : 1;
    }
    if (store_is_connected(rn->main)) {
        store_wait(rn->main, c, QUEUE_CHANNEL, (int)ms);
    } else {
        worker_nap(l->w, ms);
    }
}

static void store_is(loop *l, int away, const char *why)
{
    if (atomic_exchange(&l->away, away) == away) {
        return;
    }
    if (away) {
        ida_log(&l->w->env, IDA_LOG_ERROR, "IDA0324", "the store cannot be used, tasks wait: %s",
                why ? why : "no reason given");
    } else {
        ida_log(&l->w->env, IDA_LOG_INFO, NULL, "the store can be used again");
    }
}

static void work(loop *l, runner *rn, apr_pool_t *pool, int reserve)
{
    worker *w = l->w;
    while (!worker_stopping(w)) {
        apr_pool_clear(pool);
        part p = {w, reserve >= 0 ? hold_room_of(w, w->config.threads, reserve) : ROOM_NONE};
        if (reserve >= 0 && p.room == ROOM_NONE) {
            if (l->drain) {
                return;
            }
            worker_nap(w, RESERVE_POLL_MS);
            continue;
        }
        ida_ctx *c = worker_ctx(w, pool);
        ida_task *task = NULL;
        int64_t claimed_at;
        if (reserve >= 0) {
            pthread_mutex_lock(&l->reserve_claims);
        }
        ida_kind kind = next_task(l, rn, reserve >= 0 ? &p : NULL, c, &task, &claimed_at);
        if (reserve >= 0) {
            pthread_mutex_unlock(&l->reserve_claims);
        }
        if (kind != IDA_OK && kind != IDA_NOT_FOUND) {
            store_is(l, 1, c->message);
            if (l->drain) {
                return;
            }
            worker_nap(w, STORE_AWAY_NAP_MS);
            continue;
        }
        store_is(l, 0, NULL);
        if (task) {
            atomic_fetch_add(&l->runs, 1);
            run_task(rn, pool, task, claimed_at);
            hold_run_ends(w, rn->slot);
        } else if (kind == IDA_NOT_FOUND && l->drain) {
            return;
        } else if (kind == IDA_NOT_FOUND) {
            ida_ctx_clear(c);
            wait_for_work(l, rn, c, reserve);
        }
    }
}

static void *thread_main(void *baton)
{
    loop_thread *t = baton;
    loop *l = t->l;
    apr_pool_t *own, *pool;
    apr_pool_create(&own, NULL);
    apr_pool_create(&pool, own);
    runner rn = {.w = l->w,
                 .slot = t->index,
                 .main = store_make(own, l->w->config.store, DB_REQUEST),
                 .cache = store_make(own, l->w->config.store, DB_SYNC),
                 .sessions = {.w = l->w}};
    store_connect(rn.main, worker_ctx(l->w, pool)); /* waiting for work listens there */
    store_connect(rn.cache,
                  worker_ctx(l->w,
                             pool)); /* before the first step needs it; a failure is its to tell */
    work(l, &rn, pool, t->index - l->w->config.threads);
    run_session_close_all(&rn.sessions);
    store_disconnect(rn.main);
    store_disconnect(rn.cache);
    apr_pool_destroy(own);
    atomic_fetch_sub(&l->alive, 1);
    return NULL;
}

loop *loop_start(worker *w, takeover *watch, apr_pool_t *pool, int drain)
{
    int count = loop_slots(w);
    loop *l = apr_pcalloc(pool, sizeof *l + sizeof l->threads[0] * (size_t)count);
    l->w = w;
    l->watch = watch;
    l->drain = drain;
    l->count = count;
    l->heads = queue_heads_make(pool);
    pthread_mutex_init(&l->reserve_claims, NULL);
    int started = 0;
    for (int i = 0; i < count; i++) {
        l->threads[i] = (loop_thread){.l = l, .index = i};
        atomic_fetch_add(&l->alive, 1);
        l->threads[i].started = pthread_create(&l->threads[i].thread, NULL, thread_main,
                                               &l->threads[i]) == 0;
        if (l->threads[i].started) {
            started++;
        } else {
            atomic_fetch_sub(&l->alive, 1);
        }
    }
    return started ? l : NULL;
}

int loop_join(loop *l, int64_t until)
{
    while (atomic_load(&l->alive) && (!until || ida_monotonic(&l->w->env) < until)) {
        struct timespec pause = {.tv_nsec = 10 * 1000000};
        nanosleep(&pause, NULL);
    }
    int left = atomic_load(&l->alive);
    for (int i = 0; !left && i < l->count; i++) {
        if (l->threads[i].started) {
            pthread_join(l->threads[i].thread, NULL);
            l->threads[i].started = 0;
        }
    }
    return left;
}
