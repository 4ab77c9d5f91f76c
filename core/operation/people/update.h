/* An update that another operation queues. */
#ifndef CORE_OPERATION_PEOPLE_UPDATE_H
#define CORE_OPERATION_PEOPLE_UPDATE_H

#include "core/cache/person.h"
#include "core/model/task.h"
#include "core/operation/operation.h"
#include "core/zone/schedule.h"

struct ida_update;

/* Queues an update of a person, inside a write's transaction under the tenant's lock: checks
 * seat, manager and other tasks queued for the person. For PATCH and for a rehire that restores. */
ida_kind ida_op_queue_update(ida_call *call, store *s, ida_ctx *c, const ida_user *user,
                             struct ida_update *update, const zone_due *due, ida_task **task);

#endif
