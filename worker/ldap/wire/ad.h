/* Forms of values that only Active Directory uses. */
#ifndef WORKER_LDAP_WIRE_AD_H
#define WORKER_LDAP_WIRE_AD_H

#include <apr_pools.h>
#include <ldap.h>
#include <stddef.h>
#include <stdint.h>

/* 16 bytes of an objectGUID (first three groups little-endian) as canonical text, and back; NULL
 * for another length or no UUID. */
char *ld_guid_text(apr_pool_t *pool, const void *bytes, size_t len);
unsigned char *ld_guid_bytes(apr_pool_t *pool, const char *uuid);

/* 100 ns since 1601 as UTC milliseconds; 0 for none: absent, 0, "never" or no number. */
int64_t ld_filetime(const char *text);

/* Last number of a SID (the account within its domain); -1 if it has none. The second function
 * returns the same SID with another last number. */
int64_t ld_sid_rid(const struct berval *sid);
struct berval ld_sid_with(apr_pool_t *pool, const struct berval *sid, uint32_t rid);

/* The password in quotes as UTF-16LE, as unicodePwd takes it; the caller wipes bv_val. bv_val NULL
 * when it is no UTF-8. */
struct berval ld_unicode_password(apr_pool_t *pool, const char *password);

/* Parses "<GUID=...>;<SID=...>;CN=...": returns the DN; *guid is the canonical text of the GUID,
 * NULL if there is none. */
const char *ld_extended_dn(apr_pool_t *pool, const char *text, const char **guid);

#endif
