/* Warnings in answers about what will delay the queued task. */
#ifndef CORE_OPERATION_TASKS_WARN_H
#define CORE_OPERATION_TASKS_WARN_H

#include "core/model/task.h"
#include "core/operation/operation.h"

struct ida_user;

/* What is known to keep an account from being disabled: it is protected, or the cloud follows an
 * on-premises directory that the tenant does not have. */
ida_kind ida_op_warn_of_refusal(ida_call *call, store *s, ida_ctx *c, const struct ida_user *user,
                                json_t *warnings);
/* The directory in which the task begins is held: since when and why. */
ida_kind ida_op_warn_of_hold(ida_call *call, store *s, ida_ctx *c, const ida_task *task,
                             json_t *warnings);

#endif
