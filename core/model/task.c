/* Owns the words of tasks and their public form. Must not know where tasks are stored. */
#include "core/model/task.h"

#include <apr_tables.h>
#include <string.h>

#include "core/base/json.h"
#include "core/tenant/shape.h"
#include "core/zone/schedule.h"

static const char *const type_texts[] = {"userCreate", "userUpdate", "userDelete", "accessGrant",
                                         "accessRevoke"};
static const char *const state_texts[] = {"queued", "running",   "done",
                                          "failed", "attention", "cancelled"};
static const char *const outcome_texts[] = {NULL,      "done",   "already",
                                            "skipped", "failed", "unknown"};

static const char *const verb_texts[] = {"cancel", "reschedule", "retry", "release"};

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

static int position_of(const char *const *texts, int count, const char *text)
{
    for (int i = 0; i < count && text; i++) {
        if (texts[i] && strcmp(texts[i], text) == 0) {
            return i;
        }
    }
    return -1;
}

const char *ida_task_type_text(ida_task_type type)
{
    return type_texts[type];
}

int ida_task_type_parse(const char *text)
{
    return position_of(type_texts, COUNT(type_texts), text);
}

const char *ida_task_state_text(ida_task_state state)
{
    return state_texts[state];
}

int ida_task_state_parse(const char *text)
{
    return position_of(state_texts, COUNT(state_texts), text);
}

const char *ida_outcome_text(ida_outcome outcome)
{
    return outcome_texts[outcome];
}

int ida_outcome_parse(const char *text)
{
    return text ? position_of(outcome_texts, COUNT(outcome_texts), text) : IDA_STEP_NONE;
}

int ida_task_verb_parse(const char *text)
{
    return position_of(verb_texts, COUNT(verb_texts), text);
}

int ida_task_braked(const ida_task *task)
{
    return task->state == IDA_ATTENTION && !task->started_at;
}

int ida_task_allows(const ida_task *task, ida_task_verb verb)
{
    int stuck = task->state == IDA_FAILED || task->state == IDA_ATTENTION;
    switch (verb) {
    case IDA_TASK_CANCEL: return task->state == IDA_QUEUED || stuck;
    case IDA_TASK_RESCHEDULE: return task->state == IDA_QUEUED || ida_task_braked(task);
    case IDA_TASK_RETRY: return stuck;
    case IDA_TASK_RELEASE: return ida_task_braked(task);
    case IDA_TASK_SETTLE: return task->state == IDA_ATTENTION && !ida_task_braked(task);
    }
    return 0;
}

const char *ida_step_shown(apr_pool_t *pool, const ida_step *step)
{
    if (step->workflow) {
        return ida_printf(pool, "%s/%d %s", step->workflow, step->workflow_position, step->name);
    }
    return step->account ? ida_printf(pool, "%s@%s", step->name, step->account) : step->name;
}

static json_t *steps_json(apr_pool_t *pool, const ida_task *task)
{
    json_t *steps = json_array();
    for (int i = 0; i < task->step_count; i++) {
        const ida_step *step = &task->steps[i];
        json_t *object = json_object();
        ida_json_put(object, "name", ida_step_shown(pool, step));
        ida_json_put_or_null(object, "outcome", ida_outcome_text(step->outcome));
        ida_json_put_or_null(object, "detail", step->detail);
        ida_json_put_time(object, "at", step->at);
        if (step->revoked) {
            json_object_set(object, "revoked", (json_t *)(uintptr_t)step->revoked);
            json_object_set(object, "notRevoked", (json_t *)(uintptr_t)step->not_revoked);
        }
        json_array_append_new(steps, object);
    }
    return steps;
}

static json_t *requester_json(const ida_task *task)
{
    json_t *object = json_object();
    ida_json_put_or_null(object, "username", task->username);
    ida_json_put(object, "label", task->label ? task->label : "");
    ida_json_put(object, "via", task->via);
    return object;
}

static json_t *actions_json(const ida_task *task)
{
    json_t *actions = json_array();
    for (int verb = 0; verb < IDA_TASK_VERBS; verb++) {
        if (ida_task_allows(task, (ida_task_verb)verb)) {
            json_array_append_new(actions, json_string(verb_texts[verb]));
        }
    }
    return actions;
}

/* For a task that has not ended: the directory that it needs is on hold. */
static json_t *hold_json(const ida_task *task)
{
    int open = task->state == IDA_QUEUED || task->state == IDA_RUNNING;
    if (!task->hold || !open) {
        return json_null();
    }
    json_t *object = json_object();
    ida_json_put(object, "directory", ida_directory_name(task->directory));
    ida_json_put(object, "reason", task->hold);
    ida_json_put_time(object, "since", task->hold_since);
    ida_json_put_time(object, "nextProbeAt", task->hold_until);
    return object;
}

/* The reason for people: the task's own, or that of its directory if the task waits for the
 * hold. */
static const char *reason(ida_ctx *c, const ida_task *task)
{
    int waits = task->state == IDA_QUEUED && task->next_at <= ida_now(c->env);
    return task->error ? task->error : waits ? task->hold : NULL;
}

json_t *ida_task_json(ida_ctx *c, const ida_task *task)
{
    json_t *object = json_object();
    json_t *warnings = ida_json_load(c->pool, task->warnings);
    int between_tries = task->state == IDA_QUEUED && task->started_at > 0;
    ida_json_put(object, "id", task->id);
    ida_json_put(object, "type", ida_task_type_text(task->type));
    ida_json_put(object, "state", ida_task_state_text(task->state));
    ida_json_put(object, "userPrincipalName", task->upn);
    ida_json_put_or_null(object, "userId", task->object_id);
    ida_json_put_or_null(object, "displayName", task->display_name);
    ida_json_put(object, "directory", ida_directory_name(task->directory));
    ida_json_put(object, "scheduledAt", zone_schedule_local(c, task->zone, task->due_at));
    ida_json_put_time(object, "scheduledAtUtc", task->due_at);
    ida_json_put(object, "timeZone", task->zone);
    ida_json_put_time(object, "createdAt", task->created_at);
    ida_json_put_time(object, "startedAt", task->started_at);
    ida_json_put_time(object, "finishedAt", task->finished_at);
    json_object_set_new(object, "attempts", json_integer(task->attempts));
    ida_json_put_time(object, "nextAttemptAt", between_tries ? task->next_at : 0);
    json_object_set_new(object, "requestedBy", requester_json(task));
    json_object_set_new(object, "warnings",
                        json_is_array(warnings) ? json_incref(warnings) : json_array());
    ida_json_put_or_null(object, "error", reason(c, task));
    ida_json_put_or_null(object, "correlationId", task->correlation);
    json_object_set_new(object, "braked", json_boolean(ida_task_braked(task)));
    json_object_set_new(object, "hold", hold_json(task));
    json_object_set_new(object, "actions", actions_json(task));
    json_object_set_new(object, "steps", steps_json(c->pool, task));
    return object;
}

/* Built-in steps of each type, before and after the actions of the workflows. setManager and
 * setPhoto are there even if none was requested: they end as `skipped` with the reason. An
 * update that is queued leaves out steps that it does not need, such as initial passwords. */
#define HERE(step)   \
    {                \
        .name = step \
    }
#define IN_CLOUD(step)                   \
    {                                    \
        .name = step, .account = "cloud" \
    }

typedef struct step_frame {
    ida_step before[7], after[4]; /* to the first without a name */
} step_frame;

static const step_frame builtin_steps[] = {
    [IDA_USER_CREATE] = {.before = {HERE("createAccount"), HERE("setManager"), HERE("setPhoto")}},
    [IDA_USER_UPDATE] = {.before = {HERE("updateAccount"), HERE("setManager"), HERE("setPhoto"),
                                    HERE("restoreMemberships")}},
    [IDA_USER_DELETE] = {.before = {HERE("disableAccount"), HERE("revokeSessions"),
                                    HERE("revokeMemberships")},
                         .after = {HERE("verify")}},
    [IDA_ACCESS_GRANT] = {.before = {HERE("addToGroup")}},
    [IDA_ACCESS_REVOKE] = {.before = {HERE("removeFromGroup")}},
};

/* If both directories know the person. In a creation only before actions that may concern the
 * cloud account, in an update only if the person comes back. */
static const step_frame steps_in_both[] = {
    [IDA_USER_CREATE] = {.before = {HERE("createAccount"), HERE("setManager"), HERE("setPhoto"),
                                    HERE("awaitSynchronisation")}},
    [IDA_USER_UPDATE] = {.before = {HERE("updateAccount"), HERE("setManager"), HERE("setPhoto"),
                                    HERE("restoreMemberships"), HERE("awaitSynchronisation"),
                                    IN_CLOUD("restoreMemberships")}},
    [IDA_USER_DELETE] = {.before = {HERE("disableAccount"), IN_CLOUD("revokeSessions"),
                                    HERE("revokeMemberships"), IN_CLOUD("revokeMemberships")},
                         .after = {HERE("awaitSynchronisation"), HERE("verify"),
                                   IN_CLOUD("verify")}},
};

static const step_frame *frame_of(ida_task_type type, int both)
{
    int known = both && type < sizeof steps_in_both / sizeof *steps_in_both &&
                steps_in_both[type].before[0].name;
    return known ? &steps_in_both[type] : &builtin_steps[type];
}

int ida_task_action_follows(ida_task_type type, const char *trigger, const char *action)
{
    return strcmp(trigger, ida_task_type_text(type)) == 0 ||
           (type == IDA_USER_UPDATE && strcmp(trigger, ida_task_type_text(IDA_USER_CREATE)) == 0 &&
            strcmp(action, IDA_ACTION_PASSWORD) == 0);
}

static void add_actions(apr_array_header_t *steps, const json_t *workflow, ida_task_type task)
{
    const char *name = ida_json_string(workflow, "name"),
               *trigger = ida_json_string(workflow, "trigger");
    if (!name || !trigger || json_is_false(json_object_get(workflow, "active"))) {
        return;
    }
    const json_t *actions = json_object_get(workflow, "actions"), *action;
    size_t i;
    json_array_foreach (actions, i, action) {
        const char *type = ida_json_string(action, "type");
        if (type && ida_task_action_follows(task, trigger, type)) {
            APR_ARRAY_PUSH(steps, ida_step) = (ida_step){.name = type,
                                                         .workflow = name,
                                                         .workflow_position = (int)i + 1};
        }
    }
}

/* Role templates of the request itself. */
static void add_templates(apr_pool_t *pool, apr_array_header_t *steps, const json_t *names)
{
    const json_t *name;
    size_t i;
    json_array_foreach (names, i, name) {
        APR_ARRAY_PUSH(steps, ida_step) = (ida_step){
            .name = ida_printf(pool, IDA_STEP_TEMPLATE "%s", json_string_value(name))};
    }
}

/* Actions that act on an account, in whichever directory the group or licence is. */
static int may_need_cloud(const apr_array_header_t *actions)
{
    static const char *const types[] = {"addToGroup", "removeFromGroup", "assignRoleTemplate"};
    for (int i = 0; i < actions->nelts; i++) {
        const ida_step *step = &APR_ARRAY_IDX(actions, i, ida_step);
        if (!step->workflow || position_of(types, COUNT(types), step->name) >= 0) {
            return 1;
        }
    }
    return 0;
}

static void add_steps(apr_array_header_t *steps, const ida_step *more)
{
    for (; more->name; more++) {
        APR_ARRAY_PUSH(steps, ida_step) = *more;
    }
}

void ida_task_plan(apr_pool_t *pool, const ida_tenant *tenant, ida_task *task)
{
    apr_array_header_t *steps = apr_array_make(pool, 16, sizeof(ida_step));
    apr_array_header_t *actions = apr_array_make(pool, 8, sizeof(ida_step));
    json_t *workflow;
    size_t i;
    add_templates(pool, actions, task->role_templates);
    json_array_foreach (json_object_get(tenant->document, "workflows"), i, workflow) {
        add_actions(actions, workflow, task->type);
    }
    const step_frame *frame = frame_of(task->type, task->both && (task->type != IDA_USER_CREATE ||
                                                                  may_need_cloud(actions)));
    add_steps(steps, frame->before);
    apr_array_cat(steps, actions);
    add_steps(steps, frame->after);
    task->steps = (ida_step *)steps->elts;
    task->step_count = steps->nelts;
    for (int at = 0; at < task->step_count; at++) {
        task->steps[at].position = at + 1;
    }
}
