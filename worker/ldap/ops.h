/* The LDAP connector's entry in the table of connectors and the functions its files contribute to
 * it. */
#ifndef WORKER_LDAP_OPS_H
#define WORKER_LDAP_OPS_H

#include "worker/directory/directory.h"

extern const directory_ops ld_directory_ops;

void ld_library_init(void);

directory_class ld_open(directory **out, const ida_env *env, const ida_tenant *tenant,
                        ida_directory_kind kind, apr_pool_t *pool, directory_error *e);
void ld_close(directory *d);
directory_class ld_probe(directory *d, apr_pool_t *pool, json_t *report, directory_error *e);
directory_class ld_find(directory *d, apr_pool_t *pool, const char *id, const char *upn,
                        directory_user *user, directory_error *e);
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
directory_class ld_sync(directory *d, apr_pool_t *pool, store *cache, ida_ctx *c, int full,
                        int accept, int (*alive)(void *), void *baton, cache_summary *summary,
                        directory_error *e);

#endif
