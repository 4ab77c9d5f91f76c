/* Searches with the DirSync control, for the files that interpret the answers. */
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#ifndef WORKER_LDAP_SYNC_DIRSYNC_H
#define WORKER_LDAP_SYNC_DIRSYNC_H

/* Filter of users, groups and containers: a container that moves takes its entries along without
 * a report of each. Classes only, because a deleted entry has little else left. */
extern const char *const ld_dirsync_kinds;

/* The bytes of a token that is kept as text; 0 when it is none. */
int ld_dirsync_cookie(apr_pool_t *pool, const char *token, struct berval *cookie);

/* One part of an answer, from `cookie` on (empty: from the beginning). *root: the naming context,
 * in the call's pool. */
directory_class ld_dirsync_ask(ld_call *k, const struct berval *cookie, const char *filter,
                               const char *const *attributes, ld_take each, void *baton,
                               ld_answer *answer, const char **root);
/* The cookie to continue from; *more: a further part follows. 0 if the answer has no such
 * control. */
int ld_dirsync_answer(apr_pool_t *pool, const ld_answer *answer, int *more, struct berval *cookie);

/* Active Directory reports deletions to every account that may use DirSync. Samba does so only
 * if the account may read the container of deleted entries: *shown. */
directory_class ld_dirsync_deletions(ld_call *k, const char *root, int *shown);

#endif
