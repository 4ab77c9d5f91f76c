/* Threads of one process whose write transactions reach the disk together. For engines that have
 * one writer at a time (SQLite): what arrives while the writer before is on its way to the disk
 * goes into the next commit, so that one fsync serves many callers, each of them as durable as
 * alone. Without it a child takes 0.3 of the bare commits a second that the disk takes, with it
 * 0.6 to 0.8 (`make bench BENCH=post`). */
#ifndef CORE_STORE_COMMIT_QUEUE_H
#define CORE_STORE_COMMIT_QUEUE_H

#include "core/store/store.h"

typedef struct store_commit_queue store_commit_queue;

/* Makes the queue with a connection of its own, opened at first use; both live in `pool`. */
store_commit_queue *store_commit_queue_make(apr_pool_t *pool, const char *dsn, db_role role);

/* Does what store_transaction does, with the same demands on `work`, which is handed the queue's
 * connection and may run in the thread of another caller while this one sleeps; returns when it is
 * committed or refused. What one caller's work fails with is undone alone. Not to be called by a
 * `work`. */
ida_kind store_commit_queue_run(store_commit_queue *q, ida_ctx *c, store_work work, void *baton);

#endif
