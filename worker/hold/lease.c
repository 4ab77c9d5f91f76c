/* Owns the leases of this process: tasks and synchronisations with their fencing numbers, and
 * when each was last renewed by the monotonic clock. Must not know the work done under a lease. */
#include <stdio.h>
#include <string.h>

#include "core/base/build.h"
#include "core/queue/claim.h"
#include "core/store/directory.h"
#include "worker/base/counts.h"
#include "worker/hold/idle.h"
#include "worker/hold/worker.h"

ida_kind hold_seen(const worker *w, store *main, ida_ctx *c)
{
    store_worker seen = {.id = w->id,
                         .host = w->host,
                         .version = ida_build,
                         .pid = w->pid,
                         .threads = w->config.threads,
                         .started_at = w->started_at,
                         .seen_at = ida_now(&w->env),
                         .fault = hold_idle_reason(w)};
    return store_worker_seen(main, c, &seen);
}

lease *hold_lease_begin(worker *w, lease_kind kind, const char *tenant, const char *task,
                        ida_directory_kind where, int64_t fence, int64_t claimed_at)
{
    lease *found = NULL;
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < LEASE_SLOTS && !found; i++) {
        if (!w->leases[i].used) {
            found = &w->leases[i];
            *found = (lease){.used = 1,
                             .kind = kind,
                             .directory = where,
                             .fence = fence,
                             .renewed_at = claimed_at};
            snprintf(found->tenant, sizeof found->tenant, "%s", tenant);
            snprintf(found->task, sizeof found->task, "%s", task ? task : "");
        }
    }
    pthread_mutex_unlock(&w->lock);
    return found;
}

void hold_lease_end(worker *w, lease *l)
{
    pthread_mutex_lock(&w->lock);
    l->used = 0;
    pthread_mutex_unlock(&w->lock);
}

void hold_lease_closes(worker *w, lease *l)
{
    pthread_mutex_lock(&w->lock);
    l->closing = 1;
    pthread_mutex_unlock(&w->lock);
}

static int64_t left_locked(const worker *w, const lease *l)
{
    int64_t left = l->renewed_at + LEASE_MS - ida_monotonic(&w->env);
    return l->lost || left < 0 ? 0 : left;
}

int64_t hold_lease_left(worker *w, lease *l)
{
    pthread_mutex_lock(&w->lock);
    int64_t left = left_locked(w, l);
    pthread_mutex_unlock(&w->lock);
    return left;
}

void hold_lease_lose(worker *w, lease *l)
{
    pthread_mutex_lock(&w->lock);
    l->lost = 1;
    pthread_mutex_unlock(&w->lock);
}

/* Renews slot `l` as it was copied into `seen`; a slot that was released meanwhile is not
 * changed. */
static void renew(worker *w, lease *l, const lease *seen, store *main, ida_ctx *c)
{
    int64_t sent = ida_monotonic(&w->env);
    ida_kind kind = seen->kind == LEASE_TASK
                        ? queue_renew(main, c, seen->tenant, seen->task, seen->fence,
                                      ida_now(&w->env), LEASE_MS)
                        : store_sync_renew(main, c, seen->tenant, seen->directory, seen->fence);
    pthread_mutex_lock(&w->lock);
    int same = l->used && l->kind == seen->kind && l->fence == seen->fence &&
               strcmp(l->task, seen->task) == 0 && strcmp(l->tenant, seen->tenant) == 0 &&
               l->directory == seen->directory;
    if (same && kind == IDA_OK) {
        l->renewed_at = sent;
    } else if (same && (kind == IDA_CONFLICT || kind == IDA_NOT_FOUND) && !l->closing) {
        l->lost = 1;
    } else {
        same = 0;
    }
    pthread_mutex_unlock(&w->lock);
    if (same && kind) {
        count_one(COUNT_LEASES, seen->kind == LEASE_TASK ? "task" : "sync", NULL);
        ida_log(&w->env, IDA_LOG_WARN, "IDA0300",
                "the lease of %s %s was taken by another worker; this worker lets go of it",
                seen->kind == LEASE_TASK ? "task" : "the sync of tenant",
                seen->kind == LEASE_TASK ? seen->task : seen->tenant);
    }
}

void hold_lease_extend(worker *w, lease *l, store *main, apr_pool_t *pool)
{
    if (hold_lease_left(w, l) > DIRECTORY_CALL_MS) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    lease seen = *l;
    pthread_mutex_unlock(&w->lock);
    if (!seen.lost) {
        renew(w, l, &seen, main, worker_ctx(w, pool));
    }
}

void hold_lease_renew_all(worker *w, store *main, apr_pool_t *pool)
{
    for (int i = 0; i < LEASE_SLOTS; i++) {
        pthread_mutex_lock(&w->lock);
        lease seen = w->leases[i];
        pthread_mutex_unlock(&w->lock);
        if (seen.used && !seen.lost) {
            renew(w, &w->leases[i], &seen, main, worker_ctx(w, pool));
        }
    }
}
