/* Owns building and checking addresses: encoding, and which hosts are ours. Must not know what
 * is requested there. */
#include "worker/graph/url.h"

#include <apr_strings.h>
#include <curl/curl.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/host.h"
#include "core/base/text.h"

static int unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

/* As a text of OData, where a doubled quote means a quote. */
static const char *quoted(apr_pool_t *pool, const char *text)
{
    char *doubled = apr_palloc(pool, 2 * strlen(text) + 1), *to = doubled;
    for (; *text; text++) {
        if (*text == '\'') {
            *to++ = *text;
        }
        *to++ = *text;
    }
    *to = '\0';
    return doubled;
}

const char *graph_url(const graph *g, apr_pool_t *pool, const char *format, ...)
{
    va_list args;
    const char *url = g->root;
    va_start(args, format);
    for (const char *mark; (mark = strstr(format, "%s")) != NULL; format = mark + 2) {
        url = apr_pstrcat(pool, url, apr_pstrmemdup(pool, format, (apr_size_t)(mark - format)),
                          ida_percent(pool, va_arg(args, const char *), "@"), NULL);
    }
    va_end(args);
    return apr_pstrcat(pool, url, format, NULL);
}

const char *graph_user_url(const graph *g, apr_pool_t *pool, const char *key, const char *tail)
{
    return key[0] == '$'
               ? apr_pstrcat(pool, g->root, "/users('", ida_percent(pool, quoted(pool, key), "@"),
                             "')", tail, NULL)
               : apr_pstrcat(pool, g->root, "/users/", ida_percent(pool, key, "@"), tail, NULL);
}

/* An object ID can be nothing that changes the shape of an address. */
static int plain_id(const char *id)
{
    size_t len = 0;
    while (id[len] && unreserved(id[len]) && id[len] != '.') {
        len++;
    }
    return len > 0 && len < GRAPH_ID_MAX && !id[len];
}

const char *graph_member_ref_url(const graph *g, apr_pool_t *pool, const char *group_id,
                                 const char *member_id)
{
    return plain_id(group_id) && plain_id(member_id)
               ? graph_url(g, pool, "/groups/%s/members/%s/$ref", group_id, member_id)
               : NULL;
}

int graph_url_deletes_safely(const char *url)
{
    size_t len = strcspn(url, "?#");
    return !strstr(url, "/groups/") || (len > 5 && strncmp(url + len - 5, "/$ref", 5) == 0);
}

const char *graph_filter_value(apr_pool_t *pool, const char *text)
{
    return ida_percent(pool, quoted(pool, text), "");
}

int graph_url_parse(const char *url, apr_pool_t *pool, graph_address *out)
{
    CURLU *parts = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL, *user = NULL;
    /* libcurl's own parser: what is judged here is what it will connect to. */
    int good = parts && curl_url_set(parts, CURLUPART_URL, url, CURLU_PATH_AS_IS) == CURLUE_OK &&
               curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
               curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
               curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
               curl_url_get(parts, CURLUPART_USER, &user, 0) != CURLUE_OK &&
               (strcmp(scheme, "https") == 0 || strcmp(scheme, "http") == 0);
    if (good) {
        char *lower = apr_pstrdup(pool, host);
        for (char *c = lower; *c; c++) {
            *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
        }
        out->secure = strcmp(scheme, "https") == 0;
        out->host = lower;
        out->origin = apr_pstrcat(pool, scheme, "://", lower, ":", port, NULL);
        out->shown = strcmp(port, out->secure ? "443" : "80") == 0
                         ? apr_pstrcat(pool, scheme, "://", lower, NULL)
                         : out->origin;
        out->loopback = ida_host_loopback(lower, strlen(lower));
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(user);
    curl_url_cleanup(parts);
    return good;
}

int graph_url_ours(const graph *g, const char *url)
{
    apr_pool_t *pool;
    graph_address address;
    apr_pool_create(&pool, g->pool);
    int ours = graph_url_parse(url, pool, &address) && strcmp(address.origin, g->origin) == 0;
    apr_pool_destroy(pool);
    return ours;
}
