/* Bytes of an answer that may be empty. libldap returns an empty value as no value (bv_val
 * NULL), and its own readers abort the process on one. So all of worker/ uses these functions
 * instead of ber_init or a copy of its own. */
#ifndef WORKER_LDAP_WIRE_BER_H
#define WORKER_LDAP_WIRE_BER_H

#include <apr_pools.h>
#include <ldap.h>

BerElement *ldap_get_message_ber(
    LDAPMessage *message); /* libldap exports it, but no installed header names it */

/* A reader over a copy of the value, for ber_free(ber, 1); NULL if the value is empty. */
BerElement *ld_ber(const struct berval *value);
/* The same for the control of that name; *there: it is among the controls (NULL: there are none),
 * with or without a value. */
BerElement *ld_control_ber(LDAPControl **controls, const char *oid, int *there);

/* A copy of the bytes followed by a NUL; its bv_val is never NULL. */
struct berval ld_bytes(apr_pool_t *pool, const struct berval *value);

#endif
