/* Owns begin and end of the worker's threads. Knows nothing of what they do. */
#include "worker/hold/threads.h"

#include <time.h>

static void *thread_main(void *baton)
{
    struct hold_entry *entry = baton;
    hold_thread *t = &entry->thread;
    const char *dsn = t->w->config.store;
    apr_pool_t *own;
    apr_pool_create(&own, NULL);
    apr_pool_create(&t->pool, own);
    t->main = store_make(own, dsn, DB_REQUEST);
    t->cache = store_make(own, dsn, DB_SYNC);
    t->audit = store_make(own, dsn, DB_INGEST);
    t->main->audit_key = t->audit->audit_key = t->w->config.audit_key;
    entry->work(t);
    apr_pool_destroy(own); /* disconnects */
    atomic_fetch_sub(&entry->all->alive, 1);
    return NULL;
}

int hold_thread_start(hold_threads *all, worker *w, hold_work work, void *baton)
{
    if (all->count == HOLD_THREADS_MAX) {
        return 0;
    }
    struct hold_entry *entry = &all->entries[all->count];
    entry->all = all;
    entry->work = work;
    entry->thread = (hold_thread){.w = w, .index = all->count, .baton = baton};
    atomic_fetch_add(&all->alive, 1);
    if (pthread_create(&entry->id, NULL, thread_main, entry) != 0) {
        atomic_fetch_sub(&all->alive, 1);
        return 0;
    }
    all->count++;
    return 1;
}

int hold_threads_join(hold_threads *all, const worker *w, int64_t until)
{
    while (atomic_load(&all->alive) && (!until || ida_monotonic(&w->env) < until)) {
        struct timespec pause = {.tv_nsec = 10 * 1000000};
        nanosleep(&pause, NULL);
    }
    int left = atomic_load(&all->alive);
    while (!left && all->count) {
        pthread_join(all->entries[--all->count].id, NULL);
    }
    return left;
}
