/* The LDAP connector's entry in the table of connectors. */
#ifndef WORKER_LDAP_LDAP_H
#define WORKER_LDAP_LDAP_H

#include "worker/directory/directory.h"

extern const directory_ops ld_directory_ops;

void ld_library_init(void);

#endif
