/* Owns workflows as rows and their runs as history. Must not know how an action is carried out. */
#include "core/store_workflow.h"

#include "core/json.h"
#include "core/text.h"

#define WORKFLOWS_MAX 1000

ida_kind store_workflow_active(store *s, ida_ctx *c, const char *tenant, const char *trigger, const ida_workflow **rows,
                               int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_workflow_active, DB_ARGS(DB_T(tenant), DB_T(trigger), DB_I(WORKFLOWS_MAX)), &r);
    *count = kind ? 0 : r.rows;
    ida_workflow *list = apr_palloc(c->pool, sizeof *list * (apr_size_t)(*count + 1));
    for (int i = 0; i < *count; i++) {
        list[i] = (ida_workflow){.name = db_text(&r, i, 0),
                                 .trigger = db_text(&r, i, 1),
                                 .active = (int)db_int(&r, i, 2),
                                 .actions = db_text(&r, i, 3),
                                 .position = (int)db_int(&r, i, 4)};
    }
    *rows = list;
    return kind;
}

typedef struct beginning {
    const ida_task *task;
    const ida_workflow *workflow;
    const char *run_id;
} beginning;

static ida_kind add_actions(store *s, ida_ctx *c, const char *run_id, const char *actions)
{
    const json_t *list = ida_json_load(c->pool, actions), *action;
    ida_kind kind = IDA_OK;
    size_t i;
    json_array_foreach(list, i, action)
    {
        const char *type = ida_json_string(action, "type");
        if (!kind) {
            kind = store_write(s, c, STMT_workflow_action_add, DB_ARGS(DB_T(run_id), DB_I(i + 1), DB_T(type ? type : "")), NULL);
        }
    }
    return kind;
}

static ida_kind begin(store *s, ida_ctx *c, void *baton)
{
    beginning *b = baton;
    const ida_task *t = b->task;
    db_result r;
    b->run_id = ida_new_id(c->pool, c->env);
    ida_kind kind =
        store_write(s, c, STMT_workflow_run_begin,
                    DB_ARGS(DB_T(b->run_id), DB_T(t->tenant), DB_T(b->workflow->name), DB_T(ida_task_type_text(t->type)),
                            DB_T(t->id), DB_T(t->upn), DB_I(ida_now(c->env)), DB_T("running")),
                    &r);
    if (kind || r.changes) {
        return kind ? kind : add_actions(s, c, b->run_id, b->workflow->actions);
    }
    kind = store_read(s, c, STMT_workflow_run_find, DB_ARGS(DB_T(t->id), DB_T(b->workflow->name)), &r);
    b->run_id = !kind && r.rows ? db_text(&r, 0, 0) : NULL;
    return kind || b->run_id
               ? kind
               : ida_fail(c, IDA_NOT_FOUND, "There is no run of the workflow %s for task %s.", b->workflow->name, t->id);
}

ida_kind store_workflow_run_begin(store *s, ida_ctx *c, const ida_task *task, const ida_workflow *workflow, const char **run_id)
{
    beginning b = {.task = task, .workflow = workflow};
    ida_kind kind = store_transaction(s, c, begin, &b);
    *run_id = kind ? NULL : b.run_id;
    return kind;
}

ida_kind store_workflow_action(store *s, ida_ctx *c, const char *run_id, int position, const char *status, int64_t started_at,
                               int64_t finished_at, const char *error)
{
    db_result r;
    ida_kind kind =
        store_write(s, c, STMT_workflow_action_set,
                    DB_ARGS(DB_T(run_id), DB_I(position), DB_T(status), DB_I(started_at), DB_I(finished_at), DB_T(error)), &r);
    return kind || r.changes ? kind : ida_fail(c, IDA_NOT_FOUND, "The workflow run %s has no action %d.", run_id, position);
}

ida_kind store_workflow_run_end(store *s, ida_ctx *c, const char *run_id, const char *status)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_workflow_run_end, DB_ARGS(DB_T(run_id), DB_T(status), DB_I(ida_now(c->env))), &r);
    return kind || r.changes ? kind : ida_fail(c, IDA_NOT_FOUND, "There is no workflow run %s.", run_id);
}
