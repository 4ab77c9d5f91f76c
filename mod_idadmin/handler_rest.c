/* Owns the stages of a REST request in httpd: by the time of the handler 405, address limit, 401
 * and the limits of key and company are behind it; it goes on with 404, 403, 415, 413 and the
 * operation. Must not know what operations do. */
#include "mod_idadmin/writer.h"

#include <string.h>

APLOG_USE_MODULE(idadmin);

static void hand_write(request_rec *r, ida_call *call, ida_rest_request *request,
                       ida_rest_answer *answer)
{
    const char *texts[ASKED_COUNT] = {
        [ASKED_FACE] = "rest",
        [ASKED_COMPANY] = call->asked->principal->company,
        [ASKED_USER] = call->asked->principal->username,
        [ASKED_KEY] = request_state_of(r)->key,
    };
    ida_answer_refused(call, writer_ask(r, call, texts, request, answer), answer);
}

/* Reads the body where the operation takes one, or where one could mean that nothing is to be
 * written (a dry run), and runs. OK with `answer` filled, or a status for httpd with
 * call->audit set. */
static int run(request_rec *r, ida_call *call, ida_rest_request *request, ida_rest_answer *answer)
{
    request_body body = {0};
    if (call->asked->operation->body ||
        (call->asked->operation->scope == IDA_SCOPE_WRITE && request->has_body)) {
        int ours, status = body_of(r, call->c, &body, request, &ours);
        if (status != OK) {
            ida_answer_refused(call, call->c->kind, answer);
            return ours ? OK : status;
        }
    }
    if (call->asked->operation->scope == IDA_SCOPE_WRITE) {
        hand_write(r, call, request, answer);
    } else {
        ida_rest_run(call, request, answer);
    }
    body_free(&body);
    return OK;
}

int rest_handler(request_rec *r)
{
    if (!r->handler || strcasecmp(r->handler, "idadmin-rest") != 0) {
        return DECLINED;
    }
    request_state *state = child ? request_state_of(r) : NULL;
    if (!state || !state->principal) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "IDA0211: %s is served by idadmin-rest without authentication: its Location "
                      "needs \"AuthType IdAdmin\" and \"Require valid-user\"",
                      r->uri);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    ida_question asked = {
        .principal = state->principal,
        .tenant = state->caller->tenant,
        .synced = state->caller->synced,
        .address = r->useragent_ip,
    };
    ida_call call = {.c = state->c, .asked = &asked, .source = child->source};
    ida_rest_request request = {
        .asked = &asked,
        .route = request_route(r),
        .method = r->method,
        .query = r->args,
        .content_type = apr_table_get(r->headers_in, "Content-Type"),
        .has_body = body_announced(r),
        .idempotency_key = apr_table_get(r->headers_in, "Idempotency-Key"),
    };
    ida_rest_answer answer;
    int status = OK;
    if (!ida_rest_admit(&call, &request, &answer)) {
        status = run(r, &call, &request, &answer);
    }
    if (spool_call(r, &call) != IDA_OK) {
        ida_answer_error(state->c, &ida_rest_face, &answer);
        status = OK;
    }
    return status == OK ? respond(r, &answer) : status;
}
