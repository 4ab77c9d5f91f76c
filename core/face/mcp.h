/* MCP (Streamable HTTP, stateless, tools only) as a pure function: one message in, status and
 * bytes out. Revision 2026-07-28 without `initialize`, and 2025-11-25, 2025-06-18, 2025-03-26
 * with it, at one address, without sessions. The glue of a web server calls the stages in this
 * order: Origin (403) - method (405) - address limit - credentials (401) - key and company limit
 * - admit (406, 415) - body (413) - read - and, if that requests it, call with a store
 * connection. */
#ifndef CORE_FACE_MCP_H
#define CORE_FACE_MCP_H

#include "core/face/rest.h"
#include "core/operation/operation.h"

#define IDA_MCP_BODY_MAX 1048576 /* bytes */
#define IDA_MCP_TEXT_MAX 51200   /* bytes of the text block of a tool's result */
#define IDA_MCP_TYPE "application/json"

/* Constant texts, made once and read by all threads of a child. */
typedef struct ida_mcp ida_mcp;
const ida_mcp *ida_mcp_make(apr_pool_t *pool);

extern const ida_face ida_mcp_face;

typedef struct ida_mcp_request {
    ida_question *asked; /* made from the request; the server glue fills in the caller */
    const char *accept,
        *content_type; /* headers, several lines joined by comma; NULL when absent */
    const char *version, *method,
        *name;        /* MCP-Protocol-Version, Mcp-Method, Mcp-Name; NULL when absent */
    const char *body; /* bytes read; NULL before they are */
    size_t body_len;
} ida_mcp_request;

/* One message while it is answered. Borrowed from the call's pool. */
typedef struct ida_mcp_message {
    ida_question *asked;
    const ida_mcp *fixed;
    const json_t *id;     /* NULL: a notification, or not valid */
    const json_t *params; /* NULL if there are none */
    const char *method;
    int modern; /* revision 2026-07-28 */
} ida_mcp_message;

/* Checks Accept and Content-Type. On refusal `answer` is the error and call->audit its record. Sets
 * face and endpoint of the question. */
ida_kind ida_mcp_admit(ida_call *call, const ida_mcp_request *request, ida_rest_answer *answer);

/* Reads the message. 0: `answer` is complete and call->audit its record. 1: a tool is to be run,
 * module and scope are checked; run it with ida_mcp_call with call->store set, or report with
 * ida_mcp_failed why it cannot be run. */
int ida_mcp_read(ida_call *call, const ida_mcp *fixed, const ida_mcp_request *request,
                 ida_mcp_message *message, ida_rest_answer *answer);
void ida_mcp_call(ida_call *call, const ida_mcp_message *message, ida_rest_answer *answer);

/* The failure in call->c as a tool error; an unavailable store as HTTP's 503. */
void ida_mcp_failed(ida_call *call, const ida_mcp_message *message, ida_rest_answer *answer);

/* Body of a refusal by HTTP status, in any phase: a JSON-RPC error whose code is the status. */
const char *ida_mcp_refusal(apr_pool_t *pool, int status, const char *message);
/* The same from c->kind, message, retry_after. */
void ida_mcp_refusal_answer(ida_ctx *c, ida_rest_answer *answer);

/* Sentence of a refusal in this face if it differs from the kind's own (401 says what to send);
 * else NULL. */
const char *ida_mcp_kind_text(ida_kind kind);

#endif
