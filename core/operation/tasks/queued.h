/* What every queued write does: its task, its warnings, its answer. */
#ifndef CORE_OPERATION_TASKS_QUEUED_H
#define CORE_OPERATION_TASKS_QUEUED_H

#include "core/model/task.h"
#include "core/operation/operation.h"
#include "core/zone/schedule.h"

struct ida_user;

/* Due time, requester and steps of a new task. */
void ida_op_schedule(ida_call *call, ida_ctx *c, ida_task *task, const zone_due *due);
/* A warning if the brake will probably hold a task that disables an account. */
ida_kind ida_op_warn_of_brake(ida_call *call, store *s, ida_ctx *c, const ida_task *task,
                              json_t *warnings);
/* Removes a step that the task does not need. */
void ida_op_drop_step(ida_task *task, const char *name, const char *account);

/* A new task with the person's object and directory. It begins in the directory where the
 * account is mastered: on-premises for a person in both. */
ida_task *ida_op_task_of(ida_call *call, ida_ctx *c, ida_task_type type,
                         const struct ida_user *user);

/* IDA_NOT_FOUND for a person that the cache does not know, naming the creation that is still
 * queued. */
ida_kind ida_op_no_such_user(ida_call *call, store *s, ida_ctx *c, const char *upn);
/* Stores in the payload which person, or which queued creation, the name of a manager means, so
 * that the worker takes the same one. IDA_BAD_REQUEST if it is neither (*manager NULL: a creation).
 * Warns of one whose account is disabled, or is created after the task. */
ida_kind ida_op_note_manager(ida_call *call, store *s, ida_ctx *c, ida_task *task,
                             const char *named, json_t *warnings, struct ida_user **manager);

/* "it is carried out at ...", for messages. */
const char *ida_op_when(ida_ctx *c, const ida_task *task, const zone_due *due);
/* Members of the answer of such a write. */
extern const ida_field ida_queued_members[];
/* Adds taskId, userPrincipalName, scheduledAt, scheduledAtUtc and warnings (borrowed) to
 * call->result. */
void ida_op_queued(ida_call *call, ida_ctx *c, const ida_task *task, json_t *warnings);

#endif
