/* Owns the stages of an MCP message in httpd. When the handler runs, Origin, 405, address limit,
 * 401 and the limits of key and company have been dealt with; it continues with 406, 415, 413
 * and the message. Must not know methods or tools. */
#include "mod_idadmin/module.h"

#include <string.h>

APLOG_USE_MODULE(idadmin);

/* OK with `answer` filled, or a status for httpd with call->audit set. */
static int run(request_rec *r, ida_call *call, ida_mcp_request *request, ida_rest_answer *answer)
{
    request_body body = {0};
    ida_mcp_message message;
    int status = body_read(r, call->c, &body, IDA_MCP_BODY_MAX,
                           ida_mcp_kind_text(IDA_PAYLOAD_TOO_LARGE));
    if (status != OK) {
        ida_operation_record(call, call->c->kind ? call->c->kind : ida_kind_of_status(status));
        if (!call->c->kind) {
            return status;
        }
        ida_mcp_refusal_answer(call->c, answer);
        return OK;
    }
    request->body = body.bytes;
    request->body_len = body.len;
    if (ida_mcp_read(call, child->mcp, request, &message, answer)) {
        ida_mcp_call(call, &message, answer);
    }
    body_free(&body);
    return OK;
}

int mcp_handler(request_rec *r)
{
    if (!r->handler || strcasecmp(r->handler, "idadmin-mcp") != 0) {
        return DECLINED;
    }
    request_state *state = child ? request_state_of(r) : NULL;
    if (!state || !state->principal || state->face != FACE_MCP) {
        request_say(r, APLOG_ERR,
                    "IDA0240: %s is served by idadmin-mcp without authentication: its Location "
                    "needs \"AuthType IdAdmin\" and \"Require valid-user\"",
                    r->uri);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    ida_question asked = request_question(r);
    ida_call call = {.c = state->c, .asked = &asked, .source = child->source};
    ida_mcp_request request = {
        .asked = &asked,
        .accept = apr_table_get(r->headers_in, "Accept"),
        .content_type = apr_table_get(r->headers_in, "Content-Type"),
        .version = apr_table_get(r->headers_in, "MCP-Protocol-Version"),
        .method = apr_table_get(r->headers_in, "Mcp-Method"),
        .name = apr_table_get(r->headers_in, "Mcp-Name"),
    };
    ida_rest_answer answer;
    int status = OK;
    if (!ida_mcp_admit(&call, &request, &answer)) {
        status = run(r, &call, &request, &answer);
    }
    if (spool_call(r, &call) != IDA_OK) {
        ida_mcp_refusal_answer(state->c, &answer);
        status = OK;
    }
    return status == OK ? respond(r, &answer) : status;
}

int absent_handler(request_rec *r)
{
    return r->handler && strcasecmp(r->handler, "idadmin-absent") == 0 ? HTTP_NOT_FOUND : DECLINED;
}
