/* Owns the task operations: one task, the list, and the changes people make. The store has the
 * rules of states. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/whom.h"
#include "core/model/payload.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/table.h"
#include "core/operation/tasks/change.h"

static const char *const states[] = {"queued",    "running",   "done", "failed",
                                     "attention", "cancelled", NULL};
static const char *const types[] = {"userCreate",  "userUpdate",   "userDelete",
                                    "accessGrant", "accessRevoke", NULL};

static const char *const orders[] = {"newest", "due", NULL};

#define ID_PARAM                                                                         \
    {                                                                                    \
        "id", IDA_PARAM_STRING, IDA_PARAM_REQUIRED,                                      \
            .max = 64, .about = "The task's ID, as taskId of the answer that queued it." \
    }

static void answer(ida_call *call, const ida_task *task)
{
    call->task_id = task->id;
    call->target = task->upn;
    call->result = ida_task_result(call->c, task);
}

static ida_kind run_get(ida_call *call)
{
    const char *id = ida_json_string(call->arguments, "id");
    ida_task *task;
    ida_kind kind = queue_task_get(call->store, call->c, call->asked->tenant->id, id, 0, &task);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(call->c, IDA_NOT_FOUND, "No task with the id \"%s\" exists in this tenant.",
                        ida_clean(call->c->pool, id, strlen(id), 64));
    }
    if (!kind) {
        answer(call, task);
    }
    return kind;
}

static const ida_param get_params[] = {ID_PARAM, {0}};

static const ida_field get_result[] = {OUT_NAMED("task", ALWAYS, "Task"), OUT_END};

const ida_operation ida_op_task_get = {
    .name = "task.get",
    .faces = IDA_ON_REST | IDA_ON_CONSOLE,
    .right = IDA_TASKS_READ,
    IDA_READS("/task"),
    .commands = IDA_COMMANDS({"task", "show", .any_document = 1, .at = {{"id", "TASK"}},
                              .shown = "task",
                              .summary = "Show a task with the outcome of each step."}),
    .params = get_params,
    .run = run_get,
    .one_state = 1,
    .summary = "One queued, running or finished task with its steps.",
    .output = get_result,
    .schema = "TaskResult",
};

static ida_kind check_list(ida_call *call)
{
    int64_t from = ida_argument_time(call, "dueFrom"), to = ida_argument_time(call, "dueTo");
    if (from && to && from > to) {
        ida_fault_add(call->c, "dueFrom", "must not be after dueTo");
    }
    return ida_faults_raise(call->c);
}

static ida_kind run_list(ida_call *call)
{
    ida_ctx *c = call->c;
    const char *upn = ida_json_string(call->arguments, "userPrincipalName"),
               *order = ida_json_string(call->arguments, "order");
    const json_t *braked = json_object_get(call->arguments, "braked");
    int by_due = order && strcmp(order, "due") == 0;
    ida_task *tasks;
    queue_person person;
    ida_user *user;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, by_due ? "is" : "s", &page);
    if (!kind && upn) {
        kind = governance_whom_past(call->store, c, call->asked->tenant->id, upn, &person, &user);
    }
    if (kind) {
        return kind;
    }
    queue_task_filter filter = {
        .state = ida_argument_words(call, "state"),
        .type = ida_argument_words(call, "type"),
        .person = upn ? &person : NULL,
        .username = ida_json_string(call->arguments, "username"),
        .due_from = ida_argument_time(call, "dueFrom"),
        .due_to = ida_argument_time(call, "dueTo"),
        .braked = !braked                ? QUEUE_BRAKED_OR_NOT
                  : json_is_true(braked) ? QUEUE_BRAKED
                                         : QUEUE_NOT_BRAKED,
        .order = by_due ? QUEUE_BY_DUE : QUEUE_NEWEST,
        .before_id = page->from ? ida_place_text(page->from, by_due) : NULL,
        .after_due = page->from && by_due ? ida_place_number(page->from, 0) : 0,
        .limit = page->limit + 1, /* one more, to know whether there is a next page */
        .count_max = IDA_COUNT_MOST,
    };
    if (filter.braked == QUEUE_BRAKED && !filter.state) {
        filter.state = ida_task_state_text(IDA_ATTENTION); /* in no other */
    }
    kind = queue_task_list(call->store, c, call->asked->tenant->id, &filter, &tasks, &page->count,
                           &page->total);
    for (int i = 0; !kind && ida_page_row(page, i); i++) {
        ida_page_add(page, ida_task_json(c, &tasks[i]),
                     by_due ? ida_place("is", tasks[i].due_at, tasks[i].id)
                            : ida_place("s", tasks[i].id));
    }
    return kind ? kind : ida_page_result(page);
}

static const ida_param list_params[] = {
    {"state", IDA_PARAM_LIST, .allowed = states,
     .about = "Only tasks in these states, separated by commas."},
    {"type", IDA_PARAM_LIST, .allowed = types,
     .about = "Only tasks of these types, separated by commas."},
    {"userPrincipalName", IDA_PARAM_STRING, .max = 256,
     .about = "Only tasks of this person, by UPN or object ID."},
    {"username", IDA_PARAM_STRING, .max = 256,
     .about = "Only tasks that this API user or person asked for."},
    {"dueFrom", IDA_PARAM_TIME, .about = "Only tasks due at this instant or later."},
    {"dueTo", IDA_PARAM_TIME, .about = "Only tasks due before this instant."},
    {"braked", IDA_PARAM_BOOLEAN,
     .about = "true: only tasks that the brake holds; false: only others."},
    {"order", IDA_PARAM_STRING, .allowed = orders,
     .about = "newest (default): as queued, the newest first; due: by scheduled instant, the "
              "earliest first."},
    IDA_LIST_PARAMS,
    {0},
};

static const ida_field list_result[] = {OUT_NAMED_LIST("items", ALWAYS, "Task"),
                                        OUT_INTEGER("totalCount", ALWAYS),
                                        OUT_TEXT("nextCursor", ALWAYS | OR_NULL),
                                        OUT_TIME("asOf", ALWAYS | OR_NULL), OUT_END};

const ida_operation ida_op_task_list = {
    .name = "task.list",
    .faces = IDA_ON_REST | IDA_ON_CONSOLE,
    .right = IDA_TASKS_READ,
    IDA_READS("/tasks"),
    .commands = IDA_COMMANDS(
        {"task", "list", .any_document = 1, .named = {{"userPrincipalName", "user"}},
         .columns = "id type state userPrincipalName scheduledAt attempts error",
         .summary = "List a tenant's tasks, newest first."}),
    .params = list_params,
    .check = check_list,
    .run = run_list,
    .summary = "Tasks of the tenant, newest first.",
    .output = list_result,
    .lists = 1,
    .schema = "TaskList",
};

/* --- changes --- */

typedef struct change_input {
    ida_task_verb verb;
    ida_moment moment;
    const char *waiting;
} change_input;

static ida_kind change(ida_call *call, store *s, ida_ctx *c)
{
    const change_input *in = call->input;
    ida_task_change wanted = {.verb = in->verb,
                              .tenant = call->asked->tenant->id,
                              .id = ida_json_string(call->arguments, "id"),
                              .by = call->asked->principal->username,
                              .person = call->asked->person != NULL,
                              .seen = call->asked->seen,
                              .date = in->moment.date,
                              .time = in->moment.time,
                              .waiting = in->waiting};
    ida_kind kind = ida_task_change_in(s, c, &wanted);
    if (kind) {
        return kind;
    }
    answer(call, wanted.task);
    call->planned = wanted.task;
    call->adjustment = wanted.adjustment;
    if (wanted.own && in->verb == IDA_TASK_RELEASE) {
        call->remark = "released by the person who had queued it";
    }
    ida_json_put(call->result, "message", wanted.message);
    return IDA_OK;
}

static ida_kind check(ida_call *call)
{
    change_input *in = call->input = apr_pcalloc(call->c->pool, sizeof *in);
    while (strcmp(ida_task_change_name(in->verb), call->asked->operation->name) != 0) {
        in->verb++;
    }
    if (call->asked->operation->body) {
        ida_payload_moment(call->c, call->asked->body, &in->moment);
    }
    return ida_faults_raise(call->c);
}

static ida_kind look(ida_call *call)
{
    change_input *in = call->input;
    ida_task_change looked = {.verb = in->verb,
                              .tenant = call->asked->tenant->id,
                              .id = ida_json_string(call->arguments, "id")};
    ida_kind kind = ida_task_change_look(call->store, call->c, &looked);
    in->waiting = looked.waiting;
    return kind;
}

static const ida_param change_params[] = {ID_PARAM, IDA_COMMENT_PARAM, IDA_DRY_RUN_PARAM, {0}};

static const ida_field changed_task[] = {OUT_TEXT("message", ALWAYS),
                                         OUT_NAMED("task", ALWAYS, "Task"),
                                         OUT_TEXTS("warnings", SOMETIMES), OUT_END};

/* Members that the four changes share. */
#define TASK_CHANGE                                                                              \
    .faces = IDA_ON_REST | IDA_ON_CONSOLE, .params = change_params, .check = check, .run = look, \
    .work = change, .output = changed_task, .schema = "ChangedTask"

const ida_operation ida_op_task_cancel = {
    .name = "task.cancel",
    TASK_CHANGE,
    .right = IDA_TASKS_WRITE,
    IDA_WRITES("DELETE", "/task"),
    .commands = IDA_COMMANDS(
        {"task", "cancel", .any_document = 1, .at = {{"id", "TASK"}},
         .summary = "Cancel a task that is queued, failed or needs attention.",
         .help = "Seat and names become free unless the account was created or may have been."}),
    .while_paused = 1,
    .alias_method = "POST",
    .alias_path = "/task/cancel",
    .summary = "Cancels a task that is not running yet.",
};

const ida_operation ida_op_task_reschedule = {
    .name = "task.reschedule",
    TASK_CHANGE,
    .right = IDA_TASKS_WRITE,
    IDA_WRITES("PATCH", "/task"),
    .commands = IDA_COMMANDS(
        {"task", "reschedule", .at = {{"id", "TASK"}, {"date", "DATE"}, {"time", "TIME"}},
         .summary =
             "Give a queued task another date and time of the tenant's zone (YYYY-MM-DD HH:mm)."}),
    .alias_method = "POST",
    .alias_path = "/task/reschedule",
    .body = ida_moment_members,
    .example = "{\"date\":\"2027-02-08\",\"time\":\"08:00\"}",
    .summary = "Gives a task that is not running yet another date and time.",
};

const ida_operation ida_op_task_retry = {
    .name = "task.retry",
    TASK_CHANGE,
    .right = IDA_TASKS_WRITE,
    IDA_WRITES("POST", "/task/retry"),
    .commands = IDA_COMMANDS(
        {"task", "retry", .any_document = 1, .at = {{"id", "TASK"}},
         .summary = "Queue a task again at once that failed or needs attention."}),
    .summary = "Queues a task again that has failed or needs attention.",
};

const ida_operation ida_op_task_release = {
    .name = "task.release",
    TASK_CHANGE,
    .right = IDA_TASKS_RELEASE,
    IDA_WRITES("POST", "/task/release"),
    .commands = IDA_COMMANDS({"task", "release", .any_document = 1, .at = {{"id", "TASK"}},
                              .summary = "Release an offboarding, or an update that disables an "
                                         "account, that the brake holds."}),
    .summary = "Releases what the brake holds; not with the API key that asked for it.",
};

const ida_operation ida_op_task_settle = {
    .name = "task.settle",
    .params = change_params,
    .check = check,
    .run = look,
    .work = change,
    .output = changed_task,
    .schema = "ChangedTask",
    .right = IDA_TASKS_RELEASE,
    IDA_WRITES("POST", "/task/settle"),
    .commands = IDA_COMMANDS(
        {"task", "settle", .any_document = 1, .at = {{"id", "TASK"}},
         .summary = "End a task as done that was carried out, as you have seen in the directory.",
         .help = "For a task that needs attention and that the brake does not hold, such as one "
                 "that a restore brought back. Nothing is done in the directory."}),
    .summary = "Ends a task as done that was carried out.",
};
