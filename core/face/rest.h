/* REST as a pure function: request in, status, headers and bytes out. The glue of a web server
 * calls the stages in this order: route (405) - address limit - credentials (401) - key and company
 * limit - admit (404, 403, 415) - body (413) - answer. */
#ifndef CORE_FACE_REST_H
#define CORE_FACE_REST_H

#include "core/operation/operation.h"

#define IDA_REST_BODY_MAX 6291456   /* bytes: 6 MB */
#define IDA_IDEMPOTENCY_KEY_MAX 255 /* printable ASCII characters */
#define IDA_JSON_TYPE "application/json; charset=utf-8"

typedef enum ida_route_kind {
    IDA_ROUTE_OPERATION,    /* route->operation is what was asked for */
    IDA_ROUTE_UNKNOWN_PATH, /* 404, but only after authentication */
    IDA_ROUTE_WRONG_METHOD, /* 405 with route->allow, before authentication */
    IDA_ROUTE_OPTIONS       /* 204 with route->allow, no credentials needed */
} ida_route_kind;

typedef struct ida_route {
    ida_route_kind kind;
    const ida_operation *operation;
    const char *path;  /* from "/v1/api" on; "" when the URI holds none */
    const char *base;  /* what stands before: {base_url} without scheme and host; "" at the root */
    const char *allow; /* "GET, HEAD, POST, DELETE, OPTIONS" of this path, static or in pool; NULL
                          beside an operation */
} ida_route;

/* `method` as sent ("HEAD" counts as GET), `uri` the decoded path of the request; what stands
 * before /v1/api is {base_url}. */
void ida_rest_route(apr_pool_t *pool, const char *method, const char *uri, ida_route *route);

/* Methods of a path (from "/v1/api" on), as an Allow header names them; NULL when nothing is there.
 */
const char *ida_rest_allow(apr_pool_t *pool, const char *path);

typedef struct ida_rest_request {
    const char *method;          /* as sent */
    const char *query;           /* raw query string without '?', NULL when none */
    const char *content_type;    /* NULL when none */
    const char *idempotency_key; /* value of the header, NULL when none; reads ignore it */
    int has_body;                /* Content-Length > 0 or chunked */
    const char *body;            /* bytes read; NULL before they are */
    size_t body_len;
} ida_rest_request;

typedef struct ida_rest_header {
    const char *name, *value;
    struct ida_rest_header *next;
} ida_rest_header;

typedef struct ida_rest_answer {
    int status;
    const char *body; /* JSON text, type IDA_JSON_TYPE; NULL for 204 */
    size_t len;
    ida_rest_header *headers; /* beside Content-Type and Cache-Control */
    int retry_after;          /* seconds, 0 = none */
} ida_rest_answer;

/* Fills call->operation and endpoint from the route and checks path, module, scope, content type.
 * On refusal `answer` is the error and call->audit its record. */
ida_kind ida_rest_admit(ida_call *call, const ida_route *route, const ida_rest_request *request,
                        ida_rest_answer *answer);

/* After ida_rest_admit. Parses query and body, runs the operation, writes the answer. call->audit
 * is set in any case. */
void ida_rest_run(ida_call *call, const ida_rest_request *request, ida_rest_answer *answer);

/* Error body {"error":{"code","message"}} for any kind; message NULL takes the table's sentence.
 * Used for errors raised in any phase. */
const char *ida_rest_error(apr_pool_t *pool, ida_kind kind, const char *message);
void ida_rest_error_answer(ida_ctx *c,
                           ida_rest_answer *answer); /* from c->kind, message, retry_after */

/* OpenAPI 3.1 document made from the operation table; the text is made once by the caller and kept.
 */
char *ida_openapi(apr_pool_t *pool);

#endif
