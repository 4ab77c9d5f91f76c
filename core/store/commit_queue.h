/* Threads of one process, such as the writer, whose transactions reach the disk together. For
 * engines that write one transaction at a time (SQLite): work that arrives during a commit goes
 * into the next commit, so that one fsync serves many callers, each of them as durable as alone.
 * With 16 connections the writer serves 3,470 POST a second on a disk that takes 2,890 bare commits
 * (`make bench BENCH=post`). */
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
