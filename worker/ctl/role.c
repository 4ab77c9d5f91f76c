/* idadminctl role: which templates are assigned to whom. Records alone: nothing here calls a directory. */
#include <string.h>

#include "core/json.h"
#include "core/store_audit.h"
#include "core/store_governance_write.h"
#include "core/store_tenant.h"
#include "core/text.h"
#include "worker/ctl/governance.h"

#define PAGE 500

const char ctl_not_carried_out[] = "This is recorded, with its time, and counts for attribution; group memberships in the directory are not changed by it.";

ida_kind ctl_person(ctl_call *ctl, store *s, const char *tenant, const char *upn, ida_user **user)
{
    ida_kind kind = store_user_by_upn(s, ctl->c, tenant, upn, user);
    if (kind != IDA_NOT_FOUND) {
        return kind;
    }
    return ida_fail(ctl->c, kind, "Tenant %s has no user %s in the cache; `idadminctl sync %s` reads the directory again.", tenant, upn, tenant);
}

ida_kind ctl_governed(ctl_call *ctl, store *s, const char *tenant)
{
    ida_tenant *found;
    ida_kind kind = ctl_tenant_exists(ctl, s, tenant);
    if (!kind) {
        kind = store_tenant_get(s, ctl->c, tenant, &found, NULL, NULL);
    }
    if (kind || found->access_governance) {
        return kind;
    }
    return ida_fail(ctl->c, IDA_FORBIDDEN, "The access governance module is not enabled for tenant %s: set \"modules\":{\"accessGovernance\":true} in its "
                                           "document.", tenant);
}

typedef struct role_work {
    ctl_call *ctl;
    int assign;
    ida_role_template *template;
    const char *upn;
    int added;
} role_work;

static ida_kind change_in(store *s, ida_ctx *c, void *baton)
{
    role_work *work = baton;
    ctl_call *ctl = work->ctl;
    const char *tenant = ctl->arguments[0];
    ida_user *user;
    ida_kind kind = store_tenant_lock(s, c, tenant);
    if (!kind) {
        kind = store_template_find(s, c, tenant, ctl->arguments[1], &work->template);
    }
    if (!kind && work->assign) {
        kind = ctl_person(ctl, s, tenant, ctl->arguments[2], &user);
        if (!kind) {
            work->upn = user->upn;
            store_assignee who = {.upn = user->upn, .user_id = user->id, .by = ctl->actor};
            kind = store_role_assign(s, c, tenant, work->template, &who, &work->added);
        }
    } else if (!kind) {
        const char *task_id;
        kind = store_role_unassign(s, c, tenant, work->template, ctl->arguments[2], NULL, &task_id);
    }
    if (kind || (work->assign && !work->added)) {
        return kind; /* what was so already is no event */
    }
    ida_audit *record = ctl_audit(ctl, tenant, work->assign ? "role.assign" : "role.unassign", work->upn);
    record->parameters = ida_json_text(c->pool, ida_json_keep(c->pool, json_pack("{s:s}", "roleTemplate", work->template->name)));
    return store_audit_add(s, c, record);
}

static int change(ctl_call *ctl, int assign)
{
    role_work work = {.ctl = ctl, .assign = assign, .upn = ctl->arguments[2]};
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind) {
        kind = store_transaction(s, ctl->c, change_in, &work);
    }
    if (kind) {
        return ctl_result(ctl, kind);
    }
    json_t *document = ida_json_keep(ctl->pool, json_pack("{s:s, s:s, s:s, s:b, s:s}", "roleTemplate", work.template->name, "roleTemplateId",
                                                          work.template->id, "userPrincipalName", work.upn, "assigned", assign, "note",
                                                          ctl_not_carried_out));
    if (!ctl_json(ctl, document)) {
        ctl_say(ctl, "The role template %s is %s %s%s. %s", work.template->name, assign ? "assigned to" : "no longer assigned to", work.upn,
                assign && !work.added ? " (it was before)" : "", ctl_not_carried_out);
    }
    return CTL_DONE;
}

static int assign(ctl_call *ctl)
{
    return change(ctl, 1);
}

static int unassign(ctl_call *ctl)
{
    return change(ctl, 0);
}

static int list(ctl_call *ctl)
{
    static const ctl_column columns[] = {
        {"TEMPLATE", "roleTemplate"}, {"USER", "userPrincipalName"}, {"ASSIGNED", "assignedAt"}, {"BY", "assignedBy"}, {NULL, NULL}};
    const char *tenant = ctl->arguments[0], *template = "", *person = "";
    const char *one = ctl->argument_count > 1 ? ida_fold_address(ctl->pool, ctl->arguments[1]) : NULL;
    store *s = ctl_store(ctl, DB_REQUEST);
    json_t *rows = ida_json_keep(ctl->pool, json_array());
    int count = PAGE;
    ida_kind kind = ctl_tenant_exists(ctl, s, tenant);
    while (!kind && count == PAGE) {
        const ida_role_assignment *found;
        kind = one ? store_assignment_of(s, ctl->c, tenant, one, PAGE * 2, &found, &count)
                   : store_assignment_list(s, ctl->c, tenant, template, person, PAGE, &found, &count);
        for (int i = 0; !kind && i < count; i++) {
            json_t *row = json_object();
            ida_json_put(row, "roleTemplate", found[i].template_name);
            ida_json_put(row, "roleTemplateId", found[i].template_id);
            ida_json_put(row, "userPrincipalName", found[i].upn);
            ida_json_put_time(row, "assignedAt", found[i].assigned_at);
            ida_json_put(row, "assignedBy", found[i].assigned_by);
            json_array_append_new(rows, row);
            template = found[i].template_id;
            person = found[i].person;
        }
        count = one ? 0 : count;
    }
    if (!kind && !ctl_json(ctl, rows)) {
        ctl_table(ctl, rows, columns, "No role template is assigned.");
    }
    return ctl_result(ctl, kind);
}

const ctl_command ctl_role_commands[] = {
    {"role", "assign", "ID TEMPLATE UPN", 3, 3, "Record that a role template (ID or name) is assigned to a user.", ctl_not_carried_out,
     {{NULL, NULL, NULL}}, assign},
    {"role", "unassign", "ID TEMPLATE UPN", 3, 3, "Record that a role template is no longer assigned to a user.", ctl_not_carried_out,
     {{NULL, NULL, NULL}}, unassign},
    {"role", "list", "ID [UPN]", 1, 2, "List who has which role template.", NULL, {{NULL, NULL, NULL}}, list},
    {0},
};
