/* Owns the content of OpenLDAP's sync cookies ("rid=000,csn=A;B": a CSN for each server of the
 * group), and the question whether the database has changed since a cookie. Must not know how
 * entries are read. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/wire/ber.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In their order, which is that of time. */
static apr_array_header_t *sorted(apr_array_header_t *csns)
{
    qsort(csns->elts, (size_t)csns->nelts, sizeof(const char *), by_text);
    return csns;
}

/* The CSNs of a cookie; none for a cookie of another shape. */
static apr_array_header_t *csns_of(apr_pool_t *pool, const struct berval *cookie)
{
    apr_array_header_t *csns = apr_array_make(pool, 4, sizeof(const char *));
    char *fields, *field = apr_strtok(ld_bytes(pool, cookie).bv_val, ",", &fields);
    for (; field; field = apr_strtok(NULL, ",", &fields)) {
        char *rest,
            *csn = strncmp(field, "csn=", 4) == 0 ? apr_strtok(field + 4, ";", &rest) : NULL;
        for (; csn; csn = apr_strtok(NULL, ";", &rest)) {
            APR_ARRAY_PUSH(csns, const char *) = csn;
        }
    }
    return sorted(csns);
}

const char *ld_cookie_earliest(apr_pool_t *pool, const struct berval *cookie)
{
    const apr_array_header_t *csns = csns_of(pool, cookie);
    return csns->nelts ? APR_ARRAY_IDX(csns, 0, const char *) : NULL;
}

/* --- whether anything has changed --- */

/* The CSNs that the entry shows, one after the other; "" when it shows no contextCSN or is not ours
 * to read. NULL: the server does not answer. */
static const char *shown_at(ld_call *k, const char *dn)
{
    static const char *const attributes[] = {"contextCSN", NULL};
    const ld_entry *entry = NULL;
    directory_class class = ld_read(k, dn, attributes, "read contextCSN", &entry);
    const ld_attribute *a = entry ? ld_get(entry, attributes[0]) : NULL;
    apr_array_header_t *csns = apr_array_make(k->pool, a ? a->count : 1, sizeof(const char *));
    for (int i = 0; a && i < a->count; i++) {
        APR_ARRAY_PUSH(csns, const char *) = a->values[i].bv_val;
    }
    return class == DIRECTORY_TRANSIENT || class == DIRECTORY_LOCAL
               ? NULL
               : apr_array_pstrcat(k->pool, sorted(csns), ';');
}

/* contextCSN is an attribute of a database's top entry, which is the base or above it; the
 * nearest one belongs to the base's database. NULL: none is visible. `seen`: DN key -> result of
 * an earlier read. */
static const char *context_of(ld_call *k, const char *base, apr_hash_t *seen)
{
    for (const char *dn = base; dn && *dn; dn = ld_dn_parent(k->pool, dn)) {
        const char *key = ld_dn_key(k->pool, dn),
                   *csns = key ? apr_hash_get(seen, key, APR_HASH_KEY_STRING) : NULL;
        csns = csns || !key ? csns : shown_at(k, dn);
        if (!csns) {
            return NULL;
        }
        apr_hash_set(seen, key, APR_HASH_KEY_STRING, csns);
        if (*csns) {
            return csns;
        }
    }
    return NULL;
}

int ld_unchanged(ld_call *k, const ld_kind *kinds, int count, const json_t *tokens)
{
    apr_hash_t *seen = apr_hash_make(k->pool);
    int unchanged = 1;
    for (int i = 0; unchanged && i < count; i++) {
        const char *token = ida_json_string(tokens, kinds[i].token);
        size_t length = 0;
        char *bytes = token ? (char *)ida_base64_decode(k->pool, token, strlen(token), &length)
                            : NULL;
        const struct berval cookie = {.bv_val = bytes, .bv_len = length};
        const char *csns = apr_array_pstrcat(k->pool, csns_of(k->pool, &cookie), ';'),
                   *context = *csns ? context_of(k, kinds[i].base, seen) : NULL;
        unchanged = context && strcmp(csns, context) == 0;
    }
    return unchanged;
}
