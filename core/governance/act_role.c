/* Owns the assignment and removal of role templates. A decision is recorded at once; tasks carry
 * it into the directories. */
#include <string.h>

#include "core/governance/act.h"
#include "core/governance/decision.h"
#include "core/governance/whom.h"
#include "core/queue/change.h"

static access_grantor grantor_of(const governance_role_act *act)
{
    return (access_grantor){governance_by_template, act->template->id, act->template->name};
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

/* Sets *open to 1 if the task of an assignment has not finished. */
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

/* Queues the difference between the template and what the person was assigned by it: everything
 * at first, later what a changed document adds or removes. */
static ida_kind order_difference(store *s, ida_ctx *c, governance_role_act *act)
{
    const access_item *wanted, *given;
    int wanted_count, given_count, give, take;
    access_grantor by = grantor_of(act);
    ida_kind kind = governance_template_items(s, c, act->by.tenant, act->template,
                                              act->user->directory, &wanted, &wanted_count);
    kind = kind ? kind
                : governance_given(s, c, act->by.tenant, act->user, &by, &given, &given_count);
    if (kind) {
        return kind;
    }
    access_item *missing = without(c->pool, wanted, wanted_count, given, given_count, &give);
    access_item *extra = without(c->pool, given, given_count, wanted, wanted_count, &take);
    const governance_order grant = {IDA_ACCESS_GRANT, act->user, &by, missing, give},
                           revoke = {IDA_ACCESS_REVOKE, act->user, &by, extra, take};
    kind = governance_order_all(s, c, &act->by, &grant, &act->orders);
    return kind ? kind : governance_order_all(s, c, &act->by, &revoke, &act->orders);
}

ida_kind governance_act_assign(store *s, ida_ctx *c, governance_role_act *act)
{
    const char *tenant = act->by.tenant, *task_id = NULL;
    act->added = act->under_way = 0;
    governance_no_orders(c, &act->orders);
    ida_kind kind = governance_template_find(s, c, tenant, act->template_named, &act->template);
    kind = kind ? kind : governance_act_whom(s, c, tenant, act->user_named, &act->user);
    if (kind) {
        return kind;
    }
    act->upn = act->user->upn;
    governance_assignee who = {.person = governance_person(c->pool, act->user),
                               .upn = act->upn,
                               .user_id = act->user->id,
                               .by = act->by.username};
    kind = governance_role_task_of(s, c, tenant, act->template, &who, &task_id);
    kind = kind ? kind : is_open(s, c, tenant, task_id, &act->under_way);
    kind = kind ? kind : governance_role_assign(s, c, tenant, act->template, &who, &act->added);
    if (!kind && !act->under_way) {
        kind = order_difference(s, c, act);
    }
    if (kind || (!act->added && !act->orders.first)) {
        return kind; /* what was so already is no event */
    }
    who.task_id = act->orders.first;
    return who.task_id ? governance_role_task(s, c, tenant, act->template, &who) : IDA_OK;
}

/* Also finds a person who has left or has another address now, by what was recorded at
 * assignment. */
static ida_kind find_holder(store *s, ida_ctx *c, governance_role_act *act, queue_person *person)
{
    const char *tenant = act->by.tenant, *who = NULL;
    *person = (queue_person){.id = act->user_named};
    act->user = NULL;
    act->upn = act->user_named;
    ida_kind kind = governance_act_whom(s, c, tenant, act->user_named, &act->user);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        kind = governance_role_holder(s, c, tenant, act->template, act->user_named, &who);
        person->id = who ? who : act->user_named;
        kind = kind || !who ? kind : governance_act_person(s, c, tenant, who, &act->user);
    }
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        act->user = NULL;
        kind = IDA_OK;
    }
    if (!kind && act->user) {
        *person = governance_person(c->pool, act->user);
        act->upn = act->user->upn;
    }
    return kind;
}

ida_kind governance_act_unassign(store *s, ida_ctx *c, governance_role_act *act)
{
    const char *tenant = act->by.tenant, *task_id = NULL;
    const access_item *given = NULL, *wanted = NULL;
    int given_count = 0, wanted_count = 0, more = 0;
    queue_person person;
    act->added = act->under_way = 0;
    governance_no_orders(c, &act->orders);
    ida_kind kind = governance_template_find(s, c, tenant, act->template_named, &act->template);
    kind = kind ? kind : find_holder(s, c, act, &person);
    kind = kind
               ? kind
               : governance_role_unassign(s, c, tenant, act->template, &person, act->upn, &task_id);
    kind = kind ? kind : is_open(s, c, tenant, task_id, &act->under_way);
    if (!kind && act->user) {
        access_grantor by = grantor_of(act);
        kind = governance_given(s, c, act->by.tenant, act->user, &by, &given, &given_count);
        /* A task at work may give something more until it learns of this. */
        if (!kind && act->under_way &&
            governance_template_items(s, c, tenant, act->template, act->user->directory, &wanted,
                                      &wanted_count)) {
            ida_ctx_clear(c);
            wanted_count = 0;
        }
        access_item *rest = without(c->pool, wanted, wanted_count, given, given_count, &more);
        access_item *all = apr_palloc(c->pool, (apr_size_t)(given_count + more + 1) * sizeof *all);
        memcpy(all, given, (size_t)given_count * sizeof *all);
        memcpy(all + given_count, rest, (size_t)more * sizeof *all);
        const governance_order revoke = {IDA_ACCESS_REVOKE, act->user, &by, all,
                                         given_count + more};
        kind = kind ? kind : governance_order_all(s, c, &act->by, &revoke, &act->orders);
    }
    return kind;
}
