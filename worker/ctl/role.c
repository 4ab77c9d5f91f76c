/* idadminctl role: who has which role template. A decision is recorded at once; tasks carry it into
 * the directories. */
#include <string.h>

#include "core/base/json.h"
#include "core/governance/decision.h"
#include "core/store/audit.h"
#include "worker/ctl/governance.h"

#define PAGE 500

typedef struct role_work {
    ctl_call *ctl;
    governance_role_act act;
} role_work;

static ida_kind audited(store *s, ida_ctx *c, const role_work *work, const char *action)
{
    audit_record *record = ctl_audit(work->ctl, work->ctl->arguments[0], action, work->act.upn);
    record->parameters = ida_json_text(
        c->pool,
        ida_json_keep(c->pool, json_pack("{s:s, s:O}", "roleTemplate", work->act.template->name,
                                         "tasks", work->act.orders.tasks)));
    return store_audit_add(s, c, record);
}

static ida_kind assign_in(store *s, ida_ctx *c, void *baton)
{
    role_work *work = baton;
    ida_kind kind = governance_act_assign(s, c, &work->act);
    int event = work->act.added || work->act.orders.first; /* what was so already is none */
    return kind || !event ? kind : audited(s, c, work, "role.assign");
}

static ida_kind unassign_in(store *s, ida_ctx *c, void *baton)
{
    role_work *work = baton;
    ida_kind kind = governance_act_unassign(s, c, &work->act);
    return kind ? kind : audited(s, c, work, "role.unassign");
}

static const char *joined(apr_pool_t *pool, const json_t *texts)
{
    const char *all = "";
    const json_t *one;
    size_t i;
    json_array_foreach ((json_t *)texts, i, one) {
        all = ida_printf(pool, "%s%s%s", all, i ? ", " : "", json_string_value(one));
    }
    return all;
}

static int change(ctl_call *ctl, store_work in, int assign)
{
    role_work work = {.ctl = ctl,
                      .act = {.by = ctl_actor(ctl),
                              .template_named = ctl->arguments[1],
                              .user_named = ctl->arguments[2]}};
    const governance_role_act *act = &work.act;
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind) {
        kind = store_transaction(s, ctl->c, in, &work);
    }
    if (kind) {
        return ctl_result(ctl, kind);
    }
    json_t *document = ida_json_keep(
        ctl->pool, json_pack("{s:s, s:s, s:s, s:b, s:O, s:O}", "roleTemplate", act->template->name,
                             "roleTemplateId", act->template->id, "userPrincipalName", act->upn,
                             "assigned", assign, "tasks", act->orders.tasks, "notGranted",
                             assign ? act->orders.homeless : json_null()));
    if (ctl_json(ctl, document)) {
        return CTL_DONE;
    }
    ctl_say(ctl, "The role template %s is %s %s%s.", act->template->name,
            assign ? "assigned to" : "no longer assigned to", act->upn,
            assign && !act->added ? " (it was before)" : "");
    if (json_array_size(act->orders.tasks)) {
        ctl_say(ctl, "Queued: %s; `idadminctl task show %s TASK` tells what came of it.",
                joined(ctl->pool, act->orders.tasks), ctl->arguments[0]);
    } else {
        ctl_say(ctl, assign && act->under_way ? "Its task is still under way."
                                              : "There is nothing to do in the directory.");
    }
    if (assign && json_array_size(act->orders.homeless)) {
        ctl_say(ctl, "Not given, because the user has no account in that directory: %s.",
                joined(ctl->pool, act->orders.homeless));
    }
    return CTL_DONE;
}

static int assign(ctl_call *ctl)
{
    return change(ctl, assign_in, 1);
}

static int unassign(ctl_call *ctl)
{
    return change(ctl, unassign_in, 0);
}

static int list(ctl_call *ctl)
{
    static const ctl_column columns[] = {{"TEMPLATE", "roleTemplate"},
                                         {"USER", "userPrincipalName"},
                                         {"ASSIGNED", "assignedAt"},
                                         {"BY", "assignedBy"},
                                         {NULL, NULL}};
    const char *tenant = ctl->arguments[0];
    governance_assigned_filter filter = {
        .after_template = "", .after_who = "", .limit = PAGE, .count_max = 1};
    store *s = ctl_store(ctl, DB_REQUEST);
    json_t *rows = ida_json_keep(ctl->pool, json_array());
    queue_person person;
    ida_user *user;
    int count = PAGE;
    ida_kind kind = ctl_tenant_exists(ctl, s, tenant);
    if (!kind && ctl->argument_count > 1) {
        filter.person = &person;
        kind = governance_role_person(s, ctl->c, tenant, ctl->arguments[1], &person, &user);
    }
    while (!kind && count == PAGE) {
        const ida_role_assignment *found;
        int64_t total;
        kind = governance_assignment_page(s, ctl->c, tenant, &filter, &found, &count, &total);
        for (int i = 0; !kind && i < count; i++) {
            json_t *row = json_object();
            ida_json_put(row, "roleTemplate", found[i].template_name);
            ida_json_put(row, "roleTemplateId", found[i].template_id);
            ida_json_put(row, "userPrincipalName", found[i].upn);
            ida_json_put_time(row, "assignedAt", found[i].assigned_at);
            ida_json_put(row, "assignedBy", found[i].assigned_by);
            json_array_append_new(rows, row);
            filter.after_template = found[i].template_id;
            filter.after_who = found[i].who;
        }
    }
    if (!kind && !ctl_json(ctl, rows)) {
        ctl_table(ctl, rows, columns, "No role template is assigned.");
    }
    return ctl_result(ctl, kind);
}

const ctl_command ctl_role_commands[] = {
    {"role",
     "assign",
     "ID TEMPLATE UPN",
     3,
     3,
     "Assign a role template (ID or name) to a user (UPN or object ID).",
     "A task puts the user into the template's groups and gives its licences; what the user had "
     "before stays when the template is taken away. For a user who has the template already the "
     "difference is queued: a changed tenant document changes nobody's access by itself.",
     {{NULL, NULL, NULL}},
     assign},
    {"role",
     "unassign",
     "ID TEMPLATE UPN",
     3,
     3,
     "Take a role template from a user (UPN or object ID).",
     "A task takes away what the template gave, but for what the user had before and what another "
     "assigned template or approved request grants.",
     {{NULL, NULL, NULL}},
     unassign},
    {"role",
     "list",
     "ID [UPN]",
     1,
     2,
     "List who has which role template, or those of one user (UPN or object ID).",
     NULL,
     {{NULL, NULL, NULL}},
     list},
    {0},
};
