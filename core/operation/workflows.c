/* Owns the operations on workflows and their runs, as history. Must not know how an action is
 * carried out. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/governance.h"
#include "core/operation/op.h"
#include "core/operation/schema.h"

/* --- list_workflows --- */

static ida_kind list(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    const ida_workflow_row *rows;
    json_t *position, *next = NULL;
    int count = 0, limit = ida_op_limit(call);
    int64_t total = 0;
    ida_kind kind = ida_op_position(call, NULL, "s", &position);
    if (!kind) {
        kind = governance_workflow_list(s, c, call->principal->company, ida_op_text_at(position, 0),
                                        limit + 1, &rows, &count);
    }
    if (!kind) {
        kind = governance_workflow_count(s, c, call->principal->company, &total);
    }
    if (kind) {
        return kind;
    }
    json_t *items = json_array();
    for (int i = 0; i < count && i < limit; i++) {
        json_t *item = ida_json_texts("id", rows[i].id, "name", rows[i].name, "trigger",
                                      rows[i].trigger, NULL);
        json_object_set_new(item, "active", json_boolean(rows[i].active));
        json_object_set_new(item, "actionCount", json_integer(rows[i].action_count));
        json_array_append_new(items, item);
    }
    if (count > limit) {
        next = ida_op_place("s", rows[limit - 1].name);
    }
    return ida_op_list(call, items, total, next, ida_now(c->env));
}

static ida_kind run_list(ida_call *call)
{
    return store_snapshot(call->store, call->c, list, call);
}

static const ida_param list_params[] = {IDA_LIST_PARAMS, {0}};

const ida_operation ida_op_workflows = {
    .name = "workflow.list",
    .method = "GET",
    .path = "/v1/api/workflows",
    .scope = IDA_SCOPE_READ,
    .params = list_params,
    .run = run_list,
    .summary = "Lifecycle workflows with trigger, active state and number of actions.",
    .schema = "WorkflowList",
    .tool = "list_workflows",
    .title = "List workflows",
    .paged = "items",
    .description = "Lists the tenant's lifecycle workflows, ordered by name: trigger (userCreate, "
                   "userUpdate, userDelete), whether active, number of "
                   "actions. Use it to find the exact name for get_workflow_runs, which shows what "
                   "a workflow did. It does not show the actions' "
                   "settings and starts nothing.",
    /* clang-format off */
    .output = OUT_PAGE(OUT_OBJECT("\"id\",\"name\",\"trigger\",\"active\",\"actionCount\"",
        OUT_IS("id", OUT_TEXT) "," OUT_IS("name", OUT_TEXT) ","
        OUT_IS("trigger", OUT_ENUM("\"userCreate\",\"userUpdate\",\"userDelete\"")) ","
        OUT_IS("active", OUT_BOOLEAN) "," OUT_IS("actionCount", OUT_INTEGER)), "", ""),
    /* clang-format on */
};

/* --- get_workflow_runs --- */

static json_t *action_json(const ida_workflow_action *a)
{
    json_t *out = json_object();
    json_object_set_new(out, "position", json_integer(a->position));
    ida_json_put(out, "type", a->type);
    ida_json_put(out, "status", a->status);
    ida_json_put_time(out, "startedAt", a->started_at);
    ida_json_put_time(out, "finishedAt", a->finished_at);
    ida_json_put_or_null(out, "error", a->error);
    return out;
}

static json_t *run_json(const ida_workflow_run *r)
{
    json_t *out = json_object(), *actions = json_array();
    for (int i = 0; i < r->action_count; i++) {
        json_array_append_new(actions, action_json(&r->actions[i]));
    }
    ida_json_put(out, "id", r->id);
    json_object_set_new(out, "event",
                        ida_json_texts("type", r->event_type, "taskId", r->task_id,
                                       "userPrincipalName", r->upn, NULL));
    ida_json_put_time(out, "startedAt", r->started_at);
    ida_json_put_time(out, "finishedAt", r->finished_at);
    ida_json_put(out, "status", r->status);
    json_object_set_new(out, "actions", actions);
    return out;
}

static ida_kind runs(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    const char *tenant = call->principal->company,
               *name = ida_json_string(call->arguments, "workflow");
    int64_t from = ida_argument_time(call, "from"), to = ida_argument_time(call, "to"), total = 0;
    ida_workflow_run *rows;
    json_t *position, *next = NULL;
    int known, count = 0, limit = ida_op_limit(call);
    ida_kind kind = ida_op_position(call, NULL, "is", &position);
    to = to ? to : INT64_MAX;
    if (!kind) {
        kind = governance_workflow_known(s, c, tenant, name, &known);
    }
    if (!kind && !known) {
        return ida_fail(c, IDA_NOT_FOUND,
                        "workflow: No workflow is, or was within the task history, named \"%s\"%s",
                        ida_clean(c->pool, name, strlen(name), 128),
                        call->face == IDA_FACE_MCP ? "; list_workflows shows the names." : ".");
    }
    if (!kind) {
        kind = governance_workflow_runs(s, c, tenant, name, from,
                                        position ? ida_op_number_at(position, 0) : to,
                                        ida_op_text_at(position, 1), limit + 1, &rows, &count);
    }
    if (!kind) {
        kind = governance_workflow_runs_count(s, c, tenant, name, from, to, &total);
    }
    if (kind) {
        return kind;
    }
    json_t *items = json_array(),
           *workflow = ida_json_keep(c->pool, ida_json_texts("name", name, NULL));
    for (int i = 0; i < count && i < limit; i++) {
        json_array_append_new(items, run_json(&rows[i]));
    }
    if (count > limit) {
        next = ida_op_place("is", rows[limit - 1].started_at, rows[limit - 1].id);
    }
    call->target = name;
    kind = ida_op_list(call, items, total, next, ida_now(c->env));
    if (!kind) {
        json_object_set(call->result, "workflow", workflow);
    }
    return kind;
}

static ida_kind run_runs(ida_call *call)
{
    return store_snapshot(call->store, call->c, runs, call);
}

static const ida_param runs_params[] = {
    {"workflow", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, 0, 256, NULL,
     "Exact name of the workflow, e.g. \"Joiner\"."},
    {"from", IDA_PARAM_TIME, 0, 0, 0, NULL,
     "Runs started at or after this date or time (UTC), e.g. 2026-11-01."},
    {"to", IDA_PARAM_TIME, 0, 0, 0, NULL,
     "Runs started before this date or time (UTC), e.g. 2026-12-01."},
    IDA_LIST_PARAMS,
    {0},
};

/* clang-format off */
#define ACTION \
    OUT_OBJECT("\"position\",\"type\",\"status\"", \
    OUT_IS("position", OUT_INTEGER) "," OUT_IS("type", OUT_TEXT) "," \
    OUT_IS("status", OUT_TEXT) "," OUT_IS("startedAt", OUT_TIME_OR_NULL) "," \
    OUT_IS("finishedAt", OUT_TIME_OR_NULL) "," OUT_IS("error", OUT_TEXT_OR_NULL))
/* clang-format on */

const ida_operation ida_op_workflow_runs = {
    .name = "workflow.runs",
    .method = "GET",
    .path = "/v1/api/workflow/runs",
    .scope = IDA_SCOPE_READ,
    .params = runs_params,
    .run = run_runs,
    .summary = "Runs of one workflow, newest first, with the outcome of each action.",
    .schema = "WorkflowRuns",
    .tool = "get_workflow_runs",
    .title = "Workflow runs",
    .paged = "items",
    .description = "Lists the runs of one workflow, newest first, one for each triggering event, "
                   "with status and error detail of every action. Use it for "
                   "\"did the joiner workflow work for X\"; list_workflows shows the names. Runs "
                   "belong to a name: history from before a rename stays "
                   "under the former name, which can still be asked for. Depth is bounded by the "
                   "tenant's task history.",
    /* clang-format off */
    .output = OUT_PAGE(
        OUT_OBJECT("\"id\",\"event\",\"startedAt\",\"finishedAt\",\"status\",\"actions\"",
        OUT_IS("id", OUT_TEXT) ","
        OUT_IS("event", OUT_OBJECT("\"type\",\"taskId\",\"userPrincipalName\"",
        OUT_IS("type", OUT_TEXT) "," OUT_IS("taskId", OUT_TEXT) ","
        OUT_IS("userPrincipalName", OUT_TEXT))) "," OUT_IS("startedAt", OUT_TIME_OR_NULL) ","
        OUT_IS("finishedAt", OUT_TIME_OR_NULL) "," OUT_IS("status", OUT_TEXT) ","
        OUT_IS("actions", OUT_LIST(ACTION))), ",\"workflow\"", ","
        OUT_IS("workflow", OUT_OBJECT("\"name\"", OUT_IS("name", OUT_TEXT)))),
    /* clang-format on */
};
