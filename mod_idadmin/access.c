/* Owns the checks before a request's credentials: its method, other web sites, the limit of its
 * address, OPTIONS. Must not know how charges are counted. */
#include "mod_idadmin/module.h"

APLOG_USE_MODULE(idadmin);

static int answer_options(request_rec *r, const char *allow)
{
    apr_table_setn(r->headers_out, "Allow", allow);
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    r->status = HTTP_NO_CONTENT;
    return DONE;
}

static void allow(request_rec *r, const char *methods)
{
    char *rest = apr_pstrdup(r->pool, methods), *last = NULL;
    int how = REPLACE_ALLOW;
    for (char *method = apr_strtok(rest, ", ", &last); method;
         method = apr_strtok(NULL, ", ", &last)) {
        ap_allow_methods(r, how, method, NULL);
        how = MERGE_ALLOW;
    }
}

static int wrong_method(request_rec *r)
{
    allow(r, request_route(r)->allow);
    return request_refuse(r, IDA_METHOD_NOT_ALLOWED, NULL, 0);
}

int access_trace(request_rec *r)
{
    return r->method_number == M_TRACE && child && request_face(r) != FACE_NONE ? wrong_method(r)
                                                                                : DECLINED;
}

static int is_wrong_method(request_rec *r, const request_state *state, int options)
{
    switch (state->face) {
    case FACE_REST:
    case FACE_CONSOLE: return state->route.kind == IDA_ROUTE_WRONG_METHOD;
    case FACE_OPENAPI:
    case FACE_HEALTH:
    case FACE_METRICS: return r->method_number != M_GET && !options;
    case FACE_MCP: return r->method_number != M_POST && !options;
    default: return 0; /* nothing there for any of them */
    }
}

int access_check(request_rec *r)
{
    face f = request_face(r);
    if (f == FACE_NONE) {
        return DECLINED;
    }
    if (!child || !child->limiter) {
        return HTTP_SERVICE_UNAVAILABLE; /* child_init said why */
    }
    request_state *state = request_state_of(r);
    const char *methods = request_route(r)->allow;
    if (f == FACE_MCP && origin_check(r) != OK) {
        return HTTP_FORBIDDEN;
    }
    int options = f == FACE_MCP
                      ? origin_is_preflight(r)
                      : r->method_number == M_OPTIONS && (f == FACE_REST || f == FACE_OPENAPI);
    if (is_wrong_method(r, state, options)) {
        return wrong_method(r);
    }
    if (f == FACE_CONSOLE && console_gate(r) != OK) {
        return HTTP_FORBIDDEN;
    }
    if (rates_address(r) != OK) {
        return HTTP_TOO_MANY_REQUESTS;
    }
    if (options) {
        return f == FACE_MCP ? origin_answer_preflight(r) : answer_options(r, methods);
    }
    return DECLINED; /* the rest is left to other modules that guard this Location */
}
