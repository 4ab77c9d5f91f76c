/* Who was here before under an employee number. */
#ifndef CORE_OPERATION_PEOPLE_REHIRE_H
#define CORE_OPERATION_PEOPLE_REHIRE_H

#include "core/operation/operation.h"
#include "core/zone/schedule.h"

struct ida_create;

/* A creation's employeeId against those who were here before (core/operation/people/rehire.c).
 * *restored: the payload asked to restore and call->result is complete; else the creation goes on.
 * IDA_CONFLICT names whom it belongs to. `warnings` are the answer's. */
ida_kind ida_op_rehire(ida_call *call, store *s, ida_ctx *c, const struct ida_create *person,
                       const zone_due *due, json_t *warnings, int *restored);

/* Who has this employeeId, as [{userPrincipalName, state, taskId}]. New reference. */
ida_kind ida_op_same_employee(store *s, ida_ctx *c, const char *tenant, const char *employee_id,
                              json_t **people);

#endif
