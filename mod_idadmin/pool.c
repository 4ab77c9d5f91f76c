/* Owns this child's few store connections and who writes through which. Must not know statements. */
#include "mod_idadmin/module.h"

#include <apr_reslist.h>
#include <apr_thread_cond.h>
#include <apr_thread_mutex.h>

#include "core/store_group.h"

APLOG_USE_MODULE(idadmin);

#define CONNECTIONS 4                      /* of readers: as many served as many requests as 25 */
#define WRITERS 2                          /* of them may be with writers, so that reads find the others */
#define WAIT_US apr_time_from_sec(5)

/* Handles are made once and connect at their first use; the list only hands them out. Filled and read under the list's lock. */
static struct {
    apr_reslist_t *list;
    store *handles[CONNECTIONS];
    int given;
} connections;

/* SQLite has one writer at a time: the writers of this child share one connection, the readers have the others. NULL with
 * PostgreSQL, where each writer takes one for itself. */
static store_group *group;

static struct {
    apr_thread_mutex_t *lock;
    apr_thread_cond_t *one_left;
    int inside;
} writers;

static apr_status_t give(void **resource, void *params, apr_pool_t *pool)
{
    (void)params;
    (void)pool;
    if (connections.given == CONNECTIONS) {
        return APR_EGENERAL;
    }
    *resource = connections.handles[connections.given++];
    return APR_SUCCESS;
}

static apr_status_t keep(void *resource, void *params, apr_pool_t *pool)
{
    (void)resource;
    (void)params;
    (void)pool;
    return APR_SUCCESS; /* handles end with the child's pool */
}

void pool_init(apr_pool_t *pool, server_rec *s)
{
    group = store_group_make(pool, config_store(s), DB_REQUEST);
    connections.given = writers.inside = 0;
    for (int i = 0; i < CONNECTIONS; i++) {
        connections.handles[i] = store_make(pool, config_store(s), DB_REQUEST);
    }
    apr_status_t rv = apr_reslist_create(&connections.list, 0, CONNECTIONS, CONNECTIONS, 0, give, keep, NULL, pool);
    if (rv == APR_SUCCESS) {
        rv = apr_thread_mutex_create(&writers.lock, APR_THREAD_MUTEX_DEFAULT, pool);
    }
    if (rv == APR_SUCCESS) {
        rv = apr_thread_cond_create(&writers.one_left, pool);
    }
    if (rv != APR_SUCCESS) {
        connections.list = NULL;
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, s, "IDA0203: cannot make the list of store connections; requests get 503");
        return;
    }
    apr_reslist_timeout_set(connections.list, WAIT_US);
}

static ida_kind busy(ida_ctx *c)
{
    c->retry_after = 1;
    return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The store is busy at the moment.");
}

ida_kind pool_acquire(void *baton, ida_ctx *c, store **s)
{
    void *resource;
    (void)baton;
    if (!connections.list || apr_reslist_acquire(connections.list, &resource) != APR_SUCCESS) {
        return busy(c);
    }
    ida_kind kind = store_connect(resource, c);
    if (kind) {
        apr_reslist_release(connections.list, resource);
        return kind;
    }
    *s = resource;
    return IDA_OK;
}

void pool_release(void *baton, store *s)
{
    (void)baton;
    apr_reslist_release(connections.list, s);
}

static int writer_enter(void)
{
    apr_status_t rv = APR_SUCCESS;
    apr_time_t end = apr_time_now() + WAIT_US;
    apr_thread_mutex_lock(writers.lock);
    while (writers.inside == WRITERS && rv == APR_SUCCESS) {
        apr_interval_time_t left = end - apr_time_now();
        rv = left > 0 ? apr_thread_cond_timedwait(writers.one_left, writers.lock, left) : APR_TIMEUP;
    }
    int entered = writers.inside < WRITERS;
    writers.inside += entered;
    apr_thread_mutex_unlock(writers.lock);
    return entered;
}

static void writer_leave(void)
{
    apr_thread_mutex_lock(writers.lock);
    writers.inside--;
    apr_thread_cond_signal(writers.one_left);
    apr_thread_mutex_unlock(writers.lock);
}

ida_kind pool_acquire_writer(ida_ctx *c, store **s)
{
    if (group) {
        *s = store_group_door(group);
        return IDA_OK;
    }
    if (!connections.list || !writer_enter()) {
        return busy(c);
    }
    ida_kind kind = pool_acquire(NULL, c, s);
    if (kind) {
        writer_leave();
    }
    return kind;
}

void pool_release_writer(store *s)
{
    if (!group) {
        pool_release(NULL, s);
        writer_leave();
    }
}
