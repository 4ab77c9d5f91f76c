/* A run of a sync: begin, tell it what the directory says, commit (or abort). Role DB_SYNC.
 *
 * There is one way into the cache, for a first load as for a change: entries go to staging in short
 * transactions while the directory is read, and staging becomes cache when all has been told. No
 * transaction waits for a network; none takes longer than about a quarter of a second. The tokens
 * are committed last, so whatever breaks off is told again. A run never deletes a row written
 * through after it began. An item that contradicts a write-through does not win for 15 minutes,
 * unless it is newer by the directory's own stamp, or a read has shown what was written: an item of
 * a later run that agrees ends the protection, a look at the object alone decides a contradiction
 * (core/cache/doubt.h), and LDAP is believed from the next run on; a partial answer never deletes;
 * the deletion guard stops a run and keeps the cache. A run ends with its connection: what another
 * one finds in staging need not be all. */
#ifndef CORE_CACHE_SYNC_H
#define CORE_CACHE_SYNC_H

#include "core/cache/cache.h"

typedef struct cache_sync cache_sync; /* in the pool given to begin; one thread */

/* Begins run number state.run + 1: empties staging, notes started_at. `full`: what is not seen goes
 * at the end (both streams). */
ida_kind cache_sync_begin(cache_sync **run, store *s, ida_ctx *c, apr_pool_t *pool,
                          const char *tenant, ida_directory_kind directory, int full);

/* Items into the run's buffer, flushed to staging when it is full (short transactions). Arguments
 * are copied. */
ida_kind cache_sync_user(cache_sync *run, ida_ctx *c, const cache_user *user);
/* The group with its complete list of direct members (placeholder left out). `members` NULL: the
 * group alone, its members come apart, in slices and single changes, over as many calls and in any
 * order (before the group too); the group may be told again at any time, the last word holds. */
ida_kind cache_sync_group(cache_sync *run, ida_ctx *c, const cache_group *group,
                          const cache_member *members, int count);
/* Some members of a group told with NULL. In a full run the union of its slices, with its single
 * changes, is its complete list when the run is committed (no slice: nobody). In any other run they
 * are added to those it has. */
ida_kind cache_sync_slice(cache_sync *run, ida_ctx *c, const char *group_id,
                          const cache_member *members, int count);
/* Sign-in times alone, of users in the cache when the run is committed; others are no-ops. 0: never
 * or not recorded. */
typedef struct cache_sign_in_list {
    int64_t last, last_noninteractive, last_success;
} cache_sign_in_list;
ida_kind cache_sync_sign_ins(cache_sync *run, ida_ctx *c, const char *user_id,
                             const cache_sign_in_list *times);
/* When the sign-ins that the cache will hold were read; untold: by this run. */
void cache_sync_sign_ins_at(cache_sync *run, int64_t at);

/* --- what comes back without its links --- `settled` is the number of the last run that was
 * committed: what a later one wrote may lack the links it did not come to. */

int64_t cache_sync_number(const cache_sync *run);
/* Users told so far that the cache did not hold after run `settled` although the directory made
 * them before `created_before` (or does not tell when): restored ones. IDs after `after` ("" at
 * first), at most `limit`, in the context's pool; only what the run told, so nothing is changed by
 * asking. */
ida_kind cache_sync_returned(cache_sync *run, ida_ctx *c, int64_t settled, int64_t created_before,
                             const char *after, int limit, const char ***ids, int *count);
/* *yes: the cache held this group after run `settled`. */
ida_kind cache_sync_settled(cache_sync *run, ida_ctx *c, const char *group_id, int64_t settled,
                            int *yes);
/* This user's manager is that one, unless the cache knows another when the run is committed; users
 * it does not hold are no-ops. */
ida_kind cache_sync_report(cache_sync *run, ida_ctx *c, const char *user_id,
                           const char *manager_id);
/* Change of a single member without the rest (incremental values); the last word for a member
 * holds, a whole list replaces all before it. */
ida_kind cache_sync_member(cache_sync *run, ida_ctx *c, const char *group_id,
                           const cache_member *member, int removed);
/* Entry gone. kind "user" or "group". Links to it are cut, whether or not the cache holds it. */
ida_kind cache_sync_delete(cache_sync *run, ida_ctx *c, const char *kind, const char *id);
/* Present phase: still there, unchanged. */
ida_kind cache_sync_present(cache_sync *run, ida_ctx *c, const char *kind, const char *id);
/* This stream ended with "everything of this kind neither sent nor named present is gone" (full run
 * or present phase). */
ida_kind cache_sync_complete(cache_sync *run, ida_ctx *c, const char *kind);

/* Default rule: more than max(20, min(500, percent of what is cached)) deletions of users or of
 * groups, or no user left where there were some. `percent` replaces the 20, `count` the whole
 * limit, `accept` both. */
typedef struct cache_guard {
    int64_t percent, count;
    int accept;
} cache_guard; /* deletionGuard of the document: percent or absolute count, 0 = default rule */

typedef struct cache_summary {
    int64_t users, groups, deleted_users, deleted_groups, unresolved;
    int guard_stopped;
    const char *reason;
} cache_summary;

/* Applies staging to the cache in short batches, resolves managers and members, brings counters up
 * to date, commits tokens and binding with the last batch. Guard: IDA_CONFLICT,
 * summary->guard_stopped, the cache as it was, reason stored in sync_state.stopped. `tokens` is
 * JSON text. */
ida_kind cache_sync_commit(cache_sync *run, ida_ctx *c, const char *tokens, const char *binding,
                           const cache_guard *guard, int sign_ins, cache_summary *summary);

/* Ends a run without applying. `error` is kept in sync_state.error; NULL of a run that nothing
 * failed in (the worker ends, the run begins again): what was kept before stays. */
ida_kind cache_sync_abort(cache_sync *run, ida_ctx *c, const char *error);

#endif
