/* Owns REST as a pure function: admission, the run of an operation, the Location of its task.
 * Must not know an HTTP server; the server glue determines the order of the stages. */
#include "core/face/rest.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

/* Characters that a path may contain unescaped. */
#define PATH "/!$&'()*+,;=:@"

const ida_face ida_rest_face = {
    .bit = IDA_ON_REST,
    .via = "rest",
    .category = "api",
    .unknown = "request",
    .texts = 1,
    .names_approver = 1,
    .root = "/v1/api",
    .key_path = "",
    .options = 1,
};

static ida_kind admit(ida_call *call, const ida_rest_request *request)
{
    if (!call->asked->operation) {
        const char *path = *request->route->path ? request->route->path : "this path";
        return ida_fail(call->c, IDA_NOT_FOUND, "There is no resource %s in this API.",
                        ida_clean(call->c->pool, path, strlen(path), 128));
    }
    ida_kind kind = ida_operation_admit(call);
    if (!kind && call->asked->operation->body && request->has_body &&
        !ida_json_type(request->content_type)) {
        kind = ida_fail(call->c, IDA_UNSUPPORTED_MEDIA_TYPE, "%s",
                        ida_kind_text(IDA_UNSUPPORTED_MEDIA_TYPE));
    }
    return kind;
}

ida_kind ida_rest_admit(ida_call *call, const ida_rest_request *request, ida_rest_answer *answer)
{
    apr_pool_t *pool = call->c->pool;
    const char *method = request->method, *path = request->route->path;
    memset(answer, 0, sizeof *answer);
    request->asked->face = &ida_rest_face;
    request->asked->operation = request->route->operation;
    request->asked->endpoint = apr_pstrcat(pool, ida_clean(pool, method, strlen(method), 32), " ",
                                           ida_clean(pool, path, strlen(path), 128), NULL);
    return ida_answer_refused(call, admit(call, request), answer);
}

void ida_rest_run(ida_call *call, const ida_rest_request *request, ida_rest_answer *answer)
{
    ida_ctx *c = call->c;
    memset(answer, 0, sizeof *answer);
    request->asked->arguments = ida_request_query(c, request->query);
    ida_kind kind = ida_request_read(c, request);
    if (ida_answer_refused(call, kind ? kind : ida_operation_run(call), answer)) {
        return;
    }
    ida_answer_result(call, answer);
    if (call->location) {
        ida_answer_header(c->pool, answer, "Location",
                          apr_pstrcat(c->pool, ida_percent(c->pool, request->route->base, PATH),
                                      call->location, NULL));
    }
}
