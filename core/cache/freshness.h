/* How far the synchronisations of a tenant's directories are, and as of when the cache knows them.
 * Role DB_REQUEST or any that sees cache. */
#ifndef CORE_CACHE_FRESHNESS_H
#define CORE_CACHE_FRESHNESS_H

#include "core/store/store.h"
#include "core/tenant/tenant.h"

/* State of the synchronisation of each directory; completed_at and full_at are 0 when there was
 * none. */
typedef struct cache_sync_info {
    int64_t completed_at, full_at, started_at, users, groups;
    int sign_ins;
    const char *error, *stopped;
} cache_sync_info;
ida_kind cache_sync_info_get(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                             cache_sync_info *info);
/* Sets *synced when every directory of the tenant has completed a full synchronisation: before
 * that, users, names and seats would be guesses. */
ida_kind cache_is_synced(store *s, ida_ctx *c, const ida_tenant *tenant, int *synced);

/* State of the tenant's directories together: the older of their last completed synchronisations
 * (0: never), and which of them record sign-ins. */
typedef struct cache_freshness {
    int64_t as_of;
    int64_t sign_ins_as_of; /* when sign-ins were last read, the oldest of all directories; 0:
                               none records them */
    int sign_ins[IDA_DIR_COUNT];
    int synced; /* every directory of the tenant has been read in full once */
} cache_freshness;

ida_kind cache_freshness_get(store *s, ida_ctx *c, const ida_tenant *tenant,
                             cache_freshness *fresh);

/* Number of entries that the present run has received. */
ida_kind cache_sync_progress(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                             int64_t *users, int64_t *groups);

#endif
