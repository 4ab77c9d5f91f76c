/* The cache of what directories hold: people, groups, the state of their synchronisations, and
 * the worker's own writes. It does not know how a connector obtained them. Role DB_SYNC. A whole
 * directory, or its changes, arrive through core/cache/sync.h. */
#ifndef CORE_CACHE_CACHE_H
#define CORE_CACHE_CACHE_H

#include "core/store/store.h"
#include "core/tenant/tenant.h"
#include "schema/attributes.h"

typedef struct cache_user {
    const char *id;
    IDA_PERSON(IDA_PERSON_MEMBER)
    const char **addresses; /* further addresses (proxy, aliases); NULL-terminated or NULL */
    const char **upns;      /* further values that `upn` was chosen from; NULL-terminated or NULL */
    const char **licenses;  /* NULL: not reported; empty list: none */
    int enabled, guest;
    int64_t created_at, last_sign_in_at, last_noninteractive_at, last_success_at;
    int64_t expires_at;     /* ms UTC; the account ends then, whatever `enabled` says; 0: never */
    int sign_ins_untold;    /* 1: the answer did not report sign-ins: the three times in the
                               cache stay */
    const char *manager_id; /* or manager_dn */
    int manager_untold;     /* 1: this item did not report the manager. An earlier item of the
                               run decides, else the cache (in a full run: no manager) */
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

/* Sets *moved when an entry was added or changed its DN in run `since` or later, because a link
 * by DN may then mean another person. The next items of entries that link to them are applied in
 * full, even when their text is unchanged. */
ida_kind cache_sync_dn_changed(store *s, ida_ctx *c, const char *tenant,
                               ida_directory_kind directory, int64_t since, int *moved);

/* --- write-through, each one transaction: what the directory answered to the worker --- */

/* Unknown users and groups are no error: the cache has no row to correct, and the next
 * synchronisation brings them. An item that contradicts a write-through is stored beside it and
 * applied after 15 minutes unless a later item has arrived, so that nothing the directory
 * reported is lost. */

ida_kind cache_tell_user(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         const cache_user *user);
ida_kind cache_tell_enabled(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            const char *id, int enabled, const char *stamp);
ida_kind cache_tell_manager(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            const char *id, const char *manager_id);
/* Removes the search words of erased people from the index by merging its parts. Expensive: for
 * erasure only. */
ida_kind cache_forget_words(store *s, ida_ctx *c);
ida_kind cache_tell_gone(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         const char *id);
ida_kind cache_tell_member(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                           const char *group_id, const char *user_id, int removed);

/* Counts accounts as disabled once their end (expires_at) has passed. */
ida_kind cache_expire(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory);

/* Empties the cache of a directory (cache reset). sync_state begins from zero; the run number
 * keeps growing. */
ida_kind cache_reset(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory);

#endif
