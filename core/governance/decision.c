/* Owns decisions about access as rows. Must not know who may decide or how a decision reaches
 * the directory. */
#include "core/governance/decision.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/search_key.h"
#include "core/base/text.h"
#include "core/cache/people.h"
#include "core/governance/whom.h"

#define CANDIDATES_MAX 5

/* Under which of their names the template is assigned to this person already; NULL: it is not. */
static ida_kind assigned_as(store *s, ida_ctx *c, const char *tenant,
                            const ida_role_template *template, const queue_person *person,
                            const char **who, const char **task_id)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_assignment_find,
                               DB_ARGS(DB_T(tenant), DB_T(template->id), QUEUE_PERSON(person)), &r);
    *who = kind ? NULL : DB_ROW(assignment_found, &r, 0)->who.text;
    if (task_id) {
        *task_id = kind ? NULL : DB_ROW(assignment_found, &r, 0)->task_id.text;
    }
    return kind;
}

ida_kind governance_role_assign(store *s, ida_ctx *c, const char *tenant,
                                const ida_role_template *template, const governance_assignee *who,
                                int *added)
{
    const char *had, *person = ida_fold_address(c->pool, who->upn);
    db_result r;
    *added = 0;
    ida_kind kind = assigned_as(s, c, tenant, template, &who->person, &had, NULL);
    if (kind || had) {
        return kind;
    }
    kind = store_write(s, c, STMT_assignment_add,
                       DB_ARGS(DB_T(tenant), DB_T(template->id), DB_T(person), DB_T(who->upn),
                               DB_T(who->user_id), DB_I(ida_now(c->env)), DB_T(who->by),
                               DB_T(who->task_id), DB_T(who->user_id ? who->user_id : person)),
                       &r);
    *added = !kind && r.changes > 0;
    return kind;
}

ida_kind governance_role_task_of(store *s, ida_ctx *c, const char *tenant,
                                 const ida_role_template *template, const governance_assignee *who,
                                 const char **task_id)
{
    const char *had;
    return assigned_as(s, c, tenant, template, &who->person, &had, task_id);
}

ida_kind governance_role_task(store *s, ida_ctx *c, const char *tenant,
                              const ida_role_template *template, const governance_assignee *who)
{
    const char *had;
    ida_kind kind = assigned_as(s, c, tenant, template, &who->person, &had, NULL);
    return kind || !had ? kind
                        : store_write(s, c, STMT_assignment_task,
                                      DB_ARGS(DB_T(tenant), DB_T(template->id), DB_T(had),
                                              DB_T(who->task_id)),
                                      NULL);
}

ida_kind governance_role_holder(store *s, ida_ctx *c, const char *tenant,
                                const ida_role_template *template, const char *named,
                                const char **who)
{
    db_result r;
    *who = NULL;
    ida_kind kind = store_read(s, c, STMT_assignment_under,
                               DB_ARGS(DB_T(tenant), DB_T(template ? template->id : NULL),
                                       DB_T(ida_fold_address(c->pool, named)), DB_T("")),
                               &r);
    if (!kind && r.rows > 1 && template) {
        ida_fail(c, IDA_CONFLICT,
                 "The role template %s was assigned to several people who had the address %s: name "
                 "the one by ID (%s, %s).",
                 template->name, ida_clean(c->pool, named, strlen(named), 128),
                 DB_ROW(assignment_found, &r, 0)->who.text,
                 DB_ROW(assignment_found, &r, 1)->who.text);
        return ida_because(c, "addressOfSeveral", NULL);
    }
    *who = !kind && r.rows ? DB_ROW(assignment_found, &r, 0)->who.text : NULL;
    return kind;
}

ida_kind governance_role_person(store *s, ida_ctx *c, const char *tenant, const char *named,
                                queue_person *person, ida_user **user)
{
    const char *who = NULL;
    ida_kind kind = governance_whom_past(s, c, tenant, named, person, user);
    if (!kind && !person->id) {
        kind = governance_role_holder(s, c, tenant, NULL, named, &who);
        person->id = who ? who : person->address;
    }
    return kind;
}

/* Explains a missing assignment: names the other person if the template was assigned to one who had
 * the same address at that time. */
static ida_kind not_assigned(store *s, ida_ctx *c, const char *tenant,
                             const ida_role_template *template, const queue_person *person,
                             const char *upn)
{
    const char *other = NULL;
    ida_ctx *asking = ida_ctx_make(c->env, c->pool); /* a failure here does not change the
                                                        refusal */
    if (person->address) {
        governance_role_holder(s, asking, tenant, template, person->address, &other);
    }
    return ida_fail(c, IDA_NOT_FOUND, "The role template %s is not assigned to %s.%s",
                    template->name, ida_clean(c->pool, upn, strlen(upn), 128),
                    other ? ida_printf(c->pool,
                                       " It is assigned to the person who had the address before, "
                                       "with the ID %s: give that ID if you mean that one.",
                                       other)
                          : "");
}

ida_kind governance_role_unassign(store *s, ida_ctx *c, const char *tenant,
                                  const ida_role_template *template, const queue_person *person,
                                  const char *upn, const char **task_id)
{
    const char *had;
    ida_kind kind = assigned_as(s, c, tenant, template, person, &had, task_id);
    if (!kind && !had) {
        return not_assigned(s, c, tenant, template, person, upn);
    }
    return kind ? kind
                : store_write(s, c, STMT_assignment_remove,
                              DB_ARGS(DB_T(tenant), DB_T(template->id), DB_T(had)), NULL);
}

/* Which groups could be meant. */
static ida_kind ambiguous(store *s, ida_ctx *c, const char *tenant, const char *name)
{
    const cache_listed_group *groups;
    cache_group_filter filter = {.words = ida_name_key(c->pool, name), .limit = CANDIDATES_MAX};
    ida_ctx *asking = ida_ctx_make(c->env, c->pool); /* a failure here does not change the
                                                        refusal */
    int count = 0;
    json_t *candidates = json_array();
    filter.exactly = 1;
    cache_group_list(s, asking, tenant, &filter, &groups, &count);
    for (int i = 0; i < count; i++) {
        json_array_append_new(candidates, ida_json_texts("id", groups[i].id, "name", groups[i].name,
                                                         "directory", groups[i].directory, NULL));
    }
    return ida_because(c, "groupAmbiguous", json_pack("{s:o}", "candidates", candidates));
}

ida_kind governance_request_create(store *s, ida_ctx *c, const char *tenant,
                                   const ida_access_service *service, const ida_user *user,
                                   const char *justification, const char **id)
{
    const queue_person person = governance_person(c->pool, user);
    const ida_access_request *open;
    ida_group *group;
    ida_kind kind = governance_request_open_of(s, c, tenant, &person, service->name, &open);
    if (!kind) {
        return ida_fail(c, IDA_CONFLICT, "%s has asked for %s already: request %s is open.",
                        user->upn, service->name, open->id);
    }
    if (kind != IDA_NOT_FOUND) {
        return kind;
    }
    ida_ctx_clear(c);
    kind = cache_group_find(s, c, tenant, service->group, &group);
    if (kind == IDA_NOT_FOUND || kind == IDA_CONFLICT) {
        int several = kind == IDA_CONFLICT;
        ida_fail(c, kind, "The service %s grants the group %s, of which the directory has %s.",
                 service->name, service->group,
                 several ? "several: the access catalog must name it by ID" : "none");
        return several ? ambiguous(s, c, tenant, service->group)
                       : ida_because(c, "groupUnknown", NULL);
    }
    if (kind) {
        return kind;
    }
    *id = ida_new_id(c->pool, c->env);
    return store_write(s, c, STMT_request_add,
                       DB_ARGS(DB_T(tenant), DB_T(*id), DB_T(service->name), DB_T(service->group),
                               DB_T(group->id), DB_T(person.address), DB_T(user->upn),
                               DB_T(user->id), DB_T(justification ? justification : ""),
                               DB_I(ida_now(c->env)), DB_T(service->approvers)),
                       NULL);
}

ida_kind governance_request_decide(store *s, ida_ctx *c, const char *tenant, const char *id,
                                   int approved, const char *by, const char *reason)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_request_decide,
                                DB_ARGS(DB_T(tenant), DB_T(id),
                                        DB_T(approved ? "approved" : "denied"),
                                        DB_I(ida_now(c->env)), DB_T(by), DB_T(reason)),
                                &r);
    if (kind || r.changes) {
        return kind;
    }
    ida_fail(c, IDA_CONFLICT, "The access request %s is decided already.", id);
    return ida_because(c, "requestDecided", NULL);
}

ida_kind governance_request_task(store *s, ida_ctx *c, const char *tenant, const char *id,
                                 const char *task_id)
{
    return store_write(s, c, STMT_request_task, DB_ARGS(DB_T(tenant), DB_T(id), DB_T(task_id)),
                       NULL);
}

ida_kind governance_request_end(store *s, ida_ctx *c, const char *tenant, const char *id)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_request_end,
                                DB_ARGS(DB_T(tenant), DB_T(id), DB_I(ida_now(c->env))), &r);
    if (kind || r.changes) {
        return kind;
    }
    ida_fail(c, IDA_CONFLICT, "The access request %s is neither open nor approved.", id);
    return ida_because(c, "requestDecided", NULL);
}

ida_kind governance_request_retain(store *s, ida_ctx *c, const char *tenant, int64_t before,
                                   int max, int *removed)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_request_retain,
                                DB_ARGS(DB_T(tenant), DB_I(before), DB_I(max)), &r);
    *removed = kind ? 0 : (int)r.changes;
    return kind;
}
