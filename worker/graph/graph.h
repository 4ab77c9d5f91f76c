/* A session of the cloud connector (Microsoft Graph v1.0) and the entries of its table. Everything
 * of a session belongs to one thread at a time; token and pacing are the process's
 * (worker/graph/client.h) and lock for themselves. */
#ifndef WORKER_GRAPH_GRAPH_H
#define WORKER_GRAPH_GRAPH_H

#include <jansson.h>

#include "worker/directory/directory.h"

#define GRAPH_ID_MAX 64               /* bytes of an object ID: a GUID, with room */
#define GRAPH_LAG_MS (15 * 60 * 1000) /* how long a newly created object may not be visible yet */

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
    int64_t secret_ends;              /* ms UTC, as the document says; 0: it does not */
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

DIRECTORY_FUNCTION(open) graph_open;
DIRECTORY_FUNCTION(close) graph_close;
DIRECTORY_FUNCTION(expiry) graph_expiry;
DIRECTORY_FUNCTION(probe) graph_probe;
DIRECTORY_FUNCTION(find) graph_find;
DIRECTORY_FUNCTION(create) graph_create;
DIRECTORY_FUNCTION(set_manager) graph_set_manager;
DIRECTORY_FUNCTION(set_photo) graph_set_photo;
DIRECTORY_FUNCTION(disable) graph_disable;
DIRECTORY_FUNCTION(revoke_sessions) graph_revoke_sessions;
DIRECTORY_FUNCTION(memberships) graph_memberships;
DIRECTORY_FUNCTION(owned) graph_owned;
DIRECTORY_FUNCTION(remove_member) graph_remove_member;
DIRECTORY_FUNCTION(update) graph_update;
DIRECTORY_FUNCTION(set_password) graph_set_password;
DIRECTORY_FUNCTION(reports) graph_reports;
DIRECTORY_FUNCTION(add_members) graph_add_members;
DIRECTORY_FUNCTION(set_licenses) graph_set_licenses;
DIRECTORY_FUNCTION(sync) graph_sync;

extern const directory_ops graph_directory_ops;

#endif
