/* The account that this session has just created. */
#ifndef WORKER_LDAP_ENTRY_RECENT_H
#define WORKER_LDAP_ENTRY_RECENT_H

#include <ldap.h>

#include "worker/directory/directory.h"
#include "worker/ldap/wire/session.h"

/* `user` as the directory showed it after the add: without a manager, without a photo, in no group.
 */
void ld_recent_keep(ld_call *k, const directory_user *user);
/* Its DN, while it is so new that a read would return the same; NULL: read it. To remove a value
 * always read first: this session may have set it since. */
const char *ld_recent_dn(const ld_call *k, const char *id);

#endif
