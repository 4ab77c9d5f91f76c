/* What the files that write the cache share: entries as staged records, and how they become rows.
 * For store_sync_*.c and store_cache*.c alone; others see core/cache/sync.h. Everything named
 * cache_* runs inside a write transaction that began with cache_enter, unless it says otherwise. */
#ifndef CORE_CACHE_CACHE_H
#define CORE_CACHE_CACHE_H

#include <apr_hash.h>
#include <apr_tables.h>

#include "core/cache/sync.h"
#include "schema/columns.h"

#define CACHE_ID_MAX 200 /* bytes of an immutable ID */
#define CACHE_KEY_MAX                                                                            \
    1000 /* bytes of a key in an index; longer ones end in a digest (PostgreSQL's index rows end \
            at 2,704 bytes) */
#define CACHE_TEXT_MAX 4096 /* bytes of any other text of a directory */
#define CACHE_PROTECTION_MS (15 * 60 * 1000)
#define CACHE_BUDGET_MS 50 /* after this a transaction takes no further chunk */
#define CACHE_FIRST_BUDGET_MS \
    150 /* in a first load: pages that all transactions touch are written less often */
#define CACHE_BARE_BUDGET_MS 500 /* while nobody has anything in the cache to write to */

/* Where something is written, and on whose behalf. */
typedef struct cache_at {
    store *s;
    const char *tenant, *directory;
    ida_directory_kind kind;
    int64_t staged;     /* number of the run at work; 0: a write-through */
    int64_t run;        /* newest run of this directory, noted in rows that change */
    int64_t started_at; /* when it began */
    int64_t written_at; /* time of a write-through, 0 for a sync */
    int first;          /* first load: a manager's DN means what the cache holds already */
    int copying;        /* first load: rows are taken to be new (cache_copy) */
    int uncounted; /* first load: some members came or went without being counted, or before their
                      group */
    struct cache_memory *memory; /* of a run: numbers of IDs; NULL: they are looked up */
} cache_at;

/* First call of each transaction: one writer a tenant; reads the newest run. */
ida_kind cache_enter(cache_at *at, ida_ctx *c);
/* Rows written through after this instant are protected against items of a run. */
int64_t cache_horizon(const cache_at *at, const ida_ctx *c);

/* --- statements over many rows --- */

/* A JSON array of strings: items[0..count). */
const char *cache_list(apr_pool_t *pool, const char *const *items, int count);
/* A JSON array of pairs: values[0..2 * count). */
const char *cache_pairs(apr_pool_t *pool, const char *const *values, int count);

/* A statement for each of `rows` rows of `columns` values (row after row): arguments are `fixed`,
 * then the row's. SQLite runs it row by row, which is its fastest way; PostgreSQL runs it once for
 * many rows, with one array a column. `done` (or NULL) gets 1 for rows known to have changed
 * something; where the engine does not tell which, a row that did may stay 0. */
ida_kind cache_bulk(cache_at *at, ida_ctx *c, db_statement statement, const db_arg *fixed,
                    size_t fixed_count, const char *const *values, int columns, int rows,
                    unsigned char *done);
/* On PostgreSQL: a statement with one array of numbers a column, run for many rows at once. */
ida_kind cache_bulk_numbers(cache_at *at, ida_ctx *c, db_statement statement, const db_arg *fixed,
                            size_t fixed_count, const int64_t *values, int columns, int rows);
/* While at->copying: rows straight into a table, as db_copy. One that is there already ends the
 * transaction with IDA_CONFLICT, which cache_sync_phase then repeats without copying. */
ida_kind cache_copy(cache_at *at, ida_ctx *c, db_statement statement, const db_arg *fixed,
                    size_t fixed_count, const char *const *values, int columns, int rows);
/* Statement with arguments tenant, directory, list. */
ida_kind cache_by_list(cache_at *at, ida_ctx *c, db_statement statement, const char *list);
/* Text form of a PostgreSQL array: every `columns`-th of the values. */
const char *cache_array(apr_pool_t *pool, const char *const *values, int columns, int rows);

/* --- numbers of IDs --- */

/* What a run remembers of them: bounded, whatever the size of the directory. */
typedef struct cache_memory cache_memory;
cache_memory *cache_memory_make(apr_pool_t *pool);
/* After a transaction that was rolled back, and when a DN has another owner. */
void cache_memory_clear(cache_memory *memory);

/* The numbers of `count` IDs, made where there is none yet. */
ida_kind cache_numbers(cache_at *at, ida_ctx *c, const char *const *ids, int count,
                       int64_t *numbers);

/* --- records --- */

/* Field manager_untold of a user's record. */
#define CACHE_MANAGER_KEPT 1   /* the cache's manager stays */
#define CACHE_MANAGER_NOBODY 2 /* full run: nobody, unless an earlier item of the run told one */

/* A word of the directory on an entry, in memory or in staging. kind: user, group, members (a slice
 * of a whole list), change (a single member), sign_ins (times of a user). op: put, same (as
 * cached), late (held back earlier), present, delete; of a change add, remove. */
typedef struct cache_sync_entry {
    const char *kind, *id, *sub, *op, *digest, *item;
    int untold;  /* in the buffer: the item does not tell the manager */
    int64_t seq; /* order of arrival; slices carry that of their list; a group told without members:
                    0 */
    struct cache_sync_entry *next;
} cache_sync_entry;

#define CACHE_FIELD(column) CACHE_USER_##column,
enum { CACHE_USER_COLUMNS(CACHE_FIELD) CACHE_USER_manager_untold, CACHE_USER_FIELDS };
#undef CACHE_FIELD
#define CACHE_FIELD(column) CACHE_GROUP_##column,
enum { CACHE_GROUP_COLUMNS(CACHE_FIELD) CACHE_GROUP_list, CACHE_GROUP_FIELDS };
#undef CACHE_FIELD
#define CACHE_USER_BOUND CACHE_USER_manager_untold /* fields that are columns */
#define CACHE_GROUP_BOUND CACHE_GROUP_list

/* A record: texts one after the other, each with its length, NULL apart from empty. */
const char *cache_item(apr_pool_t *pool, const char *const *fields, int count);
/* Fills in `max` fields, missing ones as NULL; a damaged record ends early. */
void cache_item_read(apr_pool_t *pool, const char *record, const char **fields, int max);
/* One of them. */
const char *cache_item_field(apr_pool_t *pool, const char *record, int field);
/* How many texts a record holds. */
int cache_item_count(const char *record);

int cache_id_valid(const char *id);
/* A key fit for an index; NULL stays NULL. */
const char *cache_key(apr_pool_t *pool, const char *text);
const char *cache_user_item(apr_pool_t *pool, const cache_user *user);
/* `list` stands for the members in the digest (NULL: not told). */
const char *cache_group_item(apr_pool_t *pool, const cache_group *group, const char *list);
/* "u<id>", "g<id>", "d<DN key>"; NULL: cannot be named */
const char *cache_member_item(apr_pool_t *pool, const cache_member *member);
char *cache_digest(apr_pool_t *pool, const char *bytes, size_t len);
/* 1 when both stamps have the same form and the first is the newer one. */
int cache_stamp_newer(const char *stamp, const char *than);

/* --- entries into rows --- */

/* Users of op put or late, each at most once. */
ida_kind cache_users_put(cache_at *at, ida_ctx *c, const cache_sync_entry *const *entries,
                         int count);
/* The same in a first load, where most of them are new. */
ida_kind cache_users_load(cache_at *at, ida_ctx *c, const cache_sync_entry *const *entries,
                          int count);
ida_kind cache_users_delete(cache_at *at, ida_ctx *c, const char *const *ids, int count);
/* Memberships of these, and managers that they are, end: nothing stands behind the IDs. `ids` is a
 * JSON list. */
ida_kind cache_links_cut(cache_at *at, ida_ctx *c, const char *ids);
/* Pairs of a report's ID and the manager's, for those without a manager. */
ida_kind cache_managers_back(cache_at *at, ida_ctx *c, const char *const *pairs, int count);
/* Managers that waited for these users, and these users' own. `ids` is a JSON list. */
ida_kind cache_users_resolve(cache_at *at, ida_ctx *c, const char *ids);
ida_kind cache_user_enabled(cache_at *at, ida_ctx *c, const char *id, int enabled,
                            const char *stamp);

/* Groups of op put, each at most once; without their members and with an empty digest. *born (or
 * NULL): 1 for those that are new.
 */
ida_kind cache_groups_put(cache_at *at, ida_ctx *c, const cache_sync_entry *const *entries,
                          int count, unsigned char *born);
ida_kind cache_groups_delete(cache_at *at, ida_ctx *c, const char *const *ids, int count);
/* Members counted, digests set: pairs of ID and digest. */
ida_kind cache_groups_finish(cache_at *at, ida_ctx *c, const char *const *pairs, int count);
/* Sign-in times: ID and three numbers each. */
ida_kind cache_sign_ins(cache_at *at, ida_ctx *c, const char *const *rows, int count);
/* Adds to a directory's row counter ("users" or "groups") and the tenant's. */
ida_kind cache_count(cache_at *at, ida_ctx *c, const char *what, int64_t change);
/* Entries of one kind that the directory no longer has: deleted, or kept when written through since
 * the run began. */
ida_kind cache_gone(cache_at *at, ida_ctx *c, int is_group, const char *const *ids, int count);

/* --- members --- */

/* Whose DN keys these are (each once): users and groups, key -> ID; a key of both is a user's. */
ida_kind cache_dn_owners(cache_at *at, ida_ctx *c, const char *const *keys, int count,
                         apr_hash_t *users, apr_hash_t *groups);
/* Pairs of group ID and member item, as named by this run; the unknown ones wait. */
ida_kind cache_members_add(cache_at *at, ida_ctx *c, const char *const *pairs, int count);
ida_kind cache_members_remove(cache_at *at, ida_ctx *c, const char *const *pairs, int count);
/* Before whole lists of these groups are added: nothing waits, nothing is contradicted. */
ida_kind cache_lists_begin(cache_at *at, ida_ctx *c, const char *ids);
/* Deletes up to `slice` members of these groups that this run did not name (or `all` of them);
 * *left is 0 when there are no more.
 */
ida_kind cache_members_drop(cache_at *at, ida_ctx *c, const char *ids, int all, int slice,
                            int *left);
/* Memberships that waited for the DNs of these groups, of these users. */
ida_kind cache_groups_resolve(cache_at *at, ida_ctx *c, const char *ids);
ida_kind cache_members_resolve(cache_at *at, ida_ctx *c, const char *ids);
/* Write-throughs of members whose protection is over; *left as above. */
ida_kind cache_members_settle(cache_at *at, ida_ctx *c, int *left);

/* --- a run --- */

/* What a run was told and has not written yet. */
typedef struct cache_buffer {
    apr_pool_t *pool;
    apr_hash_t *index; /* kind, id, sub -> entry */
    cache_sync_entry *head, *last;
    int count; /* entries */
    apr_array_header_t
        *slices;      /* of a first load: members named without a list, cache_slice each */
    size_t bytes;     /* what it takes to hold and to write them */
    int behind_users; /* of a first load: the users are all in the buffers before this one */
    unsigned told;    /* of a first load: 1 users, 2 groups are in it */
    struct cache_load
        *load; /* of a first load: the way into the tables, made by who fills the buffer */
} cache_buffer;

typedef struct cache_slice {
    const char *group_id, *const *items; /* items: as of changes */
    int count;
    int64_t seq;
} cache_slice;

struct cache_sync {
    cache_at at;
    apr_pool_t *pool, *batch_pool, *page_pool, *item_pool;
    int full, complete[2]; /* complete: user, group */
    int apart;             /* first load: members came apart from their group */
    int bare;              /* first load: indexes for readers are laid aside */
    int by_id;             /* first load: bare when it began */
    int users_done;        /* first load: cache_load_users_end has been */
    int numbered;          /* first load: the users who came before the first group have numbers */
    int64_t budget;        /* ms that one transaction may take */
    int64_t seq;
    size_t first_bytes, full_bytes; /* of a first load: a buffer that is full, now and later */
    cache_buffer *buffer;
    struct sync_writer *writer; /* of a first load: writes one buffer while the next one fills */
    int transactions, flushes, analyze_at; /* of a first load */
    int copies;    /* of a first load: how many more may fail, 0: at.copying is over */
    unsigned told; /* of a first load, of all buffers written */
};

void cache_buffer_clear(cache_buffer *buffer);
int cache_buffer_empty(const cache_buffer *buffer);
/* What an earlier item said of the manager (`op`, and its record where that is "put") goes over to
 * one that says nothing; of one found unchanged the cache knows it. `pool`: the buffer's. */
void cache_sync_manager(apr_pool_t *pool, cache_sync_entry *e, const char *op, const char *earlier);
/* Writes a buffer. In a first load called by the writer alone. */
ida_kind cache_sync_write(cache_sync *run, ida_ctx *c, const cache_buffer *buffer);

/* The writer (core/cache/sync_writer.c): a thread with a connection of its own, which becomes the
 * run's. */
ida_kind cache_writer_start(cache_sync *run, ida_ctx *c);
/* Hands the buffer over, waiting until the one before is written; the failure of that one is told
 * here. */
ida_kind cache_writer_give(cache_sync *run, ida_ctx *c);
/* All is written and the connection at rest, for the thread of the run to use. */
ida_kind cache_writer_wait(cache_sync *run, ida_ctx *c);
/* Ends the thread, drops what was not written. */
void cache_writer_stop(cache_sync *run);

/* Indexes of a first load (core/cache/sync_aside.c), outside of a transaction: laid aside, which
 * sets run->bare, when nobody else has anything in the cache; and those that are aside made again,
 * whoever laid them there. */
ida_kind cache_indexes_aside(cache_sync *run, ida_ctx *c);
ida_kind cache_indexes_back(cache_sync *run, ida_ctx *c);
/* One further index of the tables of users while this run has them aside, none when there are no
 * more: so that who tells the run of groups waits for one at a time. */
ida_kind cache_index_of_users_back(cache_sync *run, ida_ctx *c);

/* Statistics of tables for PostgreSQL's planner, in a transaction of its own. `more` may be 0. */
ida_kind cache_sync_analyze(cache_sync *run, ida_ctx *c, db_statement statement, db_statement more);
ida_kind cache_sync_flush(cache_sync *run, ida_ctx *c);
/* Empties the directory's staging, slice by slice. */
ida_kind cache_sync_empty(cache_sync *run, ida_ctx *c);
/* Entries into staging; inside a transaction. */
ida_kind cache_sync_stage(cache_sync *run, ida_ctx *c, const cache_sync_entry *const *entries,
                          int count);

/* Runs `step` in write transactions of about run->budget until it sets *more to 0. The cursor
 * survives; what a transaction that had to be repeated did to it does not. */
typedef struct cache_cursor {
    int stage;
    int64_t count;
    const void *baton;
} cache_cursor;
typedef ida_kind (*cache_step)(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more);
ida_kind cache_sync_phase(cache_sync *run, ida_ctx *c, cache_step step, cache_cursor *cursor);

/* A buffer of a first load on its way into the tables, step by step. Made in the buffer's pool, by
 * the thread that filled it. */
typedef struct cache_load cache_load;
void cache_load_make(cache_sync *run, cache_buffer *b);
ida_kind cache_load_step(cache_sync *run, ida_ctx *c, cache_cursor *cursor,
                         int *more); /* cursor->baton: cache_load */
/* 1: not without the indexes that may be laid aside. */
int cache_load_needs_indexes(const cache_buffer *b);
/* What has to be before the first buffer with groups is loaded; outside of a transaction. */
ida_kind cache_load_numbers(cache_sync *run, ida_ctx *c, const cache_buffer *b);
/* The rest, when all has been flushed; outside of a transaction. */
ida_kind cache_load_end(cache_sync *run, ida_ctx *c);
/* Before each buffer behind the users: sign-ins once, then from time to time a further index. */
ida_kind cache_load_users_end(cache_sync *run, ida_ctx *c);

/* Reads page after page (arguments tenant, directory, run, the key columns of the row before (first
 * "", one or two), how many, and `which` where the statement takes one) outside of any transaction
 * and hands chunks of their rows to `apply` inside of one.
 */
typedef struct cache_pages {
    db_statement read;
    int keys, rows, chunk; /* keys: columns of the result that order it, the first ones; chunk: rows
                              handed over at once */
    const char *which;
    ida_kind (*apply)(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                      int *again); /* again: the same rows once more */
} cache_pages;
ida_kind cache_sync_pages(cache_sync *run, ida_ctx *c, const cache_pages *pages);

/* Texts of a column of the rows from..to. */
const char **cache_column(apr_pool_t *pool, const db_result *r, int column, int from, int to);

/* A context whose pool is the run's batch pool, emptied; and the way of its failure into `c`. */
ida_ctx *cache_sync_batch(cache_sync *run, const ida_ctx *c);
ida_kind cache_sync_failed(ida_ctx *c, const ida_ctx *batch, ida_kind kind);

#endif
