/* Workflow runs as history: one row a workflow and task, by the workflow's name, with its actions.
 * Main file. */
#ifndef CORE_QUEUE_WORKFLOW_H
#define CORE_QUEUE_WORKFLOW_H

#include "core/model/task.h"
#include "core/store/store.h"

/* The state of an action, and of its run. */
typedef struct queue_workflow_news {
    const char *workflow;
    int position;                    /* of the action, from 1 */
    const char *status;              /* pending waiting done already skipped failed unknown */
    int64_t started_at, finished_at; /* 0: unchanged; not yet */
    const char *error;               /* why it failed, waits or was skipped; otherwise NULL */
    const char *run_status;          /* running done doneWithWarnings failed */
    int run_ended;
} queue_workflow_news;

/* The workflows (of the document) that this task triggers and that have no action: their runs,
 * which are done with the task. In the transaction that ends it. */
ida_kind queue_workflows_without_actions(store *s, ida_ctx *c, const ida_task *task,
                                         const json_t *workflows);

/* Begins the run at the first news of it: its actions are those of the task's steps on disk,
 * `pending`. Not fenced: belongs into the transaction of a fenced write of core/queue/claim.h. */
ida_kind queue_workflow_tell(store *s, ida_ctx *c, const ida_task *task,
                             const queue_workflow_news *news);

/* The task was cancelled between two tries: what has not ended never will. */
ida_kind queue_workflow_cancelled(store *s, ida_ctx *c, const ida_task *task);

/* The task failed for a reason outside its workflows: what it did not get at in runs that began is
 * `skipped` for that reason, as step and as action, and the runs have failed. Without such runs
 * nothing. Into the transaction that ends the task. */
ida_kind queue_workflow_left(store *s, ida_ctx *c, const ida_task *task, const char *why);

/* Before a failed task is tried again: actions that failed or were skipped are to be carried out,
 * not those that are done. */
ida_kind queue_workflow_retry(store *s, ida_ctx *c, const ida_task *task);

#endif
