/* Audit records in answers, and the filters of their lists. */
#ifndef CORE_OPERATION_COMPANY_AUDIT_JSON_H
#define CORE_OPERATION_COMPANY_AUDIT_JSON_H

#include <jansson.h>

#include "core/operation/operation.h"
#include "core/store/audit.h"

/* A record as a line of `idadminctl audit export`: complete, its ID as a number. New reference. */
json_t *ida_audit_line(const audit_row *row);

extern const char *const ida_audit_categories[];

#define IDA_AUDIT_FILTER_PARAMS                                                                   \
    {"actor", IDA_PARAM_STRING, .max = 256,                                                       \
     .about = "API username, person or \"worker\", in any case."},                                \
        {"category", IDA_PARAM_STRING, .allowed = ida_audit_categories,                           \
         .about = "api: REST, MCP; workflow: tasks; portal: the console; "                        \
                  "command: idadminctl; alarm: forged."},                                         \
        {"target", IDA_PARAM_STRING, .max = 256,                                                  \
         .about = "UPN, group, API username; in any case."},                                      \
        {"action", IDA_PARAM_STRING, .max = 100, .about = "E.g. user.delete, task.failed."},      \
        {"outcome", IDA_PARAM_STRING, .max = 100,                                                 \
         .about = "ok, an error code, toolError, refused: all but ok."},                          \
        {"taskId", IDA_PARAM_STRING, .max = 64, .about = "What this task was about and did."},    \
        {"correlationId", IDA_PARAM_STRING, .max = 64,                                            \
         .about = "X-Request-Id: all that this request did."},                                    \
        {"includeReads", IDA_PARAM_BOOLEAN, .about = "true: answered reads, too."},               \
        {"from", IDA_PARAM_TIME, .about = "At or after this UTC date or time, e.g. 2026-11-01."}, \
    {                                                                                             \
        "to", IDA_PARAM_TIME, .about = "Before this date or time."                                \
    }

/* The filter that these arguments mean, newest first; the caller sets the page. IDA_NOT_FOUND:
 * no such task. */
ida_kind ida_audit_filter(ida_call *call, store_audit_filter *out);

#endif
