/* Owns one change of many tasks: each in its own transaction, with its own record, as if
 * requested alone. The single operations know what a change means. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/model/payload.h"
#include "core/operation/op.h"
#include "core/operation/table.h"
#include "core/operation/tasks/change.h"
#include "core/store/audit.h"

#define IDS_MAX 200
#define ID_MAX 64 /* bytes */

static const ida_operation *const verbs[IDA_TASK_VERBS] = {
    [IDA_TASK_CANCEL] = &ida_op_task_cancel,
    [IDA_TASK_RESCHEDULE] = &ida_op_task_reschedule,
    [IDA_TASK_RETRY] = &ida_op_task_retry,
    [IDA_TASK_RELEASE] = &ida_op_task_release,
};

typedef struct bulk_input {
    const ida_operation *each;
    json_t *moment; /* body of a reschedule */
    const json_t *ids;
    const char *comment; /* NULL: none */
} bulk_input;

static int good_ids(const json_t *ids)
{
    size_t i, count = json_array_size(ids);
    const json_t *id;
    int good = count > 0 && count <= IDS_MAX;
    json_array_foreach (ids, i, id) {
        good = good && json_string_length(id) > 0 && json_string_length(id) <= ID_MAX;
    }
    return good;
}

static void read_moment(ida_call *call, bulk_input *in)
{
    ida_moment moment;
    in->moment = ida_json_keep(call->c->pool, json_object());
    for (const ida_param *p = ida_moment_members; p->name; p++) {
        json_t *given = json_object_get(call->asked->body, p->name);
        if (given) {
            json_object_set(in->moment, p->name, given);
        }
    }
    ida_payload_moment(call->c, in->moment, &moment);
    if (!call->c->faults) { /* the form is checked once for all; missing parts are taken from
                               each task */
        zone_due due;
        zone_schedule(call->c, ZONE_DUE_UPDATE, call->asked->tenant->time_zone, moment.date,
                      moment.time ? moment.time : "12:00", &due);
    }
}

static const ida_param members[] = {
    {"verb", IDA_PARAM_STRING, IDA_PARAM_REQUIRED,
     .about = "cancel, reschedule, retry or release."},
    {"ids", IDA_PARAM_LIST, IDA_PARAM_REQUIRED, .about = "1 to 200 IDs of tasks."},
    {"date", IDA_PARAM_WALL, .about = "For a reschedule: the new date, YYYY-MM-DD."},
    {"time", IDA_PARAM_WALL, .about = "For a reschedule: the new time of day, HH:mm."},
    {"comment", IDA_PARAM_STRING, .max = IDA_COMMENT_MAX,
     .about = "Why; the audit record of each change keeps it."},
    {0},
};

static ida_kind check(ida_call *call)
{
    ida_ctx *c = call->c;
    bulk_input *in = call->input = apr_pcalloc(c->pool, sizeof *in);
    const char *word = ida_json_string(call->asked->body, "verb");
    int verb = word ? ida_task_verb_parse(word) : -1;
    if (call->asked->once) {
        ida_fault_add(c, "Idempotency-Key",
                      "is not allowed here: each task is a transaction of its own. A repeated call "
                      "refuses the changes that it has made already");
    }
    if (verb < 0) {
        ida_fault_add(c, "verb", "must be one of cancel, reschedule, retry, release");
    }
    in->ids = json_object_get(call->asked->body, "ids");
    if (!good_ids(in->ids)) {
        ida_fault_add(c, "ids", "must be a list of 1 to %d IDs of tasks", IDS_MAX);
    }
    if (verb == IDA_TASK_RESCHEDULE) {
        read_moment(call, in);
    }
    in->comment = ida_param_text(c, call->asked->body, ida_param_find(members, "comment"), NULL);
    ida_kind kind = ida_faults_raise(c);
    if (!kind) {
        in->each = verbs[verb];
        kind = ida_operation_right(call, in->each->right);
    }
    return kind;
}

/* The call for one task, with its own error. */
static ida_kind prepare(const ida_call *call, const char *id, ida_call *one)
{
    const bulk_input *in = call->input;
    ida_question *asked = apr_pmemdup(call->c->pool, call->asked, sizeof *asked);
    asked->operation = in->each;
    asked->body = in->moment;
    asked->seen = NULL; /* a state tag belongs to a single task */
    *one = *call;
    one->c = ida_ctx_make(call->c->env, call->c->pool);
    one->asked = asked;
    one->arguments = ida_json_keep(call->c->pool, json_pack("{s:s}", "id", id));
    if (in->comment) {
        ida_json_put(one->arguments, "comment", in->comment);
    }
    one->ignored = NULL;
    ida_kind kind = in->each->check(one);
    return kind ? kind : in->each->run(one);
}

/* Writes the records that were not written together with the work: those of refusals and dry
 * runs. */
static ida_kind record(store *s, ida_ctx *c, void *baton)
{
    ida_call *one = baton;
    ida_task *task = NULL;
    ida_kind kind = queue_task_get(s, c, one->asked->tenant->id,
                                   ida_json_string(one->arguments, "id"), 0, &task);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        kind = IDA_OK;
    }
    if (!kind && task) {
        one->planned = task;
        one->audit->target = task->upn;
    }
    return kind ? kind : store_audit_add(s, c, one->audit);
}

/* IDA_OK with an item, also if the change was refused; otherwise the failure to store its
 * record. */
static ida_kind carry_out(ida_call *one, json_t **item)
{
    ida_ctx *c = one->c;
    ida_kind kind = c->kind ? c->kind : ida_op_write(one), kept = IDA_OK;
    const char *message = kind ? ida_public_message(c) : ida_json_string(one->result, "message"),
               *reason = kind ? c->reason : NULL;
    const ida_task *planned = one->planned;
    if (kind || !one->audit_written) {
        ida_operation_record(one, kind);
        ida_ctx_clear(c);
        kept = ida_call_transaction(one, record, one);
    }
    const ida_task *task = planned && !kind ? planned : one->planned;
    *item = json_object();
    ida_json_put(*item, "id", ida_json_string(one->arguments, "id"));
    ida_json_put_or_null(*item, "userPrincipalName", task ? task->upn : NULL);
    ida_json_put(*item, "outcome", kind ? "refused" : "done");
    ida_json_put_or_null(*item, "state", task ? ida_task_state_text(task->state) : NULL);
    ida_json_put_or_null(*item, "reason", reason);
    ida_json_put(*item, "message", message ? message : ida_kind_text(kind));
    return kept;
}

static ida_kind run(ida_call *call)
{
    const bulk_input *in = call->input;
    ida_ctx *c = call->c;
    size_t count = json_array_size(in->ids), i;
    ida_call *each = apr_palloc(c->pool, count * sizeof *each);
    json_t *items = json_array();
    int64_t done = 0;
    call->result = ida_json_keep(c->pool, json_pack("{s:o}", "items", items));
    for (i = 0; i < count; i++) { /* while there is a connection for reads */
        prepare(call, json_string_value(json_array_get(in->ids, i)), &each[i]);
    }
    for (i = 0; i < count; i++) {
        json_t *item;
        each[i].store = call->store; /* released by the first one that writes */
        ida_kind kind = carry_out(&each[i], &item);
        call->store = each[i].store;
        json_array_append_new(items, item);
        if (kind) {
            const char *message = ida_public_message(each[i].c);
            c->retry_after = each[i].c->retry_after;
            return ida_fail(c, kind, "%s", message ? message : ida_kind_text(kind));
        }
        done += strcmp(ida_json_string(item, "outcome"), "done") == 0;
    }
    json_object_set_new(call->result, "done", json_integer(done));
    json_object_set_new(call->result, "refused", json_integer((int64_t)count - done));
    call->audit = each[count - 1].audit;
    call->audit_written = 1; /* each task has its record, the call has none */
    return IDA_OK;
}

static const ida_param params[] = {IDA_DRY_RUN_PARAM, {0}};

const ida_operation ida_op_tasks_change = {
    .name = "task.change",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_TASKS_WRITE,
    IDA_WRITES("POST", "/tasks/change"),
    .params = params,
    .body = members,
    .check = check,
    .run = run,
    .summary = "One change of many tasks, each on its own.",
};
