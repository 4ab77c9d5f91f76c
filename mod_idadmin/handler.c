/* Owns what the handlers of REST and console share: the request as core takes it, its body, and
 * whether it runs here or is handed to the writer. Must not know what operations do. */
#include "mod_idadmin/writer.h"

APLOG_USE_MODULE(idadmin);

ida_rest_request handler_request(request_rec *r, ida_question *asked)
{
    return (ida_rest_request){
        .asked = asked,
        .route = request_route(r),
        .method = r->method,
        .query = r->args,
        .content_type = apr_table_get(r->headers_in, "Content-Type"),
        .has_body = request_has_body(r),
        .if_none_match = apr_table_get(r->headers_in, "If-None-Match"),
        .idempotency_key = apr_table_get(r->headers_in, "Idempotency-Key"),
    };
}

int handler_run(request_rec *r, ida_call *call, const char **texts, ida_rest_request *request,
                ida_rest_answer *answer)
{
    const ida_operation *op = call->asked->operation;
    int console = call->asked->face == &ida_console_face, writes = op->scope == IDA_SCOPE_WRITE;
    request_body body = {0};
    /* of REST also where one could mean that nothing is to be written (a dry run) */
    if (console ? request->has_body : op->body || (writes && request->has_body)) {
        int ours, status = body_of(r, call->c, &body, request, &ours);
        if (status != OK) {
            ida_answer_refused(call, call->c->kind, answer);
            return ours ? OK : status;
        }
    }
    if (!writes) {
        (console ? ida_console_run : ida_rest_run)(call, request, answer);
    } else if (!ida_answer_refused(call, ida_request_judge(call, request), answer)) {
        ida_answer_refused(call, writer_ask(r, call, texts, request, answer), answer);
    }
    body_free(&body);
    return OK;
}
