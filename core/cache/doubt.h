/* Write-throughs that a synchronisation has contradicted, and memberships that were seen gone: what
 * is to be done about them after a run. Role DB_SYNC. */
#ifndef CORE_CACHE_DOUBT_H
#define CORE_CACHE_DOUBT_H

#include "core/cache/cache.h"

/* The directory's last word denies what the worker wrote: a late answer, or somebody's change. One
 * look at the object alone tells. */
typedef struct cache_doubt {
    const char *user_id, *group_id; /* group_id NULL: the user's own entry, else the membership */
    int64_t written_at;
} cache_doubt;
ida_kind cache_doubts(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                      int limit, const cache_doubt **rows, int *count);

/* The look at a user. It shows what was written: from now on another look that denies it is
 * believed. It denies it: believed when a read has shown what was written. */
ida_kind cache_tell_seen(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         const cache_user *user);
/* The look at a membership, believed either way. */
ida_kind cache_tell_member_seen(store *s, ida_ctx *c, const char *tenant,
                                ida_directory_kind directory, const char *group_id,
                                const char *user_id, int is_member);

/* A membership that a synchronisation or a task saw gone: what was granted before `at` is over. */
typedef struct cache_lost {
    const char *group_id, *user_id;
    int64_t at;
} cache_lost;
ida_kind cache_lost_members(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            int limit, const cache_lost **rows, int *count);
/* They have been noted; `rows` is a JSON array of [account, group, time]. */
ida_kind cache_lost_noted(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                          const char *rows);

#endif
