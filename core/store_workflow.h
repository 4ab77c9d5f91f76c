/* Workflow runs as history (design 6 "Runs"). Main file. */
#ifndef IDA_STORE_WORKFLOW_H
#define IDA_STORE_WORKFLOW_H

#include "core/store.h"
#include "core/task.h"

typedef struct ida_workflow {
    const char *name;
    const char *trigger;
    int active;
    const char *actions; /* JSON array text */
    int position;
} ida_workflow;

/* Active workflows of a tenant with this trigger in document order. */
ida_kind store_workflow_active(store *s, ida_ctx *c, const char *tenant, const char *trigger, const ida_workflow **rows,
                               int *count);

/* Begins (or finds) the run of a workflow for a task; *run_id. Actions of `workflow` are inserted as "pending". */
ida_kind store_workflow_run_begin(store *s, ida_ctx *c, const ida_task *task, const ida_workflow *workflow, const char **run_id);
ida_kind store_workflow_action(store *s, ida_ctx *c, const char *run_id, int position, const char *status, int64_t started_at,
                               int64_t finished_at, const char *error);
ida_kind store_workflow_run_end(store *s, ida_ctx *c, const char *run_id, const char *status);

#endif
