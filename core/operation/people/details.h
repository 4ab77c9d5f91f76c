/* One person in full. */
#ifndef CORE_OPERATION_PEOPLE_DETAILS_H
#define CORE_OPERATION_PEOPLE_DETAILS_H

#include "core/cache/person.h"
#include "core/operation/operation.h"

/* All members of get_user's user. In the pool. */
ida_kind ida_op_details(ida_call *call, store *s, ida_ctx *c, const ida_user *user,
                        json_t *licenses, json_t **out);

#endif
