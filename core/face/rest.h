/* REST as a pure function: request in, status, headers and bytes out. The glue of a web server
 * calls the stages in this order: route (405) - address limit - credentials (401) - key and company
 * limit - admit (404, 403, 415) - body (413) - answer. */
#ifndef CORE_FACE_REST_H
#define CORE_FACE_REST_H

#include "core/face/answer.h"
#include "core/face/request.h"
#include "core/face/route.h"

extern const ida_face ida_rest_face;

/* Fills the question's operation and endpoint from the route and checks path, module, scope,
 * content type. On refusal `answer` is the error and call->audit its record. */
ida_kind ida_rest_admit(ida_call *call, const ida_rest_request *request, ida_rest_answer *answer);

/* After ida_rest_admit. Parses query and body, runs the operation, writes the answer. call->audit
 * is set in any case. */
void ida_rest_run(ida_call *call, const ida_rest_request *request, ida_rest_answer *answer);

/* OpenAPI 3.1 document made from the operation table; the caller makes the text once and keeps
 * it. */
char *ida_openapi(apr_pool_t *pool);
/* The document with the base URL of the address where it is served; unchanged at the root. */
const char *ida_openapi_at(apr_pool_t *pool, const char *document, const char *uri);

#endif
