/* Owns the hashes that chain the audit records of a tenant. Must not know a store. */
#include <apr_strings.h>
#include <string.h>

#include "core/audit/audit.h"
#include "core/base/text.h"

const char audit_genesis[] = "0000000000000000000000000000000000000000000000000000000000000000";

/* Each part with its length before it, absent parts marked: no two lists of parts give the same
 * bytes. */
static char *hash_of(apr_pool_t *pool, const char *const *parts, size_t count)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        len += 24 + (parts[i] ? strlen(parts[i]) : 0);
    }
    char *bytes = apr_palloc(pool, len), *to = bytes;
    for (size_t i = 0; i < count; i++) {
        if (!parts[i]) {
            *to++ = '-';
            continue;
        }
        size_t part = strlen(parts[i]);
        to = stpcpy(to, ida_printf(pool, "%zu:", part));
        memcpy(to, parts[i], part);
        to += part;
    }
    return ida_sha256_hex(pool, bytes, (size_t)(to - bytes));
}

char *audit_personal_hash(apr_pool_t *pool, const char *salt, const audit_record *record)
{
    const char *parts[] = {salt,           record->actor,    record->label,      record->action,
                           record->target, record->endpoint, record->parameters, record->detail,
                           record->address};
    return hash_of(pool, parts, sizeof parts / sizeof *parts - !record->address);
}

char *audit_chain_hash(apr_pool_t *pool, const char *previous, int64_t seq,
                       const audit_record *record, const char *personal_hash)
{
    const char *parts[] = {previous,
                           ida_printf(pool, "%lld", (long long)seq),
                           record->tenant,
                           record->rid,
                           ida_printf(pool, "%lld", (long long)record->at),
                           record->category,
                           record->outcome,
                           personal_hash};
    return hash_of(pool, parts, sizeof parts / sizeof *parts);
}
