/* Hires that are still queued. */
#ifndef CORE_OPERATION_PEOPLE_COMING_H
#define CORE_OPERATION_PEOPLE_COMING_H

#include "core/operation/operation.h"

struct ida_create;

/* Cancels the creation that `person->replaces` names, so that its names and seat are free for
 * the present one, which takes over its photo unless it has another. IDA_NOT_FOUND; IDA_CONFLICT
 * if it was begun or is over. */
ida_kind ida_op_replace_hire(ida_call *call, store *s, ida_ctx *c, struct ida_create *person);

#endif
