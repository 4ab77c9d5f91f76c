/* Owns REST as a pure function: which operation a method and path mean, what the query says, how
 * results and errors look. Must not know an HTTP server; the order in which its stages are called
 * is the server glue's. */
#include "core/face/rest.h"

#include <apr_escape.h>
#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

#define PATH_ROOT "/v1/api"

/* --- routes --- */

/* Splits at the last "/v1/api": whatever stands before is {base_url}. A single trailing slash is
 * not part of the name. */
static void split_uri(apr_pool_t *pool, const char *uri, ida_route *route)
{
    const char *found = NULL;
    for (const char *at = strstr(uri, PATH_ROOT); at; at = strstr(at + 1, PATH_ROOT)) {
        char after = at[strlen(PATH_ROOT)];
        if (after == '/' || after == '\0') {
            found = at;
        }
    }
    size_t len = found ? strlen(found) : 0;
    route->base = found ? apr_pstrmemdup(pool, uri, (apr_size_t)(found - uri)) : "";
    route->path = !found ? ""
                  : len > strlen(PATH_ROOT) && found[len - 1] == '/'
                      ? apr_pstrmemdup(pool, found, len - 1)
                      : found;
}

/* Whether one of the operation's doors is this one. */
static int opens(const ida_operation *op, const char *method, const char *path)
{
    return (op->path && strcmp(op->path, path) == 0 && strcmp(op->method, method) == 0) ||
           (op->alias_path && strcmp(op->alias_path, path) == 0 &&
            strcmp(op->alias_method, method) == 0);
}

static void allow_add(apr_pool_t *pool, const char **allow, const char *method)
{
    *allow = apr_pstrcat(pool, *allow, **allow ? ", " : "", method,
                         strcmp(method, "GET") == 0 ? ", HEAD" : "", NULL);
}

const char *ida_rest_allow(apr_pool_t *pool, const char *path)
{
    const char *allow = "";
    for (int i = 0; ida_operations[i]; i++) {
        const ida_operation *op = ida_operations[i];
        if (op->path && strcmp(op->path, path) == 0) {
            allow_add(pool, &allow, op->method);
        }
        if (op->alias_path && strcmp(op->alias_path, path) == 0) {
            allow_add(pool, &allow, op->alias_method);
        }
    }
    return *allow ? apr_pstrcat(pool, allow, ", OPTIONS", NULL) : NULL;
}

void ida_rest_route(apr_pool_t *pool, const char *method, const char *uri, ida_route *route)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    int found = 0;
    split_uri(pool, uri, route);
    while (ida_operations[found] && !opens(ida_operations[found], wanted, route->path)) {
        found++;
    }
    route->operation = ida_operations[found];
    route->allow = NULL;
    route->kind = IDA_ROUTE_OPERATION;
    if (!route->operation) {
        route->allow = ida_rest_allow(pool, route->path);
        route->kind = strcmp(method, "OPTIONS") == 0 ? IDA_ROUTE_OPTIONS
                      : route->allow                 ? IDA_ROUTE_WRONG_METHOD
                                                     : IDA_ROUTE_UNKNOWN_PATH;
        route->allow = route->allow ? route->allow : "GET, HEAD, OPTIONS";
    }
}

/* --- answers --- */

const char *ida_rest_error(apr_pool_t *pool, ida_kind kind, const char *message)
{
    json_t *error = json_object(), *body = json_object();
    ida_json_put(error, "code", ida_kind_code(kind));
    ida_json_put(error, "message", message ? message : ida_kind_text(kind));
    json_object_set_new(body, "error", error);
    char *text = ida_json_text(pool, body);
    json_decref(body);
    return text;
}

void ida_rest_error_answer(ida_ctx *c, ida_rest_answer *answer)
{
    answer->status = ida_kind_status(c->kind);
    answer->body = ida_rest_error(c->pool, c->kind, ida_public_message(c));
    answer->len = strlen(answer->body);
    answer->retry_after = c->retry_after                       ? c->retry_after
                          : c->kind == IDA_SERVICE_UNAVAILABLE ? 1
                                                               : 0;
}

static void add_header(apr_pool_t *pool, ida_rest_answer *answer, const char *name,
                       const char *value)
{
    ida_rest_header *h = apr_palloc(pool, sizeof *h);
    h->name = name;
    h->value = value;
    h->next = answer->headers;
    answer->headers = h;
}

/* What stands before /v1/api, decoded by the server, as it belongs into a URI: it may be anything
 * that a caller wrote. */
static const char *escape_path(apr_pool_t *pool, const char *path)
{
    static const char digits[] = "0123456789ABCDEF", plain[] = "/-._~!$&'()*+,;=:@";
    char *out = apr_palloc(pool, 3 * strlen(path) + 1), *to = out;
    for (; *path; path++) {
        unsigned char ch = (unsigned char)*path;
        if (ch < 0x80 && (isalnum(ch) || strchr(plain, ch))) {
            *to++ = (char)ch;
        } else {
            *to++ = '%';
            *to++ = digits[ch >> 4];
            *to++ = digits[ch & 15];
        }
    }
    *to = '\0';
    return out;
}

static void refuse(ida_call *call, ida_rest_answer *answer)
{
    ida_rest_error_answer(call->c, answer);
    if (call->c->kind == IDA_INTERNAL_ERROR) {
        ida_log(call->c->env, IDA_LOG_ERROR, "IDA0011", "%s failed: %s", call->endpoint,
                call->c->message ? call->c->message : "no reason given");
    }
}

/* --- admission --- */

static ida_kind admit(ida_call *call, const ida_route *route, const ida_rest_request *request)
{
    if (!call->operation) {
        const char *path = *route->path ? route->path : "this path";
        return ida_fail(call->c, IDA_NOT_FOUND, "There is no resource %s in this API.",
                        ida_clean(call->c->pool, path, strlen(path), 128));
    }
    ida_kind kind = ida_operation_admit(call);
    if (!kind && call->operation->body && request->has_body &&
        !ida_json_type(request->content_type)) {
        kind = ida_fail(call->c, IDA_UNSUPPORTED_MEDIA_TYPE, "%s",
                        ida_kind_text(IDA_UNSUPPORTED_MEDIA_TYPE));
    }
    return kind;
}

ida_kind ida_rest_admit(ida_call *call, const ida_route *route, const ida_rest_request *request,
                        ida_rest_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    call->face = IDA_FACE_REST;
    call->operation = route->operation;
    call->base = route->base;
    call->method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
    call->path = route->path;
    call->endpoint = apr_pstrcat(
        call->c->pool, ida_clean(call->c->pool, request->method, strlen(request->method), 32), " ",
        ida_clean(call->c->pool, route->path, strlen(route->path), 128), NULL);
    ida_kind kind = admit(call, route, request);
    if (kind) {
        ida_operation_refusal(call, kind);
        refuse(call, answer);
    }
    return kind;
}

/* --- arguments --- */

/* application/x-www-form-urlencoded text of `len` bytes decoded; NULL when an escape is broken or
 * the result is not UTF-8 without NUL. */
static char *decode(apr_pool_t *pool, const char *text, size_t len)
{
    char *out = apr_palloc(pool, len + 1);
    apr_status_t rv = apr_unescape_url(out, text, (apr_ssize_t)len, NULL, NULL, 1, NULL);
    int decoded = rv == APR_SUCCESS || rv == APR_NOTFOUND; /* APR_NOTFOUND: nothing was escaped */
    return decoded && ida_utf8_valid(out, strlen(out)) ? out : NULL;
}

/* Query parameters as an object of strings. Doubled and undecodable ones are faults by name. */
static json_t *parse_query(ida_ctx *c, const char *query)
{
    json_t *out = ida_json_keep(c->pool, json_object());
    while (query && *query) {
        size_t len = strcspn(query, "&");
        const char *equals = memchr(query, '=', len);
        size_t name_len = equals ? (size_t)(equals - query) : len;
        char *name = decode(c->pool, query, name_len);
        char *value = equals ? decode(c->pool, equals + 1, len - name_len - 1)
                             : apr_pstrdup(c->pool, "");
        if (!name || !value) {
            ida_fault_add(c, name ? ida_clean(c->pool, name, strlen(name), 64) : "query",
                          "is not percent-encoded UTF-8");
        } else if (len && json_object_get(out, name)) {
            ida_fault_add(c, ida_clean(c->pool, name, strlen(name), 64), "is given more than once");
        } else if (len) {
            json_object_set_new(out, name, json_string(value));
        }
        query += len + (query[len] == '&');
    }
    return out;
}

/* A dry run keeps nothing under a key, but a key that stands for a request is not to be sent with
 * another one, dry or not. */
static void read_idempotency(ida_call *call, const ida_rest_request *request)
{
    ida_ctx *c = call->c;
    const char *key = request->idempotency_key;
    size_t len = key ? strlen(key) : 0;
    if (!key || call->operation->scope != IDA_SCOPE_WRITE) {
        return;
    }
    for (size_t i = 0; i < len; i++) {
        if (key[i] < 0x20 || key[i] > 0x7E) {
            len = 0;
        }
    }
    if (!len || len > IDA_IDEMPOTENCY_KEY_MAX) {
        ida_fault_add(c, "Idempotency-Key", "must be 1 to %d printable ASCII characters",
                      IDA_IDEMPOTENCY_KEY_MAX);
        return;
    }
    call->idempotency_key = key;
    const char *query = request->query ? request->query : "";
    size_t query_len = strlen(query);
    char *whole = apr_palloc(c->pool, query_len + 1 + request->body_len);
    memcpy(whole, query, query_len);
    whole[query_len] = '\n'; /* no query holds one */
    if (request->body_len) {
        memcpy(whole + query_len + 1, request->body, request->body_len);
    }
    call->request_hash = ida_sha256_hex(c->pool, whole, query_len + 1 + request->body_len);
}

/* Ignored it would be the real thing. */
static ida_kind refuse_dry_run(ida_ctx *c, json_t *body)
{
    const char *name;
    json_t *value;
    json_object_foreach (body, name, value) {
        if (strcasecmp(name, "dryRun") == 0) {
            ida_fault_add(c, "dryRun",
                          "is a parameter of the query (?dryRun=true), not a member of the body");
        }
    }
    return ida_faults_raise(c);
}

static ida_kind read_arguments(ida_call *call, const ida_rest_request *request)
{
    ida_ctx *c = call->c;
    json_t *body = NULL;
    call->arguments = parse_query(c, request->query);
    read_idempotency(call, request);
    ida_kind kind = ida_faults_raise(c);
    if (kind) {
        return kind;
    }
    if (!call->operation->body) {
        /* What else stands in a body that the operation does not take is nobody's business. */
        int readable = request->body_len &&
                       ida_json_object(ida_ctx_make(c->env, c->pool), request->body,
                                       request->body_len, &body) == IDA_OK;
        return readable ? refuse_dry_run(c, body) : IDA_OK;
    }
    call->empty_body = request->body_len == 0;
    if (call->empty_body) {
        body = ida_json_keep(c->pool, json_object());
    } else {
        kind = ida_json_object(c, request->body, request->body_len, &body);
    }
    call->body = body;
    return kind ? kind : refuse_dry_run(c, body);
}

/* --- run --- */

void ida_rest_run(ida_call *call, const ida_rest_request *request, ida_rest_answer *answer)
{
    ida_ctx *c = call->c;
    memset(answer, 0, sizeof *answer);
    ida_kind kind = read_arguments(call, request);
    if (kind) {
        ida_operation_refusal(call, kind);
    } else {
        kind = ida_operation_run(call);
    }
    if (kind) {
        refuse(call, answer);
        return;
    }
    answer->status = 200;
    answer->body = apr_pstrcat(c->pool, "{\"data\":", ida_json_text(c->pool, call->result), "}",
                               NULL);
    answer->len = strlen(answer->body);
    if (call->location) {
        add_header(c->pool, answer, "Location",
                   apr_pstrcat(c->pool, escape_path(c->pool, call->base), call->location, NULL));
    }
    if (call->replayed) {
        add_header(c->pool, answer, "Idempotent-Replayed", "true");
    }
}
