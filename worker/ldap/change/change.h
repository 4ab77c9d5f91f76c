/* Changes of accounts and groups: the connector's functions of the contract
 * (worker/directory/directory.h), and what disables an account. */
#ifndef WORKER_LDAP_CHANGE_CHANGE_H
#define WORKER_LDAP_CHANGE_CHANGE_H

#include <ldap.h>

#include "worker/directory/directory.h"
#include "worker/ldap/entry/mods.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

directory_class ld_create(directory *d, apr_pool_t *pool, const directory_create *create,
                          directory_user *user, directory_error *e);
directory_class ld_set_manager(directory *d, apr_pool_t *pool, const char *id,
                               const char *manager_upn, const char **manager_id,
                               directory_error *e);
directory_class ld_set_photo(directory *d, apr_pool_t *pool, const char *id,
                             const unsigned char *photo, size_t len, const char *type,
                             directory_error *e);
directory_class ld_disable(directory *d, apr_pool_t *pool, const char *id, directory_user *after,
                           directory_error *e);
directory_class ld_memberships(directory *d, apr_pool_t *pool, const char *id,
                               const char *const *candidates, int candidate_count,
                               const directory_membership **rows, int *count, directory_error *e);
directory_class ld_remove_member(directory *d, apr_pool_t *pool, const char *group_id,
                                 const char *user_id, directory_error *e);
directory_class ld_update(directory *d, apr_pool_t *pool, const char *id,
                          const directory_attribute *attributes, int count, int enabled,
                          directory_user *after, directory_error *e);
directory_class ld_set_password(directory *d, apr_pool_t *pool, const char *id,
                                const char *password, directory_error *e);
directory_class ld_discard_password(directory *d, apr_pool_t *pool, const char *id,
                                    const char **proof, directory_error *e);
directory_class ld_move(directory *d, apr_pool_t *pool, const char *id, const char *container,
                        directory_user *after, directory_error *e);
directory_class ld_reports(directory *d, apr_pool_t *pool, const char *id, const char *const **ids,
                           int *count, directory_error *e);
directory_class ld_add_members(directory *d, apr_pool_t *pool, const char *group_id,
                               const char *const *user_ids, int count, directory_class *each,
                               directory_error *e);

/* 1 when a policy with pwdLockout TRUE, which gives `lock` its effect, is seen for the entry: the
 * one that the entry names, or any in the naming context. Always 1 where `lock` works by itself. A
 * failure counts as not seen. */
int ld_lock_holds(ld_call *k, const char *dn);

#endif
