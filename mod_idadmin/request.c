/* Owns the state of a request across the phases. Must not know credentials' rules nor the store. */
#include "mod_idadmin/module.h"

#include <apr_portable.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/key.h"

APLOG_USE_MODULE(idadmin);

#define HALF_CLOSED_MS 1000

face request_face(request_rec *r)
{
    static const struct {
        const char *handler;
        face face;
    } faces[] = {
#define HANDLER(name, face, about) {name, face},
#include "mod_idadmin/handlers.def"
#undef HANDLER
    };
    const request_state *state = ap_get_module_config(r->request_config, &idadmin_module);
    if (state) {
        return state->face;
    }
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    const char *fault = NULL, *handler = core->expr_handler
                                             ? ap_expr_str_exec(r, core->expr_handler, &fault)
                                             : core->handler;
    for (size_t i = 0; handler && !fault && i < sizeof faces / sizeof *faces; i++) {
        if (strcasecmp(handler, faces[i].handler) == 0) { /* httpd folds it too */
            return faces[i].face;
        }
    }
    return FACE_NONE;
}

static const char virtual_note[] = "idadmin-virtual";

void request_translate(request_rec *r)
{
    if (request_face(r) == FACE_NONE) {
        return; /* filename as usual: other modules count on it */
    }
    apr_table_setn(r->notes, virtual_note, "1");
    char *const lines[] = {r->the_request, r->unparsed_uri,    r->uri,
                           r->args,        r->parsed_uri.path, r->parsed_uri.query};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ida_key_mask(lines[i]);
    }
}

int request_map(request_rec *r)
{
    return apr_table_get(r->notes, virtual_note) ? OK : DECLINED;
}

typedef struct header_count {
    const char *value;
    int count;
} header_count;

static int count_header(void *baton, const char *name, const char *value)
{
    header_count *seen = baton;
    (void)name;
    seen->value = value;
    seen->count++;
    return 1;
}

/* Value of a header that occurs exactly once, otherwise NULL. httpd joins repeated ones with a
 * comma, which no valid name contains. */
const char *request_single_header(request_rec *r, const char *name)
{
    header_count seen = {NULL, 0};
    apr_table_do(count_header, &seen, r->headers_in, name, NULL);
    return seen.count == 1 ? seen.value : NULL;
}

static void wipe(char *secret)
{
    if (secret) {
        OPENSSL_cleanse(secret, strlen(secret));
    }
}

void request_leave_seat(request_state *state)
{
    if (state->seat && child && child->seats) {
        seats_give_back(child->seats, state->seat - 1);
    }
    state->seat = 0;
}

/* What the request says of its body's length: -1 when it says nothing. */
apr_int64_t request_body_length(request_rec *r)
{
    const char *text = apr_table_get(r->headers_in, "Content-Length");
    char *end = NULL;
    apr_int64_t length = text ? apr_strtoi64(text, &end, 10) : -1;
    return text && !*end && length >= 0 ? length : -1;
}

int request_has_body(request_rec *r)
{
    apr_int64_t length = request_body_length(r);
    return length > 0 || (length < 0 && apr_table_get(r->headers_in, "Transfer-Encoding"));
}

static apr_status_t give_back(void *baton)
{
    request_state *state = baton;
    wipe(state->key);
    wipe(state->bearer);
    request_leave_seat(state);
    if (state->caller) {
        ida_caller_release(state->caller);
        state->caller = NULL;
    }
    return APR_SUCCESS;
}

/* The text after `scheme` (a word and blanks, or nothing) in a header that occurs once; its
 * bytes in the table are overwritten. NULL if the header has another scheme. */
static char *take_secret(request_rec *r, const char *header, const char *scheme)
{
    char *value = (char *)request_single_header(r, header);
    size_t len = strlen(scheme);
    if (!value || strncasecmp(value, scheme, len) != 0 ||
        (len && value[len] && value[len] != ' ' && value[len] != '\t')) {
        return NULL;
    }
    char *secret = apr_pstrdup(r->pool, value + len + strspn(value + len, " \t"));
    OPENSSL_cleanse(value, strlen(value));
    return secret;
}

/* Takes or makes the request's identity. In the headers of the request the access log finds it, and
 * so does an internal redirect, which is the same request. */
static void identify(request_rec *r, request_state *state)
{
    ida_correlation_take(&child->env, request_single_header(r, IDA_REQUEST_ID),
                         request_single_header(r, "traceparent"), &state->correlation);
    state->env = ida_env_correlated(&child->env, &state->correlation);
    state->env.gone = request_gone;
    state->env.gone_baton = r;
    state->since = ida_monotonic(&child->env);
    apr_table_setn(r->headers_in, IDA_REQUEST_ID, state->correlation.id);
    apr_table_setn(r->err_headers_out, IDA_REQUEST_ID, state->correlation.id);
    r->log_id = state->correlation.id;
}

request_state *request_state_of(request_rec *r)
{
    request_state *state = ap_get_module_config(r->request_config, &idadmin_module);
    if (!state) {
        face f = request_face(r);
        state = apr_pcalloc(r->pool, sizeof *state);
        identify(r, state);
        state->c = ida_ctx_make(&state->env, r->pool);
        state->face = f;
        state->keepalive = r->connection->keepalive;
        if (request_has_body(r)) {
            r->connection->keepalive = AP_CONN_CLOSE;
        }
        apr_pool_cleanup_register(r->pool, state, give_back, apr_pool_cleanup_null);
        ap_set_module_config(r->request_config, &idadmin_module, state);
        /* Secrets leave the header table before other code can log them; we own the bytes and
         * wipe them. */
        state->key = take_secret(r, "X-Api-Key", "");
        apr_table_unset(r->headers_in, "X-Api-Key");
        if (f == FACE_MCP && (state->bearer = take_secret(r, "Authorization", "Bearer")) != NULL) {
            apr_table_unset(r->headers_in, "Authorization");
        }
    }
    return state;
}

ida_question request_question(request_rec *r)
{
    const request_state *state = request_state_of(r);
    return (ida_question){.principal = state->principal,
                          .tenant = state->caller->tenant,
                          .synced = state->caller->synced,
                          .address = r->useragent_ip};
}

void request_trust(request_rec *r)
{
    r->connection->keepalive = request_state_of(r)->keepalive;
}

const ida_route *request_route(request_rec *r)
{
    request_state *state = request_state_of(r);
    if (!state->routed) {
        int watched = state->face == FACE_HEALTH || state->face == FACE_METRICS;
        state->route.allow = state->face == FACE_MCP ? "POST"
                             : watched               ? "GET, HEAD"
                                                     : "GET, HEAD, OPTIONS";
    }
    if (!state->routed && (state->face == FACE_REST || state->face == FACE_CONSOLE)) {
        const ida_face *as = state->face == FACE_REST ? &ida_rest_face : &ida_console_face;
        ida_route_find(r->pool, as, r->method, r->uri, &state->route);
    }
    state->routed = 1;
    return &state->route;
}

int request_is_first(request_rec *r)
{
    for (request_rec *before = r->prev ? r->prev : r->main; before;
         before = before->prev ? before->prev : before->main) {
        if (request_face(before) != FACE_NONE) {
            return 0;
        }
    }
    return 1;
}

int request_gone(void *baton)
{
    request_rec *r = baton;
    conn_rec *c = r->connection;
    apr_socket_t *socket = c->master ? NULL : ap_get_conn_socket(c); /* has many streams: `aborted`
                                                                        shows the end of one */
    apr_os_sock_t fd;
    char byte;
    if (c->aborted || (c->master && c->master->aborted)) {
        return 1;
    }
    return socket && ida_monotonic(&child->env) - request_state_of(r)->since >= HALF_CLOSED_MS &&
           apr_os_sock_get(&fd, socket) == APR_SUCCESS &&
           recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void request_say(request_rec *r, int level, const char *format, ...)
{
    if (APLOG_R_IS_LEVEL(r, level)) {
        va_list args;
        va_start(args, format);
        ap_log_rerror(APLOG_MARK, level, 0, r, "%s [request %s]",
                      apr_pvsprintf(r->pool, format, args), request_state_of(r)->correlation.id);
        va_end(args);
    }
}

int request_refuse(request_rec *r, ida_kind kind, const char *message, int retry_after)
{
    request_state *state = request_state_of(r);
    ida_ctx *c = state->c;
    const char *usual = state->face == FACE_MCP ? ida_mcp_kind_text(kind) : NULL;
    ida_fail(c, kind, "%s", message ? message : usual ? usual : ida_kind_text(kind));
    c->retry_after = retry_after;
    if (retry_after) {
        apr_table_setn(r->err_headers_out, "Retry-After", apr_itoa(r->pool, retry_after));
    }
    return ida_kind_status(kind);
}

const char *request_address_name(request_rec *r)
{
    const apr_sockaddr_t *address = r->useragent_addr;
    if (!address || address->family != APR_INET6) {
        return r->useragent_ip;
    }
    const unsigned char *b = (const unsigned char *)address->ipaddr_ptr;
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (memcmp(b, mapped, sizeof mapped) == 0) {
        return apr_psprintf(r->pool, "%d.%d.%d.%d", b[12], b[13], b[14], b[15]);
    }
    return apr_psprintf(r->pool, "%02x%02x:%02x%02x:%02x%02x:%02x%02x::/64", b[0], b[1], b[2], b[3],
                        b[4], b[5], b[6], b[7]);
}
