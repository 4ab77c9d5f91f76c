/* The identity of a request, by which its lines, records, task and calls are found again: what the
 * caller sent, or one made here. Knows no HTTP server. */
#ifndef CORE_BASE_CORRELATION_H
#define CORE_BASE_CORRELATION_H

#include "core/base/context.h"

#define IDA_REQUEST_ID "X-Request-Id" /* its header */
#define IDA_CORRELATION_MAX 64        /* characters of an ID */
#define IDA_TRACE_LEN 55              /* of a traceparent (https://www.w3.org/TR/trace-context/) */

typedef struct ida_correlation {
    char id[IDA_CORRELATION_MAX + 1]; /* letters, digits and - _ . : + / = */
    char trace[IDA_TRACE_LEN + 1];    /* as it is passed on; "": none was sent */
} ida_correlation;

/* From X-Request-Id and traceparent as they came (NULL: none). What is no such value counts as
 * none: a caller's tracing never decides whether its request is answered. Without an ID it is the
 * trace's, and without that a random one. */
void ida_correlation_take(const ida_env *env, const char *id, const char *trace,
                          ida_correlation *out);

/* `env` for one activity: whose lines, records, tasks and calls carry the identity (NULL: none),
 * which must live as long. */
ida_env ida_env_correlated(const ida_env *env, const ida_correlation *correlation);

/* NULL when there is none. */
const char *ida_correlation_id(const ida_env *env);
const char *ida_correlation_trace(const ida_env *env);

#endif
