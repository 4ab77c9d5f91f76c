/* Audit records in answers, and what lists of them are filtered by. */
#ifndef CORE_OPERATION_AUDIT_JSON_H
#define CORE_OPERATION_AUDIT_JSON_H

#include <jansson.h>

#include "core/audit/audit.h"

/* A record as a line of `idadminctl audit export`: whole, its ID as a number. New reference. */
json_t *ida_audit_line(const audit_row *row);

extern const char *const ida_audit_categories[];

#define IDA_AUDIT_FILTER_PARAMS                                                                    \
    {"actor", IDA_PARAM_STRING, .max = 256,                                                        \
     .about = "Who did it: API username, person, or \"worker\"; in any case."},                    \
        {"category", IDA_PARAM_STRING, .allowed = ida_audit_categories,                            \
         .about =                                                                                  \
             "api: REST and MCP calls; workflow: tasks and their steps; portal: administrators."}, \
        {"from", IDA_PARAM_TIME,                                                                   \
         .about = "At or after this date or time (UTC), e.g. 2026-11-01."},                        \
    {                                                                                              \
        "to", IDA_PARAM_TIME, .about = "Before this date or time (UTC), e.g. 2026-12-01."          \
    }

#endif
