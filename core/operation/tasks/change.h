/* The changes that people make to a task: cancelled, moved, tried again, released. One place for
 * REST and idadminctl, so that both say and record the same. */
#ifndef CORE_OPERATION_TASKS_CHANGE_H
#define CORE_OPERATION_TASKS_CHANGE_H

#include "core/queue/change.h"
#include "core/zone/schedule.h"

typedef struct ida_task_change {
    ida_task_verb verb;
    const char *tenant, *id;
    const char *by; /* who asks */
    int person;     /* 1: somebody who has looked, at the shell or in the console; 0: an API
                       key */
    const char *date, *time; /* IDA_TASK_RESCHEDULE, as given: faults are named by these members */
    const char *waiting;     /* of ida_task_change_look */
    const char *seen;        /* If-Match: the state that was looked at; NULL: any */
    /* out */
    ida_task *task;         /* as it is afterwards */
    const char *message;    /* for people */
    const char *adjustment; /* of the time it was moved to, as zone_due tells it */
    int own;                /* 1: whoever asked for the task in the console is who asks now */
} ida_task_change;

/* {"task": ...}, as GET task answers, texts cleaned: what its entity tag is made of. */
json_t *ida_task_result(ida_ctx *c, const ida_task *task);

/* "task.cancel": operation and action of its audit record. */
const char *ida_task_change_name(ida_task_verb verb);

/* Before the transaction: whom else the change concerns, for its message. */
ida_kind ida_task_change_look(store *s, ida_ctx *c, ida_task_change *change);

/* Inside store_transaction. IDA_NOT_FOUND; IDA_CONFLICT with the state when it is too late, or with
 * who did what when the task is not as it was seen;
 * IDA_BAD_REQUEST for date and time. */
ida_kind ida_task_change_in(store *s, ida_ctx *c, ida_task_change *change);

#endif
