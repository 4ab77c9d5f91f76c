/* Owns the thread that writes a first load while the next buffer fills, with a connection of its
 * own. Must not know what is in a buffer. */
#include <apr_allocator.h>
#include <pthread.h>

#include "core/cache/cache.h"

/* Page cache of SQLite's connection: indexes grow at random places, with the few pages that a
 * connection keeps most would be read and written again for each row. */
#define ROOM_KB (24 * 1024)

typedef struct sync_writer sync_writer;

struct sync_writer {
    cache_sync *run;
    const ida_env *env;
    cache_buffer buffers[2]; /* one fills, one is written or empty */
    apr_pool_t *pool;        /* of the thread: the message of its failure */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    const cache_buffer *work; /* NULL: nothing to do */
    int stop;
    ida_kind kind; /* first failure; nothing is written after it */
    const ida_ctx *failed;
};

/* With an allocator of its own: the pools of a run belong to its thread. */
static apr_pool_t *apart(void)
{
    apr_allocator_t *allocator;
    apr_pool_t *pool;
    apr_allocator_create(&allocator);
    apr_pool_create_unmanaged_ex(&pool, NULL, allocator);
    apr_allocator_owner_set(allocator, pool);
    return pool;
}

static void *thread_main(void *baton)
{
    sync_writer *w = baton;
    ida_ctx *c = ida_ctx_make(w->env, w->pool);
    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        if (!w->work) {
            pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        pthread_mutex_unlock(&w->lock);
        ida_kind kind = cache_sync_write(w->run, c, w->work);
        pthread_mutex_lock(&w->lock);
        w->kind = kind;
        w->failed = c;
        w->work = NULL;
        w->stop |= kind != IDA_OK;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static apr_status_t end(void *baton)
{
    cache_sync *run = baton;
    sync_writer *w = run->writer;
    if (!w) {
        return APR_SUCCESS;
    }
    pthread_mutex_lock(&w->lock);
    w->stop = 1;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    apr_pool_destroy(run->batch_pool);
    for (int i = 0; i < 2; i++) {
        apr_pool_destroy(w->buffers[i].pool);
    }
    apr_pool_destroy(w->pool);
    run->writer = NULL;
    return APR_SUCCESS;
}

ida_kind cache_writer_start(cache_sync *run, ida_ctx *c)
{
    sync_writer *w = apr_pcalloc(run->pool, sizeof *w);
    store *s = store_make(run->pool, run->at.s->dsn, DB_SYNC);
    ida_kind kind = store_connect(s, c);
    if (!kind && !db_is_postgresql(s->db)) {
        kind = db_script(s->db, c, ida_printf(c->pool, "PRAGMA cache.cache_size = -%d", ROOM_KB));
    }
    if (kind) {
        return kind;
    }
    w->run = run;
    w->env = c->env;
    w->pool = apart();
    for (int i = 0; i < 2; i++) {
        w->buffers[i].pool = apart();
        cache_buffer_clear(&w->buffers[i]);
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    run->at.s = s;
    run->batch_pool = apart();
    run->buffer = &w->buffers[0];
    run->writer = w;
    if (pthread_create(&w->thread, NULL, thread_main, w) != 0) {
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "No thread can be started to write what the directory sends.");
    }
    apr_pool_pre_cleanup_register(run->pool, run, end);
    return IDA_OK;
}

/* Under the lock. */
static ida_kind wait_idle(sync_writer *w, ida_ctx *c)
{
    while (w->work) {
        pthread_cond_wait(&w->changed, &w->lock);
    }
    if (w->kind) {
        cache_sync_failed(c, w->failed, w->kind);
    }
    return w->kind;
}

ida_kind cache_writer_give(cache_sync *run, ida_ctx *c)
{
    sync_writer *w = run->writer;
    cache_load_make(run, run->buffer); /* while the writer is at the one before */
    pthread_mutex_lock(&w->lock);
    ida_kind kind = wait_idle(w, c);
    if (!kind) {
        w->work = run->buffer;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    if (!kind) {
        run->buffer = run->buffer == &w->buffers[0] ? &w->buffers[1] : &w->buffers[0];
        cache_buffer_clear(run->buffer);
    }
    return kind;
}

ida_kind cache_writer_wait(cache_sync *run, ida_ctx *c)
{
    sync_writer *w = run->writer;
    pthread_mutex_lock(&w->lock);
    ida_kind kind = wait_idle(w, c);
    pthread_mutex_unlock(&w->lock);
    return kind;
}

void cache_writer_stop(cache_sync *run)
{
    if (run->writer) {
        apr_pool_cleanup_run(run->pool, run, end);
        apr_pool_create(&run->batch_pool, run->pool);
    }
}
