/* Owns the operations on who has which role template. */
#include <stddef.h>

#include "core/base/json.h"
#include "core/governance/decision.h"
#include "core/operation/access/act.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/people/known.h"
#include "core/operation/people/person_json.h"
#include "core/operation/table.h"

/* --- the list --- */

/* The template and the person that the arguments name. */
static ida_kind read_filter(ida_call *call, store *s, ida_ctx *c, governance_assigned_filter *f,
                            queue_person *person)
{
    const char *template = ida_json_string(call->arguments, "roleTemplate"),
               *named = ida_json_string(call->arguments, "user");
    ida_role_template *found;
    ida_user *user;
    ida_kind kind = template
                        ? governance_template_find(s, c, call->asked->tenant->id, template, &found)
                        : IDA_OK;
    if (kind) {
        return kind;
    }
    f->template_id = template ? found->id : NULL;
    if (!named) {
        return IDA_OK;
    }
    f->person = person;
    return governance_role_person(s, c, call->asked->tenant->id, named, person, &user);
}

static ida_kind add(ida_page *page, const ida_role_assignment *a)
{
    const ida_user *user;
    ida_kind kind = ida_op_known_person(page, a->user_id ? a->user_id : a->upn, &user);
    if (kind) {
        return kind;
    }
    json_t *item = json_object();
    json_object_set_new(item, "roleTemplate",
                        ida_json_texts("id", a->template_id, "name", a->template_name, NULL));
    json_object_set_new(item, "user", ida_person_or_stored(user, a->user_id, a->upn));
    ida_json_put_time(item, "assignedAt", a->assigned_at);
    ida_json_put(item, "assignedBy", a->assigned_by);
    ida_json_put_or_null(item, "taskId", a->task_id);
    ida_json_put_or_null(item, "taskState", a->task_state);
    ida_page_add(page, item, ida_place("ss", a->template_id, a->who));
    return IDA_OK;
}

static ida_kind list(ida_call *call, store *s, ida_ctx *c)
{
    const ida_role_assignment *rows;
    governance_assigned_filter filter = {0};
    queue_person person;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "ss", &page);
    kind = kind ? kind : read_filter(call, s, c, &filter, &person);
    filter.after_template = ida_place_text(page->from, 0);
    filter.after_who = ida_place_text(page->from, 1);
    filter.limit = page->limit + 1;
    filter.count_max = IDA_COUNT_MOST;
    kind = kind ? kind
                : governance_assignment_page(s, c, call->asked->tenant->id, &filter, &rows,
                                             &page->count, &page->total);
    for (int i = 0; !kind && ida_page_row(page, i); i++) {
        kind = add(page, &rows[i]);
    }
    return kind ? kind : ida_page_result(page);
}

static const ida_param list_params[] = {
    {"roleTemplate", IDA_PARAM_STRING, .max = 256, .about = "ID or name of a role template."},
    {"user", IDA_PARAM_STRING, .max = 256, .about = "Object ID or UPN."},
    IDA_LIST_PARAMS,
    {0},
};

static const ida_field template[] = {OUT_TEXT("id", ALWAYS), OUT_TEXT("name", ALWAYS), OUT_END};
static const ida_field item[] = {OUT_OBJECT("roleTemplate", ALWAYS, template),
                                 OUT_OBJECT("user", ALWAYS, ida_person_members),
                                 OUT_TIME("assignedAt", ALWAYS | OR_NULL),
                                 OUT_TEXT("assignedBy", ALWAYS),
                                 OUT_TEXT("taskId", OR_NULL),
                                 OUT_TEXT("taskState", OR_NULL),
                                 OUT_END};

const ida_operation ida_op_assignments = {
    .name = "role.assignments",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_ACCESS_READ,
    IDA_READS("/role/assignments"),
    .commands = IDA_COMMANDS(
        {"role", "list", .at = {{"user", "UPN"}},
         .columns = "roleTemplate user assignedAt assignedBy taskState taskId",
         .summary = "List who has which role template, or those of one user (UPN or object ID)."}),
    .needs_sync = 1,
    .lists = 1,
    .params = list_params,
    .work = list,
    .summary = "Who has which role template.",
    .item = item,
};

/* --- given and taken --- */

typedef struct role_input {
    const char *template, *user;
} role_input;

static const ida_param role_members[] = {
    {"roleTemplate", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 256,
     .at = offsetof(role_input, template), .about = "ID or name of the role template."},
    {"user", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 256, .at = offsetof(role_input, user),
     .about = "Object ID or UPN."},
    {0},
};

static ida_kind check(ida_call *call)
{
    call->input = apr_pcalloc(call->c->pool, sizeof(role_input));
    ida_params_read(call->c, call->asked->body, role_members, "is required", call->input);
    return ida_faults_raise(call->c);
}

static governance_role_act act_of(const ida_call *call)
{
    const role_input *in = call->input;
    return (governance_role_act){.by = ida_op_actor(call),
                                 .template_named = in->template,
                                 .user_named = in->user};
}

static const char *what_follows(const governance_role_act *act)
{
    return act->orders.first ? "tasks apply it in the directory"
           : act->under_way  ? "its task is still in progress"
                             : "there is nothing to do in the directory";
}

static ida_kind assign(ida_call *call, store *s, ida_ctx *c)
{
    governance_role_act act = act_of(call);
    ida_kind kind = governance_act_assign(s, c, &act);
    return kind ? kind
                : ida_op_acted(call, s, c, &act.orders, act.upn,
                               ida_printf(c->pool, "The role template %s is assigned to %s%s; %s.",
                                          act.template->name, act.upn,
                                          act.added ? "" : " (it was before)", what_follows(&act)),
                               NULL);
}

static ida_kind unassign(ida_call *call, store *s, ida_ctx *c)
{
    governance_role_act act = act_of(call);
    ida_kind kind = governance_act_unassign(s, c, &act);
    return kind ? kind
                : ida_op_acted(call, s, c, &act.orders, act.upn,
                               ida_printf(c->pool,
                                          "The role template %s is no longer assigned to %s; %s.",
                                          act.template->name, act.upn, what_follows(&act)),
                               NULL);
}

/* Members that both acts share. */
#define ROLE_ACT                                                         \
    .faces = IDA_ON_CONSOLE, .right = IDA_ACCESS_WRITE, .needs_sync = 1, \
    .params = ida_write_params, .body = role_members, .check = check, .output = ida_acted_members

const ida_operation ida_op_role_assign = {
    .name = "role.assign",
    ROLE_ACT,
    IDA_WRITES("POST", "/role/assign"),
    .commands = IDA_COMMANDS(
        {"role", "assign", .at = {{"roleTemplate", "TEMPLATE"}, {"user", "UPN"}},
         .summary = "Assign a role template (ID or name) to a user (UPN or object ID).",
         .help = "A task puts the user into the template's groups and gives its licences; what the "
                 "user had before stays when the template is removed. For a user who has the "
                 "template already the difference is queued: a changed tenant document alone "
                 "changes no access."}),
    .work = assign,
    .summary = "Assigns a role template to a person.",
};

const ida_operation ida_op_role_unassign = {
    .name = "role.unassign",
    ROLE_ACT,
    IDA_WRITES("POST", "/role/unassign"),
    .commands = IDA_COMMANDS(
        {"role", "unassign", .at = {{"roleTemplate", "TEMPLATE"}, {"user", "UPN"}},
         .summary = "Remove a role template from a user (UPN or object ID).",
         .help = "A task revokes what the template granted, except what the user had before and "
                 "what another assigned template or approved request grants."}),
    .work = unassign,
    .summary = "Removes a role template from a person.",
};
