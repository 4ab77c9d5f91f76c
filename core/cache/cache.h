/* The cache of what directories hold: what a directory says of people and groups, the state of its
 * syncs, and the worker's own writes. How a dialect found out is not known here. Role DB_SYNC. A
 * whole directory, or its changes, are told through core/cache/sync.h. */
#ifndef CORE_CACHE_CACHE_H
#define CORE_CACHE_CACHE_H

#include "core/store/store.h"
#include "core/tenant/tenant.h"

typedef struct cache_user {
    const char *id, *upn, *mail, *display_name, *given_name, *surname, *department, *job_title,
        *company, *office, *city, *country, *employee_id, *street_address, *postal_code,
        *preferred_language;
    const char **addresses; /* further addresses (proxy, aliases); NULL-terminated or NULL */
    const char **upns;      /* further values that `upn` was chosen from; NULL-terminated or NULL */
    const char **licenses;  /* NULL: not told; empty list: none */
    int enabled, guest;
    int64_t created_at, last_sign_in_at, last_noninteractive_at, last_success_at;
    int64_t expires_at;     /* ms UTC; the account ends then, whatever `enabled` says; 0: never */
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

/* *moved: somebody came, or has another DN, in run `since` or later, so that a link by DN may mean
 * somebody else by now. What the directory says next of those who link to them is taken in full,
 * also where it is the same text. */
ida_kind cache_sync_moved(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                          int64_t since, int *moved);

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
/* Words of people who are gone leave the index of words too, whose parts are merged for that: dear,
 * and for erasure alone. */
ida_kind cache_forget_words(store *s, ida_ctx *c);
ida_kind cache_tell_gone(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         const char *id);
ida_kind cache_tell_member(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                           const char *group_id, const char *user_id, int removed);

/* Counts accounts as disabled whose end (expires_at) is over by now. */
ida_kind cache_expire(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory);

/* Empties the cache of a directory (cache reset); sync_state starts anew, run keeps growing. */
ida_kind cache_reset(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory);

#endif
