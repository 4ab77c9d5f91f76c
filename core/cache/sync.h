/* Writing the cache: runs of a sync through staging, and the worker's write-through. Role DB_SYNC
 * throughout. What a directory says arrives as items; how a dialect found out is not known here.
 *
 * Rules kept here (design 8): no transaction waits for a network; pages go to staging in batches of
 * <= 250 ms; the token is committed with the last batch; a run never deletes a row written through
 * after it began; for 15 minutes an item that contradicts a write-through does not win unless it is
 * newer by the directory's own stamp; a partial answer never deletes; the deletion guard stops a
 * run and keeps the cache. */
#ifndef CORE_CACHE_SYNC_H
#define CORE_CACHE_SYNC_H

#include "core/store/store.h"
#include "core/tenant/tenant.h"

typedef struct cache_user {
    const char *id, *upn, *mail, *display_name, *given_name, *surname, *department, *job_title,
        *company, *office, *city, *country, *employee_id;
    const char **addresses; /* further addresses (proxy, aliases); NULL-terminated or NULL */
    const char **licenses;  /* NULL: not told; empty list: none */
    int enabled, guest;
    int64_t created_at, last_sign_in_at, last_noninteractive_at, last_success_at;
    int sign_ins_untold;    /* 1: the answer said nothing of sign-ins: the three times in the cache
                               stay */
    const char *manager_id; /* or manager_dn */
    int manager_untold; /* 1: this item said nothing of the manager: what an earlier one of the run
                           said holds, else the cache's (in a full run: nobody) */
    const char *manager_dn, *manager_dn_key;
    const char *dn, *dn_key, *anchor, *stamp;
} cache_user;

typedef struct cache_group {
    const char *id, *name, *kind, *description, *dn, *dn_key, *rule, *stamp;
    int synced;
} cache_group;

typedef struct cache_member { /* one direct member of a group: by ID and kind, or by DN key */
    const char *id, *kind;    /* "user" or "group"; NULL when only the DN is known */
    const char *dn_key;
} cache_member;

typedef struct cache_sync_state {
    int64_t run, started_at, completed_at, full_at;
    const char *tokens, *binding, *error, *stopped;
    int sign_ins;
} cache_sync_state;

ida_kind cache_sync_state_get(store *s, ida_ctx *c, const char *tenant,
                              ida_directory_kind directory, cache_sync_state *state);

/* --- a run --- */

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
/* No user and no sign-in will be told any more, only groups and members. May be left out: a first
 * load uses it to make what lists of users need while the directory sends the rest. */
ida_kind cache_sync_users_told(cache_sync *run, ida_ctx *c);
/* --- what comes back without its links ---
 * `settled` is the number of the last run that was committed: what a later one wrote may lack the
 * links it did not come to. */

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

/* Ends a run without applying; error text kept in sync_state.error. */
ida_kind cache_sync_abort(cache_sync *run, ida_ctx *c, const char *error);

/* --- what no directory tells ---
 * A server may follow a rename or a deletion with changes of its own that it reports to nobody
 * (OpenLDAP's refint), and later than it reports the rename: a link then leads nowhere in the
 * cache, or to somebody else. IDs of those whose links were cut by a deletion, lead to somebody who
 * is new or whose DN changed in run `since` or later, or led nowhere when they were last told, in
 * run `nowhere_since` or later; at most `limit` of each. */

typedef struct cache_again_ids {
    const char *const *users, *const *groups;
    int user_count, group_count;
} cache_again_ids;

ida_kind cache_sync_again(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                          int64_t since, int64_t nowhere_since, int limit, cache_again_ids *out);

/* --- write-through, each one transaction: what the directory answered to the worker --- */

/* Unknown users and groups are no failure: there is nothing to keep right, the next sync brings
 * them. An item of a run that contradicts a write-through is kept beside it and holds when the 15
 * minutes are over, unless a later item came: nothing a directory said is lost. */

ida_kind cache_tell_user(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         const cache_user *user);
ida_kind cache_tell_enabled(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            const char *id, int enabled, const char *stamp);
ida_kind cache_tell_manager(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            const char *id, const char *manager_id);
ida_kind cache_tell_gone(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         const char *id);
ida_kind cache_tell_member(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                           const char *group_id, const char *user_id, int removed);

/* Empties the cache of a directory (cache reset); sync_state starts anew, run keeps growing. */
ida_kind cache_reset(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory);

#endif
