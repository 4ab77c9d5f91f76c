/* Owns what all writes share: one transaction, the answer stored in it under an idempotency key,
 * dry runs that roll everything back. Must not know what is written. */
#include <string.h>

#include "core/base/json.h"
#include "core/cache/freshness.h"
#include "core/operation/op.h"
#include "core/queue/change.h"
#include "core/store/idempotency.h"
#include "core/zone/schedule.h"

const ida_param ida_write_params[] = {IDA_DRY_RUN_PARAM, {0}};
const ida_param ida_request_params[] = {IDA_COMMENT_PARAM, IDA_DRY_RUN_PARAM, {0}};

typedef struct writing {
    ida_call *call;
    int planned;   /* a dry run succeeded */
    json_t *seats; /* as they were before it */
} writing;

static ida_kind replay(ida_call *call, ida_ctx *c, const store_idempotency *row)
{
    json_t *answer = row->answer ? ida_json_load(c->pool, row->answer) : NULL;
    if (strcmp(row->hash, call->asked->once->hash) != 0) {
        return ida_fail(c, IDA_UNPROCESSABLE,
                        "This Idempotency-Key was used for another request before%s%s. Use a new "
                        "key for a new request.",
                        row->task_id ? ": it made or changed task " : "",
                        row->task_id ? row->task_id : "");
    }
    if (!answer) {
        return ida_fail(c, IDA_INTERNAL_ERROR,
                        "The answer kept under an Idempotency-Key is damaged.");
    }
    call->result = answer;
    call->location = row->location;
    call->task_id = row->task_id;
    call->replayed = 1;
    return IDA_OK;
}

ida_kind ida_op_replay(ida_call *call)
{
    store_idempotency row = *call->asked->once;
    int found;
    ida_kind kind = store_idempotency_find(call->store, call->c, &row, &found);
    return kind || !found ? kind : replay(call, call->c, &row);
}

void ida_op_warn_ignored(ida_call *call)
{
    if (!json_array_size(call->ignored)) {
        return;
    }
    json_t *all = json_copy(call->ignored);
    json_array_extend(all, json_object_get(call->result, "warnings"));
    json_object_set_new(call->result, "warnings", all);
}

ida_kind ida_op_seats(store *s, ida_ctx *c, const ida_tenant *tenant, json_t **seats)
{
    int synced;
    int64_t used = 0;
    ida_kind kind = cache_is_synced(s, c, tenant, &synced);
    kind = kind || !synced ? kind : queue_seats_used(s, c, tenant->id, &used);
    *seats = kind ? NULL
                  : json_pack("{s:o, s:o}", "used", synced ? json_integer(used) : json_null(),
                              "limit",
                              tenant->seat_limit < 0 ? json_null()
                                                     : json_integer(tenant->seat_limit));
    return kind;
}

/* The work, and its audit record. */
static ida_kind work(store *s, ida_ctx *c, ida_call *call)
{
    ida_kind kind = ida_op_in_service(call, s, c);
    kind = kind ? kind : call->asked->operation->work(call, s, c);
    if (kind == IDA_NOT_FOUND && call->asked->operation->needs_sync) {
        ida_kind unsure = ida_op_synced(call, s);
        return unsure ? unsure : kind;
    }
    if (!kind) {
        ida_op_warn_ignored(call);
    }
    return kind ? kind : ida_operation_audit(call, s, c);
}

static ida_kind keyed(store *s, ida_ctx *c, ida_call *call)
{
    store_idempotency row = *call->asked->once;
    int taken;
    ida_kind kind = store_idempotency_take(s, c, &row, &taken);
    if (kind || !taken) {
        return kind ? kind : replay(call, c, &row);
    }
    kind = work(s, c, call);
    if (kind) {
        return kind;
    }
    row.answer = ida_json_text(c->pool, call->result);
    row.location = call->location;
    row.task_id = call->task_id;
    return store_idempotency_keep(s, c, &row);
}

/* May be repeated as a whole. */
static ida_kind in_transaction(store *s, ida_ctx *c, void *baton)
{
    writing *w = baton;
    ida_call *call = w->call;
    call->result = NULL;
    call->planned = NULL;
    call->adjustment = NULL;
    call->location = call->task_id = NULL;
    call->replayed = call->audit_written = w->planned = 0;
    if (call->asked->once && !call->dry_run) {
        return keyed(s, c, call);
    }
    ida_kind kind = call->dry_run ? ida_op_seats(s, c, call->asked->tenant, &w->seats) : IDA_OK;
    ida_json_keep(c->pool, w->seats);
    kind = kind ? kind : work(s, c, call);
    if (!kind && call->dry_run) {
        w->planned = 1;
        return ida_fail(c, IDA_CONFLICT,
                        "A dry run is taken back."); /* rolls the transaction back */
    }
    return kind;
}

static const json_t *named(const json_t *list, const char *name)
{
    const json_t *one;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)list, i, one) {
        const char *own = ida_json_string(one, "name");
        if (own && name && strcmp(own, name) == 0) {
            return one;
        }
    }
    return NULL;
}

/* The role template that a step of the request itself gives; NULL: it gives none. */
static const char *template_of(const ida_step *step)
{
    size_t prefix = strlen(IDA_STEP_TEMPLATE);
    return strncmp(step->name, IDA_STEP_TEMPLATE, prefix) == 0 ? step->name + prefix : NULL;
}

/* What a request and actions of workflows give and take: [{workflow, action, group | roleTemplate,
 * groups}], by the names in the tenant document. New reference. */
static json_t *access_of(const json_t *document, const ida_task *task)
{
    json_t *all = json_array();
    for (int i = 0; task && i < task->step_count; i++) {
        const ida_step *step = &task->steps[i];
        const json_t *workflow = named(json_object_get(document, "workflows"), step->workflow);
        const json_t *action = json_array_get(json_object_get(workflow, "actions"),
                                              (size_t)(step->workflow_position - 1));
        const char *group = ida_json_string(action, "group"),
                   *template = step->workflow ? ida_json_string(action, "roleTemplate")
                                              : template_of(step);
        if (!group && !template) {
            continue;
        }
        json_t *one = ida_json_texts("action", step->workflow ? step->name : "assignRoleTemplate",
                                     NULL);
        ida_json_put(one, "workflow", step->workflow);
        ida_json_put(one, "group", group);
        ida_json_put(one, "roleTemplate", template);
        json_t *groups = template
                             ? json_object_get(named(json_object_get(document, "roleTemplates"),
                                                     template),
                                               "groups")
                             : NULL;
        if (groups) {
            json_object_set(one, "groups", groups);
        }
        json_array_append_new(all, one);
    }
    return all;
}

/* {message, plan, warnings} and the operation's own members besides the task it would have
 * queued. */
static void plan(ida_call *call, json_t *seats)
{
    static const char *const of_the_task[] = {"message",           "taskId",
                                              "taskIds",           "requestId",
                                              "userPrincipalName", "mail",
                                              "scheduledAt",       "scheduledAtUtc"};
    ida_ctx *c = call->c;
    const ida_task *task = call->planned;
    json_t *out = json_copy(call->result), *told = json_object(), *steps = json_array();
    for (size_t i = 0; i < sizeof of_the_task / sizeof *of_the_task; i++) {
        json_object_del(out, of_the_task[i]);
    }
    for (int i = 0; task && i < task->step_count; i++) {
        json_array_append_new(steps, json_string(ida_step_shown(c->pool, &task->steps[i])));
    }
    ida_json_put(told, "userPrincipalName", task ? task->upn : call->target);
    if (task) { /* otherwise nothing would be queued */
        ida_json_put_or_null(told, "mail", task->mail);
        ida_json_put_or_null(told, "displayName", task->display_name);
        ida_json_put(told, "scheduledAt", zone_schedule_local(c, task->zone, task->due_at));
        ida_json_put_time(told, "scheduledAtUtc", task->due_at);
        ida_json_put(told, "timeZone", task->zone);
    }
    ida_json_put_or_null(told, "adjustment", call->adjustment);
    json_object_set(told, "seats", seats);
    json_object_set_new(told, "steps", steps);
    json_object_set_new(told, "access", access_of(call->asked->tenant->document, task));
    ida_json_put(
        out, "message",
        "This was a dry run: every check was made, nothing was reserved, queued or changed.");
    json_object_set_new(out, "plan", told);
    if (!json_object_get(out, "warnings")) {
        json_object_set_new(out, "warnings", json_array());
    }
    call->result = ida_json_keep(c->pool, out);
    call->task_id = call->location = NULL;
}

ida_kind ida_op_write(ida_call *call)
{
    writing w = {.call = call};
    ida_kind kind = ida_call_transaction(call, in_transaction, &w);
    if (!w.planned) {
        return kind;
    }
    ida_ctx_clear(call->c);
    call->audit_written = 0; /* its record was rolled back too */
    plan(call, w.seats);
    return IDA_OK;
}
