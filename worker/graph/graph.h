/* A session of the cloud connector (Microsoft Graph v1.0) and the entries of its table. Everything
 * of a session belongs to one thread at a time; token and pacing are the process's
 * (worker/graph/client.h) and lock for themselves. */
#ifndef WORKER_GRAPH_GRAPH_H
#define WORKER_GRAPH_GRAPH_H

#include <jansson.h>

#include "worker/directory/directory.h"

#define GRAPH_ID_MAX 64               /* bytes of an object ID: a GUID, with room */
#define GRAPH_LAG_MS (15 * 60 * 1000) /* how long an object of ours may not be visible yet */

struct http_client;  /* libcurl handle, connections and settings (worker/base/http.h) */
struct graph_client; /* token and pacing of one application and tenant, shared by the process's
                        sessions */

typedef struct graph {
    const ida_env *env;
    const ida_tenant *tenant;
    apr_pool_t *pool; /* of the session */
    /* settings, from the sealed tenant document */
    const char *root, *origin; /* "https://graph.microsoft.com/v1.0"; scheme, host and port of it */
    const char *authority, *directory_id, *client_id, *secret_file, *certificate_file, *ca_file,
        *proxy_url;
    const char *marker;               /* "extensionAttribute1" .. "extensionAttribute15" */
    const json_t *protected_accounts; /* borrowed from the tenant */
    cache_guard guard;
    char cleared[GRAPH_ID_MAX + 1]; /* accounts that the guard has allowed to change a moment ago
                                       (worker/graph/guard.c) */
    int64_t cleared_until;          /* monotonic ms */
    struct http_client *http;
    struct graph_client *client;
    char *header;   /* Authorization line, memory of secret_map */
    int64_t number; /* of the token in it */
} graph;

/* Once, before threads start; may be repeated. */
void graph_library_init(void);

/* --- the function table's entries --- */

directory_class graph_open(directory **out, const ida_env *env, const ida_tenant *tenant,
                           ida_directory_kind kind, apr_pool_t *pool, directory_error *e);
void graph_close(directory *d);
int64_t graph_secret_ends(directory *d, apr_pool_t *pool);
directory_class graph_probe(directory *d, apr_pool_t *pool, json_t *report, directory_error *e);
directory_class graph_find(directory *d, apr_pool_t *pool, const char *id, const char *upn,
                           directory_user *user, directory_error *e);
directory_class graph_create(directory *d, apr_pool_t *pool, const directory_create *create,
                             directory_user *user, directory_error *e);
directory_class graph_set_manager(directory *d, apr_pool_t *pool, const char *id,
                                  const char *manager_upn, const char **manager_id,
                                  directory_error *e);
directory_class graph_set_photo(directory *d, apr_pool_t *pool, const char *id,
                                const unsigned char *photo, size_t len, const char *type,
                                directory_error *e);
directory_class graph_disable(directory *d, apr_pool_t *pool, const char *id, directory_user *after,
                              directory_error *e);
directory_class graph_revoke_sessions(directory *d, apr_pool_t *pool, const char *id,
                                      directory_error *e);
directory_class graph_memberships(directory *d, apr_pool_t *pool, const char *id,
                                  const char *const *candidates, int candidate_count,
                                  const directory_membership **rows, int *count,
                                  directory_error *e);
directory_class graph_remove_member(directory *d, apr_pool_t *pool, const char *group_id,
                                    const char *user_id, directory_error *e);
directory_class graph_update(directory *d, apr_pool_t *pool, const char *id,
                             const directory_attribute *attributes, int count, int enabled,
                             directory_user *after, directory_error *e);
directory_class graph_set_password(directory *d, apr_pool_t *pool, const char *id,
                                   const char *password, directory_error *e);
directory_class graph_reports(directory *d, apr_pool_t *pool, const char *id,
                              const char *const **ids, int *count, directory_error *e);
directory_class graph_add_members(directory *d, apr_pool_t *pool, const char *group_id,
                                  const char *const *user_ids, int count, directory_class *each,
                                  directory_error *e);
directory_class graph_set_licenses(directory *d, apr_pool_t *pool, const char *user_id,
                                   const char *const *add, const char *const *remove,
                                   directory_error *e);
directory_class graph_sync(directory *d, apr_pool_t *pool, const directory_sync *asked,
                           cache_summary *summary, directory_error *e);

extern const directory_ops graph_directory_ops;

#endif
