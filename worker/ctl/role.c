/* idadminctl role: who has which role template. A decision is recorded at once; tasks carry it into
 * the directories. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/decision.h"
#include "core/queue/change.h"
#include "core/store/audit.h"
#include "core/store/tenant.h"
#include "worker/ctl/governance.h"

#define PAGE 500

typedef struct role_work {
    ctl_call *ctl;
    ida_role_template *template;
    ida_user *user; /* NULL: the cache has nobody of that UPN (unassign alone) */
    const char *upn;
    int added, under_way;
    ctl_orders orders;
} role_work;

static access_grantor grantor_of(const role_work *work)
{
    return (access_grantor){governance_by_template, work->template->id, work->template->name};
}

static ida_kind audited(store *s, ida_ctx *c, const role_work *work, const char *action)
{
    audit_record *record = ctl_audit(work->ctl, work->ctl->arguments[0], action, work->upn);
    record->parameters = ida_json_text(
        c->pool,
        ida_json_keep(c->pool, json_pack("{s:s, s:O}", "roleTemplate", work->template->name,
                                         "tasks", work->orders.tasks)));
    return store_audit_add(s, c, record);
}

static int same(const access_item *a, const access_item *b)
{
    return a->license == b->license && a->directory == b->directory && a->id && b->id &&
           (a->license ? strcasecmp(a->id, b->id) : strcmp(a->id, b->id)) == 0;
}

/* Those of `all` that are not among `others`. */
static access_item *without(apr_pool_t *pool, const access_item *all, int count,
                            const access_item *others, int other_count, int *left)
{
    access_item *rest = apr_palloc(pool, (apr_size_t)(count + 1) * sizeof *rest);
    *left = 0;
    for (int i = 0; i < count; i++) {
        int found = 0;
        for (int n = 0; !found && n < other_count; n++) {
            found = same(&all[i], &others[n]);
        }
        if (!found) {
            rest[(*left)++] = all[i];
        }
    }
    return rest;
}

/* 1 in *open when the task of an assignment is not over. */
static ida_kind is_open(store *s, ida_ctx *c, const char *tenant, const char *task_id, int *open)
{
    ida_task *task;
    *open = 0;
    ida_kind kind = task_id ? queue_task_get(s, c, tenant, task_id, 0, &task) : IDA_NOT_FOUND;
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        return IDA_OK;
    }
    *open = !kind && (task->state == IDA_QUEUED || task->state == IDA_RUNNING);
    return kind;
}

/* Orders the difference between what the template says and what the person was given by it:
 * everything at first, what a changed document adds or takes later. */
static ida_kind order_difference(store *s, ida_ctx *c, role_work *work)
{
    const access_item *wanted, *given;
    int wanted_count, given_count, give, take;
    access_grantor by = grantor_of(work);
    ida_kind kind = governance_template_items(s, c, work->ctl->arguments[0], work->template,
                                              work->user->directory, &wanted, &wanted_count);
    kind = kind ? kind : ctl_given(work->ctl, s, c, work->user, &by, &given, &given_count);
    if (kind) {
        return kind;
    }
    access_item *missing = without(c->pool, wanted, wanted_count, given, given_count, &give);
    access_item *extra = without(c->pool, given, given_count, wanted, wanted_count, &take);
    kind = ctl_order(work->ctl, s, c, IDA_ACCESS_GRANT, work->user, &by, missing, give,
                     &work->orders);
    return kind ? kind
                : ctl_order(work->ctl, s, c, IDA_ACCESS_REVOKE, work->user, &by, extra, take,
                            &work->orders);
}

static ida_kind assign_in(store *s, ida_ctx *c, void *baton)
{
    role_work *work = baton;
    const char *tenant = work->ctl->arguments[0], *task_id = NULL;
    ctl_no_orders(work->ctl, &work->orders);
    ida_kind kind = store_tenant_lock(s, c, tenant);
    kind = kind ? kind
                : governance_template_find(s, c, tenant, work->ctl->arguments[1], &work->template);
    kind = kind ? kind : ctl_person(work->ctl, s, tenant, work->ctl->arguments[2], &work->user);
    if (kind) {
        return kind;
    }
    work->upn = work->user->upn;
    governance_assignee who = {.upn = work->upn, .user_id = work->user->id, .by = work->ctl->actor};
    kind = governance_role_task_of(s, c, tenant, work->template, &who, &task_id);
    kind = kind ? kind : is_open(s, c, tenant, task_id, &work->under_way);
    kind = kind ? kind : governance_role_assign(s, c, tenant, work->template, &who, &work->added);
    if (!kind && !work->under_way) {
        kind = order_difference(s, c, work);
    }
    if (kind || (!work->added && !work->orders.first)) {
        return kind; /* what was so already is no event */
    }
    who.task_id = work->orders.first;
    kind = who.task_id ? governance_role_task(s, c, tenant, work->template, &who) : IDA_OK;
    return kind ? kind : audited(s, c, work, "role.assign");
}

static ida_kind unassign_in(store *s, ida_ctx *c, void *baton)
{
    role_work *work = baton;
    const char *tenant = work->ctl->arguments[0], *task_id = NULL;
    const access_item *given = NULL, *wanted = NULL;
    int given_count = 0, wanted_count = 0, more = 0;
    ctl_no_orders(work->ctl, &work->orders);
    ida_kind kind = store_tenant_lock(s, c, tenant);
    kind = kind ? kind
                : governance_template_find(s, c, tenant, work->ctl->arguments[1], &work->template);
    if (!kind && (kind = ctl_person(work->ctl, s, tenant, work->ctl->arguments[2], &work->user)) ==
                     IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        work->user = NULL;
        kind = IDA_OK;
    }
    if (kind) {
        return kind;
    }
    work->upn = work->user ? work->user->upn : work->ctl->arguments[2];
    kind = governance_role_unassign(s, c, tenant, work->template, work->upn,
                                    work->user ? work->user->id : NULL, &task_id);
    kind = kind ? kind : is_open(s, c, tenant, task_id, &work->under_way);
    if (!kind && work->user) {
        access_grantor by = grantor_of(work);
        kind = ctl_given(work->ctl, s, c, work->user, &by, &given, &given_count);
        /* A task at work may give something more until it learns of this. */
        if (!kind && work->under_way &&
            governance_template_items(s, c, tenant, work->template, work->user->directory, &wanted,
                                      &wanted_count)) {
            ida_ctx_clear(c);
            wanted_count = 0;
        }
        access_item *rest = without(c->pool, wanted, wanted_count, given, given_count, &more);
        access_item *all = apr_palloc(c->pool, (apr_size_t)(given_count + more + 1) * sizeof *all);
        memcpy(all, given, (size_t)given_count * sizeof *all);
        memcpy(all + given_count, rest, (size_t)more * sizeof *all);
        kind = kind ? kind
                    : ctl_order(work->ctl, s, c, IDA_ACCESS_REVOKE, work->user, &by, all,
                                given_count + more, &work->orders);
    }
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
    role_work work = {.ctl = ctl};
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind) {
        kind = store_transaction(s, ctl->c, in, &work);
    }
    if (kind) {
        return ctl_result(ctl, kind);
    }
    json_t *document = ida_json_keep(
        ctl->pool, json_pack("{s:s, s:s, s:s, s:b, s:O, s:O}", "roleTemplate", work.template->name,
                             "roleTemplateId", work.template->id, "userPrincipalName", work.upn,
                             "assigned", assign, "tasks", work.orders.tasks, "notGranted",
                             assign ? work.orders.homeless : json_null()));
    if (ctl_json(ctl, document)) {
        return CTL_DONE;
    }
    ctl_say(ctl, "The role template %s is %s %s%s.", work.template->name,
            assign ? "assigned to" : "no longer assigned to", work.upn,
            assign && !work.added ? " (it was before)" : "");
    if (json_array_size(work.orders.tasks)) {
        ctl_say(ctl, "Queued: %s; `idadminctl task show %s TASK` tells what came of it.",
                joined(ctl->pool, work.orders.tasks), ctl->arguments[0]);
    } else {
        ctl_say(ctl, assign && work.under_way ? "Its task is still under way."
                                              : "There is nothing to do in the directory.");
    }
    if (assign && json_array_size(work.orders.homeless)) {
        ctl_say(ctl, "Not given, because the user has no account in that directory: %s.",
                joined(ctl->pool, work.orders.homeless));
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
    const char *tenant = ctl->arguments[0], *template = "", *person = "";
    const char *one = ctl->argument_count > 1 ? ida_fold_address(ctl->pool, ctl->arguments[1])
                                              : NULL;
    store *s = ctl_store(ctl, DB_REQUEST);
    json_t *rows = ida_json_keep(ctl->pool, json_array());
    int count = PAGE;
    ida_kind kind = ctl_tenant_exists(ctl, s, tenant);
    while (!kind && count == PAGE) {
        const ida_role_assignment *found;
        kind = one ? governance_assignment_of(s, ctl->c, tenant, one, PAGE * 2, &found, &count)
                   : governance_assignment_list(s, ctl->c, tenant, template, person, PAGE, &found,
                                                &count);
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
    {"role",
     "assign",
     "ID TEMPLATE UPN",
     3,
     3,
     "Assign a role template (ID or name) to a user.",
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
     "Take a role template from a user.",
     "A task takes away what the template gave, but for what the user had before and what another "
     "assigned template or approved request grants.",
     {{NULL, NULL, NULL}},
     unassign},
    {"role",
     "list",
     "ID [UPN]",
     1,
     2,
     "List who has which role template.",
     NULL,
     {{NULL, NULL, NULL}},
     list},
    {0},
};
