/* What the files that write the cache share: entries as staged records, and how they become rows.
 * For core/cache alone; others see core/cache/cache.h and core/cache/sync.h. Every function that
 * takes a cache_at runs inside a write transaction that began with cache_enter. */
#ifndef CORE_CACHE_ROWS_H
#define CORE_CACHE_ROWS_H

#include <apr_hash.h>
#include <apr_tables.h>

#include "core/cache/cache.h"
#include "core/cache/numbers.h"
#include "schema/columns.h"

#define CACHE_ID_MAX 200 /* bytes of an immutable ID */
/* bytes of a key in an index; longer ones end in a digest (PostgreSQL's index rows end at 2,704
 * bytes) */
#define CACHE_KEY_MAX 1000
#define CACHE_TEXT_MAX 4096 /* bytes of any other text of a directory */
#define CACHE_PROTECTION_MS (15 * 60 * 1000)

/* Which tenant and directory is written, and by which run. */
typedef struct cache_at {
    store *s;
    const char *tenant, *directory;
    ida_directory_kind kind;
    int64_t staged;     /* number of the run at work; 0: a write-through */
    int64_t run;        /* newest run of this directory, stored in rows that change */
    int64_t started_at; /* when it began */
    int64_t written_at; /* time of a write-through, 0 for a sync */
    int first; /* 1: the cache held nothing of this directory when the run began, so no DN can
                  have had another meaning */
    cache_numbers *numbers; /* what the run knows of cache.entry; NULL: a write-through */
} cache_at;

/* First call of each transaction: allows one writer for each tenant and reads the newest run. */
ida_kind cache_enter(cache_at *at, ida_ctx *c);
/* Last call of each transaction that may have changed people: assigns ranks to new people and
 * refreshes the search terms of changed ones. A first load assigns all ranks at its end; lists
 * are not served before that. */
ida_kind cache_leave(const cache_at *at, ida_ctx *c);
/* Rows written through after this instant are protected against items of a run. */
int64_t cache_horizon(const cache_at *at, const ida_ctx *c);

/* --- statements over many rows --- */

/* A JSON array of strings: items[0..count). */
const char *cache_list(apr_pool_t *pool, const char *const *items, int count);
/* A JSON array of rows, each an array of `columns` strings: values[0..columns * rows). */
const char *cache_rows(apr_pool_t *pool, const char *const *values, int columns, int rows);

/* Runs a statement for each of `rows` rows of `columns` values (row after row): its arguments
 * are `fixed`, then the row's values. SQLite runs it row by row, which is its fastest way;
 * PostgreSQL runs it once for many rows, with one array for each column. */
ida_kind cache_bulk(cache_at *at, ida_ctx *c, db_statement statement, const db_arg *fixed,
                    size_t fixed_count, const char *const *values, int columns, int rows);
/* Statement with arguments tenant, directory, list. */
ida_kind cache_by_list(cache_at *at, ida_ctx *c, db_statement statement, const char *list);
/* Texts of a column of the rows from..to. */
const char **cache_column(apr_pool_t *pool, const db_result *r, int column, int from, int to);
/* Texts of two columns, row after row. */
const char **cache_pairs(apr_pool_t *pool, const db_result *r, int first, int second, int from,
                         int to);

/* --- records --- */

/* Field manager_untold of a user's record. */
#define CACHE_MANAGER_KEPT 1   /* the cache's manager stays */
#define CACHE_MANAGER_NOBODY 2 /* full run: none, unless an earlier item of it reported one */

/* One item of the directory's report about an entry, in memory or in staging. kind: user, group,
 * member (some members of a group, ordered by sub), sign_ins (times of a user), report (a user's
 * manager). op: put, same (as cached), late (held back earlier), present, delete; for members
 * add, remove. */
typedef struct cache_sync_entry {
    const char *kind, *id, *sub, *op, *digest, *item;
    int untold;  /* in the buffer: the item does not report the manager */
    int64_t seq; /* order of arrival; members have that of their whole list; 0 for a group
                    reported without members */
    struct cache_sync_entry *next;
} cache_sync_entry;

#define CACHE_FIELD(column, ...) CACHE_USER_##column,
enum {
    CACHE_USER_COLUMNS(CACHE_FIELD) CACHE_USER_manager_untold,
    CACHE_USER_upns, /* a record */
    CACHE_USER_FIELDS
};
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
/* How many texts a record holds. */
int cache_item_count(const char *record);

int cache_id_valid(const char *id);
const char *cache_user_item(apr_pool_t *pool, const cache_user *user);
/* A user's fields with the UPN of this key in place of the chosen one, if the entry has that
 * value too. */
void cache_user_keep_upn(apr_pool_t *pool, const char **fields, const char *known_key);
/* `list` represents the members in the digest (NULL: not reported). */
const char *cache_group_item(apr_pool_t *pool, const cache_group *group, const char *list);
/* "u<id>", "g<id>", "d<DN key>"; NULL: cannot be named */
const char *cache_member_item(apr_pool_t *pool, const cache_member *member);
char *cache_digest(apr_pool_t *pool, const char *bytes, size_t len);
/* 1 when both stamps have the same form and the first is the newer one. */
int cache_stamp_newer(const char *stamp, const char *than);

/* --- entries into rows --- */

/* The numbers of these IDs (ID to const db_value *), made where there are none yet: memberships
 * hold numbers in place of IDs. */
ida_kind cache_entries(cache_at *at, ida_ctx *c, const char *const *ids, int count,
                       apr_hash_t **numbers);

/* Users of op put or late, each at most once. */
ida_kind cache_users_put(cache_at *at, ida_ctx *c, const cache_sync_entry *const *entries,
                         int count);
ida_kind cache_users_delete(cache_at *at, ida_ctx *c, const char *const *ids, int count);
/* Ends the memberships of these people and their role as managers, because no entry has these
 * IDs any more. `ids` is a JSON list. */
ida_kind cache_links_cut(cache_at *at, ida_ctx *c, const char *ids);
/* Sets managers: pairs of the ID of a report and of the manager, for people without a manager. */
ida_kind cache_managers_back(cache_at *at, ida_ctx *c, const char *const *pairs, int count);
/* Resolves managers that waited for these users, and the managers of these users. `ids` is a
 * JSON list. */
ida_kind cache_users_resolve(cache_at *at, ida_ctx *c, const char *ids);
ida_kind cache_user_enabled(cache_at *at, ida_ctx *c, const char *id, int enabled,
                            const char *stamp);

/* Disables up to `limit` accounts whose end has passed; *count: how many. */
ida_kind cache_users_expire(cache_at *at, ida_ctx *c, int limit, int *count);

/* Groups of op put, each at most once; without their members and with an empty digest. */
ida_kind cache_groups_put(cache_at *at, ida_ctx *c, const cache_sync_entry *const *entries,
                          int count);
ida_kind cache_groups_delete(cache_at *at, ida_ctx *c, const char *const *ids, int count);
/* Stores the number of members and the digests: pairs of ID and digest. */
ida_kind cache_groups_finish(cache_at *at, ida_ctx *c, const char *const *pairs, int count);
/* Sign-in times: ID and three numbers each. */
ida_kind cache_sign_ins(cache_at *at, ida_ctx *c, const char *const *rows, int count);
/* Adds to a directory's row counter ("users" or "groups") and the tenant's. */
ida_kind cache_count(cache_at *at, ida_ctx *c, const char *what, int64_t change);
/* Entries of one kind that the directory no longer has: deleted, or kept when written through since
 * the run began. */
ida_kind cache_gone(cache_at *at, ida_ctx *c, int is_group, const char *const *ids, int count);

/* --- members --- */

/* Pairs of group ID and member item as this run named them; unknown members wait for their
 * entry. */
ida_kind cache_members_add(cache_at *at, ida_ctx *c, const char *const *pairs, int count);
ida_kind cache_members_remove(cache_at *at, ida_ctx *c, const char *const *pairs, int count);
/* Called before whole lists of these groups are added: drops waiting members and contradictions. */
ida_kind cache_lists_begin(cache_at *at, ida_ctx *c, const char *ids);
/* Deletes up to `slice` members of these groups that this run did not name (or `all` of them);
 * *left is 0 when there are no more. */
ida_kind cache_members_drop(cache_at *at, ida_ctx *c, const char *ids, int all, int slice,
                            int *left);
/* Resolves memberships that waited for the DNs of these groups or users. */
ida_kind cache_groups_resolve(cache_at *at, ida_ctx *c, const char *ids);
ida_kind cache_members_resolve(cache_at *at, ida_ctx *c, const char *ids);
/* Write-throughs of members whose protection has ended; *left as above. */
ida_kind cache_members_settle(cache_at *at, ida_ctx *c, int *left);
/* Result of reading one membership: 1 when the directory shows it. Ends the protection of a
 * write-through that both a run and this read contradict. */
ida_kind cache_member_seen(cache_at *at, ida_ctx *c, const char *group_id, const char *user_id,
                           int is_member);
/* The same for a user. */
ida_kind cache_user_seen(cache_at *at, ida_ctx *c, const char *id, const char *item);

/* --- who is counted (core/cache/counters.c) --- */

/* What decides whether a person counts as an enabled member. */
typedef struct cache_person {
    const char *id, *upn_key, *anchor;
    int exists, member;
    const char *addresses; /* record of further addresses */
} cache_person;

/* A set of changes to people of one directory: begun before the rows are written, ended after,
 * when the number of enabled members is correct again. With one directory it is a subtraction in
 * memory. With two, the on-premises rows that the changes can affect are counted before and
 * after, and marked as counterparts or not. */
typedef struct cache_counters {
    int64_t change, before;
    const char **ids, **upns, **anchors;
    int count, upn_count, anchor_count, two;
    const char *list[3];           /* ids, upns, anchors as JSON */
    apr_array_header_t *addresses; /* UPNs and further addresses that appear, disappear or change */
} cache_counters;

void cache_counters_make(cache_counters *n, apr_pool_t *pool, int people);
void cache_counters_add(cache_counters *n, const cache_person *old, const cache_person *new);
ida_kind cache_counters_begin(cache_counters *n, cache_at *at, ida_ctx *c);
ida_kind cache_counters_end(cache_counters *n, cache_at *at, ida_ctx *c);

/* --- core/cache/segment.c: PostgreSQL's index of terms, kept up to date with the cache --- */

/* Indexes some of the people that a first load has brought; *more: there may be others. */
ida_kind cache_segments_deal(const cache_at *at, ida_ctx *c, int *more);
/* Updates the index with the changes of this transaction. */
ida_kind cache_segments_settle(const cache_at *at, ida_ctx *c);

#endif
