/* Owns what web pages may do at the MCP address: the check of Origin, which keeps an arbitrary page
 * from using a server that its visitor can reach, and the answers that browsers need. Must not know
 * credentials.
 *
 * Programs send no Origin and are not affected. The server's own name comes from the
 * configuration, never from the Host header: a page under a name that resolves to this address
 * would send both alike. */
#include "mod_idadmin/module.h"

#include <string.h>

#include "core/base/key.h"

APLOG_USE_MODULE(idadmin);

int origin_is_own(request_rec *r, const char *origin)
{
    const server_rec *s = r->server;
    const char *scheme = s->server_scheme ? s->server_scheme : ap_http_scheme(r);
    apr_port_t port = s->port ? s->port : r->connection->local_addr->port,
               usual = apr_uri_port_of_scheme(scheme);
    const char *own = s->server_hostname
                          ? apr_pstrcat(r->pool, scheme, "://", s->server_hostname,
                                        port == usual ? "" : apr_psprintf(r->pool, ":%u", port),
                                        NULL)
                          : "";
    return strcasecmp(origin, own) == 0;
}

/* The list is answered by CORS headers; pages of the server itself need none. */
static void tell_browser(request_rec *r, const char *origin)
{
    apr_table_setn(r->err_headers_out, "Access-Control-Allow-Origin", origin);
    apr_table_setn(r->err_headers_out, "Access-Control-Expose-Headers",
                   "Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, " IDA_REQUEST_ID);
}

int origin_check(request_rec *r)
{
    const char *origin = apr_table_get(r->headers_in, "Origin");
    if (config_has_origins(r)) {
        apr_table_mergen(r->err_headers_out, "Vary", "Origin");
    }
    if (!origin || origin_is_own(r, origin)) {
        return OK;
    }
    if (config_allows_origin(r, origin)) {
        tell_browser(r, origin);
        return OK;
    }
    request_say(r, APLOG_INFO, "refused a web page of origin \"%.128s\"",
                ida_key_masked(r->pool, origin));
    return request_refuse(r, IDA_FORBIDDEN,
                          "Web pages of this origin may not use this address. The administrator "
                          "allows origins with IdAdminAllowOrigin.",
                          0);
}

int origin_is_preflight(request_rec *r)
{
    const char *origin = apr_table_get(r->headers_in, "Origin");
    return r->method_number == M_OPTIONS && origin &&
           apr_table_get(r->headers_in, "Access-Control-Request-Method") &&
           config_allows_origin(r, origin);
}

int origin_answer_preflight(request_rec *r)
{
    apr_table_setn(r->headers_out, "Access-Control-Allow-Methods", "POST");
    apr_table_setn(r->headers_out, "Access-Control-Allow-Headers",
                   "authorization, content-type, accept, mcp-protocol-version, mcp-method, "
                   "mcp-name, x-company-id, x-api-user, x-api-key, x-request-id, traceparent");
    apr_table_setn(r->headers_out, "Access-Control-Max-Age", "600");
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    r->status = HTTP_NO_CONTENT;
    return DONE;
}
