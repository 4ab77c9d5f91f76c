/* Owns the table of error kinds. Knows neither HTTP servers nor JSON. */
#include "core/base/errors.h"

#include <stddef.h>

static const struct {
    int status;
    const char *code;
    const char *text;
} kinds[IDA_KIND_COUNT] = {
    [IDA_OK] = {200, "ok", "Done."},
    [IDA_BAD_REQUEST] = {400, "BAD_REQUEST", "The request is malformed."},
    [IDA_UNAUTHORIZED] = {401, "UNAUTHORIZED",
                          "The API credentials are missing or not valid. Send X-Company-ID, "
                          "X-Api-User and X-Api-Key of an enabled API user."},
    [IDA_FORBIDDEN] = {403, "FORBIDDEN", "This API user may not do that."},
    [IDA_NOT_FOUND] = {404, "NOT_FOUND", "There is nothing at this address."},
    [IDA_METHOD_NOT_ALLOWED] =
        {405, "METHOD_NOT_ALLOWED",
         "This address does not take that method; the Allow header lists those it takes."},
    [IDA_NOT_ACCEPTABLE] = {406, "NOT_ACCEPTABLE",
                            "The Accept header must list both application/json and "
                            "text/event-stream. Send: Accept: application/json, text/event-stream"},
    [IDA_CONFLICT] = {409, "CONFLICT", "The request does not fit the present state."},
    [IDA_PAYLOAD_TOO_LARGE] = {413, "PAYLOAD_TOO_LARGE",
                               "The request body is larger than 6291456 bytes (6 MB)."},
    [IDA_UNSUPPORTED_MEDIA_TYPE] =
        {415, "UNSUPPORTED_MEDIA_TYPE",
         "The request body must be JSON: send Content-Type: application/json."},
    [IDA_UNPROCESSABLE] = {422, "UNPROCESSABLE", "The request cannot be processed as it stands."},
    [IDA_RATE_LIMIT_EXCEEDED] = {429, "RATE_LIMIT_EXCEEDED", "Rate limit exceeded."},
    [IDA_INTERNAL_ERROR] = {500, "INTERNAL_ERROR",
                            "The service met an internal error. The administrator finds the reason "
                            "in the server's error log."},
    [IDA_SERVICE_UNAVAILABLE] =
        {503, "SERVICE_UNAVAILABLE",
         "The service cannot answer at the moment. Try again after the time in Retry-After."},
};

static int known(ida_kind kind)
{
    return (int)kind >= 0 && kind < IDA_KIND_COUNT;
}

int ida_kind_status(ida_kind kind)
{
    return known(kind) ? kinds[kind].status : 500;
}

const char *ida_kind_code(ida_kind kind)
{
    return known(kind) ? kinds[kind].code : kinds[IDA_INTERNAL_ERROR].code;
}

const char *ida_kind_text(ida_kind kind)
{
    return known(kind) ? kinds[kind].text : kinds[IDA_INTERNAL_ERROR].text;
}

ida_kind ida_kind_of_status(int status)
{
    for (size_t i = 0; i < IDA_KIND_COUNT; i++) {
        if (kinds[i].status == status) {
            return (ida_kind)i;
        }
    }
    return status < 500 ? IDA_BAD_REQUEST : IDA_INTERNAL_ERROR;
}
