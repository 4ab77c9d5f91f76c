/* Owns what all changes of access have in common: finding the person, and the tasks that carry a
 * decision into the directories. */
#include "core/governance/act.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/whom.h"
#include "core/store/tenant.h"

static ida_kind known(ida_ctx *c, ida_kind kind, const char *named)
{
    return kind != IDA_NOT_FOUND
               ? kind
               : ida_fail(c, kind,
                          "No user %s is known: the cache learns of new people when the directory "
                          "is read again.",
                          ida_clean(c->pool, named, strlen(named), 128));
}

ida_kind governance_act_person(store *s, ida_ctx *c, const char *tenant, const char *named,
                               ida_user **user)
{
    return known(c, cache_user_details(s, c, tenant, named, user, NULL), named);
}

ida_kind governance_act_whom(store *s, ida_ctx *c, const char *tenant, const char *named,
                             ida_user **user)
{
    return known(c, governance_whom(s, c, tenant, named, user), named);
}

const char *governance_account(const ida_user *user, ida_directory_kind directory)
{
    return !user->in[directory] ? NULL : user->directory == directory ? user->id : user->other_id;
}

void governance_no_orders(ida_ctx *c, governance_orders *orders)
{
    *orders = (governance_orders){ida_json_keep(c->pool, json_array()),
                                  ida_json_keep(c->pool, json_array()), NULL, NULL};
}

ida_kind governance_order_all(store *s, ida_ctx *c, const governance_actor *actor,
                              const governance_order *order, governance_orders *orders)
{
    const ida_user *user = order->user;
    ida_tenant *tenant;
    ida_kind kind = store_tenant_get(s, c, actor->tenant, &tenant, NULL);
    if (order->type == IDA_ACCESS_GRANT && order->count && !user->enabled) {
        orders->left = user->upn;
    }
    for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
        const char *account = governance_account(user, (ida_directory_kind)d), *id = NULL;
        for (int i = 0; !account && i < order->count; i++) {
            if ((int)order->items[i].directory == d) {
                json_array_append_new(orders->homeless, json_string(order->items[i].name));
            }
        }
        if (account) {
            access_order one = {.tenant = tenant,
                                .person = governance_person(c->pool, user),
                                .type = order->type,
                                .directory = (ida_directory_kind)d,
                                .user_id = account,
                                .upn = user->upn,
                                .display_name = user->display_name,
                                .by = order->by,
                                .items = order->items,
                                .count = order->count,
                                .username = actor->username,
                                .label = actor->label,
                                .via = actor->via,
                                .approved_by = actor->approver,
                                .approved_by_id = actor->approver_id};
            kind = governance_grant_order(s, c, &one, &id);
        }
        if (!kind && id) {
            json_array_append_new(orders->tasks, json_string(id));
            orders->first = orders->first ? orders->first : id;
        }
    }
    return kind;
}

ida_kind governance_given(store *s, ida_ctx *c, const char *tenant, const ida_user *user,
                          const access_grantor *by, const access_item **items, int *count)
{
    const access_item *parts[IDA_DIR_COUNT];
    int counts[IDA_DIR_COUNT] = {0}, total = 0;
    ida_kind kind = IDA_OK;
    for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
        ida_task as = {.tenant = tenant,
                       .directory = (ida_directory_kind)d,
                       .object_id = governance_account(user, (ida_directory_kind)d)};
        access_grant_at at = {&as, by};
        kind = as.object_id ? governance_grant_list(s, c, &at, &parts[d], &counts[d]) : IDA_OK;
        total += counts[d];
    }
    access_item *all = apr_palloc(c->pool, (apr_size_t)(total + 1) * sizeof *all);
    *items = all;
    *count = total;
    for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
        for (int i = 0; i < counts[d]; i++) {
            *all++ = parts[d][i];
        }
    }
    return kind;
}
