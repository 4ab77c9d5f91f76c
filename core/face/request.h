/* The request to a face that uses JSON over HTTP, and how arguments are read from it. */
#ifndef CORE_FACE_REQUEST_H
#define CORE_FACE_REQUEST_H

#include "core/face/route.h"

#define IDA_REST_BODY_MAX 6291456   /* bytes: 6 MB */
#define IDA_IDEMPOTENCY_KEY_MAX 255 /* printable ASCII characters */

typedef struct ida_rest_request {
    ida_question *asked; /* made from the request; the server glue fills in the caller */
    const ida_route *route;
    const char *method;          /* as sent */
    const char *query;           /* raw query string without '?', NULL if there is none */
    const char *content_type;    /* NULL when none */
    const char *if_none_match;   /* value of the header, NULL if absent */
    const char *idempotency_key; /* value of the header, NULL if absent; reads ignore it */
    int has_body;                /* Content-Length > 0 or chunked */
    const char *body;            /* bytes read; NULL before they are */
    size_t body_len;
} ida_rest_request;

/* Query parameters as an object of strings, in the pool. Repeated and undecodable ones are noted
 * as faults by name. */
json_t *ida_request_query(ida_ctx *c, const char *query);

/* Fills body and Idempotency-Key of the question. Its arguments are set already
 * (ida_request_query), with faults noted and not raised. IDA_BAD_REQUEST. */
ida_kind ida_request_read(ida_ctx *c, const ida_rest_request *request);
/* Judges a write before it is handed over, so that its faults take no time of the writer. */
ida_kind ida_request_judge(ida_call *call, const ida_rest_request *request);

#endif
