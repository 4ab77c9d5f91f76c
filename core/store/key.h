/* API users. The hot path of every request is store_key_find. */
#ifndef CORE_STORE_KEY_H
#define CORE_STORE_KEY_H

#include <jansson.h>

#include "core/store/store.h"
#include "core/tenant/principal.h"

/* What authentication needs, in one statement. key_hash NULL: no such API user (the caller still
 * compares, in the same time). */
typedef struct store_key {
    ida_principal principal;
    int company_known; /* there is such a tenant */
    const char *key_hash;
    int disabled;
    int64_t tenant_revision;
} store_key;

/* IDA_OK also when there is no such user (key->key_hash NULL). */
ida_kind store_key_find(store *s, ida_ctx *c, const char *company, const char *username,
                        store_key *key);
/* IDA_CONFLICT when the username exists in the tenant, IDA_NOT_FOUND when the tenant does not. */
ida_kind store_key_create(store *s, ida_ctx *c, const ida_principal *principal,
                          const char *key_hash);
ida_kind store_key_set_disabled(store *s, ida_ctx *c, const char *company, const char *username,
                                int disabled);
ida_kind store_key_delete(store *s, ida_ctx *c, const char *company, const char *username);
/* Array of {username, accessLevel, label, rateLimit, expiresAt, disabled, createdAt, from,
 * lastUsedAt}; never hashes. lastUsedAt: of the newest call in the audit log, null when it holds
 * none. */
ida_kind store_key_list(store *s, ida_ctx *c, const char *company, json_t **array);

/* Keys that end within a span (ms) and are not disabled: how many, when the first, the names of up
 * to three. */
typedef struct store_keys_ending {
    int64_t count, first_at;
    const char *sample[3];
    int samples;
} store_keys_ending;
ida_kind store_keys_end(store *s, ida_ctx *c, const char *company, int64_t from, int64_t to,
                        store_keys_ending *out);

#endif
