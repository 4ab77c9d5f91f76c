/* Owns the queueing of a creation: checks, name, mail, seat and task in one transaction. The
 * worker writes to the directory. */
#include "core/operation/people/create.h"

#include <apr_strings.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/person.h"
#include "core/governance/governance.h"
#include "core/model/payload.h"
#include "core/model/unsupported.h"
#include "core/operation/op.h"
#include "core/operation/people/coming.h"
#include "core/operation/people/rehire.h"
#include "core/operation/table.h"
#include "core/operation/tasks/queued.h"
#include "core/operation/tasks/warn.h"
#include "core/queue/change.h"
#include "core/tenant/naming.h"
#include "core/zone/schedule.h"

/* The checked body; lives in the call's pool. */
typedef struct create_input {
    ida_create person;
    zone_due due;
    char *upn_local, *mail_local;
    const char *display_name;
} create_input;

static ida_kind check(ida_call *call)
{
    ida_ctx *c = call->c;
    const ida_tenant *t = call->asked->tenant;
    create_input *in = apr_pcalloc(c->pool, sizeof *in);
    ida_payload_create(c, t, call->asked->body, &in->person);
    ida_kind kind = zone_schedule(c, ZONE_DUE_CREATE, t->time_zone, in->person.date,
                                  in->person.time, &in->due);
    if (!kind && in->person.rehire && !in->person.employee_id) {
        ida_fault_add(c, "rehire", "needs an employeeId: people are never matched by name");
    }
    kind = kind ? kind : ida_faults_raise(c);
    ida_name_parts parts = {in->person.firstname, in->person.middle_name, in->person.surname};
    kind = kind ? kind : ida_naming_local(c, t->username_format, &parts, &in->upn_local);
    kind = kind ? kind : ida_naming_local(c, t->email_format, &parts, &in->mail_local);
    if (!kind) {
        in->display_name = ida_naming_display(c->pool, t->display_name_format, &parts);
        call->input = in;
    }
    return kind;
}

ida_kind ida_op_choose_names(store *s, ida_ctx *c, const ida_tenant *t, const char *upn_local,
                             const char *mail_local, const char *task_id, char **upn, char **mail)
{
    ida_kind kind = queue_address_choose(s, c, t->id, upn_local, t->upn_domain, task_id, upn);
    if (kind || t->same_upn_and_mail) {
        *mail = kind ? NULL : *upn;
        return kind;
    }
    return queue_address_choose(s, c, t->id, mail_local, t->email_domain, task_id, mail);
}

static ida_kind choose_names(ida_call *call, store *s, ida_ctx *c, ida_task *task)
{
    const create_input *in = call->input;
    char *upn, *mail;
    ida_kind kind = ida_op_choose_names(s, c, call->asked->tenant, in->upn_local, in->mail_local,
                                        task->id, &upn, &mail);
    if (!kind) {
        task->upn = upn;
        task->person = ida_fold_address(c->pool, upn);
        task->mail = mail;
    }
    return kind;
}

/* Runs after the insert of the task's row, to which reservations refer. A person's UPN and mail
 * are often the same address: then one reservation. */
static ida_kind reserve_names(store *s, ida_ctx *c, const ida_task *task)
{
    ida_kind kind = queue_address_reserve(s, c, task->tenant, task->upn, task->id);
    if (!kind && strcmp(ida_fold_address(c->pool, task->mail), task->person) != 0) {
        kind = queue_address_reserve(s, c, task->tenant, task->mail, task->id);
    }
    return kind;
}

static ida_task *make_task(ida_call *call, ida_ctx *c)
{
    const create_input *in = call->input;
    const ida_tenant *t = call->asked->tenant;
    ida_task *task = apr_pcalloc(c->pool, sizeof *task);
    json_t *stored = ida_create_to_json(c->pool, &in->person);
    task->id = ida_new_id(c->pool, c->env);
    task->tenant = t->id;
    task->type = IDA_USER_CREATE;
    task->state = IDA_QUEUED;
    task->directory = t->create_users_in;
    task->both = t->create_users_in == IDA_DIR_ON_PREMISES && t->has_directory[IDA_DIR_CLOUD];
    task->display_name = in->display_name;
    task->payload = ida_json_text(c->pool, stored);
    task->seat = in->person.account_enabled;
    task->employee_id = in->person.employee_id ? ida_fold_value(c->pool, in->person.employee_id)
                                               : NULL;
    return task;
}

static void answer(ida_call *call, ida_ctx *c, const ida_task *task, json_t *warnings)
{
    const create_input *in = call->input;
    call->result = ida_json_keep(c->pool, json_object());
    ida_json_put(call->result, "message",
                 apr_psprintf(c->pool, "The creation of %s as %s is queued; %s.",
                              task->display_name, task->upn, ida_op_when(c, task, &in->due)));
    ida_json_put(call->result, "mail", task->mail);
    ida_op_queued(call, c, task, warnings);
}

/* The names of the role templates that the request gives. */
static ida_kind find_templates(ida_call *call, store *s, ida_ctx *c, const json_t **names)
{
    const create_input *in = call->input;
    const json_t *given = in->person.role_templates, *one;
    json_t *found = given ? ida_json_keep(c->pool, json_array()) : NULL;
    size_t i;
    json_array_foreach (given, i, one) {
        const char *named = json_string_value(one);
        ida_role_template *template;
        ida_kind kind = governance_template_find(s, c, call->asked->tenant->id, named, &template);
        if (kind == IDA_NOT_FOUND) {
            return ida_fail(c, IDA_BAD_REQUEST, "roleTemplates: no role template is named \"%s\"",
                            ida_clean(c->pool, named, strlen(named), 128));
        }
        if (kind) {
            return kind;
        }
        json_array_append_new(found, json_string(template->name));
    }
    *names = found;
    return IDA_OK;
}

static ida_kind queue(ida_call *call, store *s, ida_ctx *c, json_t *warnings)
{
    const create_input *in = call->input;
    ida_task *task = make_task(call, c);
    ida_user *manager;
    ida_kind kind = find_templates(call, s, c, &task->role_templates);
    if (!kind) {
        ida_op_schedule(call, c, task, &in->due);
    }
    if (!kind && in->person.manager) {
        kind = ida_op_note_manager(call, s, c, task, in->person.manager, warnings, &manager);
    }
    kind = kind ? kind : choose_names(call, s, c, task);
    if (!kind && task->seat) {
        kind = queue_seat_free(s, c, call->asked->tenant);
    }
    kind = kind ? kind : queue_task_insert(s, c, task);
    kind = kind ? kind : reserve_names(s, c, task);
    kind = kind ? kind : ida_op_warn_of_hold(call, s, c, task, warnings);
    if (!kind) {
        ida_warn_unsupported(c->pool, call->asked->tenant, task->directory,
                             ida_json_load(c->pool, task->payload), in->person.photo_type,
                             warnings);
        answer(call, c, task, warnings);
    }
    return kind;
}

static ida_kind work(ida_call *call, store *s, ida_ctx *c)
{
    create_input *in = call->input;
    json_t *warnings = ida_json_keep(
        c->pool, json_copy(in->person.warnings)); /* a new copy if the transaction is repeated */
    int restored = 0;
    ida_kind kind = IDA_OK;
    if (in->person.replaces) {
        kind = ida_op_replace_hire(call, s, c, &in->person);
    }
    if (!kind && in->person.employee_id) {
        kind = ida_op_rehire(call, s, c, &in->person, &in->due, warnings, &restored);
    }
    if (!kind && !restored) {
        kind = queue(call, s, c, warnings);
    }
    return kind;
}

static const ida_field result[] = {OUT_INCLUDE(ida_queued_members),
                                   OUT_TEXT("mail", ALWAYS | OR_NULL),
                                   OUT_NAMED("rehire", SOMETIMES, "Rehire"), OUT_END};

const ida_operation ida_op_user_create = {
    .name = "user.create",
    .faces = IDA_ON_REST | IDA_ON_CONSOLE,
    .right = IDA_PEOPLE_WRITE,
    IDA_WRITES("POST", "/user"),
    .needs_sync = 1,
    .params = ida_request_params,
    .body = ida_create_members,
    .example = "{\"firstname\":\"Eva\",\"surname\":\"Berg\",\"department\":\"Finance\","
               "\"jobTitle\":\"Controller\",\"employeeId\":\"1042\",\"date\":\"2027-02-01\","
               "\"time\":\"08:00\"}",
    .check = check,
    .work = work,
    .summary = "Queues the creation of a user.",
    .output = result,
    .schema = "QueuedCreation",
};
