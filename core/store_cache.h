/* What the files that write the cache share: entries as staged items, and how staged items become rows. For store_sync_*.c and store_cache*.c
 * alone; others see store_sync.h. Everything named cache_* runs inside a write transaction that began with cache_enter. */
#ifndef IDA_STORE_CACHE_H
#define IDA_STORE_CACHE_H

#include <apr_hash.h>

#include "core/store_sync.h"

#define CACHE_ID_MAX 200          /* bytes of an immutable ID */
#define CACHE_KEY_MAX 1000        /* bytes of a key in an index; longer ones end in a digest (PostgreSQL's index rows end at 2,704 bytes) */
#define CACHE_TEXT_MAX 4096       /* bytes of any other text of a directory */
#define CACHE_PROTECTION_MS (15 * 60 * 1000)
#define CACHE_BUDGET_MS 100
/* Member manager_untold of a staged user. */
#define CACHE_MANAGER_KEPT 1   /* the cache's manager stays */
#define CACHE_MANAGER_NOBODY 2 /* full run: nobody, unless an earlier item of the run told one */
#define CACHE_FIRST_BUDGET_MS 2000 /* first load of an empty directory: pages that all batches touch are written less often */

/* Where something is written, and on whose behalf. */
typedef struct cache_at {
    store *s;
    const char *tenant, *directory;
    ida_directory_kind kind;
    int64_t staged;     /* run under which the items lie in staging; 0: a write-through */
    int64_t run;        /* newest run of this directory, noted in rows that change */
    int64_t started_at; /* when it began */
    int64_t written_at; /* time of a write-through, 0 for a sync */
} cache_at;

/* First call of each transaction: one writer a tenant; reads the newest run. */
ida_kind cache_enter(cache_at *at, ida_ctx *c);
/* Rows written through after this instant are protected against items of a run. */
int64_t cache_horizon(const cache_at *at, const ida_ctx *c);

/* --- text being built (JSON) --- */

typedef struct cache_text {
    apr_pool_t *pool;
    char *bytes; /* always ended by NUL */
    size_t len, room;
} cache_text;

void cache_text_begin(cache_text *t, apr_pool_t *pool, const char *first);
void cache_text_add(cache_text *t, const char *text);
void cache_text_string(cache_text *t, const char *text); /* quoted; text is valid UTF-8 */
/* A JSON array of strings: items[0..count). */
const char *cache_list(apr_pool_t *pool, const char *const *items, int count);

/* --- items --- */

int cache_id_valid(const char *id);
/* A key fit for an index; NULL stays NULL. */
const char *cache_key(apr_pool_t *pool, const char *text);
const char *cache_user_item(apr_pool_t *pool, const sync_user *user);
/* `list` is the digest of the members (NULL: none), `members` their number. */
const char *cache_group_item(apr_pool_t *pool, const sync_group *group, int members, const char *list);
/* "u<id>", "g<id>", "d<DN key>" */
const char *cache_member_item(apr_pool_t *pool, const sync_member *member);
char *cache_digest(apr_pool_t *pool, const char *bytes, size_t len);
/* 1 when both stamps have the same form and the first is the newer one. */
int cache_stamp_newer(const char *stamp, const char *than);

/* --- staged items into rows --- */

/* Applies up to `limit` staged users after `after`; *last is the last one (NULL: there was none). */
ida_kind cache_users_apply(cache_at *at, ida_ctx *c, const char *after, int limit, const char **last);
ida_kind cache_users_delete(cache_at *at, ida_ctx *c, const char *const *ids, int count);
/* Managers that waited for these users, and these users' own. `ids` is a JSON list. */
ida_kind cache_users_resolve(cache_at *at, ida_ctx *c, const char *ids);
ida_kind cache_user_enabled(cache_at *at, ida_ctx *c, const char *id, int enabled, const char *stamp);

ida_kind cache_groups_apply(cache_at *at, ida_ctx *c, const char *after, int limit, const char **last);
ida_kind cache_groups_delete(cache_at *at, ida_ctx *c, const char *const *ids, int count);
/* Memberships that waited for the DNs of these groups, of these users. */
ida_kind cache_groups_resolve(cache_at *at, ida_ctx *c, const char *ids);
ida_kind cache_members_resolve(cache_at *at, ida_ctx *c, const char *ids);
/* Adds to a directory's row counter ("users" or "groups") and the tenant's. */
ida_kind cache_count(cache_at *at, ida_ctx *c, const char *what, int64_t change);

/* Deletes up to `slice` memberships of these groups; *left is 0 when there are no more. */
ida_kind cache_groups_empty(cache_at *at, ida_ctx *c, const char *ids, int slice, int *left);
/* (group, member) pairs that the directory no longer names. */
ida_kind cache_pairs_drop(cache_at *at, ida_ctx *c, const char *pairs);
/* Write-throughs of members whose protection is over; *left as above. */
ida_kind cache_members_settle(cache_at *at, ida_ctx *c, int *left);

/* Staged lists of members and single changes, in transactions of their own (no transaction may be open). */
ida_kind cache_lists_apply(sync_run *run, ida_ctx *c);
ida_kind cache_changes_apply(sync_run *run, ida_ctx *c);

/* --- a run --- */

struct sync_run {
    cache_at at;
    apr_pool_t *pool, *buffer_pool, *batch_pool;
    int full, complete[2];       /* complete: user, group */
    int64_t budget;              /* ms that one transaction may take */
    int64_t seq;
    apr_hash_t *index;           /* kind, id, sub -> entry of the buffer */
    struct sync_entry *first, *last;
    int buffered;
    size_t bytes;
};

ida_kind sync_run_flush(sync_run *run, ida_ctx *c);
/* Empties the directory's staging, slice by slice. */
ida_kind sync_run_empty(sync_run *run, ida_ctx *c);

/* Runs `step` in write transactions of about run->budget until it sets *more to 0. The cursor survives; what a transaction that had to be repeated
 * did to it does not. */
typedef struct sync_cursor {
    char id[CACHE_ID_MAX + 1], sub[CACHE_KEY_MAX + 100];
    int64_t count;
    const void *baton;
} sync_cursor;
typedef ida_kind (*sync_step)(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more);
ida_kind sync_run_phase(sync_run *run, ida_ctx *c, sync_step step, sync_cursor *cursor);
/* A context whose pool is the run's batch pool, emptied; and the way of its failure into `c`. */
ida_ctx *sync_run_batch(sync_run *run, const ida_ctx *c);
ida_kind sync_run_failed(ida_ctx *c, const ida_ctx *batch, ida_kind kind);

#endif
