/* How arguments find what they name, with refusals that name the argument. */
#ifndef IDA_OP_FIND_H
#define IDA_OP_FIND_H

#include "core/operation.h"
#include "core/store_user.h"

/* The argument `user`: object ID or UPN. IDA_NOT_FOUND names up to five people whose names fit. `licenses` may be NULL. */
ida_kind ida_op_find_user(ida_call *call, ida_user **user, json_t **licenses);

#endif
