/* Owns the making of a session from the tenant document, and the connector's table. Connects
 * nowhere. */
#include <apr_strings.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/time.h"
#include "core/tenant/value.h"
#include "worker/base/secret.h"
#include "worker/graph/client.h"
#include "worker/graph/url.h"

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_init(void)
{
    signal(SIGPIPE, SIG_IGN);
    http_library_init();
}

void graph_library_init(void)
{
    pthread_once(&library_once, library_init);
}

__attribute__((format(printf, 3, 4))) static directory_class refuse(directory_error *e,
                                                                    apr_pool_t *pool,
                                                                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    *e = (directory_error){.class = DIRECTORY_CONFIG, .message = apr_pvsprintf(pool, format, args)};
    va_end(args);
    return DIRECTORY_CONFIG;
}

static const char *trimmed(apr_pool_t *pool, const char *url)
{
    size_t len = strlen(url);
    while (len && url[len - 1] == '/') {
        len--;
    }
    return apr_pstrmemdup(pool, url, len);
}

/* An address of the document: https, or http to this machine. */
static directory_class read_address(const json_t *doc, const char *member, apr_pool_t *pool,
                                    const char **url, graph_address *address, directory_error *e)
{
    const char *text = ida_json_string(doc, member);
    if (!text || !graph_url_parse(text, pool, address)) {
        return refuse(e, pool, "directories.cloud.%s: \"%s\" is no https:// address", member,
                      text ? text : "");
    }
    if (!address->secure && !address->loopback) {
        return refuse(e, pool, "directories.cloud.%s: %s is not protected: use https://", member,
                      text);
    }
    *url = trimmed(pool, text);
    return DIRECTORY_OK;
}

static apr_status_t closed(void *baton)
{
    graph *g = baton;
    http_close(g->http);
    secret_unmap(g->header, GRAPH_TOKEN_SIZE);
    g->header = NULL;
    return APR_SUCCESS;
}

directory_class graph_open(directory **out, const ida_env *env, const ida_tenant *tenant,
                           ida_directory_kind kind, apr_pool_t *pool, directory_error *e)
{
    graph_library_init();
    const json_t *doc = kind == IDA_DIR_CLOUD ? tenant->directory[kind] : NULL;
    graph_address root, authority;
    if (!doc) {
        return refuse(e, pool, "tenant %s has no cloud directory", tenant->id);
    }
    graph *g = apr_pcalloc(pool, sizeof *g);
    *g = (graph){.env = env, .tenant = tenant, .pool = pool};
    directory_class class = read_address(doc, "apiUrl", pool, &g->root, &root, e);
    class = class ? class : read_address(doc, "authorityUrl", pool, &g->authority, &authority, e);
    if (class) {
        return class;
    }
    g->origin = root.origin;
    g->directory_id = ida_json_string(doc, "directoryId");
    g->client_id = ida_json_string(doc, "clientId");
    g->secret_file = ida_json_string(doc, "clientSecretFile");
    g->certificate_file = ida_json_string(doc, "certificateFile");
    const char *ends = ida_json_string(doc, "clientSecretExpires");
    if (ends) {
        ida_time_parse(ends, &g->secret_ends); /* an instant, as the document's check saw to */
    }
    g->ca_file = ida_json_string(doc, "caFile");
    g->proxy_url = ida_json_string(doc, "proxyUrl");
    g->marker = ida_json_string(doc, "markerAttribute");
    g->marker = g->marker ? g->marker : IDA_CLOUD_MARKER;
    if (!g->directory_id || !g->client_id || !g->secret_file == !g->certificate_file) {
        return refuse(e, pool,
                      "directories.cloud: needs directoryId, clientId and either clientSecretFile "
                      "or certificateFile");
    }
    g->protected_accounts = json_object_get(doc, "protectedAccounts");
    int percent = 0;
    if (ida_guard_parse(json_object_get(doc, "deletionGuard"), &percent, &g->guard.count)) {
        g->guard.percent = percent;
    }
    g->header = secret_map(GRAPH_TOKEN_SIZE);
    g->http = g->header ? http_make(pool, env, g->ca_file, g->proxy_url, 0) : NULL;
    g->client = g->http ? graph_client_of(g) : NULL;
    if (!g->client) {
        secret_unmap(g->header, GRAPH_TOKEN_SIZE);
        if (g->http) {
            http_close(g->http);
        }
        *e = (directory_error){.class = DIRECTORY_LOCAL,
                               .message = "no memory for a session with the cloud directory"};
        return DIRECTORY_LOCAL;
    }
    apr_pool_pre_cleanup_register(pool, g, closed);
    *out = (directory *)g;
    *e = (directory_error){.class = DIRECTORY_OK};
    return DIRECTORY_OK;
}

void graph_close(directory *d)
{
    graph *g = (graph *)d;
    if (g) {
        apr_pool_cleanup_run(g->pool, g, closed);
    }
}

const directory_ops graph_directory_ops = {
    .name = "graph",
    .lag_ms = GRAPH_LAG_MS,
    .open = graph_open,
    .close = graph_close,
    .expiry = graph_expiry,
    .probe = graph_probe,
    .find = graph_find,
    .create = graph_create,
    .set_manager = graph_set_manager,
    .set_photo = graph_set_photo,
    .disable = graph_disable,
    .revoke_sessions = graph_revoke_sessions,
    .memberships = graph_memberships,
    .owned = graph_owned,
    .remove_member = graph_remove_member,
    .update = graph_update,
    .set_password = graph_set_password,
    .reports = graph_reports,
    .add_members = graph_add_members,
    .set_licenses = graph_set_licenses,
    .sync = graph_sync,
};
