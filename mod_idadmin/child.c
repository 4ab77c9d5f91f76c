/* Owns what a serving child holds, and its one thread of housekeeping: letting go of old spool
 * segments, writing counts of refused requests that are due, telling of a full rate table. Must not
 * know requests. */
#include "mod_idadmin/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "core/zone/zone.h"

APLOG_USE_MODULE(idadmin);

#define CONNECTIONS 4    /* to read with; as many served as many requests as 25 */
#define OF_COMPANY 2     /* of them may be with one company */
#define CALLERS_MAX 4096 /* API users cached in a child; a kilobyte each */

child_state *child;

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int running, stop;
} keeper;

static void log_line(void *baton, ida_level level, const char *id, const char *message)
{
    static const int levels[] = {[IDA_LOG_ERROR] = APLOG_ERR,
                                 [IDA_LOG_WARN] = APLOG_WARNING,
                                 [IDA_LOG_INFO] = APLOG_INFO,
                                 [IDA_LOG_DEBUG] = APLOG_DEBUG};
    ap_log_error(APLOG_MARK, levels[level], 0, baton, "%s%s%s", id ? id : "", id ? ": " : "",
                 message);
}

/* At most once a minute over all children: the child that moves the shared mark logs it. */
static void tell_overflows(void)
{
    _Atomic uint64_t *watch = shm_overflow_watch();
    uint64_t seen = atomic_load(watch);
    uint32_t minute = (uint32_t)(ida_monotonic(&child->env) / 60000),
             count = (uint32_t)limit_overflows(child->limiter);
    if ((uint32_t)seen == count || (uint32_t)(seen >> 32) == minute) {
        return;
    }
    if (atomic_compare_exchange_strong(watch, &seen, (uint64_t)minute << 32 | count)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, child->server,
                     "IDA0204: the rate table is full: requests since the last such line that were "
                     "counted in records of several callers: %u; raise IdAdminRateTable",
                     (unsigned)(count - (uint32_t)seen));
    }
}

static void housekeeping(apr_pool_t *pool, int all)
{
    ida_ctx *c = ida_ctx_make(&child->env, pool);
    ida_refusals_flush(shm_refusals(), c, all, spool_write);
    audit_spool_close_old(child->spool, ida_now(&child->env));
    tell_overflows();
}

static void *keep_house(void *baton)
{
    apr_pool_t *pool = baton; /* of this thread alone */
    pthread_mutex_lock(&keeper.lock);
    while (!keeper.stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        while (!keeper.stop &&
               pthread_cond_timedwait(&keeper.wake, &keeper.lock, &until) != ETIMEDOUT) {}
        int stop = keeper.stop;
        pthread_mutex_unlock(&keeper.lock);
        housekeeping(pool, stop); /* the last time: also writes counts that are not due yet,
                                     because this may be the last child */
        apr_pool_clear(pool);
        pthread_mutex_lock(&keeper.lock);
    }
    pthread_mutex_unlock(&keeper.lock);
    return NULL;
}

static apr_status_t stop_keeper(void *unused)
{
    (void)unused;
    if (keeper.running) {
        pthread_mutex_lock(&keeper.lock);
        keeper.stop = 1;
        pthread_cond_signal(&keeper.wake);
        pthread_mutex_unlock(&keeper.lock);
        pthread_join(keeper.thread, NULL);
        keeper.running = 0;
    }
    child = NULL;
    return APR_SUCCESS;
}

static apr_status_t destroy_pool(void *pool)
{
    apr_pool_destroy(pool);
    return APR_SUCCESS;
}

static void start_keeper(apr_pool_t *pool)
{
    apr_allocator_t *allocator;
    apr_pool_t *own;
    pthread_condattr_t attr;
    sigset_t all, before;
    apr_allocator_create(&allocator);
    apr_pool_create_unmanaged_ex(&own, NULL, allocator);
    apr_allocator_owner_set(allocator, own);
    apr_pool_cleanup_register(pool, own, destroy_pool, apr_pool_cleanup_null);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&keeper.lock, NULL);
    pthread_cond_init(&keeper.wake, &attr);
    pthread_condattr_destroy(&attr);
    keeper.stop = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for httpd's own threads */
    int failed = pthread_create(&keeper.thread, NULL, keep_house, own);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    keeper.running = !failed;
    if (failed) {
        ap_log_error(APLOG_MARK, APLOG_ERR, failed, child->server,
                     "IDA0205: cannot start the housekeeping thread of this child");
    }
}

void child_init(apr_pool_t *pool, server_rec *s)
{
    size_t size = 0;
    writers_child_init();
    void *block = shm_limiter(&size);
    metrics_attach(shm_metrics());
    child = apr_pcalloc(pool, sizeof *child);
    child->server = s;
    ida_env_default(&child->env);
    child->env.log = log_line;
    child->env.baton = s;
    zone_init(pool);
    child->limiter = block ? limit_attach(pool, block, size, 0) : NULL;
    if (!child->limiter) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "IDA0206: no shared memory for the rate limits: every request gets 503");
        return;
    }
    child->seats = seats_attach(pool, shm_seats());
    if (!child->seats) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "IDA0207: more children than seats are made for: requests of keys that are "
                     "limited to some at the same time get 429 in this child");
    }
    child->spool = audit_spool_writer_make(pool, config_spool(s));
    child->callers = ida_callers_make(pool, CALLERS_MAX, IDA_CALLER_AGE_MS);
    child->mcp = ida_mcp_make(pool);
    child->openapi = ida_openapi(pool);
    body_init(pool);
    child->source = store_pool_make(pool, config_store(s), DB_READ, CONNECTIONS, OF_COMPANY);
    start_keeper(pool);
    /* Before other resources of the pool are freed, because the thread writes to the spool. */
    apr_pool_pre_cleanup_register(pool, NULL, stop_keeper);
}
