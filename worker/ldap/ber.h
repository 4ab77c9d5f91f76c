/* Bytes of an answer, however little the server put into them. libldap hands an empty value on as
 * no value at all (bv_val NULL), and its readers end the process over one: nothing else in worker/
 * calls ber_init, or copies a value by its own rule. */
#ifndef WORKER_LDAP_BER_H
#define WORKER_LDAP_BER_H

#include <apr_pools.h>
#include <ldap.h>

BerElement *ldap_get_message_ber(
    LDAPMessage *message); /* libldap exports it, but no installed header names it */

/* A reader over a copy of the value, for ber_free(ber, 1); NULL when there is nothing to read. */
BerElement *ld_ber(const struct berval *value);
/* The same for the control of that name; *there: it is among the controls (NULL: there are none),
 * with or without a value. */
BerElement *ld_control_ber(LDAPControl **controls, const char *oid, int *there);

/* A copy of the bytes with a NUL behind; its bv_val is never NULL. */
struct berval ld_bytes(apr_pool_t *pool, const struct berval *value);

#endif
