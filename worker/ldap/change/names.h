/* Under which names a new entry is made. */
#include "worker/ldap/wire/session.h"
#ifndef WORKER_LDAP_CHANGE_NAMES_H
#define WORKER_LDAP_CHANGE_NAMES_H

typedef struct ld_names {
    const char *cn, *login, *dn;
} ld_names;

/* Chooses names that are free: numbered from 2 if the dialect asks for it, with `skip` further
 * numbers left out (names that the server refuses although no visible account has them). */
directory_class ld_names_choose(ld_call *k, const directory_create *create, int skip,
                                ld_names *names);

#endif
