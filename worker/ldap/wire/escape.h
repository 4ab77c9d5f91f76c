/* Escaping of text for filters and DNs, and DNs as keys for comparison. */
#ifndef WORKER_LDAP_WIRE_ESCAPE_H
#define WORKER_LDAP_WIRE_ESCAPE_H

#include <apr_pools.h>
#include <stddef.h>
#include <stdint.h>

/* RFC 4515: value inside a filter. */
char *ld_filter_value(apr_pool_t *pool, const void *bytes, size_t len);
char *ld_filter_text(apr_pool_t *pool, const char *text);
/* The same with every byte escaped, for binary values. */
char *ld_filter_bytes(apr_pool_t *pool, const void *bytes, size_t len);

/* RFC 4514: value inside a DN. */
char *ld_dn_value(apr_pool_t *pool, const char *text);

/* Key under which DNs are compared: parsed, escapes resolved, types and values case-folded, blanks
 * squeezed. NULL when it is no DN. A resolver of links, never an identity. */
char *ld_dn_key(apr_pool_t *pool, const char *dn);
/* 1 when the key names `base_key` itself or something below it. */
int ld_dn_key_below(const char *key, const char *base_key);
/* Value of attribute `type` in the first RDN; NULL when it has none, or an empty one. */
char *ld_rdn_value(apr_pool_t *pool, const char *dn, const char *type);

/* The first RDN in its original form, and the DN of the parent ("" at the top); NULL if the text
 * is not a DN. */
char *ld_dn_first(apr_pool_t *pool, const char *dn);
char *ld_dn_parent(apr_pool_t *pool, const char *dn);

/* 16 bytes of an entryUUID as lower-case text; NULL for another length. And a text brought to that
 * form; NULL when it is no UUID. */
char *ld_uuid_text(apr_pool_t *pool, const void *bytes, size_t len);
char *ld_uuid_canonical(apr_pool_t *pool, const char *text);

/* Generalized time (RFC 4517: YYYYMMDDhh[mm[ss]][.fraction](Z|+hhmm|-hhmm)) as UTC milliseconds; 0
 * when it is none. */
int64_t ld_time(const char *text);

#endif
