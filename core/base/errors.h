/* The only table of error kinds: kind -> HTTP status, code and default sentence. Nothing else in
 * the project turns a failure into a status. */
#ifndef CORE_BASE_ERRORS_H
#define CORE_BASE_ERRORS_H

/* What every fallible function of core returns. IDA_OK is 0, so `if (kind) goto leave;` reads
 * well. */
typedef enum ida_kind {
    IDA_OK = 0,
    IDA_BAD_REQUEST,
    IDA_UNAUTHORIZED,
    IDA_FORBIDDEN,
    IDA_NOT_FOUND,
    IDA_METHOD_NOT_ALLOWED,
    IDA_NOT_ACCEPTABLE, /* MCP only: REST answers JSON whatever Accept contains */
    IDA_CONFLICT,
    IDA_PAYLOAD_TOO_LARGE,
    IDA_UNSUPPORTED_MEDIA_TYPE,
    IDA_UNPROCESSABLE,
    IDA_RATE_LIMIT_EXCEEDED,
    IDA_INTERNAL_ERROR,
    IDA_SERVICE_UNAVAILABLE,
    IDA_KIND_COUNT
} ida_kind;

/* HTTP status of a kind; 200 for IDA_OK, 500 for a value outside the table. */
int ida_kind_status(ida_kind kind);

/* `error.code` of a kind ("BAD_REQUEST"); "ok" for IDA_OK. Static storage. */
const char *ida_kind_code(ida_kind kind);

/* Sentence for people, used if nothing more precise is known. Static storage. */
const char *ida_kind_text(ida_kind kind);

/* Kind for an HTTP status that httpd or a filter raised. A status that is not in the table
 * becomes IDA_BAD_REQUEST below 500 and IDA_INTERNAL_ERROR from 500 on. */
ida_kind ida_kind_of_status(int status);

#endif
