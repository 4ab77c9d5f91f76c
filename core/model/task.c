/* Owns the words of tasks and their public form. Must not know where tasks are kept. */
#include "core/model/task.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/tenant/shape.h"
#include "core/zone/schedule.h"

static const char *const type_texts[] = {"userCreate", "userUpdate", "userDelete", "accessGrant",
                                         "accessRevoke"};
static const char *const state_texts[] = {"queued", "running",   "done",
                                          "failed", "attention", "cancelled"};
static const char *const outcome_texts[] = {NULL,      "done",   "already",
                                            "skipped", "failed", "unknown"};

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

static json_t *steps_json(const ida_task *task)
{
    json_t *steps = json_array();
    for (int i = 0; i < task->step_count; i++) {
        const ida_step *step = &task->steps[i];
        json_t *object = json_object();
        ida_json_put(object, "name", step->name);
        ida_json_put_or_null(object, "outcome", ida_outcome_text(step->outcome));
        ida_json_put_or_null(object, "detail", step->detail);
        ida_json_put_time(object, "at", step->at);
        json_array_append_new(steps, object);
    }
    return steps;
}

static json_t *requester_json(const ida_task *task)
{
    json_t *object = json_object();
    ida_json_put_or_null(object, "username", task->username);
    ida_json_put(object, "label", task->label ? task->label : "");
    return object;
}

/* What a person should read as the reason: the task's own, else that of its directory, but only
 * where the hold is what it waits for. */
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
    ida_json_put(object, "scheduledAt", zone_schedule_local(c, task->zone, task->due_at));
    ida_json_put_time(object, "scheduledAtUtc", task->due_at);
    ida_json_put_time(object, "createdAt", task->created_at);
    ida_json_put_time(object, "startedAt", task->started_at);
    ida_json_put_time(object, "finishedAt", task->finished_at);
    json_object_set_new(object, "attempts", json_integer(task->attempts));
    ida_json_put_time(object, "nextAttemptAt", between_tries ? task->next_at : 0);
    json_object_set_new(object, "requestedBy", requester_json(task));
    json_object_set_new(object, "warnings",
                        json_is_array(warnings) ? json_incref(warnings) : json_array());
    ida_json_put_or_null(object, "error", reason(c, task));
    json_object_set_new(object, "steps", steps_json(task));
    return object;
}

/* Built-in steps of each type, before and after the actions of the workflows. setManager and
 * setPhoto are there even when none was asked for: they end as `skipped` with the reason. Of an
 * update those that it does not need are left out when it is queued, initial passwords among them.
 */
typedef struct step_frame {
    const char *before[7], *after[4];
} step_frame;

static const step_frame builtin_steps[] = {
    [IDA_USER_CREATE] = {{"createAccount", "setManager", "setPhoto"}, {NULL}},
    [IDA_USER_UPDATE] = {{"updateAccount", "setManager", "setPhoto", "restoreMemberships"}, {NULL}},
    [IDA_USER_DELETE] = {{"disableAccount", "revokeSessions", "revokeMemberships"}, {"verify"}},
    [IDA_ACCESS_GRANT] = {{"addToGroup"}, {NULL}},
    [IDA_ACCESS_REVOKE] = {{"removeFromGroup"}, {NULL}},
};

/* Where both directories know the person. Of a creation only in front of actions that may concern
 * the cloud account, of an update only when the person comes back. */
static const step_frame steps_in_both[] = {
    [IDA_USER_CREATE] = {{"createAccount", "setManager", "setPhoto", "awaitSynchronisation"},
                         {NULL}},
    [IDA_USER_UPDATE] = {{"updateAccount", "setManager", "setPhoto", "restoreMemberships",
                          "awaitSynchronisation", "restoreMemberships@cloud"},
                         {NULL}},
    [IDA_USER_DELETE] = {{"disableAccount", "revokeSessions@cloud", "revokeMemberships",
                          "revokeMemberships@cloud"},
                         {"awaitSynchronisation", "verify", "verify@cloud"}},
};

static const step_frame *frame_of(ida_task_type type, int both)
{
    int known = both && type < sizeof steps_in_both / sizeof *steps_in_both &&
                steps_in_both[type].before[0];
    return known ? &steps_in_both[type] : &builtin_steps[type];
}

int ida_task_action_follows(ida_task_type type, const char *trigger, const char *action)
{
    return strcmp(trigger, ida_task_type_text(type)) == 0 ||
           (type == IDA_USER_UPDATE && strcmp(trigger, ida_task_type_text(IDA_USER_CREATE)) == 0 &&
            strcmp(action, IDA_ACTION_PASSWORD) == 0);
}

static void add_actions(apr_pool_t *pool, apr_array_header_t *names, const json_t *workflow,
                        ida_task_type task)
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
        if (ida_task_action_follows(task, trigger, type ? type : "")) {
            *(const char **)apr_array_push(names) = ida_printf(pool, "%s/%zu %s", name, i + 1,
                                                               type ? type : "");
        }
    }
}

/* Actions that act on an account, in whichever directory the group or licence is. */
static int may_need_cloud(const apr_array_header_t *actions)
{
    static const char *const endings[] = {" addToGroup", " removeFromGroup", " assignRoleTemplate"};
    for (int i = 0; i < actions->nelts; i++) {
        const char *type = strrchr(APR_ARRAY_IDX(actions, i, const char *), ' ');
        for (size_t e = 0; type && e < sizeof endings / sizeof *endings; e++) {
            if (strcmp(type, endings[e]) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

static void add_names(apr_array_header_t *names, const char *const *more)
{
    for (; *more; more++) {
        *(const char **)apr_array_push(names) = *more;
    }
}

const char **ida_task_step_names(apr_pool_t *pool, const ida_tenant *tenant, ida_task_type type,
                                 int both)
{
    apr_array_header_t *names = apr_array_make(pool, 16, sizeof(const char *));
    apr_array_header_t *actions = apr_array_make(pool, 8, sizeof(const char *));
    json_t *workflow;
    size_t i;
    json_array_foreach (json_object_get(tenant->document, "workflows"), i, workflow) {
        add_actions(pool, actions, workflow, type);
    }
    const step_frame *frame = frame_of(type, both && (type != IDA_USER_CREATE ||
                                                      may_need_cloud(actions)));
    add_names(names, frame->before);
    apr_array_cat(names, actions);
    add_names(names, frame->after);
    *(const char **)apr_array_push(names) = NULL;
    return (const char **)names->elts;
}

int ida_task_action_name(apr_pool_t *pool, const char *step, ida_action_name *name)
{
    const char *blank = strrchr(step, ' '), *slash = blank;
    while (slash && slash > step && slash[-1] >= '0' && slash[-1] <= '9') {
        slash--;
    }
    if (!slash || slash == blank || blank - slash > 9 || slash < step + 2 || slash[-1] != '/') {
        return 0;
    }
    name->workflow = apr_pstrmemdup(pool, step, (apr_size_t)(slash - 1 - step));
    name->position = atoi(slash);
    name->type = blank + 1;
    return 1;
}
