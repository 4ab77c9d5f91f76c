/* Owns the hashes that chain the audit records of a tenant. Must not know a store. */
#include <string.h>

#include "core/audit/chain.h"
#include "core/base/digest.h"
#include "core/base/text.h"

#define UNKEYED_PARTS 8  /* of a record from before there were keys */
#define PERSONAL_PARTS 8 /* that each record has, with the salt */

const char audit_genesis[] = "0000000000000000000000000000000000000000000000000000000000000000";

/* Each part with its length before it, absent parts marked: no two lists of parts give the same
 * bytes. */
static ida_bytes joined(apr_pool_t *pool, const char *const *parts, size_t count)
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
    return (ida_bytes){bytes, (size_t)(to - bytes)};
}

static char *hash_of(apr_pool_t *pool, const char *const *parts, size_t count)
{
    ida_bytes all = joined(pool, parts, count);
    return ida_sha256_hex(pool, all.at, all.len);
}

static char *mac_of(apr_pool_t *pool, const audit_secret *key, const char *const *parts,
                    size_t count)
{
    unsigned char mac[IDA_DIGEST_LEN];
    ida_bytes all = joined(pool, parts, count);
    ida_hmac_sha256(key->bytes, IDA_SECRET_LEN, &all, 1, mac);
    return ida_hex(pool, mac, sizeof mac);
}

static const char *decimal(apr_pool_t *pool, int64_t number)
{
    return ida_printf(pool, "%lld", (long long)number);
}

char *audit_personal_hash(apr_pool_t *pool, const char *salt, const audit_record *record)
{
    const char *parts[] = {salt,
                           record->actor,
                           record->label,
                           record->action,
                           record->target,
                           record->endpoint,
                           record->parameters,
                           record->detail,
                           record->address,
                           record->correlation,
                           record->marks && *record->marks ? record->marks : NULL};
    size_t count = sizeof parts / sizeof *parts;
    while (count > PERSONAL_PARTS && !parts[count - 1]) {
        count--;
    }
    return hash_of(pool, parts, count);
}

char *audit_chain_hash(apr_pool_t *pool, const audit_secret *key, const audit_link *link)
{
    const audit_record *record = link->record;
    const char *parts[] = {link->previous,
                           decimal(pool, link->seq),
                           record->tenant,
                           record->rid,
                           decimal(pool, record->at),
                           record->category,
                           record->outcome,
                           link->personal_hash,
                           "record",
                           link->question ? "1" : "0",
                           link->next_key,
                           link->marks};
    size_t count = sizeof parts / sizeof *parts - !link->marks;
    return key ? mac_of(pool, key, parts, count) : hash_of(pool, parts, UNKEYED_PARTS);
}

char *audit_head_mac(apr_pool_t *pool, const audit_secret *key, const audit_head *head)
{
    const char *parts[] = {"head",     head->tenant,
                           head->hash, decimal(pool, head->seq),
                           key->id,    decimal(pool, head->keyed_from),
                           "broken",   decimal(pool, head->broken)};
    return mac_of(pool, key, parts, sizeof parts / sizeof *parts);
}

char *audit_foot_mac(apr_pool_t *pool, const audit_secret *key, const audit_head *head)
{
    const char *parts[] = {"foot", head->tenant, head->first_hash, decimal(pool, head->first_seq)};
    return mac_of(pool, key, parts, sizeof parts / sizeof *parts);
}

char *audit_erased_mac(apr_pool_t *pool, const audit_secret *key, const char *tenant, int64_t seq)
{
    const char *parts[] = {"erased", tenant, decimal(pool, seq)};
    return mac_of(pool, key, parts, sizeof parts / sizeof *parts);
}
