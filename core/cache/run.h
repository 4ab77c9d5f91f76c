/* What the files of a run share: its buffer, its way to staging, its transactions. For core/cache
 * alone. */
#ifndef CORE_CACHE_RUN_H
#define CORE_CACHE_RUN_H

#include "core/cache/rows.h"
#include "core/cache/sync.h"

/* Items that a run has received and not staged yet. */
typedef struct cache_buffer {
    apr_pool_t *pool;
    apr_hash_t *index; /* kind, id, sub -> entry */
    cache_sync_entry *head, *last;
    int count;    /* entries */
    size_t bytes; /* memory that they use */
} cache_buffer;

struct cache_sync {
    cache_at at;
    apr_pool_t *pool, *batch_pool, *page_pool, *item_pool;
    unsigned connection;   /* connection of the store: staging that another connection began may
                              be incomplete */
    int full, complete[2]; /* complete: user, group */
    int64_t seq, slices;   /* number of items, number of member slices */
    int64_t sign_ins_at;   /* 0: untold */
    cache_buffer buffer;
};

/* A run that has not begun, for work in slices on a directory's cache; its pools are made from
 * run->pool. */
void cache_run_make(cache_sync *run, const cache_at *at, apr_pool_t *pool);

/* Writes the buffer to staging, in one transaction, and empties it. */
ida_kind cache_run_flush(cache_sync *run, ida_ctx *c);
void cache_buffer_clear(cache_buffer *buffer);
/* Copies what an earlier item reported of the manager (`op`, and its record if that is "put") to
 * an item that reports none. For an unchanged entry the cache knows the manager. `pool`: the
 * buffer's. */
void cache_keep_manager(apr_pool_t *pool, cache_sync_entry *e, const char *op, const char *earlier);

/* Empties the directory's staging, slice by slice. */
ida_kind cache_run_empty(cache_sync *run, ida_ctx *c);
/* Counts the deletions that the guard judges, before anything is applied; sets
 * summary->guard_stopped. */
ida_kind cache_guard_check(cache_sync *run, ida_ctx *c, const cache_guard *guard,
                           cache_summary *summary);

/* Runs `step` in write transactions of a bounded time until it sets *more to 0. The cursor is
 * kept between transactions; changes made by a transaction that is repeated are undone. */
typedef struct cache_cursor {
    int64_t count;
    const void *baton;
} cache_cursor;
typedef ida_kind (*cache_step)(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more);
ida_kind cache_run_steps(cache_sync *run, ida_ctx *c, cache_step step, cache_cursor *cursor);

/* Reads page after page (arguments: tenant, directory, run, the first key column of the row before
 * (first ""), the number of rows, the second key column if there is one, and `which` if the
 * statement takes one) outside of
 * any transaction and hands chunks of rows to `apply` inside one. Before that it runs `before`,
 * which may be NULL, until that sets *more to 0. */
typedef struct cache_pages {
    db_statement read;
    const int *key;  /* the one or two columns that order the rows, then -1 */
    int rows, chunk; /* chunk: rows passed at once */
    const char *which;
    ida_kind (*apply)(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to);
    ida_kind (*before)(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                       int *more);
} cache_pages;
extern const int cache_by_id[], cache_by_sort[], cache_by_sub[]; /* id; sort and id; id and sub */
ida_kind cache_run_pages(cache_sync *run, ida_ctx *c, const cache_pages *pages);
#define CACHE_PAGE_ID DB_COLUMN(id, id)
_Static_assert(DB_COLUMN(staged, id) == CACHE_PAGE_ID && DB_COLUMN(digest, id) == CACHE_PAGE_ID &&
                   DB_COLUMN(staged_item, id) == CACHE_PAGE_ID &&
                   DB_COLUMN(staged_members, id) == CACHE_PAGE_ID,
               "rows of pages begin with their ID");

/* A context with the run's emptied batch pool; the second function copies its failure to `c`. */
ida_ctx *cache_batch(cache_sync *run, const ida_ctx *c);
ida_kind cache_failed(ida_ctx *c, const ida_ctx *batch, ida_kind kind);

#endif
