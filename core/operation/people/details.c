/* Owns one person in full: what the directory holds, and which tasks are queued for them. */
#include "core/operation/people/details.h"
#include "core/cache/freshness.h"

#include "core/base/json.h"
#include "core/governance/person_state.h"
#include "core/operation/people/find.h"
#include "core/operation/people/person_json.h"
#include "core/operation/table.h"
#include "core/zone/schedule.h"

static json_t *pending_json(ida_ctx *c, const governance_person_state *of)
{
    json_t *tasks = json_array();
    for (int i = 0; i < of->task_count; i++) {
        const governance_pending *t = &of->tasks[i];
        json_array_append_new(
            tasks, ida_json_texts("id", t->id, "type", t->type, "state", t->state, "scheduledAt",
                                  zone_schedule_local(c, t->zone, t->due_at), NULL));
    }
    return tasks;
}

static json_t *templates_json(const governance_person_state *of)
{
    json_t *templates = json_array();
    for (int i = 0; i < of->template_count; i++) {
        json_t *one = ida_json_texts("id", of->templates[i].id, "name", of->templates[i].name,
                                     NULL);
        ida_json_put_time(one, "assignedAt", of->templates[i].assigned_at);
        json_array_append_new(templates, one);
    }
    return templates;
}

ida_kind ida_op_details(ida_call *call, store *s, ida_ctx *c, const ida_user *user,
                        json_t *licenses, json_t **out)
{
    governance_person_state of;
    ida_kind kind = governance_person_state_of(s, c, call->asked->tenant->id, user, &of);
    if (kind) {
        return kind;
    }
    *out = ida_json_keep(c->pool, ida_user_details_json(user, licenses));
    json_object_set_new(*out, "directReportCount", json_integer(of.reports));
    json_object_set_new(*out, "roleTemplates", templates_json(&of));
    json_object_set_new(*out, "pendingTasks", pending_json(c, &of));
    return IDA_OK;
}

static ida_kind details(ida_call *call, store *s, ida_ctx *c)
{
    ida_user *user;
    json_t *licenses = NULL, *told;
    cache_freshness fresh;
    ida_kind kind = ida_op_find_user(call, &user, &licenses);
    kind = kind ? kind : ida_op_details(call, s, c, user, licenses, &told);
    kind = kind ? kind : cache_freshness_get(s, c, call->asked->tenant, &fresh);
    if (!kind) {
        call->result = ida_json_keep(c->pool, json_object());
        json_object_set(call->result, "user", told);
        /* A member that this service wrote has the time of that write until the directory shows
         * the new value. */
        ida_json_put_time(call->result, "asOf",
                          user->written_at && user->written_at < fresh.as_of ? user->written_at
                                                                             : fresh.as_of);
        ida_json_put_time(call->result, "signInsAsOf", fresh.sign_ins_as_of);
    }
    return kind;
}

static const ida_param params[] = {
    {"user", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 256,
     .about = "Object ID or UPN, e.g. eva.berg@contoso.example."},
    {0},
};

static const ida_field sign_ins[] = {OUT_TIME("lastSignInAt", OR_NULL),
                                     OUT_TIME("lastNonInteractiveSignInAt", OR_NULL),
                                     OUT_TIME("lastSuccessfulSignInAt", OR_NULL), OUT_END};
static const ida_field role_template[] = {OUT_TEXT("id", ALWAYS), OUT_TEXT("name", ALWAYS),
                                          OUT_TIME("assignedAt", ALWAYS), OUT_END};
static const ida_field pending[] = {OUT_TEXT("id", ALWAYS), OUT_TEXT("type", ALWAYS),
                                    OUT_TEXT("state", ALWAYS), OUT_TIME("scheduledAt", ALWAYS),
                                    OUT_END};
#define ATTRIBUTE(column, name, ...) OUT_TEXT(name, SOMETIMES),
const ida_field ida_person_detail_members[] = {
    OUT_TEXT("id", ALWAYS),
    IDA_PERSON(ATTRIBUTE) OUT_WORD("status", ALWAYS, ida_person_statuses),
    OUT_TEXT("statusReason", SOMETIMES),
    OUT_WORD("userType", ALWAYS, ida_person_types),
    OUT_TIME("lastSignInAt", ALWAYS | OR_NULL),
    OUT_BOOLEAN("accountEnabled", ALWAYS),
    OUT_TIME("createdAt", ALWAYS | OR_NULL),
    OUT_OBJECT("manager", ALWAYS | OR_NULL, ida_person_members),
    OUT_INTEGER("directReportCount", ALWAYS),
    OUT_OBJECT("signInActivity", ALWAYS, sign_ins),
    OUT_TEXTS("licenses", ALWAYS),
    OUT_TEXTS("directories", ALWAYS),
    OUT_LIST_FOR(IDA_ACCESS_READ, "roleTemplates", role_template),
    OUT_LIST_FOR(IDA_TASKS_READ, "pendingTasks", pending),
    OUT_END};
static const ida_field result[] = {OUT_OBJECT("user", ALWAYS, ida_person_detail_members),
                                   OUT_TIME("asOf", ALWAYS | OR_NULL),
                                   OUT_TIME("signInsAsOf", ALWAYS | OR_NULL), OUT_END};

const ida_operation ida_op_user_details = {
    .name = "user.details",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_PEOPLE_READ,
    IDA_READS("/user/details"),
    .commands = IDA_COMMANDS({"user", "show", .at = {{"user", "UPN"}}, .shown = "user",
                              .summary = "Show a user (UPN or object ID) as of the last "
                                         "synchronisation, with what is queued."}),
    .needs_sync = 1,
    .params = params,
    .work = details,
    .summary = "One user in full, by object ID or UPN.",
    .schema = "UserDetails",
    .tool = "get_user",
    .title = "Get user",
    .description =
        "Returns one user by object ID or UPN: names, address, employee ID, department, job title, "
        "manager, status, licences, sign-in activity, number of direct reports, role templates, "
        "and pendingTasks: what is queued, running or needs attention, e.g. a userDelete for a "
        "person who is leaving. Use search_users first when only a name is known, and "
        "get_user_access for group memberships. Members that the directory does not hold are left "
        "out; a sign-in time of null means never or not recorded as of signInsAsOf.",
    .output = result,
};
