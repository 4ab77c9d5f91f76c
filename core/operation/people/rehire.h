/* People who had an employee number before. */
#ifndef CORE_OPERATION_PEOPLE_REHIRE_H
#define CORE_OPERATION_PEOPLE_REHIRE_H

#include "core/operation/operation.h"
#include "core/zone/schedule.h"

struct ida_create;
struct ida_task;

/* Compares a creation's employeeId with earlier holders (core/operation/people/rehire.c).
 * *restored: the payload requested a restore and call->result is complete; otherwise the
 * creation continues. IDA_CONFLICT names the holders. `warnings` belong to the answer. */
ida_kind ida_op_rehire(ida_call *call, store *s, ida_ctx *c, const struct ida_create *person,
                       const zone_due *due, json_t *warnings, int *restored);

/* Cancels a task because of the present request, with an audit record of its own, which says
 * why it was not carried out. */
ida_kind ida_op_cancel_instead(ida_call *call, store *s, ida_ctx *c, const struct ida_task *task,
                               const char *why);

/* People with this employeeId, as [{userPrincipalName, state, taskId}]. New reference. */
ida_kind ida_op_same_employee(store *s, ida_ctx *c, const char *tenant, const char *employee_id,
                              json_t **people);

#endif
