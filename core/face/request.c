/* Owns the reading of queries and bodies. Must not know an HTTP server, nor what arguments mean. */
#include "core/face/request.h"

#include <apr_escape.h>
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/similar.h"
#include "core/base/text.h"

/* Decodes application/x-www-form-urlencoded text of `len` bytes; NULL if an escape is invalid or
 * the result is not UTF-8 without NUL. */
static char *decode(apr_pool_t *pool, const char *text, size_t len)
{
    char *out = apr_palloc(pool, len + 1);
    apr_status_t rv = apr_unescape_url(out, text, (apr_ssize_t)len, NULL, NULL, 1, NULL);
    int decoded = rv == APR_SUCCESS || rv == APR_NOTFOUND; /* APR_NOTFOUND: there were no escapes */
    return decoded && ida_utf8_valid(out, strlen(out)) ? out : NULL;
}

json_t *ida_request_query(ida_ctx *c, const char *query)
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

/* A dry run stores nothing under a key, but a key that belongs to one request must not be sent
 * with another, dry run or not. */
static void read_idempotency(ida_ctx *c, const ida_rest_request *request)
{
    ida_question *asked = request->asked;
    const char *key = request->idempotency_key;
    size_t len = key ? strlen(key) : 0;
    if (!key || asked->operation->scope != IDA_SCOPE_WRITE) {
        return;
    }
    if (asked->operation->secret) {
        ida_fault_add(c, "Idempotency-Key",
                      "is not allowed here: the answer contains a secret, so it is not stored");
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
    const char *query = request->query ? request->query : "";
    size_t query_len = strlen(query);
    char *whole = apr_palloc(c->pool, query_len + 1 + request->body_len);
    memcpy(whole, query, query_len);
    whole[query_len] = '\n'; /* no query holds one */
    if (request->body_len) {
        memcpy(whole + query_len + 1, request->body, request->body_len);
    }
    store_idempotency *once = apr_pcalloc(c->pool, sizeof *once);
    *once = (store_idempotency){
        .tenant = asked->principal->company,
        .username = asked->principal->username,
        .method = request->method,
        .path = apr_pstrcat(c->pool, asked->face->key_path, request->route->path, NULL),
        .key = key,
        .hash = ida_sha256_hex(c->pool, whole, query_len + 1 + request->body_len)};
    asked->once = once;
}

/* If it were ignored, the change would be made. */
static ida_kind refuse_dry_run(ida_ctx *c, json_t *body)
{
    static const struct {
        const char *name;
    } members[] = {{"dryRun"}, {NULL}};
    const char *name;
    json_t *value;
    ida_look look;
    json_object_foreach (body, name, value) {
        ida_look_at(name, &look);
        if (ida_meant(members, sizeof *members, &look, 1)) {
            ida_fault_add(c, "dryRun",
                          "is a parameter of the query (?dryRun=true), not a member of the body");
        }
    }
    return ida_faults_raise(c);
}

ida_kind ida_request_judge(ida_call *call, const ida_rest_request *request)
{
    if (!request->asked->arguments) {
        request->asked->arguments = ida_request_query(call->c, request->query);
    }
    ida_kind kind = ida_request_read(call->c, request);
    return kind ? kind : ida_operation_judge(call);
}

ida_kind ida_request_read(ida_ctx *c, const ida_rest_request *request)
{
    json_t *body = NULL;
    read_idempotency(c, request);
    ida_kind kind = ida_faults_raise(c);
    if (kind) {
        return kind;
    }
    if (!request->asked->operation->body) {
        /* Other members are not checked, because the operation takes no body. */
        int readable = request->body_len &&
                       ida_json_object(ida_ctx_make(c->env, c->pool), request->body,
                                       request->body_len, &body) == IDA_OK;
        return readable ? refuse_dry_run(c, body) : IDA_OK;
    }
    if (!request->body_len) {
        request->asked->body_lost = strcmp(request->method, "DELETE") == 0;
        body = ida_json_keep(c->pool, json_object());
    } else {
        kind = ida_json_object(c, request->body, request->body_len, &body);
    }
    request->asked->body = body;
    return kind ? kind : refuse_dry_run(c, body);
}
