/* Owns the comments that people wrote when they asked for a task or changed it, for those who may
 * see the task; the audit records of these calls keep them. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/operation/table.h"
#include "core/queue/change.h"
#include "core/store/audit.h"

#define RECORDS_MAX 200 /* newest records of a task that are looked at */

static void put_comment(json_t *list, const audit_row *row)
{
    const audit_record *r = &row->record;
    json_t *parameters = r->parameters ? json_loads(r->parameters, 0, NULL) : NULL;
    const char *text = ida_json_string(parameters, "comment");
    int happened = r->action && strcmp(r->outcome, "ok") == 0 && !strstr(r->action, ".dryRun") &&
                   !strstr(r->action, ".replay");
    if (text && happened) {
        json_t *one = ida_json_texts("by", r->actor, "action", r->action, "comment", text, NULL);
        ida_json_put_time(one, "at", r->at);
        json_array_insert_new(list, 0, one); /* records come newest first */
    }
    json_decref(parameters);
}

static ida_kind show(ida_call *call)
{
    ida_ctx *c = call->c;
    const char *tenant = call->asked->tenant->id, *id = ida_json_string(call->arguments, "id");
    const audit_row *rows;
    ida_task *task;
    int count = 0;
    ida_kind kind = queue_task_get(call->store, c, tenant, id, 0, &task);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, IDA_NOT_FOUND, "No task with the id \"%s\" exists in this tenant.",
                        ida_clean(c->pool, id, strlen(id), 64));
    }
    if (kind) {
        return kind;
    }
    store_audit_filter filter = {
        .task = task->id, .target = task->upn, .by_time = 1, .limit = RECORDS_MAX};
    kind = store_audit_list(call->store, c, tenant, &filter, &rows, &count, NULL);
    json_t *list = json_array();
    for (int i = 0; !kind && i < count; i++) {
        put_comment(list, &rows[i]);
    }
    call->task_id = task->id;
    call->target = task->upn;
    call->result = ida_json_keep(c->pool, json_pack("{s:o}", "items", list));
    return kind;
}

static const ida_param params[] = {
    {"id", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 64, .about = "The task's ID."}, {0}};

static const ida_field comment[] = {OUT_TIME("at", ALWAYS | OR_NULL), OUT_TEXT("by", SOMETIMES),
                                    OUT_TEXT("action", ALWAYS), OUT_TEXT("comment", ALWAYS),
                                    OUT_END};
static const ida_field result[] = {OUT_LIST("items", ALWAYS, comment), OUT_END};

const ida_operation ida_op_task_comments = {
    .name = "task.comments",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_TASKS_READ,
    IDA_READS("/task/comments"),
    .params = params,
    .run = show,
    .summary = "What people wrote when they asked for a task or changed it, the oldest first.",
    .output = result,
};
