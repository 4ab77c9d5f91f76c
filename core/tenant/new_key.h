/* Settings of a new API user. Knows no store. */
#ifndef CORE_TENANT_NEW_KEY_H
#define CORE_TENANT_NEW_KEY_H

#include <jansson.h>

#include "core/base/context.h"
#include "core/tenant/principal.h"
#include "core/tenant/tenant.h"

#define IDA_CONCURRENCY_MAX 1000

/* As given; NULL: not. */
typedef struct ida_new_key {
    const char *username, *access, *label;
    /* YYYY-MM-DD: the key expires when that day begins in the tenant's zone; "never"; NULL: the
     * tenant's default (keys.defaultDays). */
    const char *expires;
    const char *rate, *from; /* from: networks with commas between */
    const char *scopes;      /* names with commas between; of a read-only key alone */
    unsigned concurrency;    /* 1 to IDA_CONCURRENCY_MAX, 0: nothing is said */
    int decisions;           /* 1: it may carry decisions; of keys that may write */
} ida_new_key;

/* Fills `out` except its company. Each fault is noted (ida_fault_add) under the member's name, the
 * username's is `name`; the result is any other failure. */
ida_kind ida_new_key_check(ida_ctx *c, const ida_tenant *tenant, const ida_new_key *given,
                           const char *name, ida_principal *out);

/* {companyId, username, accessLevel, scopes, label, apiKey, mcpSecret, expiresAt}: the one answer
 * that shows the key. New reference. */
json_t *ida_new_key_json(apr_pool_t *pool, const ida_principal *principal, const char *key);

#endif
