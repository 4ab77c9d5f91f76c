/* Answers of the faces that use JSON over HTTP: results, and errors of any phase. */
#ifndef CORE_FACE_ANSWER_H
#define CORE_FACE_ANSWER_H

#include "core/operation/operation.h"

#define IDA_JSON_TYPE "application/json; charset=utf-8"

typedef struct ida_rest_header {
    const char *name, *value;
    struct ida_rest_header *next;
} ida_rest_header;

typedef struct ida_rest_answer {
    int status;
    struct ida_export *exported; /* the body, made page by page; NULL: the body is `body` */
    const char *body;            /* NULL for 204 and 304 */
    const char *type;            /* of the body; NULL: the face's, of JSON */
    size_t len;
    ida_rest_header *headers; /* in addition to Content-Type and Cache-Control */
    int retry_after;          /* seconds, 0 = none */
} ida_rest_answer;

void ida_answer_header(apr_pool_t *pool, ida_rest_answer *answer, const char *name,
                       const char *value);

/* {"data":RESULT} with 200. */
void ida_answer_result(ida_call *call, ida_rest_answer *answer);

/* The error of a call that ends with `kind`, with its audit record unless the operation ran;
 * nothing for IDA_OK. Returns `kind`. */
ida_kind ida_answer_refused(ida_call *call, ida_kind kind, ida_rest_answer *answer);

/* Error body {"error":{"code","message"}} for any kind, in any phase; message NULL takes the
 * table's sentence. */
const char *ida_answer_error_text(apr_pool_t *pool, ida_kind kind, const char *message);

/* The same for the command line: the whole message, with the faults of single fields. */
const char *ida_answer_fault_text(const ida_ctx *c, ida_kind kind);

/* From c->kind, message, retry_after. For the console with the members that its pages build
 * sentences from: reason, fields, details. */
void ida_answer_error(ida_ctx *c, const ida_face *face, ida_rest_answer *answer);

#endif
