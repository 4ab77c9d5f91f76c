/* Owns the outcome of each due synchronisation: completed, stopped by the deletion guard, or
 * failed. The connector knows what it reads, and how; the store decides what the cache accepts. */
#include "worker/sync_plan.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/cache/sync.h"
#include "core/governance/named.h"
#include "core/store/tenant.h"
#include "worker/base/counts.h"
#include "worker/hold/crash.h"
#include "worker/hold/health.h"
#include "worker/hold/idle.h"
#include "worker/rechecks.h"

/* A held directory is tried by a task, if one waits: a run takes long and others wait for it. */
#define TASKS_FIRST_MS 2000
#define BUSY_ELSEWHERE_MS 2000 /* another worker has the lease: look again */
#define FAILED_WAIT_MS 15000   /* after a failure that does not put the directory on hold */
#define IDLE_MS 200
#define THREADS_MIN 4
#define LEASE_RESERVE_MS 5000

typedef struct sync_job {
    sync_plan *plan;
    worker *w;
    store *main, *cache;
    session_cache *sessions;
    apr_pool_t *pool;
    sync_entry e; /* a copy: the plan may change meanwhile */
    lease *lease;
    int forced;     /* --once: due or not */
    int unanswered; /* out: the request stays open: it was not this worker's turn, or it could not
                       be finished and its failure is no answer */
} sync_job;

/* --- the lease --- */

/* Since when the holder's heartbeat has not changed by our own clock; updated also while a hold
 * or stop prevents a synchronisation. */
static void watch_holder(sync_entry *e, const store_directory *state, int64_t now)
{
    const char *owner = state->sync_owner ? state->sync_owner : "";
    if (strcmp(e->owner, owner) != 0 || e->fence != state->sync_fence ||
        e->heartbeat != state->sync_heartbeat) {
        snprintf(e->owner, sizeof e->owner, "%s", owner);
        e->fence = state->sync_fence;
        e->heartbeat = state->sync_heartbeat;
        e->since = now;
    }
}

/* 1 in *ours; 0: another worker has the lease. One under this worker's own name is left over
 * from a release that the store refused or a grant whose answer was lost: only the thread that
 * took the entry out of the plan synchronises this directory in this process, so there is
 * nothing to wait for. */
static ida_kind get_lease(sync_job *job, const store_directory *state, int *ours)
{
    worker *w = job->w;
    sync_entry *e = &job->e;
    int64_t now = ida_monotonic(&w->env), fence;
    const char *owner = state->sync_owner ? state->sync_owner : "";
    *ours = 0;
    int still = owner[0] && (strcmp(owner, w->id) == 0 || worker_holds_no_more(w, owner, e->since));
    if (owner[0] && !still) {
        return IDA_OK;
    }
    ida_ctx *c = worker_ctx(w, job->pool);
    ida_kind kind = store_sync_lease(job->main, c, e->tenant, e->directory, w->id,
                                     still ? state : NULL, &fence);
    if (kind == IDA_CONFLICT) {
        return IDA_OK;
    }
    if (!kind) {
        job->lease = hold_lease_begin(w, LEASE_SYNC, e->tenant, NULL, e->directory, fence, now);
        *ours = job->lease != NULL;
    }
    return kind;
}

static void end_lease(sync_job *job)
{
    int64_t fence = job->lease->fence;
    hold_lease_end(job->w, job->lease);
    store_sync_release(job->main, worker_ctx(job->w, job->pool), job->e.tenant, job->e.directory,
                       fence);
}

static int must_stop(void *baton)
{
    sync_job *job = baton;
    return worker_stopping(job->w) || hold_lease_left(job->w, job->lease) < LEASE_RESERVE_MS;
}

/* --- one sync --- */

static ida_kind sync_state(sync_job *job, cache_sync_state *state)
{
    *state = (cache_sync_state){0};
    ida_ctx *c = worker_ctx(job->w, job->pool);
    ida_kind kind = cache_sync_state_get(job->cache, c, job->e.tenant, job->e.directory, state);
    return kind == IDA_NOT_FOUND ? IDA_OK : kind;
}

/* So that `sync --wait`, `status` and people read why, also of failures before the run had begun.
 */
static void note_error(sync_job *job, const char *message)
{
    cache_sync_state state;
    cache_sync *run;
    ida_ctx *c = worker_ctx(job->w, job->pool);
    if (sync_state(job, &state) || (state.error && strcmp(state.error, message) == 0)) {
        return; /* the run itself wrote it down */
    }
    if (!cache_sync_begin(&run, job->cache, c, job->pool, job->e.tenant, job->e.directory, 0)) {
        cache_sync_abort(run, c, message);
    }
}

static directory_class call_sync(sync_job *job, session *s, int full, ida_ctx *c,
                                 cache_summary *summary, directory_error *e)
{
    directory_class class = s->dir ? DIRECTORY_OK : run_session_renew(job->sessions, s, e);
    if (class == DIRECTORY_OK) {
        hold_crash_call_begins(job->w, job->e.tenant, job->e.directory);
        const directory_sync asked = {job->cache, c, full, job->e.accept, must_stop, job};
        class = s->ops->sync(s->dir, job->pool, &asked, summary, e);
        hold_crash_call_ends();
        /* A large run leaves a large log, which every later look-up would have to search. */
        store_checkpoint(job->cache, worker_ctx(job->w, job->pool));
    }
    e->class = class;
    return class;
}

/* For the report of how long the workers can still sign in. */
static void note_expiry(sync_job *job, const session *s, const store_directory *noted)
{
    directory_expiry at = {0};
    if (s->ops->expiry) {
        s->ops->expiry(s->dir, job->pool, &at);
    }
    if (at.certificate != noted->certificate_ends || at.password != noted->password_ends) {
        store_directory_expiry(job->main, worker_ctx(job->w, job->pool), job->e.tenant,
                               job->e.directory, at.certificate, at.password);
    }
}

/* Reads the directory, once more on a new connection where that helps. */
static directory_class read_directory(sync_job *job, ida_ctx *c, session **s,
                                      cache_summary *summary, directory_error *e)
{
    sync_entry *en = &job->e;
    directory_class class = run_session_get(job->sessions, job->main, job->pool, en->tenant,
                                            en->directory, s, e);
    if (class == DIRECTORY_OK) {
        class = call_sync(job, *s, en->reset, c, summary, e);
        if (class == DIRECTORY_TOKEN_LOST || (class == DIRECTORY_TRANSIENT && !must_stop(job))) {
            run_session_renew(job->sessions, *s, e);
            class = call_sync(job, *s, en->reset || class == DIRECTORY_TOKEN_LOST, c, summary, e);
        }
    }
    e->class = class;
    return class;
}

/* Logs a synchronisation that administrators may ask about later; the one that finds nothing new
 * happens every interval. `took`: ms. */
static void log_synced(const sync_job *job, const cache_summary *summary, int first, int64_t took)
{
    const sync_entry *en = &job->e;
    int notable = first || en->requested_at || job->forced || summary->deleted_users ||
                  summary->deleted_groups;
    ida_log(&job->w->env, notable ? IDA_LOG_INFO : IDA_LOG_DEBUG, NULL,
            "tenant %s, directory %s synced in %lld ms: users %lld, groups %lld, deleted %lld and "
            "%lld, members unresolved %lld",
            en->tenant, ida_directory_name(en->directory), (long long)took,
            (long long)summary->users, (long long)summary->groups,
            (long long)summary->deleted_users, (long long)summary->deleted_groups,
            (long long)summary->unresolved);
}

/* Names of the document mean the people whom they meant first, so they are resolved now. */
static void settle_names(const sync_job *job)
{
    json_t *news = ida_json_keep(job->pool, json_array()), *one;
    ida_ctx *c = worker_ctx(job->w, job->pool);
    size_t i;
    if (governance_named_renew(job->main, c, job->e.tenant, news)) {
        ida_log(&job->w->env, IDA_LOG_ERROR, "IDA0341",
                "tenant %s: whom its document names cannot be resolved: %s", job->e.tenant,
                c->message ? c->message : "");
        return;
    }
    json_array_foreach (news, i, one) {
        ida_log(&job->w->env, IDA_LOG_WARN, "IDA0340", "tenant %s: %s", job->e.tenant,
                json_string_value(one));
    }
}

/* 1: the company's document lost the directory while it was read: the company was deleted, or its
 * document was replaced. 0 also when the store does not tell. */
static int is_removed(const sync_job *job)
{
    ida_tenant *tenant;
    ida_ctx *c = worker_ctx(job->w, job->pool);
    ida_kind kind = store_tenant_get(job->main, c, job->e.tenant, &tenant, NULL);
    return kind == IDA_NOT_FOUND || (!kind && !tenant->has_directory[job->e.directory]);
}

static void tell_removed(const sync_job *job, const char *what)
{
    ida_log(&job->w->env, IDA_LOG_INFO, NULL, "tenant %s has no directory %s any more: %s",
            job->e.tenant, ida_directory_name(job->e.directory), what);
}

/* As carry_out. */
static int failed(sync_job *job, hold_known known, directory_error *e, int64_t *wait)
{
    worker *w = job->w;
    const sync_entry *en = &job->e;
    if (must_stop(job)) { /* the worker ends, or the lease went: no failure of the directory */
        *wait = FAILED_WAIT_MS;
        job->unanswered = 1;
        return 1;
    }
    *wait = FAILED_WAIT_MS < en->interval ? FAILED_WAIT_MS : en->interval;
    if (is_removed(job)) { /* the removal also requested that the cache be emptied */
        tell_removed(job, "the sync that was reading it ends here");
        return 0;
    }
    const char *message = e->message ? e->message : directory_class_text(e->class);
    if (directory_holds(e->class)) {
        message = hold_put(w, job->main, job->pool, en->tenant, en->directory, known, e);
        *wait = 0; /* the hold says when */
    } else {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0503", "the sync of tenant %s, directory %s failed: %s",
                en->tenant, ida_directory_name(en->directory), message);
    }
    note_error(job, message);
    return 1;
}

/* 0 on success, 1 when it failed or was stopped; *wait: until its next turn. */
static int carry_out(sync_job *job, hold_known known, const store_directory *health, int first,
                     int64_t *wait)
{
    worker *w = job->w;
    sync_entry *en = &job->e;
    session *s;
    directory_error e;
    cache_summary summary = {0};
    ida_ctx *c = worker_ctx(w, job->pool);
    int64_t begun = ida_monotonic(&w->env);
    const rechecks after = {.w = w,
                            .main = job->main,
                            .cache = job->cache,
                            .pool = job->pool,
                            .tenant = en->tenant,
                            .directory = en->directory,
                            .must_stop = must_stop,
                            .baton = job};
    if (en->reset) {
        rechecks_note_removed(&after);
    }
    ida_kind emptied = en->reset ? cache_reset(job->cache, c, en->tenant, en->directory) : IDA_OK;
    if (emptied) {
        if (emptied != IDA_CONFLICT) { /* with it idadminctl tenant delete empties it as well */
            ida_log(&w->env, IDA_LOG_ERROR, "IDA0501",
                    "the cache of tenant %s cannot be emptied, which is tried again: %s",
                    en->tenant, c->message ? c->message : "");
        }
        *wait = FAILED_WAIT_MS;
        job->unanswered = 1; /* nothing else would ever empty it */
        return 1;
    }
    /* The plan may have read the request to empty it, and not yet the document. */
    if (!en->present || (en->reset && is_removed(job))) {
        tell_removed(job, "what the cache held of it is gone");
        return 0;
    }
    if (cache_expire(job->cache, c, en->tenant, en->directory)) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0506",
                "tenant %s, directory %s: accounts whose end is over cannot be looked for: %s",
                en->tenant, ida_directory_name(en->directory), c->message ? c->message : "");
        ida_ctx_clear(c);
    }
    directory_class class = read_directory(job, c, &s, &summary, &e);
    if (class == DIRECTORY_OK) {
        hold_answered(w, job->main, job->pool, en->tenant, en->directory, known);
        note_expiry(job, s, health);
    }
    if (class == DIRECTORY_OK && summary.guard_stopped) {
        ida_log(&w->env, IDA_LOG_ERROR, "IDA0502",
                "the sync of tenant %s, directory %s was stopped by the deletion guard: %s; if "
                "that is right, run idadminctl sync %s --accept-deletions",
                en->tenant, ida_directory_name(en->directory),
                summary.reason ? summary.reason : "too many deletions", en->tenant);
        return 1;
    }
    if (class == DIRECTORY_OK) {
        log_synced(job, &summary, first, ida_monotonic(&w->env) - begun);
        rechecks_note_removed(&after);
        rechecks_carry_out(&after, s);
        settle_names(job);
        return 0;
    }
    return failed(job, known, &e, wait);
}

/* Whether it is this worker's turn at all; *wait: until the next look. *first: the directory was
 * never synced. */
static int may_begin(sync_job *job, const store_directory *health, int *first, int64_t *wait)
{
    worker *w = job->w;
    sync_entry *e = &job->e;
    cache_sync_state state;
    int asked = e->requested_at != 0 || job->forced;
    int64_t now = ida_now(&w->env);
    if (sync_state(job, &state)) {
        *wait = FAILED_WAIT_MS;
        job->unanswered = 1;
        return 0;
    }
    *first = state.full_at == 0;
    if (state.stopped && !e->accept && !e->reset) {
        *wait = e->interval;
        return 0;
    }
    if (asked) {
        return 1;
    }
    if (health->hold_reason && health->hold_until + TASKS_FIRST_MS > now) {
        e->held = 1;
        *wait = health->hold_until + TASKS_FIRST_MS - now;
        return 0;
    }
    int64_t due = state.completed_at + e->interval;
    if (state.completed_at && !state.error && due > now && due - now <= e->interval) {
        *wait = due - now; /* another worker was faster, or we have just been started */
        return 0;
    }
    return 1;
}

/* Reads the request again now that no other worker is at this directory: another one may have
 * answered it since the plan was refreshed, and a second reset would empty a cache that was
 * reported as filled. */
static ida_kind read_request(sync_job *job)
{
    store_directory state;
    sync_entry *e = &job->e;
    ida_kind kind = store_directory_get(job->main, worker_ctx(job->w, job->pool), e->tenant,
                                        e->directory, &state);
    if (kind || e->requested_at == state.sync_requested_at) {
        return kind;
    }
    sync_plan_asked(job->plan, e, &state);
    return IDA_OK;
}

/* The same, under the lease. */
static int sync_leased(sync_job *job, const store_directory *health, int first, int64_t *wait)
{
    if (read_request(job)) {
        *wait = FAILED_WAIT_MS;
        job->unanswered = 1;
        return 1;
    }
    if (!(job->e.present || job->e.reset) || !may_begin(job, health, &first, wait)) {
        return 0;
    }
    return carry_out(job, hold_probe(job->w, job->main, job->pool, health), health, first, wait);
}

/* Tells who asked that it is done. */
static void answer(const sync_job *job)
{
    const sync_entry *e = &job->e;
    if (e->requested_at && !job->unanswered) {
        store_sync_request_done(job->main, worker_ctx(job->w, job->pool), e->tenant, e->directory,
                                e->requested_at);
    }
}

/* 0 or 1 as carry_out; 0 when there was nothing to do. */
static int sync_one(sync_job *job, int64_t *wait)
{
    worker *w = job->w;
    sync_entry *e = &job->e;
    store_directory health;
    int ours = 0, failed = 0, first = 0;
    *wait = e->interval;
    ida_ctx *c = worker_ctx(w, job->pool);
    if (store_directory_get(job->main, c, e->tenant, e->directory, &health)) {
        *wait = FAILED_WAIT_MS;
        return 1;
    }
    watch_holder(e, &health, ida_monotonic(&w->env));
    if (!may_begin(job, &health, &first, wait)) {
        answer(job);
        return 0;
    }
    if (get_lease(job, &health, &ours) || !ours) {
        *wait = BUSY_ELSEWHERE_MS;
        job->unanswered = 1;
        if (job->forced) { /* --once ends with 1: the log must say why */
            ida_log(&w->env, IDA_LOG_INFO, NULL,
                    "tenant %s, directory %s was not synced: worker %s is at it, or stopped "
                    "less than a lease ago",
                    e->tenant, ida_directory_name(e->directory),
                    health.sync_owner ? health.sync_owner : "(unknown)");
        }
        return job->forced;
    }
    failed = sync_leased(job, &health, first, wait);
    count_one(COUNT_SYNCS, ida_directory_name(e->directory), failed ? "failed" : "ok");
    /* Under the lease: a worker that got it and found the request still open would empty a cache
     * again that was just filled. */
    answer(job);
    end_lease(job);
    return failed;
}

/* --- threads --- */

static void sync_thread(hold_thread *t)
{
    sync_plan *plan = t->baton;
    worker *w = t->w;
    session_cache sessions = {.w = w, .env = &w->env};
    while (!worker_stopping(w)) {
        sync_job job = {.plan = plan,
                        .w = w,
                        .main = t->main,
                        .cache = t->cache,
                        .sessions = &sessions,
                        .pool = t->pool};
        sync_entry *taken;
        if (!sync_plan_take(plan, &job.e, &taken)) {
            worker_nap(w, IDLE_MS);
            continue;
        }
        int64_t wait;
        sync_one(&job, &wait);
        sync_plan_give_back(plan, taken, &job.e, wait, !job.unanswered);
        apr_pool_clear(t->pool);
    }
    run_session_close_all(&sessions);
}

int sync_start(sync_plan *plan)
{
    int wanted = plan->w->config.threads < THREADS_MIN ? THREADS_MIN : plan->w->config.threads;
    while (plan->threads.count < wanted &&
           hold_thread_start(&plan->threads, plan->w, sync_thread, plan)) {}
    return plan->threads.count;
}

int sync_join(sync_plan *plan, int64_t until)
{
    return hold_threads_join(&plan->threads, plan->w, until);
}

int sync_all(sync_plan *plan, store *main, store *cache, session_cache *sessions, apr_pool_t *pool)
{
    int failed = 0;
    for (sync_entry *e = plan->first; e && !worker_stopping(plan->w) && !hold_idle_reason(plan->w);
         e = e->next) {
        sync_job job = {.plan = plan,
                        .w = plan->w,
                        .main = main,
                        .cache = cache,
                        .sessions = sessions,
                        .pool = pool,
                        .e = *e,
                        .forced = 1};
        int64_t wait;
        failed += e->present || e->reset ? sync_one(&job, &wait) : 0;
        apr_pool_clear(pool);
    }
    return failed;
}
