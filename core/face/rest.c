/* Owns REST as a pure function: admission, the run of an operation, where its task is found. Must
 * not know an HTTP server; the order in which its stages are called is the server glue's. */
#include "core/face/rest.h"

#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

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
        ida_answer_refusal(call, answer);
    }
    return kind;
}

void ida_rest_run(ida_call *call, const ida_rest_request *request, ida_rest_answer *answer)
{
    ida_ctx *c = call->c;
    memset(answer, 0, sizeof *answer);
    call->arguments = ida_request_query(c, request->query);
    ida_kind kind = ida_request_read(call, request);
    if (kind) {
        ida_operation_refusal(call, kind);
    } else {
        kind = ida_operation_run(call);
    }
    if (kind) {
        ida_answer_refusal(call, answer);
        return;
    }
    ida_answer_result(call, answer);
    if (call->location) {
        ida_answer_header(c->pool, answer, "Location",
                          apr_pstrcat(c->pool, escape_path(c->pool, call->base), call->location,
                                      NULL));
    }
}
