/* A run of a synchronisation: begin it, pass on what the directory reports, commit or abort. Role
 * DB_SYNC.
 *
 * There is one way into the cache, for a first load as for a change: entries go to staging in
 * short transactions while the directory is read, and staging is applied to the cache when the
 * report is complete. No transaction waits for a network; none takes longer than about a quarter
 * of a second. The tokens are saved last, so that the directory reports again whatever an
 * interrupted run had not applied. A run never deletes a row that was written through after the
 * run began. An item that contradicts a write-through is held back for 15 minutes, unless the
 * directory's own stamp is newer or a read has shown the written value. An item of a later run
 * that agrees ends the protection; reading the object alone decides a contradiction
 * (core/cache/recheck.h); LDAP is accepted from the next run on. A partial answer never deletes.
 * The deletion guard stops a run and keeps the cache. A run ends with its connection, because
 * another connection may find incomplete staging. */
#ifndef CORE_CACHE_SYNC_H
#define CORE_CACHE_SYNC_H

#include "core/cache/cache.h"

typedef struct cache_sync cache_sync; /* in the pool given to begin; one thread */

/* Begins run number state.run + 1: empties staging and stores started_at. `full`: entries that
 * the run does not see are deleted at its end (both streams). */
ida_kind cache_sync_begin(cache_sync **run, store *s, ida_ctx *c, apr_pool_t *pool,
                          const char *tenant, ida_directory_kind directory, int full);

/* Items into the run's buffer, flushed to staging when it is full (short transactions). Arguments
 * are copied. */
ida_kind cache_sync_user(cache_sync *run, ida_ctx *c, const cache_user *user);
/* The group with its complete list of direct members (without the placeholder). `members` NULL:
 * the group alone; its members arrive separately, in slices and single changes, over any number
 * of calls and in any order (before the group too). The group may be reported again at any time;
 * the last report counts. */
ida_kind cache_sync_group(cache_sync *run, ida_ctx *c, const cache_group *group,
                          const cache_member *members, int count);
/* Some members of a group reported with NULL. In a full run the union of its slices and single
 * changes is its complete list at commit (no slice: no members). In any other run they are added
 * to its members. */
ida_kind cache_sync_slice(cache_sync *run, ida_ctx *c, const char *group_id,
                          const cache_member *members, int count);
/* Sign-in times alone, for users that the cache holds at commit; other users are ignored. 0:
 * never or not recorded. */
typedef struct cache_sign_in_list {
    int64_t last, last_noninteractive, last_success;
} cache_sign_in_list;
ida_kind cache_sync_sign_ins(cache_sync *run, ida_ctx *c, const char *user_id,
                             const cache_sign_in_list *times);
/* When the sign-ins in the cache were read; "untold" ones are not of this run. */
void cache_sync_sign_ins_at(cache_sync *run, int64_t at);

/* --- what comes back without its links --- `settled` is the number of the last run that was
 * committed: what a later one wrote may lack the links it did not come to. */

int64_t cache_sync_number(const cache_sync *run);
/* Users received so far that the cache did not hold after run `settled` although the directory
 * created them before `created_before` (or does not report when): restored accounts. IDs after
 * `after` ("" at first), at most `limit`, in the context's pool. Changes nothing. */
ida_kind cache_sync_returned(cache_sync *run, ida_ctx *c, int64_t settled, int64_t created_before,
                             const char *after, int limit, const char ***ids, int *count);
/* *yes: the cache held this group after run `settled`. */
ida_kind cache_sync_settled(cache_sync *run, ida_ctx *c, const char *group_id, int64_t settled,
                            int *yes);
/* Sets this user's manager, unless the cache knows another one at commit; users that it does not
 * hold are ignored. */
ida_kind cache_sync_report(cache_sync *run, ida_ctx *c, const char *user_id,
                           const char *manager_id);
/* Change of a single member (incremental values). The last report of a member counts; a whole
 * list replaces all earlier ones. */
ida_kind cache_sync_member(cache_sync *run, ida_ctx *c, const char *group_id,
                           const cache_member *member, int removed);
/* The entry is gone. kind: "user" or "group". Links to it are removed, whether or not the cache
 * holds it. */
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

/* Applies staging to the cache in short batches, resolves managers and members, updates
 * counters, and commits tokens and binding with the last batch. If the guard stops it:
 * IDA_CONFLICT, summary->guard_stopped, the cache unchanged and the reason in
 * sync_state.stopped. `tokens` is JSON text. */
ida_kind cache_sync_commit(cache_sync *run, ida_ctx *c, const char *tokens, const char *binding,
                           const cache_guard *guard, int sign_ins, cache_summary *summary);

/* Ends a run without applying it. `error` is stored in sync_state.error. NULL: the run did not
 * fail (the worker ends, the run begins again) and the stored error stays. */
ida_kind cache_sync_abort(cache_sync *run, ida_ctx *c, const char *error);

#endif
