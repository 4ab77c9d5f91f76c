/* Owns the claim loop: what is next, sleeping until it is due, waking for new work. Knows nothing
 * of what a task does. */
#include "worker/loop.h"

#include <string.h>

#include "core/queue/claim.h"
#include "worker/hold/crash.h"
#include "worker/hold/idle.h"
#include "worker/hold/slot.h"
#include "worker/hold/threads.h"

#define STORE_AWAY_NAP_MS 1000

struct loop {
    worker *w;
    takeover *watch;
    int drain;
    _Atomic int64_t runs;
    atomic_int away; /* 1: the store was unreachable at the last attempt; logged once */
    hold_threads threads;
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

static int may_try(void *baton, const char *tenant, ida_directory_kind where, const char *task)
{
    const runner *rn = baton;
    return hold_take(rn->w, rn->slot, tenant, where, task);
}

static ida_kind next_task(loop *l, runner *rn, ida_ctx *c, ida_task **task, int64_t *claimed_at)
{
    worker *w = l->w;
    int braked = 0;
    int idle = rn->idle;
    rn->idle = 0;
    *claimed_at = ida_monotonic(&w->env);
    if (hold_idle_reason(w)) {
        return ida_fail(c, IDA_NOT_FOUND, "This worker takes no work.");
    }
    ida_kind kind = l->drain ? IDA_NOT_FOUND : hold_takeover_next(l->watch, rn->main, c, task);
    if (!kind) {
        hold_run_begins(w, rn->slot, (*task)->tenant, (*task)->directory, (*task)->id);
    }
    if (kind != IDA_NOT_FOUND) {
        return kind;
    }
    ida_ctx_clear(c);
    *claimed_at = ida_monotonic(&w->env);
    /* An idle thread polls four times a second: it reads the outlook, which is cheaper than a
     * claim. */
    if (idle && (kind = queue_look(rn->main, c, &rn->outlook)) != IDA_OK) {
        return kind;
    }
    if (idle && !rn->outlook.due) {
        rn->idle = 1;
        return IDA_NOT_FOUND;
    }
    const queue_claimer by = {w->id, ida_now(&w->env), LEASE_MS, PROBE_MS, may_try, rn};
    kind = queue_claim_among(rn->main, c, &by, task, &braked);
    rn->idle = idle && kind == IDA_NOT_FOUND;
    if (!kind && braked) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0319",
                "tenant %s: %s of %s (task %s) is held by the brake; look at it, then idadminctl "
                "task release",
                (*task)->tenant,
                (*task)->type == IDA_USER_DELETE ? "the offboarding" : "disabling the account",
                (*task)->upn, (*task)->id);
        *task = NULL;
    }
    return kind;
}

/* Until the next due instant, new work, or the poll's end. */
static void wait_for_work(loop *l, runner *rn, ida_ctx *c)
{
    if (!rn->idle && queue_look(rn->main, c, &rn->outlook)) {
        return;
    }
    rn->idle = 1;
    int64_t next_at = rn->outlook.next_at, ms = POLL_MS;
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

static void work(loop *l, runner *rn, apr_pool_t *pool)
{
    worker *w = l->w;
    while (!worker_stopping(w)) {
        apr_pool_clear(pool);
        ida_ctx *c = worker_ctx(w, pool);
        ida_task *task = NULL;
        int64_t claimed_at;
        ida_kind kind = next_task(l, rn, c, &task, &claimed_at);
        if (kind && c->reason && strcmp(c->reason, STORE_SCHEMA_CHANGED) == 0) {
            hold_idle_look(w, rn->main, pool);
            kind = IDA_NOT_FOUND;
        }
        int away = kind && kind != IDA_NOT_FOUND;
        store_is(l, away, c->message);
        if (task) {
            atomic_fetch_add(&l->runs, 1);
            hold_crash_call_begins(w, task->tenant, task->directory);
            run_task(rn, pool, task, claimed_at);
            hold_crash_call_ends();
        }
        hold_run_ends(w, rn->slot);
        if (kind && l->drain) {
            return;
        }
        if (away) {
            worker_nap(w, STORE_AWAY_NAP_MS);
        } else if (kind) {
            ida_ctx_clear(c);
            wait_for_work(l, rn, c);
        }
    }
}

static void run_thread(hold_thread *t)
{
    loop *l = t->baton;
    runner rn = {.w = t->w, .env = t->w->env, .slot = t->index, .main = t->main, .cache = t->cache};
    rn.sessions = (session_cache){.w = t->w, .env = &rn.env};
    store_connect(rn.main, worker_ctx(t->w, t->pool)); /* waiting for work listens there */
    /* Before the first step needs it; that step reports a failure. */
    store_connect(rn.cache, worker_ctx(t->w, t->pool));
    work(l, &rn, t->pool);
    run_session_close_all(&rn.sessions);
}

loop *loop_start(worker *w, takeover *watch, apr_pool_t *pool, int drain)
{
    loop *l = apr_pcalloc(pool, sizeof *l);
    l->w = w;
    l->watch = watch;
    l->drain = drain;
    for (int i = 0; i < loop_slots(w); i++) {
        hold_thread_start(&l->threads, w, run_thread, l);
    }
    return l->threads.count ? l : NULL;
}

int loop_join(loop *l, int64_t until)
{
    return hold_threads_join(&l->threads, l->w, until);
}
