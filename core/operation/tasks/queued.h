/* What every queued write does: its task, its warnings, its answer. */
#ifndef CORE_OPERATION_TASKS_QUEUED_H
#define CORE_OPERATION_TASKS_QUEUED_H

#include "core/model/task.h"
#include "core/operation/operation.h"
#include "core/zone/schedule.h"

struct ida_user;

/* Due time, requester and steps of a new task. */
void ida_op_schedule(ida_call *call, ida_ctx *c, ida_task *task, const zone_due *due);
/* Says beforehand that the brake will likely hold a task that disables an account. */
ida_kind ida_op_warn_of_brake(ida_call *call, store *s, ida_ctx *c, const ida_task *task,
                              json_t *warnings);
/* Leaves a step out again that the task does not need. */
void ida_op_drop_step(ida_task *task, const char *name, const char *account);

/* The task's row, object and directory of a person: acted on first where the account is mastered,
 * so a person in both directories is the premises'. */
ida_task *ida_op_task_of(ida_call *call, ida_ctx *c, ida_task_type type,
                         const struct ida_user *user);

/* IDA_NOT_FOUND for a person that the cache does not know, naming the creation that is still
 * queued. */
ida_kind ida_op_no_such_user(ida_call *call, store *s, ida_ctx *c, const char *upn);
/* IDA_BAD_REQUEST unless the manager exists in the tenant or is queued for creation (*manager
 * NULL); looked up again when the step runs. */
ida_kind ida_op_manager_known(ida_call *call, store *s, ida_ctx *c, const char *upn,
                              struct ida_user **manager);
/* Notes in the payload whom the manager's UPN meant, so that the step means the same person. */
void ida_op_note_manager(ida_ctx *c, ida_task *task, const struct ida_user *manager);

/* "it is carried out at ...", for people. */
const char *ida_op_when(ida_ctx *c, const ida_task *task, const zone_due *due);
/* Members of an answer of such a write. */
extern const ida_field ida_queued_members[];
/* Adds taskId, userPrincipalName, scheduledAt, scheduledAtUtc and warnings (borrowed) to
 * call->result. */
void ida_op_queued(ida_call *call, ida_ctx *c, const ida_task *task, json_t *warnings);

#endif
