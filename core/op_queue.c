/* Owns what all queued writes share: the due time in the task, the members of the answer that tell of it. */
#include "core/json.h"
#include "core/op.h"

void ida_op_schedule(ida_call *call, ida_ctx *c, ida_task *task, const ida_due *due)
{
    task->wall_date = due->date;
    task->wall_time = due->time;
    task->zone = due->zone;
    task->wall_fixed = due->given;
    task->due_at = due->at_ms;
    task->created_at = ida_now(c->env);
    task->next_at = due->past ? task->created_at : due->at_ms;
    task->warnings = "[]";
    task->progress = "{}";
    task->username = call->principal->username;
    task->label = call->principal->label;
    const char **names = ida_task_step_names(c->pool, call->tenant, task->type);
    while (names[task->step_count]) {
        task->step_count++;
    }
    task->steps = apr_pcalloc(c->pool, sizeof *task->steps * (apr_size_t)(task->step_count + 1));
    for (int i = 0; i < task->step_count; i++) {
        task->steps[i].position = i + 1;
        task->steps[i].name = names[i];
    }
}

void ida_op_queued(ida_call *call, ida_ctx *c, const ida_task *task, json_t *warnings)
{
    ida_json_put(call->result, "taskId", task->id);
    ida_json_put(call->result, "userPrincipalName", task->upn);
    ida_json_put(call->result, "scheduledAt", ida_schedule_local(c, task->zone, task->due_at));
    ida_json_put_time(call->result, "scheduledAtUtc", task->due_at);
    json_object_set(call->result, "warnings", warnings);
}
