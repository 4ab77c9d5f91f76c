/* Changes that people make to a task: cancel, reschedule, retry, release. Shared by REST and
 * idadminctl, so that messages and records are the same. */
#ifndef CORE_OPERATION_TASKS_CHANGE_H
#define CORE_OPERATION_TASKS_CHANGE_H

#include "core/queue/change.h"
#include "core/zone/schedule.h"

typedef struct ida_task_change {
    ida_task_verb verb;
    const char *tenant, *id;
    const char *by;          /* who asks */
    int person;              /* 1: a person, at the shell or in the console; 0: an API key */
    const char *date, *time; /* IDA_TASK_RESCHEDULE, as given: faults name these members */
    const char *waiting;     /* of ida_task_change_look */
    const char *seen;        /* If-Match: tag of the state that the caller saw; NULL: any */
    /* out */
    ida_task *task;         /* as it is afterwards */
    const char *message;    /* for people */
    const char *adjustment; /* of the new time, as zone_due reports it */
    int own;                /* 1: the task was requested by the same person in the console */
} ida_task_change;

/* {"task": ...}, like the answer of GET task, with texts cleaned: input of its entity tag. */
json_t *ida_task_result(ida_ctx *c, const ida_task *task);

/* "task.cancel": operation and action of its audit record. */
const char *ida_task_change_name(ida_task_verb verb);

/* Before the transaction: the other people that the change concerns, for its message. */
ida_kind ida_task_change_look(store *s, ida_ctx *c, ida_task_change *change);

/* Inside store_transaction. IDA_NOT_FOUND; IDA_CONFLICT with the state if it is too late, or
 * with the last change and its author if the task is not in the state that was seen;
 * IDA_BAD_REQUEST for date and time. */
ida_kind ida_task_change_in(store *s, ida_ctx *c, ida_task_change *change);

#endif
