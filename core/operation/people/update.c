/* Owns the queueing of an update: person, new values, and a seat if it enables the account, in
 * one transaction. Other tasks queued for the person are checked too: an update must not bring
 * back a person who is leaving. */
#include "core/operation/people/update.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/governance/whom.h"
#include "core/model/payload.h"
#include "core/model/unsupported.h"
#include "core/operation/op.h"
#include "core/operation/table.h"
#include "core/operation/tasks/queued.h"
#include "core/operation/tasks/warn.h"
#include "core/queue/change.h"
#include "core/queue/rehire.h"
#include "core/tenant/naming.h"
#include "core/tenant/shape.h"
#include "core/zone/schedule.h"

typedef struct update_input {
    ida_update wanted;
    zone_due due;
} update_input;

static ida_kind check(ida_call *call)
{
    ida_ctx *c = call->c;
    update_input *in = apr_pcalloc(c->pool, sizeof *in);
    ida_payload_update(c, call->asked->body, &in->wanted);
    ida_kind kind = zone_schedule(c, ZONE_DUE_UPDATE, call->asked->tenant->time_zone,
                                  in->wanted.date, in->wanted.time, &in->due);
    kind = kind ? kind : ida_faults_raise(c);
    call->input = in;
    return kind;
}

static void warn(json_t *warnings, const char *text)
{
    json_array_append_new(warnings, json_string(text));
}

/* A queued offboarding of the person: an enabling after it would restore access that was to end. */
static ida_kind look_at_offboarding(store *s, ida_ctx *c, const ida_task *task,
                                    const ida_update *update)
{
    ida_task *leaving;
    const queue_person person = queue_person_of(task);
    ida_kind kind = queue_task_open(s, c, task->tenant, &person, IDA_USER_DELETE, &leaving);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        return IDA_OK;
    }
    if (kind) {
        return kind;
    }
    const char *state = leaving->state == IDA_RUNNING ? "is being carried out now" : "is queued";
    if (update->enabled == 1) {
        return ida_fail(c, IDA_CONFLICT,
                        "The account of %s cannot be enabled: its offboarding %s (task %s). Cancel "
                        "that task first, or send the person as a new employee with the employeeId "
                        "and \"rehire\":\"restore\".",
                        task->upn, state, leaving->id);
    }
    if (leaving->state == IDA_RUNNING || leaving->due_at <= task->due_at) {
        warn(update->warnings,
             ida_printf(c->pool,
                        "The offboarding of %s %s (task %s); this update is carried out after it.",
                        task->upn, state, leaving->id));
    }
    return IDA_OK;
}

/* One seat for each person, however many updates enable them. The marker lets the cache's count
 * replace the seat once the account is enabled in the directory. */
static ida_kind take_seat(ida_call *call, store *s, ida_ctx *c, ida_task *task,
                          const ida_user *user)
{
    int counted;
    task->marker = task->id;
    if (user->guest) {
        return IDA_OK; /* guests take none */
    }
    const queue_person person = queue_person_of(task);
    ida_kind kind = queue_seat_of_person(s, c, task->tenant, &person, NULL, &counted);
    if (!kind && !counted) {
        kind = queue_seat_free(s, c, call->asked->tenant);
        task->seat = !kind;
    }
    return kind;
}

static ida_kind check_people(ida_call *call, store *s, ida_ctx *c, ida_task *task,
                             const ida_user *user, const ida_update *update)
{
    if (!update->manager) {
        return IDA_OK;
    }
    ida_user *manager;
    ida_kind kind = ida_op_note_manager(call, s, c, task, update->manager, update->warnings,
                                        &manager);
    if (!kind && manager &&
        (strcmp(manager->id, user->id) == 0 ||
         (user->other_id && strcmp(manager->id, user->other_id) == 0))) {
        return ida_fail(c, IDA_BAD_REQUEST, "manager: a person cannot be their own manager");
    }
    return kind;
}

/* The name in tasks and messages; the step computes it again from the person's names at that
 * time. */
static void name_task(ida_call *call, ida_ctx *c, ida_task *task, const ida_update *update,
                      const ida_user *user)
{
    static const char *const names[] = {"firstname", "surname", "middleName"};
    const char *format = call->asked->tenant->display_name_format;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!json_object_get(update->values, names[i])) {
            continue;
        }
        const char *first = ida_json_string(update->values, "firstname"),
                   *last = ida_json_string(update->values, "surname");
        ida_name_parts parts = {first              ? first
                                : user->given_name ? user->given_name
                                                   : "",
                                ida_json_string(update->values, "middleName"),
                                last            ? last
                                : user->surname ? user->surname
                                                : ""};
        task->display_name = ida_naming_display(c->pool, format, &parts);
        if (strstr(format, "{middleName") && !json_object_get(update->values, "middleName")) {
            warn(update->warnings, "The display name is formed without a middle name, which only "
                                   "the directory has: send middleName too.");
        }
        return;
    }
}

static void drop_steps(ida_task *task, const ida_update *update)
{
    if (!update->memberships) {
        ida_op_drop_step(task, IDA_ACTION_PASSWORD, NULL); /* without a restore the account keeps
                                                              its password */
    }
    if (!json_object_size(update->values) && update->enabled < 0) {
        ida_op_drop_step(task, "updateAccount", NULL);
    }
    if (!update->manager_given) {
        ida_op_drop_step(task, "setManager", NULL);
    }
    if (!update->photo_given) {
        ida_op_drop_step(task, "setPhoto", NULL);
    }
    /* On-premises an account that comes back also gets its keys and certificates. */
    if (!update->memberships ||
        (task->directory == IDA_DIR_CLOUD && !ida_update_gives_back(update, task->directory))) {
        ida_op_drop_step(task, "restoreMemberships", NULL);
    }
    int in_cloud = ida_update_gives_back(update, IDA_DIR_CLOUD);
    if (!in_cloud) {
        ida_op_drop_step(task, "restoreMemberships", ida_directory_name(IDA_DIR_CLOUD));
    }
    if (!in_cloud && update->enabled < 0) {
        ida_op_drop_step(task, "awaitSynchronisation",
                         NULL); /* no change that the cloud account would have to follow */
    }
}

ida_kind ida_op_queue_update(ida_call *call, store *s, ida_ctx *c, const ida_user *user,
                             ida_update *update, const zone_due *due, ida_task **out)
{
    ida_task *task = *out = ida_op_task_of(call, c, IDA_USER_UPDATE, user);
    task->payload = ida_json_text(c->pool, ida_update_to_json(c->pool, update));
    /* The cloud may have dropped an account that was disabled on-premises: it returns when that
     * is enabled. */
    task->both |= task->directory == IDA_DIR_ON_PREMISES &&
                  ida_update_gives_back(update, IDA_DIR_CLOUD);
    ida_op_schedule(call, c, task, due);
    drop_steps(task, update);
    ida_update_check_photo(c, task->directory, update);
    ida_kind kind = ida_faults_raise(c);
    kind = kind ? kind : queue_task_name(s, c, task);
    kind = kind ? kind : check_people(call, s, c, task, user, update);
    kind = kind ? kind : look_at_offboarding(s, c, task, update);
    const char *password = NULL;
    if (!kind && update->enabled == 1) {
        kind = take_seat(call, s, c, task, user);
        kind = kind || user->enabled ? kind : queue_rehire_password(s, c, task, &password);
    }
    if (password) {
        warn(update->warnings, password);
    }
    if (!kind && update->enabled == 0) {
        task->disables = 1;
        kind = ida_op_warn_of_brake(call, s, c, task, update->warnings);
    }
    if (kind) {
        return kind;
    }
    name_task(call, c, task, update, user);
    ida_warn_unsupported(c->pool, call->asked->tenant, task->directory, update->values,
                         update->photo_type, update->warnings);
    kind = queue_task_insert(s, c, task);
    return kind ? kind : ida_op_warn_of_hold(call, s, c, task, update->warnings);
}

static ida_kind work(ida_call *call, store *s, ida_ctx *c)
{
    const update_input *in = call->input;
    ida_update update = in->wanted;
    ida_user *user;
    ida_task *task;
    update.warnings = ida_json_keep(
        c->pool, json_copy(in->wanted.warnings)); /* a new copy if the transaction is repeated */
    ida_kind kind = governance_whom(s, c, call->asked->tenant->id, update.upn, &user);
    if (kind == IDA_NOT_FOUND) {
        return ida_op_no_such_user(call, s, c, update.upn);
    }
    kind = kind ? kind : ida_op_queue_update(call, s, c, user, &update, &in->due, &task);
    if (kind) {
        return kind;
    }
    call->result = ida_json_keep(c->pool, json_object());
    ida_json_put(call->result, "message",
                 apr_psprintf(c->pool, "The update of %s is queued; %s.", task->upn,
                              ida_op_when(c, task, &in->due)));
    ida_op_queued(call, c, task, update.warnings);
    return IDA_OK;
}

const ida_operation ida_op_user_update = {
    .name = "user.update",
    .faces = IDA_ON_REST | IDA_ON_CONSOLE,
    .right = IDA_PEOPLE_WRITE,
    IDA_WRITES("PATCH", "/user"),
    .alias_method = "POST",
    .alias_path = "/user/update",
    .needs_sync = 1,
    .params = ida_request_params,
    .body = ida_update_members,
    .example = "{\"userPrincipalName\":\"eva.berg@contoso.example\",\"department\":\"Sales\","
               "\"manager\":\"karl.ek@contoso.example\"}",
    .check = check,
    .work = work,
    .summary = "Queues a change of a user; members that are left out stay as they are.",
    .output = ida_queued_members,
    .schema = "QueuedUpdate",
};
