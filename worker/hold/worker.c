/* Owns the state the worker's threads share. Knows neither tasks nor directories. */
#include "worker/hold/worker.h"

#include <apr_strings.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/text.h"

#define NAP_STEP_MS 50

void worker_init(worker *w, const ida_env *env, const worker_config *config, apr_pool_t *pool)
{
    memset(w, 0, sizeof *w);
    w->env = *env;
    w->config = w->settings = *config;
    pthread_mutex_init(&w->lock, NULL);
    pthread_mutex_init(&w->outages.lock, NULL);
    if (gethostname(w->host, sizeof w->host - 1) != 0 || !w->host[0]) {
        strcpy(w->host, "unknown");
    }
    const char *unique = ida_new_id(pool, env);
    snprintf(w->id, sizeof w->id, "%s-%ld-%s", w->host, (long)getpid(),
             unique + strlen(unique) - 8);
    w->pid = getpid();
    w->started_at = ida_now(env);
    atomic_init(&w->stopping, 0);
    atomic_init(&w->stop_by, 0);
}

void worker_settings(worker *w, apr_pool_t *pool, worker_config *out)
{
    pthread_mutex_lock(&w->lock);
    *out = w->settings;
    out->spool = apr_pstrdup(pool, out->spool);
    pthread_mutex_unlock(&w->lock);
}

/* The old texts stay in their pool: another thread may just be copying a pointer. A reload is rare.
 */
void worker_settings_set(worker *w, const worker_config *config)
{
    worker_config next = *config;
    next.store = w->config.store;
    next.threads = w->config.threads;
    next.seal_key = w->config.seal_key;
    next.audit_key = w->config.audit_key;
    next.audit_signing_key = w->config.audit_signing_key;
    pthread_mutex_lock(&w->lock);
    w->settings = next;
    pthread_mutex_unlock(&w->lock);
}

/* The processes of this service before this one are dead for certain: their supervisor has seen it.
 * A directory may still carry out the last call of one, which the successor finds by looking before
 * it acts, as after every lost answer. */
int worker_holds_no_more(const worker *w, const char *owner, int64_t since)
{
    int64_t now = ida_monotonic(&w->env);
    return now - since > LEASE_MS ||
           (w->service[0] && strncmp(owner, w->service, strlen(w->service)) == 0 &&
            strcmp(owner, w->id) != 0);
}

int worker_stopping(void *w)
{
    return atomic_load(&((worker *)w)->stopping);
}

void worker_nap(worker *w, int64_t ms)
{
    while (ms > 0 && !worker_stopping(w)) {
        int64_t step = ms < NAP_STEP_MS ? ms : NAP_STEP_MS;
        struct timespec pause = {.tv_sec = 0, .tv_nsec = step * 1000000};
        nanosleep(&pause, NULL);
        ms -= step;
    }
}

ida_ctx *worker_ctx(worker *w, apr_pool_t *pool)
{
    return ida_ctx_make(&w->env, pool);
}
