/* Owns the audit log as callers read it. Must not know how records are chained. */
#include "core/store/audit.h"
#include "core/base/json.h"
#include "core/operation/op.h"
#include "core/operation/schema.h"
#include "core/queue/change.h"

static const char *const categories[] = {"api", "workflow", "portal", NULL};

/* The ID is that of `idadminctl audit list`: the place in the chain. */
static json_t *record_json(ida_ctx *c, const audit_row *row)
{
    const audit_record *a = &row->record;
    json_t *out = json_object(),
           *parameters = a->parameters ? ida_json_load(c->pool, a->parameters) : NULL;
    ida_json_put(out, "id", ida_printf(c->pool, "%lld", (long long)row->seq));
    ida_json_put_time(out, "at", a->at);
    ida_json_put(out, "category", a->category);
    ida_json_put_or_null(out, "actor", a->actor);
    ida_json_put_or_null(out, "label", a->label);
    ida_json_put_or_null(out, "action", a->action);
    ida_json_put_or_null(out, "target", a->target);
    ida_json_put_or_null(out, "endpoint", a->endpoint);
    json_object_set(out, "parameters", json_is_object(parameters) ? parameters : json_null());
    ida_json_put_or_null(out, "outcome", a->outcome);
    ida_json_put_or_null(out, "detail", a->detail);
    ida_json_put_or_null(out, "address", a->address);
    return out;
}

static ida_kind run_log(ida_call *call)
{
    ida_ctx *c = call->c;
    const audit_row *rows;
    json_t *position;
    int count;
    int64_t total = 0;
    ida_page *page = ida_page_make(call, NULL);
    ida_kind kind = ida_page_from(call, NULL, "iii", &position);
    if (kind) {
        return kind;
    }
    store_audit_filter filter = {
        .actor = ida_json_string(call->arguments, "actor"),
        .target = ida_json_string(call->arguments, "target"),
        .action = ida_json_string(call->arguments, "action"),
        .outcome = ida_json_string(call->arguments, "outcome"),
        .task = ida_json_string(call->arguments, "taskId"),
        .questions = json_is_true(json_object_get(call->arguments, "includeReads")),
        .category = ida_json_string(call->arguments, "category"),
        .from = ida_argument_time(call, "from"),
        .to = ida_argument_time(call, "to"),
        .by_time = 1,
        .before_at = ida_place_number(position, 1),
        .before_seq = ida_place_number(position, 2),
        .limit = page->limit + 1, /* one more tells whether there is a next page */
    };
    if (filter.task) {
        ida_task *task;
        kind = queue_task_get(call->store, c, call->principal->company, filter.task, 0, &task);
        if (kind) {
            return kind;
        }
        filter.target = task->upn;
    }
    kind = store_audit_list(call->store, c, call->principal->company, &filter, &rows, &count,
                            position ? NULL : &total);
    if (kind) {
        return kind;
    }
    total = position ? ida_place_number(position, 0) : total;
    for (int i = 0; i < count && ida_page_takes(page); i++) {
        ida_page_add(page, record_json(c, &rows[i]),
                     ida_place("iii", total, rows[i].record.at, rows[i].seq));
    }
    return ida_page_result(page, total, ida_now(c->env));
}

static const ida_param params[] = {
    {"actor", IDA_PARAM_STRING, .max = 256,
     .about = "Who did it: API username, person, or \"worker\"; in any case."},
    {"category", IDA_PARAM_STRING, .allowed = categories,
     .about = "api: REST and MCP calls; workflow: tasks and their steps; portal: administrators."},
    {"target", IDA_PARAM_STRING, .max = 256,
     .about = "To whom or what it was done: a UPN, a group, an API username; in any case."},
    {"action", IDA_PARAM_STRING, .max = 100, .about = "E.g. user.delete, task.failed."},
    {"outcome", IDA_PARAM_STRING, .max = 100,
     .about = "ok, an error code, toolError, or refused: all but ok."},
    {"taskId", IDA_PARAM_STRING, .max = 64, .about = "What was done about and by this task."},
    {"includeReads", IDA_PARAM_BOOLEAN, .about = "true: also reads that were answered."},
    {"from", IDA_PARAM_TIME, .about = "At or after this date or time (UTC), e.g. 2026-11-01."},
    {"to", IDA_PARAM_TIME, .about = "Before this date or time (UTC), e.g. 2026-12-01."},
    IDA_LIST_PARAMS,
    {0},
};

static const ida_field item[] = {OUT_TEXT("id", ALWAYS),
                                 OUT_TIME("at", ALWAYS | OR_NULL),
                                 OUT_TEXT("category", ALWAYS),
                                 OUT_TEXT("actor", OR_NULL),
                                 OUT_TEXT("label", OR_NULL),
                                 OUT_TEXT("action", OR_NULL),
                                 OUT_TEXT("target", OR_NULL),
                                 OUT_TEXT("endpoint", OR_NULL),
                                 OUT_OBJECT("parameters", OR_NULL, NULL),
                                 OUT_TEXT("outcome", OR_NULL),
                                 OUT_TEXT("detail", OR_NULL),
                                 OUT_TEXT("address", OR_NULL),
                                 OUT_END};

const ida_operation ida_op_audit_log = {
    .name = "audit.list",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_AUDIT_READ,
    .method = "GET",
    .path = "/audit",
    .scope = IDA_SCOPE_READ,
    .params = params,
    .run = run_log,
    .summary = "The tenant's audit log, newest first.",
    .schema = "AuditLog",
    .tool = "get_audit_log",
    .title = "Audit log",
    .lists = 1,
    .description =
        "Lists the tenant's audit log, newest first: API and MCP calls, workflow events, "
        "administrators' actions; reads only with includeReads. Filter by actor, target, action, "
        "outcome, category and time range; \"who offboarded X\" is action user.delete with target "
        "X. "
        "outcome is ok, an error code or toolError. Depth is bounded by the tenant's retention; a "
        "record is readable within "
        "seconds. Use get_workflow_runs for the actions of one workflow.",
    .item = item,
};
