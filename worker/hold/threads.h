/* Threads of the worker: each with a pool and stores of its own, started and waited for alike. */
#ifndef WORKER_HOLD_THREADS_H
#define WORKER_HOLD_THREADS_H

#include "worker/hold/worker.h"

#define HOLD_THREADS_MAX 128

typedef struct hold_thread {
    worker *w;
    int index; /* among its kind, from 0 */
    void *baton;
    apr_pool_t *pool;            /* for one round at a time: the thread clears it */
    store *main, *cache, *audit; /* DB_REQUEST, DB_SYNC, DB_INGEST: not connected yet */
} hold_thread;

typedef void (*hold_work)(hold_thread *t);

/* Those of one kind; zeroed at first. */
typedef struct hold_threads {
    atomic_int alive;
    int count;
    struct hold_entry {
        struct hold_threads *all;
        pthread_t id;
        hold_work work;
        hold_thread thread;
    } entries[HOLD_THREADS_MAX];
} hold_threads;

/* Starts one more; 0: there cannot be one. */
int hold_thread_start(hold_threads *all, worker *w, hold_work work, void *baton);
/* Waits until all have ended, at most to `until` (monotonic ms; 0: without end). How many are still
 * running. */
int hold_threads_join(hold_threads *all, const worker *w, int64_t until);

#endif
