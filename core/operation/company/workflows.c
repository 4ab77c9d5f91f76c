/* Owns the operations on workflows and the history of their runs. Must not know how an action is
 * executed. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/governance.h"
#include "core/governance/whom.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/people/find.h"
#include "core/operation/schema.h"
#include "core/operation/table.h"
#include "core/queue/revoked.h"

/* --- list_workflows --- */

static ida_kind list(ida_call *call, store *s, ida_ctx *c)
{
    const ida_workflow_row *rows;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "s", &page);
    kind = kind ? kind
                : governance_workflow_list(s, c, call->asked->tenant->id,
                                           ida_place_text(page->from, 0), page->limit + 1, &rows,
                                           &page->count);
    kind = kind ? kind : governance_workflow_count(s, c, call->asked->tenant->id, &page->total);
    if (kind) {
        return kind;
    }
    for (int i = 0; ida_page_row(page, i); i++) {
        const ida_workflow_row *row = &rows[i];
        json_t *item = ida_json_texts("id", row->id, "name", row->name, "trigger", row->trigger,
                                      NULL);
        json_object_set_new(item, "active", json_boolean(row->active));
        json_object_set_new(item, "actionCount", json_integer(row->action_count));
        ida_page_add(page, item, ida_place("s", row->name));
    }
    return ida_page_result(page);
}

static const char *const triggers[] = {"userCreate", "userUpdate", "userDelete", NULL};
static const ida_field list_item[] = {OUT_TEXT("id", ALWAYS),
                                      OUT_TEXT("name", ALWAYS),
                                      OUT_WORD("trigger", ALWAYS, triggers),
                                      OUT_BOOLEAN("active", ALWAYS),
                                      OUT_INTEGER("actionCount", ALWAYS),
                                      OUT_END};

const ida_operation ida_op_workflows = {
    .name = "workflow.list",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_WORKFLOWS_READ,
    IDA_READS("/workflows"),
    .commands = IDA_COMMANDS({"workflow", "list", .columns = "name trigger active actionCount id",
                              .summary = "List the workflows."}),
    .params = ida_list_params,
    .work = list,
    .summary = "Lifecycle workflows with trigger, active state and number of actions.",
    .schema = "WorkflowList",
    .tool = "list_workflows",
    .title = "List workflows",
    .lists = 1,
    .description = "Lists the tenant's lifecycle workflows, ordered by name: trigger (userCreate, "
                   "userUpdate, userDelete), whether active, number of actions. Use it to find the "
                   "exact name for get_workflow_runs, which shows what a workflow did.",
    .item = list_item,
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

static json_t *run_json(ida_ctx *c, const ida_workflow_run *r, const queue_revoked *of)
{
    json_t *out = json_object(), *actions = json_array();
    for (int i = 0; i < r->action_count; i++) {
        json_array_append_new(actions, action_json(&r->actions[i]));
    }
    ida_json_put(out, "id", r->id);
    ida_json_put(out, "workflow", r->workflow);
    json_object_set_new(out, "event",
                        ida_json_texts("type", r->event_type, "taskId", r->task_id,
                                       "userPrincipalName", r->upn, NULL));
    ida_json_put_time(out, "startedAt", r->started_at);
    ida_json_put_time(out, "finishedAt", r->finished_at);
    ida_json_put(out, "status", r->status);
    json_object_set_new(out, "actions", actions);
    if (strcmp(r->event_type, ida_task_type_text(IDA_USER_DELETE)) == 0) {
        json_t *revoked, *kept;
        queue_revoked_lists(c, of, r->task_id, NULL, QUEUE_REVOKED_ALL, &revoked, &kept);
        json_object_set(out, "revoked", revoked);
        json_object_set(out, "notRevoked", kept);
    }
    return out;
}

/* The workflow's name as written in the document, found without regard to case. */
static ida_kind find_workflow(ida_call *call, store *s, const char **name)
{
    ida_ctx *c = call->c;
    const char *wanted = *name = ida_json_string(call->arguments, "workflow");
    ida_kind kind = wanted ? governance_workflow_known(s, c, call->asked->tenant->id, name)
                           : IDA_OK;
    if (kind || *name == wanted || *name) {
        return kind;
    }
    return ida_fail(c, IDA_NOT_FOUND,
                    "workflow: No workflow is, or was within the task history, named \"%s\"%s",
                    ida_clean(c->pool, wanted, strlen(wanted), 128),
                    call->asked->face->tools ? "; list_workflows shows the names." : ".");
}

/* The person whose tasks' runs are listed, also a person who is gone; an ID must be known. */
static ida_kind whose(ida_call *call, store *s, queue_person *person, const queue_person **of)
{
    const char *named = ida_json_string(call->arguments, "user");
    const queue_task_filter any = {.person = person, .limit = 1};
    ida_user *user;
    ida_task *tasks;
    int64_t total = 0;
    int count;
    *of = named ? person : NULL;
    if (!named) {
        return IDA_OK;
    }
    ida_kind kind = governance_whom_past(s, call->c, call->asked->tenant->id, named, person, &user);
    if (!kind && !user && !strchr(named, '@')) {
        kind = queue_task_list(s, call->c, call->asked->tenant->id, &any, &tasks, &count, &total);
        kind = kind || total ? kind : ida_op_find_user(call, &user, NULL);
    }
    return kind;
}

static ida_kind runs(ida_call *call, store *s, ida_ctx *c)
{
    const char *tenant = call->asked->tenant->id;
    int64_t to = ida_argument_time(call, "to");
    governance_run_filter filter = {.from = ida_argument_time(call, "from"),
                                    .to = to ? to : INT64_MAX,
                                    .status = ida_json_string(call->arguments, "status"),
                                    .count_max = IDA_COUNT_MOST};
    ida_workflow_run *rows;
    const queue_revoked *revoked;
    queue_person person;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "is", &page);
    kind = kind ? kind : find_workflow(call, s, &filter.workflow);
    kind = kind ? kind : whose(call, s, &person, &filter.person);
    if (kind) {
        return kind;
    }
    filter.before_at = page->from ? ida_place_number(page->from, 0) : INT64_MAX;
    filter.before_id = ida_place_text(page->from, 1);
    filter.limit = page->limit + 1;
    kind = governance_workflow_runs(s, c, tenant, &filter, &rows, &page->count);
    kind = kind ? kind : governance_workflow_runs_count(s, c, tenant, &filter, &page->total);
    if (kind) {
        return kind;
    }
    const char **tasks = apr_palloc(c->pool, (apr_size_t)(page->count + 1) * sizeof *tasks);
    for (int i = 0; i < page->count; i++) {
        tasks[i] = rows[i].task_id;
    }
    kind = queue_revoked_load(s, c, tenant, tasks, page->count, &revoked);
    if (kind) {
        return kind;
    }
    for (int i = 0; ida_page_row(page, i); i++) {
        ida_page_add(page, run_json(c, &rows[i], revoked),
                     ida_place("is", rows[i].started_at, rows[i].id));
    }
    call->target = filter.workflow ? filter.workflow : call->target;
    kind = ida_page_result(page);
    if (filter.workflow) {
        json_object_set_new(call->result, "workflow",
                            ida_json_texts("name", filter.workflow, NULL));
    }
    return kind;
}

static const char *const run_statuses[] = {"running", "done",      "doneWithWarnings",
                                           "failed",  "cancelled", NULL};

static const ida_param runs_params[] = {
    {"workflow", IDA_PARAM_STRING, .max = 256,
     .about = "Name of one workflow, e.g. \"Joiner\"; all when left out."},
    {"user", IDA_PARAM_STRING, .max = 256, .about = "Only runs for this UPN or object ID."},
    {"status", IDA_PARAM_STRING, .allowed = run_statuses, .about = "Only runs that ended so."},
    {"from", IDA_PARAM_TIME,
     .about = "Runs started at or after this date or time (UTC), e.g. 2026-11-01."},
    {"to", IDA_PARAM_TIME,
     .about = "Runs started before this date or time (UTC), e.g. 2026-12-01."},
    IDA_LIST_PARAMS,
    {0},
};

static const ida_field event[] = {OUT_TEXT("type", ALWAYS), OUT_TEXT("taskId", ALWAYS),
                                  OUT_TEXT("userPrincipalName", ALWAYS), OUT_END};
static const ida_field action[] = {OUT_INTEGER("position", ALWAYS),
                                   OUT_TEXT("type", ALWAYS),
                                   OUT_TEXT("status", ALWAYS),
                                   OUT_TIME("startedAt", OR_NULL),
                                   OUT_TIME("finishedAt", OR_NULL),
                                   OUT_TEXT("error", OR_NULL),
                                   OUT_END};
static const ida_field group[] = {OUT_TEXT("id", ALWAYS),        OUT_TEXT("name", ALWAYS),
                                  OUT_TEXT("directory", ALWAYS), OUT_TEXT("reason", SOMETIMES),
                                  OUT_TEXT("kind", SOMETIMES),   OUT_END};
const ida_field ida_revoked_members[] = {OUT_LIST("revoked", SOMETIMES, group),
                                         OUT_LIST("notRevoked", SOMETIMES, group), OUT_END};
static const ida_field run_item[] = {OUT_TEXT("id", ALWAYS),
                                     OUT_TEXT("workflow", ALWAYS),
                                     OUT_OBJECT("event", ALWAYS, event),
                                     OUT_TIME("startedAt", ALWAYS | OR_NULL),
                                     OUT_TIME("finishedAt", ALWAYS | OR_NULL),
                                     OUT_TEXT("status", ALWAYS),
                                     OUT_LIST("actions", ALWAYS, action),
                                     OUT_LIST_FOR(IDA_ACCESS_READ, "revoked", group),
                                     OUT_LIST_FOR(IDA_ACCESS_READ, "notRevoked", group),
                                     OUT_END};
static const ida_field workflow[] = {OUT_TEXT("name", ALWAYS), OUT_END};
static const ida_field runs_result[] = {OUT_OBJECT("workflow", SOMETIMES, workflow), OUT_END};

const ida_operation ida_op_workflow_runs = {
    .name = "workflow.runs",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_WORKFLOWS_READ,
    IDA_READS("/workflow/runs"),
    .commands = IDA_COMMANDS(
        {"workflow", "runs", .at = {{"workflow", "WORKFLOW"}},
         .columns = "startedAt workflow event status actions finishedAt id",
         .summary = "List runs of workflows, newest first, with the outcome of each action."}),
    .params = runs_params,
    .work = runs,
    .summary = "Runs of workflows, newest first, with the outcome of each action.",
    .schema = "WorkflowRuns",
    .tool = "get_workflow_runs",
    .title = "Workflow runs",
    .lists = 1,
    .description =
        "Lists runs of workflows, newest first, one for each workflow and triggering event, with "
        "status and error detail of every action; a leaver's run also lists the groups and "
        "licences that were revoked and those that could not be, with the reason. \"What failed "
        "this week\" is status failed with from. list_workflows shows the names; history from "
        "before a rename stays under the former one, which can still be asked for. Depth is "
        "bounded by the tenant's task history.",
    .item = run_item,
    .output = runs_result,
};
