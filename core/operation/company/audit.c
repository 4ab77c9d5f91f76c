/* Owns the audit log as callers read it. Must not know how records are chained. */
#include <string.h>

#include "core/base/json.h"
#include "core/operation/company/audit_json.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/schema.h"
#include "core/operation/table.h"
#include "core/queue/change.h"
#include "core/store/audit.h"

const char *const ida_audit_categories[] = {"api",     "workflow",  "portal",
                                            "command", AUDIT_ALARM, NULL};

json_t *ida_audit_line(const audit_row *row)
{
    const audit_record *r = &row->record;
    json_t *object = json_object();
    json_object_set_new(object, "id", json_integer(row->seq));
    ida_json_put_time(object, "at", r->at);
    ida_json_put(object, "category", r->category);
    ida_json_put_or_null(object, "actor", r->actor);
    ida_json_put_or_null(object, "label", r->label);
    ida_json_put_or_null(object, "action", r->action);
    ida_json_put_or_null(object, "target", r->target);
    ida_json_put_or_null(object, "endpoint", r->endpoint);
    json_t *parameters = r->parameters ? json_loads(r->parameters, JSON_DECODE_ANY, NULL) : NULL;
    json_object_set_new(object, "parameters", parameters ? parameters : json_null());
    ida_json_put(object, "outcome", r->outcome);
    ida_json_put_or_null(object, "detail", r->detail);
    ida_json_put_or_null(object, "address", r->address);
    ida_json_put_or_null(object, "correlationId", r->correlation);
    if (row->erased) {
        json_object_set_new(object, "erased", json_true());
    }
    return object;
}

/* The record for callers: the ID as a text, erased records not marked, parameters an object or
 * null. */
static json_t *record_json(ida_ctx *c, const audit_row *row)
{
    json_t *out = ida_audit_line(row);
    ida_json_put(out, "id", ida_printf(c->pool, "%lld", (long long)row->seq));
    if (!json_is_object(json_object_get(out, "parameters"))) {
        json_object_set_new(out, "parameters", json_null());
    }
    json_object_del(out, "erased");
    return out;
}

/* Answered reads are left out because of their number, unless the filter means them: one actor, one
 * request, the API's category, or calls that failed. */
static int with_reads(const json_t *a)
{
    const char *category = ida_json_string(a, "category"), *outcome = ida_json_string(a, "outcome");
    return json_is_true(json_object_get(a, "includeReads")) || ida_json_string(a, "actor") ||
           ida_json_string(a, "correlationId") || (category && strcmp(category, "api") == 0) ||
           (outcome && strcmp(outcome, "ok") != 0);
}

ida_kind ida_audit_filter(ida_call *call, store_audit_filter *out)
{
    const json_t *a = call->arguments;
    *out = (store_audit_filter){
        .actor = ida_json_string(a, "actor"),
        .category = ida_json_string(a, "category"),
        .target = ida_json_string(a, "target"),
        .action = ida_json_string(a, "action"),
        .outcome = ida_json_string(a, "outcome"),
        .task = ida_json_string(a, "taskId"),
        .correlation = ida_json_string(a, "correlationId"),
        .questions = with_reads(a),
        .from = ida_argument_time(call, "from"),
        .to = ida_argument_time(call, "to"),
        .by_time = 1,
    };
    ida_task *task;
    ida_kind kind = out->task ? queue_task_get(call->store, call->c, call->asked->tenant->id,
                                               out->task, 0, &task)
                              : IDA_OK;
    if (!kind && out->task) {
        out->target = task->upn;
    }
    return kind;
}

/* Reports how many reads were left out of the list. */
static ida_kind note_left_out(ida_call *call, store_audit_filter filter, int64_t listed)
{
    const audit_row *rows;
    int count;
    int64_t all;
    if (filter.questions || listed > IDA_COUNT_EXACT) {
        return IDA_OK;
    }
    filter.questions = 1;
    filter.limit = 1;
    ida_kind kind = store_audit_list(call->store, call->c, call->asked->tenant->id, &filter, &rows,
                                     &count, &all);
    if (!kind && all > listed) {
        ida_json_put(call->result, "note",
                     ida_printf(call->c->pool,
                                "%s%lld successful reads are left out: includeReads lists them.",
                                all > IDA_COUNT_EXACT ? "At least " : "",
                                (long long)(all - listed)));
    }
    return kind;
}

static ida_kind run_log(ida_call *call)
{
    ida_ctx *c = call->c;
    const audit_row *rows;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "iii", &page);
    if (kind) {
        return kind;
    }
    store_audit_filter filter;
    kind = ida_audit_filter(call, &filter);
    if (kind) {
        return kind;
    }
    filter.before_at = ida_place_number(page->from, 1);
    filter.before_seq = ida_place_number(page->from, 2);
    filter.limit = page->limit + 1; /* one more, to know whether there is a next page */
    filter.count_max = IDA_COUNT_MOST;
    kind = store_audit_list(call->store, c, call->asked->tenant->id, &filter, &rows, &page->count,
                            page->from ? NULL : &page->total);
    if (kind) {
        return kind;
    }
    page->total = page->from ? ida_place_number(page->from, 0) : page->total;
    for (int i = 0; ida_page_row(page, i); i++) {
        ida_page_add(page, record_json(c, &rows[i]),
                     ida_place("iii", page->total, rows[i].record.at, rows[i].seq));
    }
    kind = ida_page_result(page);
    return kind || page->from ? kind : note_left_out(call, filter, page->total);
}

static const ida_param params[] = {
    IDA_AUDIT_FILTER_PARAMS,
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
                                 OUT_TEXT("correlationId", OR_NULL),
                                 OUT_END};

static const ida_field result[] = {OUT_TEXT("note", SOMETIMES), OUT_END};

const ida_operation ida_op_audit_log = {
    .name = "audit.list",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_AUDIT_READ,
    IDA_READS("/audit"),
    .commands = IDA_COMMANDS(
        {"audit", "list", .any_document = 1,
         .columns = "id at category actor action target outcome detail parameters",
         .summary = "List a tenant's audit records, newest first."}),
    .params = params,
    .run = run_log,
    .summary = "The tenant's audit log, newest first.",
    .schema = "AuditLog",
    .tool = "get_audit_log",
    .title = "Audit log",
    .lists = 1,
    .description =
        "Lists the tenant's audit log, newest first: API and MCP calls, workflow events, "
        "administrators' actions. Reads are left out (note says how many) unless includeReads, "
        "actor, category api or an outcome other than ok asks for them. \"Who offboarded X\" is "
        "action user.delete with target X. outcome is ok, an error code or toolError. Depth is "
        "bounded by the tenant's retention. Use get_workflow_runs for actions of one workflow.",
    .item = item,
    .output = result,
};
