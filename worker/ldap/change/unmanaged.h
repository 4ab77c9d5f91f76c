/* Memberships that are named and never changed, and what finding any membership shares. */
#ifndef WORKER_LDAP_CHANGE_UNMANAGED_H
#define WORKER_LDAP_CHANGE_UNMANAGED_H

#include <apr_hash.h>
#include <apr_tables.h>

#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"

/* The groups of one user, as they are found. */
typedef struct ld_gathering {
    directory *d;
    apr_pool_t *pool;
    apr_array_header_t *rows; /* directory_membership */
    apr_hash_t *seen;         /* group ID */
    apr_hash_t *by_rule;      /* group ID -> DN */
} ld_gathering;

/* Why a group that lies there is not changed. In Active Directory an ID finds it anywhere. */
const char *ld_outside(const directory *d, apr_pool_t *pool, const char *dn_key);

/* Reads all pages, once more after a lost connection; duplicates are removed. */
directory_class ld_every_page(ld_call *k, const ld_query *query, ld_each each, void *baton);

/* Groups outside groupBase, the group of the user's gidNumber and entries of other kinds that
 * name the user: this service does not change them and reports that. It cannot report entries
 * that our account may not see; the doctor counts those. */
/* `naming`: the filter for groups that name the user. */
directory_class ld_gather_unmanaged(ld_call *k, ld_gathering *g, const directory_user *user,
                                    const char *naming);

#endif
