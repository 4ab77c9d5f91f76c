/* API users and their tenants, cached for a moment: a request costs no statement if its key was
 * seen within the last two seconds. One for each process, bounded, shared by all threads. Knows
 * no server. */
#ifndef CORE_FACE_CREDENTIAL_MEMORY_H
#define CORE_FACE_CREDENTIAL_MEMORY_H

#include "core/base/context.h"
#include "core/store/source.h"
#include "core/tenant/principal.h"
#include "core/tenant/tenant.h"

#define IDA_CALLER_AGE_MS 2000 /* for reads: a disabled key stops within 2 s */

typedef struct ida_callers ida_callers;

/* The state of an API user. Constant, valid until ida_caller_release. */
typedef struct ida_caller {
    int company_known;    /* the tenant exists, even if the API user does not */
    const char *key_hash; /* NULL: there is no such API user, and nothing below is set. If the
                             key differs, nothing below is set either */
    ida_principal principal;
    int disabled;
    const ida_tenant *tenant; /* shared by threads: read only, and its Jansson references must
                                 not be counted */
    int synced;               /* every directory of the tenant has completed a full sync */
} ida_caller;

/* Keeps up to `max` users. A state older than `age_ms` is not used; 0: each call asks the store
 * for the key, and only a tenant document of the same revision is used again. */
ida_callers *ida_callers_make(apr_pool_t *pool, unsigned max, int64_t age_ms);

/* The state of a user for a caller whose key has this hash, as fresh as said above. Also IDA_OK
 * if the user does not exist or has another key, which the caller checks (ida_key_hash_equal):
 * then `tenant` is NULL, and the store was asked for the key only. Names must be valid
 * (ida_name_valid). */
ida_kind ida_caller_get(ida_callers *all, ida_ctx *c, store_source *source, const char *company,
                        const char *username, const char *key_hash, const ida_caller **out);
void ida_caller_release(const ida_caller *caller);

/* Why the credentials are not valid, for the log; NULL if they are. `caller` was looked up with
 * this hash; NULL: there was no valid name to look up. `address`: the client's. The time it
 * takes does not reveal whether the user exists. */
const char *ida_caller_fault(const ida_caller *caller, const char *hash, const char *address,
                             int64_t now);

#endif
