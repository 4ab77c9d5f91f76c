/* Objects to read again after a synchronisation: write-throughs that it contradicted, and
 * memberships that it saw removed. Role DB_SYNC. */
#ifndef CORE_CACHE_RECHECK_H
#define CORE_CACHE_RECHECK_H

#include "core/cache/cache.h"

/* The last synchronisation contradicts a value that the worker wrote. Either the answer was stale
 * or an administrator changed the value since: reading that single object settles it. */
typedef struct cache_recheck {
    const char *user_id, *group_id; /* group_id NULL: the user's own entry, else the membership */
    int64_t written_at;
} cache_recheck;
ida_kind cache_rechecks(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                        int limit, const cache_recheck **rows, int *count);

/* Result of reading one user. If it shows the written value, later contradictions are accepted. If
 * it contradicts the value, it is accepted when an earlier read has shown the value, or when one of
 * CACHE_DENIED_MS before has contradicted it as well: a replica is behind for seconds. */
#define CACHE_DENIED_MS 10000
ida_kind cache_tell_seen(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         const cache_user *user);
/* Result of reading one membership: accepted whatever it shows. */
ida_kind cache_tell_member_seen(store *s, ida_ctx *c, const char *tenant,
                                ida_directory_kind directory, const char *group_id,
                                const char *user_id, int is_member);

/* A membership that a synchronisation or a task saw removed: grants made before `at` have ended. */
typedef struct cache_lost {
    const char *group_id, *user_id;
    int64_t at;
} cache_lost;
ida_kind cache_lost_members(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            int limit, const cache_lost **rows, int *count);
/* Removes the rows that have been recorded; `rows` is a JSON array of [account, group, time]. */
ida_kind cache_lost_noted(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                          const char *rows);

#endif
