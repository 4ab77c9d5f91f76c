/* One argument of an operation: checking a value that was given, and describing it as JSON Schema.
 */
#ifndef CORE_OPERATION_PARAM_H
#define CORE_OPERATION_PARAM_H

#include "core/operation/operation.h"

/* The checked, typed value (a new reference), or NULL with a fault noted that says what is allowed
 * and what was sent. `texts`: the values come as texts (a query) and stand for numbers, truth
 * values and comma lists too; else types are not bent. */
json_t *ida_param_check(ida_ctx *c, const ida_param *p, const json_t *given, int texts);

/* What is wrong with a name that the operation has no argument of. */
const char *ida_param_unknown(apr_pool_t *pool, const ida_operation *op);

/* JSON Schema of one value, without its description. New reference. */
json_t *ida_param_schema(const ida_param *p);

/* {"type":"object","properties":{...},"required":[...]}; refused ones are left out. New reference.
 */
json_t *ida_params_schema(const ida_param *params);

#endif
