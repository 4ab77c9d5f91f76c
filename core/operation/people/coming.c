/* Owns what can be seen and changed of a hire that is still queued: the values it was asked with,
 * and its replacement by another one. */
#include "core/operation/people/coming.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/model/payload.h"
#include "core/operation/people/rehire.h"
#include "core/operation/table.h"
#include "core/queue/change.h"

static ida_kind find(ida_call *call, store *s, ida_ctx *c, const char *id, ida_task **task)
{
    ida_kind kind = queue_task_get(s, c, call->asked->tenant->id, id, 1, task);
    if (kind == IDA_NOT_FOUND || (!kind && (*task)->type != IDA_USER_CREATE)) {
        return ida_fail(c, IDA_NOT_FOUND,
                        "No creation with the task id \"%s\" exists in this tenant.",
                        ida_clean(c->pool, id, strlen(id), 64));
    }
    return kind;
}

/* --- replaced --- */

static ida_kind refuse(ida_ctx *c, const ida_task *task)
{
    int works = task->state == IDA_RUNNING || (task->state == IDA_QUEUED && task->started_at);
    ida_fail(c, IDA_CONFLICT,
             "The creation of %s cannot be replaced: %s. Change the account when it exists.",
             task->upn, works ? "it was begun" : "it is over");
    return ida_because(c, works ? "taskRunning" : "taskOver", NULL);
}

/* Into the pool of the call, because the transaction may be repeated. */
static ida_kind keep_photo(ida_call *call, ida_ctx *c, const ida_task *task, ida_create *person)
{
    ida_create old;
    const json_t *stored = person->photo || !task->payload ? NULL
                                                           : ida_json_load(c->pool, task->payload);
    ida_kind kind = stored ? ida_create_from_json(c, stored, &old) : IDA_OK;
    if (!kind && stored && old.photo) {
        person->photo = apr_pmemdup(call->c->pool, old.photo, old.photo_len);
        person->photo_len = old.photo_len;
        person->photo_type = apr_pstrdup(call->c->pool, old.photo_type);
    }
    return kind;
}

ida_kind ida_op_replace_hire(ida_call *call, store *s, ida_ctx *c, ida_create *person)
{
    ida_task *task;
    ida_kind kind = find(call, s, c, person->replaces, &task);
    if (!kind && (task->state != IDA_QUEUED || task->started_at)) {
        return refuse(c, task);
    }
    kind = kind ? kind : keep_photo(call, c, task, person);
    return kind ? kind : ida_op_cancel_instead(call, s, c, task, "another creation replaces it");
}

/* --- shown --- */

static ida_kind show(ida_call *call)
{
    ida_ctx *c = call->c;
    ida_task *task;
    ida_kind kind = find(call, call->store, c, ida_json_string(call->arguments, "id"), &task);
    if (kind) {
        return kind;
    }
    const json_t *stored = task->payload ? ida_json_load(c->pool, task->payload) : NULL;
    json_t *asked = json_object();
    call->task_id = task->id;
    call->target = task->upn;
    call->result = ida_json_keep(c->pool, json_pack("{s:o}", "asked", asked));
    for (const ida_param *p = ida_create_members; p->name; p++) {
        const char *text = p->type == IDA_PARAM_PHOTO || p->type == IDA_PARAM_WALL
                               ? NULL
                               : ida_json_string(stored, p->name);
        if (text) {
            ida_json_put(asked, p->name, text);
        }
    }
    if (json_object_get(stored, "roleTemplates")) {
        json_object_set(asked, "roleTemplates", json_object_get(stored, "roleTemplates"));
    }
    json_object_set_new(asked, "accountEnabled",
                        json_boolean(json_is_true(json_object_get(stored, "accountEnabled"))));
    json_object_set_new(asked, "photo",
                        json_boolean(ida_json_string(stored, "profilePhoto") != NULL));
    return IDA_OK;
}

static const ida_param params[] = {
    {"id", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 64, .about = "The task's ID."}, {0}};

#define GIVEN(column, name, ...) OUT_TEXT(name, SOMETIMES),
static const ida_field asked_members[] = {
    OUT_TEXT("firstname", SOMETIMES),      OUT_TEXT("surname", SOMETIMES),
    OUT_TEXT("middleName", SOMETIMES),     IDA_PERSON_GIVEN(GIVEN) OUT_TEXT("manager", SOMETIMES),
    OUT_TEXT("rehire", SOMETIMES),         OUT_TEXT("replaces", SOMETIMES),
    OUT_TEXTS("roleTemplates", SOMETIMES), OUT_BOOLEAN("accountEnabled", ALWAYS),
    OUT_BOOLEAN("photo", ALWAYS),          OUT_END};
static const ida_field result[] = {OUT_OBJECT("asked", ALWAYS, asked_members), OUT_END};

const ida_operation ida_op_task_asked = {
    .name = "task.asked",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_PEOPLE_READ,
    IDA_READS("/task/asked"),
    .params = params,
    .run = show,
    .summary = "The values that a creation was asked with.",
    .output = result,
};
