/* API users. The hot path of every request is store_key_find. */
#ifndef CORE_STORE_KEY_H
#define CORE_STORE_KEY_H

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
/* Creates a key for the user and stores its hash; *key is in the context's pool, is shown once
 * and must be wiped. `created_by`: its maker. IDA_CONFLICT if the username exists in the tenant,
 * IDA_NOT_FOUND if the tenant does not. */
ida_kind store_key_issue(store *s, ida_ctx *c, const ida_principal *principal,
                         const char *created_by, char **key);
/* The mark of the key `from` as it is now, or of the first one behind it; `after` 1: of the one
 * behind that. Another hash, access, network, limit or end, or another state is found by it.
 * out->name NULL: there is none. */
ida_kind store_key_mark_read(store *s, ida_ctx *c, const char *company, const char *from, int after,
                             audit_mark *out);
/* Puts it into the audit, inside the transaction that changed the key, or made it. */
ida_kind store_key_mark(store *s, ida_ctx *c, const char *company, const char *username, int made);
/* The part of it that keeps a hash. */
ida_kind store_key_create(store *s, ida_ctx *c, const ida_principal *principal,
                          const char *key_hash, const char *created_by);
ida_kind store_key_set_disabled(store *s, ida_ctx *c, const char *company, const char *username,
                                int disabled);
/* The key works until `at` (ms), or less long if it was to end before. */
ida_kind store_key_end(store *s, ida_ctx *c, const char *company, const char *username, int64_t at);
ida_kind store_key_delete(store *s, ida_ctx *c, const char *company, const char *username);

typedef struct store_key_row {
    const char *username, *access, *label, *created_by; /* created_by NULL: not known */
    const char *rate, *from;                            /* NULL: none */
    const char *scopes;  /* NULL: everything that the access level says */
    int64_t concurrency; /* 0: none */
    int64_t expires_at, created_at;
    int64_t last_used_at; /* of the newest call in the audit log; 0 when it holds none */
    int disabled, decisions;
} store_key_row;
/* By username, after `after` ("" at first), at most `limit`. Never includes hashes. */
ida_kind store_key_list(store *s, ida_ctx *c, const char *company, const char *after, int limit,
                        const store_key_row **rows, int *count);
/* Those that work now and end within [from, to], the first one first. */
typedef struct store_key_ending {
    const char *username;
    int64_t expires_at;
} store_key_ending;
ida_kind store_keys_ending(store *s, ida_ctx *c, const char *company, int64_t from, int64_t to,
                           const store_key_ending **rows, int *count);
ida_kind store_key_count(store *s, ida_ctx *c, const char *company, int64_t *total);

#endif
