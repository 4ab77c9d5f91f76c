/* Owns what the operations that change access share: the actor, and how the resulting tasks are
 * reported. */
#include "core/operation/access/act.h"

#include <string.h>

#include "core/base/json.h"
#include "core/queue/change.h"

governance_actor ida_op_actor(const ida_call *call)
{
    return (governance_actor){.tenant = call->asked->tenant->id,
                              .username = call->asked->principal->username,
                              .label = call->asked->principal->label,
                              .via = call->asked->face->via};
}

/* One task with the steps of all tasks, for the report of a dry run. */
static ida_kind plan(ida_call *call, store *s, ida_ctx *c, const governance_orders *orders)
{
    ida_task *whole = NULL, *task;
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < json_array_size(orders->tasks); i++) {
        kind = queue_task_get(s, c, call->asked->tenant->id,
                              json_string_value(json_array_get(orders->tasks, i)), 0, &task);
        if (!kind && whole) {
            int count = whole->step_count + task->step_count;
            ida_step *steps = apr_palloc(c->pool, (size_t)count * sizeof *steps);
            memcpy(steps, whole->steps, (size_t)whole->step_count * sizeof *steps);
            memcpy(steps + whole->step_count, task->steps,
                   (size_t)task->step_count * sizeof *steps);
            whole->steps = steps;
            whole->step_count = count;
        }
        whole = whole || kind ? whole : task;
    }
    call->planned = whole;
    return kind;
}

ida_kind ida_op_acted(ida_call *call, store *s, ida_ctx *c, const governance_orders *orders,
                      const char *upn, const char *message, json_t *also)
{
    json_t *warnings = json_array(), *name;
    size_t i;
    call->result = ida_json_keep(c->pool, also ? also : json_object());
    call->target = upn;
    call->task_id = orders->first;
    json_array_foreach (orders->homeless, i, name) {
        json_array_append_new(
            warnings, json_string(ida_printf(c->pool,
                                             "%s is not given: the user has no account in that "
                                             "directory.",
                                             json_string_value(name))));
    }
    if (orders->left) {
        json_array_append_new(
            warnings,
            json_string(ida_printf(c->pool,
                                   "The account of %s is disabled: unless it is enabled by then, "
                                   "nothing is given.",
                                   orders->left)));
    }
    for (i = json_array_size(orders->tasks); i > 1; i--) { /* the audit record names all of them */
        call->remark = ida_printf(c->pool, "and task %s%s%s",
                                  json_string_value(json_array_get(orders->tasks, i - 1)),
                                  call->remark ? ", " : "", call->remark ? call->remark : "");
    }
    ida_json_put(call->result, "message", message);
    if (orders->tasks) { /* a request alone queues no task */
        json_object_set(call->result, "taskIds", orders->tasks);
    }
    json_object_set_new(call->result, "warnings", warnings);
    return call->dry_run ? plan(call, s, c, orders) : IDA_OK;
}

const ida_field ida_acted_members[] = {OUT_TEXT("message", ALWAYS), OUT_TEXTS("taskIds", ALWAYS),
                                       OUT_TEXTS("warnings", ALWAYS), OUT_END};
