/* What is known of API users and their tenants for a moment: so that a request costs no statement
 * while its key was seen within the last two seconds. Kept per process, bounded, shared by all
 * threads. Knows no server. */
#ifndef CORE_FACE_CREDENTIAL_MEMORY_H
#define CORE_FACE_CREDENTIAL_MEMORY_H

#include "core/base/context.h"
#include "core/store/source.h"
#include "core/tenant/principal.h"
#include "core/tenant/tenant.h"

#define IDA_CALLER_AGE_MS 2000 /* of who only reads: a disabled key stops within 2 s */

typedef struct ida_callers ida_callers;

/* A state of one API user. Constant, alive until ida_caller_release. */
typedef struct ida_caller {
    int company_known;    /* there is such a tenant, if not such an API user */
    const char *key_hash; /* NULL: there is no such API user; then nothing below is set. Of another
                             key nothing but this */
    ida_principal principal;
    int disabled;
    const ida_tenant *tenant; /* shared by threads: read only, and no Jansson reference is to be
                                 taken or given back */
    int synced;               /* every directory of the tenant has completed a full sync */
} ida_caller;

/* `max` users are kept. What is older than `age_ms` is not believed; 0: each call asks the store
 * for the key, and only a tenant document of the same revision serves on. */
ida_callers *ida_callers_make(apr_pool_t *pool, unsigned max, int64_t age_ms);

/* The state of a user for who comes with a key of this hash, as young as said above; IDA_OK
 * also for one that does not exist or has another key, which the caller judges
 * (ida_key_hash_equal): `tenant` is NULL then, and the store was asked for the key alone. Names
 * must be valid (ida_name_valid). */
ida_kind ida_caller_get(ida_callers *all, ida_ctx *c, store_source *source, const char *company,
                        const char *username, const char *key_hash, const ida_caller **out);
void ida_caller_release(const ida_caller *caller);

/* Why the credentials are not good, for the log; NULL when they are. `caller` has been looked up
 * with this hash; NULL: there was no valid name to look up. `address`: the client's. The time it
 * takes does not reveal whether the user exists. */
const char *ida_caller_fault(const ida_caller *caller, const char *hash, const char *address,
                             int64_t now);

#endif
