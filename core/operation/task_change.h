/* The changes that people make to a task: cancelled, moved, tried again, released. One place for
 * REST and idadminctl, so that both say and record the same. */
#ifndef CORE_OPERATION_TASK_CHANGE_H
#define CORE_OPERATION_TASK_CHANGE_H

#include "core/queue/change.h"
#include "core/zone/schedule.h"

typedef enum ida_task_verb {
    IDA_TASK_CANCEL,
    IDA_TASK_RESCHEDULE,
    IDA_TASK_RETRY,
    IDA_TASK_RELEASE
} ida_task_verb;

typedef struct ida_task_change {
    ida_task_verb verb;
    const char *tenant, *id;
    const char *username;    /* API user who asks; NULL: a person at the shell */
    const char *date, *time; /* IDA_TASK_RESCHEDULE, as given: faults are named by these members */
    const char *waiting;     /* of ida_task_change_look */
    /* out */
    ida_task *task;      /* as it is afterwards */
    const char *message; /* for people */
} ida_task_change;

/* "task.cancel": operation and action of its audit record. */
const char *ida_task_change_name(ida_task_verb verb);

/* Before the transaction: whom else the change concerns, for its message. */
ida_kind ida_task_change_look(store *s, ida_ctx *c, ida_task_change *change);

/* Inside store_transaction. IDA_NOT_FOUND; IDA_CONFLICT with the state when it is too late;
 * IDA_BAD_REQUEST for date and time. */
ida_kind ida_task_change_in(store *s, ida_ctx *c, ida_task_change *change);

#endif
