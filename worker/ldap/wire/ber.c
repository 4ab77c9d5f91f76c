/* Owns the way of an answer's values out of libldap: readers and copies that bear what a server
 * leaves out. Must not know what the values mean. */
#include "worker/ldap/wire/ber.h"

#include <apr_strings.h>

BerElement *ld_ber(const struct berval *value)
{
    struct berval bytes = value ? *value : (struct berval){0};
    return bytes.bv_val && bytes.bv_len ? ber_init(&bytes) : NULL;
}

BerElement *ld_control_ber(LDAPControl **controls, const char *oid, int *there)
{
    const LDAPControl *control = ldap_control_find(oid, controls, NULL);
    *there = control != NULL;
    return control ? ld_ber(&control->ldctl_value) : NULL;
}

struct berval ld_bytes(apr_pool_t *pool, const struct berval *value)
{
    ber_len_t len = value->bv_val ? value->bv_len : 0;
    return (struct berval){.bv_val = apr_pstrmemdup(pool, len ? value->bv_val : "", len),
                           .bv_len = len};
}
