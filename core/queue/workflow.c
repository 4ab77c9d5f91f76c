/* Owns the history of workflow runs. Must not know how an action is carried out. */
#include "core/queue/workflow.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/rows.h"

static ida_kind begin(store *s, ida_ctx *c, const ida_task *task, const char *workflow,
                      int64_t started_at, const char **run_id)
{
    db_result r;
    *run_id = ida_new_id(c->pool, c->env);
    ida_kind kind = store_write(
        s, c, STMT_workflow_run_begin,
        DB_ARGS(DB_T(task->tenant), DB_T(*run_id), DB_T(workflow),
                DB_T(ida_task_type_text(task->type)), DB_T(task->id), DB_T(task->upn),
                DB_I(started_at ? started_at : ida_now(c->env)), DB_T("running")),
        &r);
    if (kind || r.changes) {
        return kind ? kind
                    : store_write(s, c, STMT_workflow_actions_add,
                                  DB_ARGS(DB_T(task->tenant), DB_T(*run_id), DB_T(task->id),
                                          DB_T(workflow)),
                                  NULL);
    }
    kind = store_id(s, c, STMT_workflow_run_find,
                    DB_ARGS(DB_T(task->tenant), DB_T(task->id), DB_T(workflow)), run_id);
    return kind || *run_id
               ? kind
               : ida_fail(c, IDA_INTERNAL_ERROR, "The run of the workflow %s for task %s is lost.",
                          workflow, task->id);
}

static ida_kind without_actions(store *s, ida_ctx *c, const ida_task *task, const char *workflow)
{
    const char *run_id;
    ida_kind kind = begin(s, c, task, workflow, task->started_at, &run_id);
    return kind ? kind
                : store_write(s, c, STMT_workflow_run_set,
                              DB_ARGS(DB_T(task->tenant), DB_T(run_id), DB_T("done"),
                                      DB_I(ida_now(c->env))),
                              NULL);
}

ida_kind queue_workflows_without_actions(store *s, ida_ctx *c, const ida_task *task,
                                         const json_t *workflows)
{
    const json_t *workflow;
    ida_kind kind = IDA_OK;
    size_t i;
    json_array_foreach ((json_t *)workflows, i, workflow) {
        const char *name = ida_json_string(workflow, "name"),
                   *trigger = ida_json_string(workflow, "trigger");
        if (!kind && name && trigger && strcmp(trigger, ida_task_type_text(task->type)) == 0 &&
            !json_is_false(json_object_get(workflow, "active")) &&
            !json_array_size(json_object_get(workflow, "actions"))) {
            kind = without_actions(s, c, task, name);
        }
    }
    return kind;
}

typedef struct telling {
    const ida_task *task;
    const queue_workflow_news *news;
} telling;

static ida_kind tell(store *s, ida_ctx *c, void *baton)
{
    const telling *t = baton;
    const queue_workflow_news *n = t->news;
    const char *run_id;
    ida_kind kind = begin(s, c, t->task, n->workflow, n->started_at, &run_id);
    kind = kind ? kind
                : store_write(s, c, STMT_workflow_action_set,
                              DB_ARGS(DB_T(t->task->tenant), DB_T(run_id), DB_I(n->position),
                                      DB_T(n->status), DB_I(n->started_at), DB_I(n->finished_at),
                                      DB_T(n->error)),
                              NULL);
    return kind ? kind
                : store_write(s, c, STMT_workflow_run_set,
                              DB_ARGS(DB_T(t->task->tenant), DB_T(run_id), DB_T(n->run_status),
                                      DB_I(n->run_ended ? ida_now(c->env) : 0)),
                              NULL);
}

ida_kind queue_workflow_tell(store *s, ida_ctx *c, const ida_task *task,
                             const queue_workflow_news *news)
{
    telling t = {.task = task, .news = news};
    return store_transaction(s, c, tell, &t);
}

static ida_kind cancelled(store *s, ida_ctx *c, void *baton)
{
    const ida_task *t = baton;
    ida_kind kind = store_write(s, c, STMT_workflow_actions_cancel,
                                DB_ARGS(DB_T(t->tenant), DB_T(t->id)), NULL);
    return kind ? kind
                : store_write(s, c, STMT_workflow_runs_cancel,
                              DB_ARGS(DB_T(t->tenant), DB_T(t->id), DB_I(ida_now(c->env))), NULL);
}

ida_kind queue_workflow_cancelled(store *s, ida_ctx *c, const ida_task *task)
{
    return store_transaction(s, c, cancelled, (void *)(uintptr_t)task);
}

typedef struct leaving {
    const ida_task *task;
    const char *why;
} leaving;

static ida_kind left(store *s, ida_ctx *c, void *baton)
{
    static const db_statement marks[] = {STMT_workflow_steps_left, STMT_workflow_actions_left};
    const leaving *l = baton;
    int64_t now = ida_now(c->env);
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < sizeof marks / sizeof *marks; i++) {
        kind = store_write(
            s, c, marks[i],
            DB_ARGS(DB_T(l->task->tenant), DB_T(l->task->id), DB_I(now), DB_T(l->why)), NULL);
    }
    return kind ? kind
                : store_write(s, c, STMT_workflow_runs_left,
                              DB_ARGS(DB_T(l->task->tenant), DB_T(l->task->id), DB_I(now)), NULL);
}

ida_kind queue_workflow_left(store *s, ida_ctx *c, const ida_task *task, const char *why)
{
    leaving l = {task, why};
    return store_transaction(s, c, left, &l);
}

ida_kind queue_workflow_retry(store *s, ida_ctx *c, const ida_task *task)
{
    return store_write(s, c, STMT_workflow_steps_again, DB_ARGS(DB_T(task->tenant), DB_T(task->id)),
                       NULL);
}
