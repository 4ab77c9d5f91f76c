/* Owns the queueing of an offboarding, or the move of the one that is already queued, in one
 * transaction. */
#include <apr_strings.h>

#include "core/base/json.h"
#include "core/governance/whom.h"
#include "core/model/payload.h"
#include "core/operation/op.h"
#include "core/operation/table.h"
#include "core/operation/tasks/change.h"
#include "core/operation/tasks/queued.h"
#include "core/operation/tasks/warn.h"
#include "core/queue/change.h"
#include "core/zone/schedule.h"

typedef struct delete_input {
    ida_delete wanted;
    zone_due due;
} delete_input;

static ida_kind check(ida_call *call)
{
    ida_ctx *c = call->c;
    delete_input *in = apr_pcalloc(c->pool, sizeof *in);
    ida_payload_delete(c, call->asked->body, call->asked->body_lost, &in->wanted);
    ida_kind kind = zone_schedule(c, ZONE_DUE_DELETE, call->asked->tenant->time_zone,
                                  in->wanted.date, in->wanted.time, &in->due);
    kind = kind ? kind : ida_faults_raise(c);
    call->input = in;
    return kind;
}

static void answer(ida_call *call, ida_ctx *c, const ida_task *task, const ida_task *open,
                   json_t *warnings)
{
    const delete_input *in = call->input;
    const char *at = zone_schedule_people(c, task->zone, task->due_at);
    int braked = open && ida_task_braked(open);
    const char *what =
        !open ? "is queued"
        : braked
            ? "waits for release by an administrator (brake on mass offboarding) and has been moved"
            : "was queued already and has been moved";
    const char *when = in->due.past
                           ? apr_pstrcat(c->pool, "the time ", at,
                                         " has passed, so it is carried out ",
                                         braked ? "as soon as it is released" : "now", NULL)
                           : apr_pstrcat(c->pool, braked ? "once released " : "",
                                         "it is carried out at ", at, NULL);
    call->result = ida_json_keep(c->pool, json_object());
    ida_json_put(call->result, "message",
                 apr_psprintf(c->pool, "The deletion (offboarding) of %s %s; %s.", task->upn, what,
                              when));
    ida_op_queued(call, c, task, warnings);
}

/* *moved: the task that existed already. */
static ida_kind queue(store *s, ida_ctx *c, ida_task *task, ida_task **moved)
{
    ida_task *open = NULL;
    const queue_person person = queue_person_of(task);
    ida_kind kind = queue_task_open(s, c, task->tenant, &person, IDA_USER_DELETE, &open);
    *moved = NULL;
    if (kind == IDA_NOT_FOUND) {
        return queue_task_insert(s, c, task);
    }
    if (kind) {
        return kind;
    }
    if (open->state == IDA_RUNNING) {
        return ida_fail(c, IDA_CONFLICT,
                        "The offboarding of %s is being carried out now (task %s).", open->upn,
                        open->id);
    }
    *moved = open;
    task->id = open->id;
    const zone_due due = {.date = task->wall_date,
                          .time = task->wall_time,
                          .zone = task->zone,
                          .at_ms = task->due_at};
    kind = queue_task_move(s, c, task->tenant, open->id, &due, task->payload);
    kind = kind ? kind : queue_task_called(s, c, task);
    return kind ? kind
                : queue_task_changed(s, c, open, ida_task_change_name(IDA_TASK_RESCHEDULE),
                                     task->username);
}

static ida_kind work(ida_call *call, store *s, ida_ctx *c)
{
    const delete_input *in = call->input;
    json_t *warnings = ida_json_keep(
        c->pool, json_copy(in->wanted.warnings)); /* a new copy if the transaction is repeated */
    ida_user *user;
    ida_task *task, *moved;
    ida_kind kind = governance_whom(s, c, call->asked->tenant->id, in->wanted.upn, &user);
    if (kind == IDA_NOT_FOUND) {
        return ida_op_no_such_user(call, s, c, in->wanted.upn);
    }
    if (kind) {
        return kind;
    }
    task = ida_op_task_of(call, c, IDA_USER_DELETE, user);
    task->payload = ida_json_text(c->pool, ida_delete_to_json(c->pool, &in->wanted));
    ida_op_schedule(call, c, task, &in->due);
    task->wall_fixed = 1; /* also for the default, which means a wall time: 17:00 */
    kind = queue_task_name(s, c, task);
    kind = kind ? kind : ida_op_warn_of_brake(call, s, c, task, warnings);
    kind = kind ? kind : ida_op_warn_of_hold(call, s, c, task, warnings);
    kind = kind ? kind : ida_op_warn_of_refusal(call, s, c, user, warnings);
    kind = kind ? kind : queue(s, c, task, &moved);
    if (!kind) {
        answer(call, c, task, moved, warnings);
    }
    return kind;
}

const ida_operation ida_op_user_delete = {
    .name = "user.delete",
    .faces = IDA_ON_REST | IDA_ON_CONSOLE,
    .right = IDA_PEOPLE_WRITE,
    IDA_WRITES("DELETE", "/user"),
    .alias_method = "POST",
    .alias_path = "/user/offboard",
    .needs_sync = 1,
    .params = ida_request_params,
    .body = ida_delete_members,
    .example = "{\"userPrincipalName\":\"eva.berg@contoso.example\",\"date\":\"2027-02-26\","
               "\"time\":\"17:00\"}",
    .check = check,
    .work = work,
    .summary = "Queues the offboarding of a user.",
    .output = ida_queued_members,
    .schema = "QueuedOffboarding",
};
