/* Owns the task operations: one task, the list, cancelling. Everything about states is the store's. */
#include <apr_strings.h>
#include <string.h>

#include "core/json.h"
#include "core/op.h"
#include "core/store_task.h"
#include "core/store_tenant.h"
#include "core/text.h"

static const char *const states[] = {"queued", "running", "done", "failed", "attention", "cancelled", NULL};
static const char *const types[] = {"userCreate", "userUpdate", "userDelete", "accessGrant", "accessRevoke", NULL};

#define ID_PARAM                                                                                                          \
    {                                                                                                                     \
        "id", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, 0, 64, NULL, "The task's ID, as taskId of the answer that queued it." \
    }

static ida_kind load(ida_call *call, store *s, ida_task **task)
{
    const char *id = ida_json_string(call->arguments, "id");
    ida_kind kind = store_task_get(s, call->c, call->principal->company, id, 0, task);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(call->c, IDA_NOT_FOUND, "No task with the id \"%s\" exists in this tenant.",
                        ida_clean(call->c->pool, id, strlen(id), 64));
    }
    return kind;
}

static void answer(ida_call *call, const ida_task *task)
{
    call->task_id = task->id;
    call->target = task->upn;
    call->result = ida_json_keep(call->c->pool, json_object());
    json_object_set_new(call->result, "task", ida_task_json(call->c, task));
}

static ida_kind run_get(ida_call *call)
{
    ida_task *task;
    ida_kind kind = load(call, call->store, &task);
    if (!kind) {
        answer(call, task);
    }
    return kind;
}

static const ida_param get_params[] = {ID_PARAM, {0}};

const ida_operation ida_op_task_get = {
    .name = "task.get", .method = "GET", .path = "/v1/api/task", .scope = IDA_SCOPE_READ, .params = get_params, .run = run_get,
    .summary = "One queued, running or finished task with its steps.", .schema = "TaskResult",
};

static ida_kind run_list(ida_call *call)
{
    ida_ctx *c = call->c;
    const char *upn = ida_json_string(call->arguments, "userPrincipalName"), *position;
    int limit, count;
    int64_t total;
    ida_task *tasks;
    ida_kind kind = ida_op_cursor(call, &position, &limit);
    if (kind) {
        return kind;
    }
    store_task_filter filter = {
        .state = ida_json_string(call->arguments, "state"),
        .type = ida_json_string(call->arguments, "type"),
        .person = upn ? ida_fold_address(c->pool, upn) : NULL,
        .before_id = position,
        .limit = limit + 1, /* one more tells whether there is a next page */
    };
    kind = store_task_list(call->store, c, call->principal->company, &filter, &tasks, &count, &total);
    if (kind) {
        return kind;
    }
    json_t *items = json_array();
    for (int i = 0; i < count && i < limit; i++) {
        json_array_append_new(items, ida_task_json(c, &tasks[i]));
    }
    return ida_op_page(call, items, total, count > limit ? tasks[limit - 1].id : NULL, ida_now(c->env));
}

static const ida_param list_params[] = {
    {"state", IDA_PARAM_STRING, 0, 0, 0, states, "Only tasks in this state."},
    {"type", IDA_PARAM_STRING, 0, 0, 0, types, "Only tasks of this type."},
    {"userPrincipalName", IDA_PARAM_STRING, 0, 0, 256, NULL, "Only tasks of this person."},
    IDA_LIST_PARAMS,
    {0},
};

const ida_operation ida_op_task_list = {
    .name = "task.list",
    .method = "GET",
    .path = "/v1/api/tasks",
    .scope = IDA_SCOPE_READ,
    .params = list_params,
    .run = run_list,
    .summary = "Tasks of the tenant, newest first.",
    .schema = "TaskList",
};

static ida_kind cancel_work(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    const char *tenant = call->principal->company, *id = ida_json_string(call->arguments, "id");
    ida_task *task;
    ida_kind kind = store_tenant_lock(s, c, tenant);
    if (!kind) {
        kind = load(call, s, &task);
    }
    if (!kind) {
        kind = store_task_cancel(s, c, tenant, id);
    }
    if (!kind) {
        kind = store_task_get(s, c, tenant, id, 0, &task);
    }
    if (!kind) {
        answer(call, task);
        ida_json_put(call->result, "message",
                     apr_psprintf(c->pool, "The %s task of %s is cancelled; nothing more will be carried out.",
                                  ida_task_type_text(task->type), task->upn));
        kind = ida_operation_audit(call, s, c);
    }
    return kind;
}

static ida_kind run_cancel(ida_call *call)
{
    return store_transaction(call->store, call->c, cancel_work, call);
}

const ida_operation ida_op_task_cancel = {
    .name = "task.cancel",
    .method = "DELETE",
    .path = "/v1/api/task",
    .scope = IDA_SCOPE_WRITE,
    .params = get_params,
    .run = run_cancel,
    .summary = "Cancels a task that is not running yet.",
    .schema = "CancelledTask",
};
