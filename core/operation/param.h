/* One argument of an operation: checks its value, and describes it as JSON Schema. */
#ifndef CORE_OPERATION_PARAM_H
#define CORE_OPERATION_PARAM_H

#include "core/operation/operation.h"

/* The checked, typed value (a new reference), or NULL with a fault noted that says what is
 * allowed and what was sent. `texts`: the values come as texts (a query), also for numbers,
 * booleans and comma-separated lists; otherwise types are not converted. */
json_t *ida_param_check(ida_ctx *c, const ida_param *p, const json_t *given, int texts);

/* The fault text for a name that is not an argument of the operation. */
const char *ida_param_unknown(apr_pool_t *pool, const ida_operation *op);

/* JSON Schema of one value, without its description. New reference. */
json_t *ida_param_schema(const ida_param *p);

/* {"type":"object","properties":{...},"required":[...]}; refused ones are left out. New
 * reference. */
json_t *ida_params_schema(const ida_param *params);

#endif
