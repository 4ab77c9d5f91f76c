/* How arguments find what they name, with refusals that name the argument. */
#ifndef CORE_OPERATION_FIND_H
#define CORE_OPERATION_FIND_H

#include "core/cache/person.h"
#include "core/operation/operation.h"

/* The argument `user`: object ID or UPN. IDA_NOT_FOUND names up to five people whose names fit.
 * `licenses` may be NULL. */
ida_kind ida_op_find_user(ida_call *call, ida_user **user, json_t **licenses);
/* The same of another argument; what the audit record calls the call's target stays. */
ida_kind ida_op_find_user_of(ida_call *call, const char *argument, ida_user **user,
                             json_t **licenses);

#endif
