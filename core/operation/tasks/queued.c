/* Owns what all queued writes share: the due time in the task, the members of the answer about
 * it, and the lookup of the person. */
#include "core/operation/tasks/queued.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/whom.h"
#include "core/queue/change.h"

void ida_op_schedule(ida_call *call, ida_ctx *c, ida_task *task, const zone_due *due)
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
    task->username = call->asked->principal->username;
    task->label = call->asked->principal->label;
    task->via = call->asked->face->via;
    call->adjustment = due->adjustment;
    ida_task_plan(c->pool, call->asked->tenant, task);
}

static int is_step(const ida_step *step, const char *name, const char *account)
{
    return strcmp(step->name, name) == 0 && !step->account == !account &&
           (!account || strcmp(step->account, account) == 0);
}

void ida_op_drop_step(ida_task *task, const char *name, const char *account)
{
    int kept = 0;
    for (int i = 0; i < task->step_count; i++) {
        if (!is_step(&task->steps[i], name, account)) {
            task->steps[kept] = task->steps[i];
            task->steps[kept].position = kept + 1;
            kept++;
        }
    }
    task->step_count = kept;
}

ida_task *ida_op_task_of(ida_call *call, ida_ctx *c, ida_task_type type, const ida_user *user)
{
    ida_task *task = apr_pcalloc(c->pool, sizeof *task);
    task->id = ida_new_id(c->pool, c->env);
    task->tenant = call->asked->tenant->id;
    task->type = type;
    task->state = IDA_QUEUED;
    task->directory = user->in[IDA_DIR_ON_PREMISES] ? IDA_DIR_ON_PREMISES : IDA_DIR_CLOUD;
    task->object_id = user->directory == task->directory ? user->id : user->other_id;
    task->both = user->in[IDA_DIR_CLOUD] && user->in[IDA_DIR_ON_PREMISES];
    task->other_id = user->directory == task->directory ? user->other_id : user->id;
    task->upn = user->upn;
    task->person = ida_fold_address(c->pool, user->upn);
    task->mail = user->mail;
    task->display_name = user->display_name;
    return task;
}

ida_kind ida_op_warn_of_brake(ida_call *call, store *s, ida_ctx *c, const ida_task *task,
                              json_t *warnings)
{
    int64_t expected, limit = call->asked->tenant->brake_per_hour, now = ida_now(c->env);
    if (limit <= 0) {
        return IDA_OK;
    }
    ida_kind kind = queue_task_disablings_expected(s, c, task->tenant,
                                                   task->who ? task->who : task->object_id,
                                                   task->due_at > now ? task->due_at : now,
                                                   &expected);
    if (!kind && expected >= limit) {
        json_array_append_new(
            warnings,
            json_string(ida_printf(
                c->pool,
                "The brake on mass offboarding (%lld an hour) is reached: this task will likely be "
                "held for attention until a person, or another API key than this one, releases it.",
                (long long)limit)));
    }
    return kind;
}

/* No account has the address now: names the person who had it when a task was queued, so that a
 * caller who does not know the new address finds them. */
static ida_kind who_was_it(store *s, ida_ctx *c, const char *tenant, const char *upn,
                           const char *shown)
{
    queue_person person;
    ida_user *user = NULL;
    ida_ctx *asking = ida_ctx_make(c->env, c->pool); /* a failure here does not change the
                                                        refusal */
    if (!strchr(upn, '@')) {
        return ida_fail(c, IDA_NOT_FOUND, "No user with the ID \"%s\" exists in this tenant.",
                        shown);
    }
    governance_whom_past(s, asking, tenant, upn, &person, &user);
    return ida_fail(
        c, IDA_NOT_FOUND, "No user with the userPrincipalName \"%s\" exists in this tenant.%s",
        shown,
        user && user->upn
            ? ida_printf(c->pool,
                         " The person who had it when a task was queued is now %s (ID %s).",
                         user->upn, user->id)
            : "");
}

ida_kind ida_op_no_such_user(ida_call *call, store *s, ida_ctx *c, const char *upn)
{
    ida_task *creation;
    const char *shown = ida_clean(c->pool, upn, strlen(upn), 128);
    const queue_person person = {.address = ida_fold_address(c->pool, upn)};
    ida_kind kind = queue_task_open(s, c, call->asked->tenant->id, &person, IDA_USER_CREATE,
                                    &creation);
    if (kind == IDA_OK && creation->state == IDA_QUEUED) {
        return ida_fail(c, IDA_NOT_FOUND,
                        "The user \"%s\" does not exist yet: the creation is still queued. Wait "
                        "until it is done, or cancel it with DELETE /v1/api/task?id=%s.",
                        shown, creation->id);
    }
    if (kind != IDA_OK && kind != IDA_NOT_FOUND) {
        return kind;
    }
    return who_was_it(s, c, call->asked->tenant->id, upn, shown);
}

/* What the answer says of a manager who cannot be one when the task is carried out, or not yet. */
static const char *manager_warning(ida_ctx *c, const ida_task *task, const ida_user *manager,
                                   const ida_task *creation)
{
    if (manager && !manager->enabled) {
        return ida_printf(c->pool,
                          "manager: the account of %s is disabled: unless it is enabled by then, "
                          "nobody is set as manager",
                          manager->upn ? manager->upn : manager->id);
    }
    return creation && creation->due_at > task->next_at
               ? ida_printf(c->pool,
                            "manager: %s is created later than this task is carried out, at %s "
                            "(task %s), and is set then; nothing else waits for it",
                            creation->upn,
                            zone_schedule_people(c, creation->zone, creation->due_at), creation->id)
               : NULL;
}

ida_kind ida_op_note_manager(ida_call *call, store *s, ida_ctx *c, ida_task *task,
                             const char *named, json_t *warnings, ida_user **manager)
{
    const char *tenant = call->asked->tenant->id;
    ida_task *creation = NULL;
    ida_kind kind = cache_user_by_upn(s, c, tenant, named, manager);
    if (kind == IDA_NOT_FOUND) {
        const queue_person person = {.address = ida_fold_address(c->pool, named)};
        *manager = NULL;
        kind = queue_task_open(s, c, tenant, &person, IDA_USER_CREATE, &creation);
    }
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, IDA_BAD_REQUEST,
                        "manager: no user with the userPrincipalName \"%s\" exists in this tenant "
                        "or is queued for creation",
                        ida_clean(c->pool, named, strlen(named), 128));
    }
    if (kind) {
        return kind;
    }
    ida_ctx_clear(c);
    json_t *payload = ida_json_load(c->pool, task->payload);
    ida_json_put(payload, *manager ? "managerId" : "managerCreation",
                 *manager ? (*manager)->id : creation->id);
    task->payload = ida_json_text(c->pool, payload);
    const char *warning = manager_warning(c, task, *manager, creation);
    if (warning) {
        json_array_append_new(warnings, json_string(warning));
    }
    return IDA_OK;
}

const char *ida_op_when(ida_ctx *c, const ida_task *task, const zone_due *due)
{
    return due->past     ? "the asked time has passed, so it is carried out now"
           : !due->given ? "it is carried out now"
                         : apr_pstrcat(c->pool, "it is carried out at ",
                                       zone_schedule_people(c, task->zone, task->due_at), NULL);
}

const ida_field ida_queued_members[] = {OUT_TEXT("message", ALWAYS),
                                        OUT_TEXT("taskId", ALWAYS),
                                        OUT_TEXT("userPrincipalName", ALWAYS),
                                        OUT_TIME("scheduledAt", ALWAYS),
                                        OUT_TIME("scheduledAtUtc", ALWAYS),
                                        OUT_TEXTS("warnings", ALWAYS),
                                        OUT_END};

void ida_op_queued(ida_call *call, ida_ctx *c, const ida_task *task, json_t *warnings)
{
    call->task_id = task->id;
    call->target = task->upn;
    call->location = ida_printf(c->pool, "/v1/api/task?id=%s", task->id);
    call->planned = task;
    ida_json_put(call->result, "taskId", task->id);
    ida_json_put(call->result, "userPrincipalName", task->upn);
    ida_json_put(call->result, "scheduledAt", zone_schedule_local(c, task->zone, task->due_at));
    ida_json_put_time(call->result, "scheduledAtUtc", task->due_at);
    json_object_set(call->result, "warnings", warnings);
}
