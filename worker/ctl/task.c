/* idadminctl task release: one task, or all tasks that the brake holds. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/operation/table.h"
#include "worker/ctl/operation.h"

/* A task that was released meanwhile is skipped. */
static ida_kind release_one(ctl_call *ctl, const char *id, json_t *released)
{
    ida_call call;
    ida_question *asked;
    ida_kind kind = ctl_operation_begin(ctl, &ida_op_task_release, ida_op_task_release.commands,
                                        &call, &asked);
    if (!kind) {
        ida_command_put(ctl->c, asked, "id", id);
        kind = ida_command_run(&call, 0);
    }
    if (!kind) {
        json_array_append_new(released, json_string(id));
    } else if (kind == IDA_CONFLICT || kind == IDA_NOT_FOUND) {
        ida_ctx_clear(ctl->c);
        kind = IDA_OK;
    }
    return kind;
}

static ida_kind release_all(ctl_call *ctl, json_t *released)
{
    ida_call list;
    ida_question *asked;
    ida_kind kind = ctl_operation_begin(ctl, &ida_op_task_list, ida_op_task_list.commands, &list,
                                        &asked);
    if (kind) {
        return kind;
    }
    ida_command_put(ctl->c, asked, "braked", "true");
    kind = ida_command_run(&list, 1);
    const json_t *tasks = json_object_get(list.result, "items"), *task;
    size_t i;
    json_array_foreach ((json_t *)tasks, i, task) {
        kind = kind ? kind : release_one(ctl, ida_json_string(task, "id"), released);
    }
    return kind;
}

int ctl_task_release(ctl_call *ctl)
{
    int all = ctl_value(ctl, "all-braked") != NULL;
    if (all == (ctl->argument_count == 2)) {
        return ctl_usage(ctl, "either TASK or --all-braked is required");
    }
    if (!all) {
        return ctl_operation(ctl);
    }
    json_t *released = ida_json_keep(ctl->pool, json_array());
    ida_kind kind = release_all(ctl, released);
    return kind ? ctl_result(ctl, kind)
                : ctl_answer(ctl, json_pack("{s:O}", "released", released), "%s released.",
                             ida_count(ctl->pool, (int64_t)json_array_size(released),
                                       "held task was", "held tasks were"));
}
