/* Owns what `role` and `request` share: who is meant, and the tasks that carry a decision into the
 * directories. */
#include "worker/ctl/governance.h"

#include <string.h>

#include "core/base/json.h"
#include "core/store/tenant.h"

ida_kind ctl_person(ctl_call *ctl, store *s, const char *tenant, const char *upn, ida_user **user)
{
    ida_kind kind = cache_user_details(s, ctl->c, tenant, upn, user, NULL);
    if (kind != IDA_NOT_FOUND) {
        return kind;
    }
    return ida_fail(
        ctl->c, kind,
        "Tenant %s has no user %s in the cache; `idadminctl sync %s` reads the directory again.",
        tenant, upn, tenant);
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
    return ida_fail(ctl->c, IDA_FORBIDDEN,
                    "The access governance module is not enabled for tenant %s: set "
                    "\"modules\":{\"accessGovernance\":true} in its document.",
                    tenant);
}

const char *ctl_account(const ida_user *user, ida_directory_kind directory)
{
    return !user->in[directory] ? NULL : user->directory == directory ? user->id : user->other_id;
}

void ctl_no_orders(ctl_call *ctl, ctl_orders *orders)
{
    *orders = (ctl_orders){ida_json_keep(ctl->pool, json_array()),
                           ida_json_keep(ctl->pool, json_array()), NULL};
}

ida_kind ctl_order(ctl_call *ctl, store *s, ida_ctx *c, ida_task_type type, const ida_user *user,
                   const access_grantor *by, const access_item *items, int count,
                   ctl_orders *orders)
{
    ida_tenant *tenant;
    ida_kind kind = store_tenant_get(s, c, ctl->arguments[0], &tenant, NULL, NULL);
    for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
        const char *account = ctl_account(user, (ida_directory_kind)d), *id = NULL;
        for (int i = 0; !account && i < count; i++) {
            if ((int)items[i].directory == d) {
                json_array_append_new(orders->homeless, json_string(items[i].name));
            }
        }
        if (account) {
            access_order order = {.tenant = tenant,
                                  .type = type,
                                  .directory = (ida_directory_kind)d,
                                  .user_id = account,
                                  .upn = user->upn,
                                  .display_name = user->display_name,
                                  .by = by,
                                  .items = items,
                                  .count = count,
                                  .username = ctl->actor,
                                  .via = "command"};
            kind = governance_grant_order(s, c, &order, &id);
        }
        if (!kind && id) {
            json_array_append_new(orders->tasks, json_string(id));
            orders->first = orders->first ? orders->first : id;
        }
    }
    return kind;
}

ida_kind ctl_given(ctl_call *ctl, store *s, ida_ctx *c, const ida_user *user,
                   const access_grantor *by, const access_item **items, int *count)
{
    const access_item *parts[IDA_DIR_COUNT];
    int counts[IDA_DIR_COUNT] = {0}, total = 0;
    ida_kind kind = IDA_OK;
    for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
        ida_task as = {.tenant = ctl->arguments[0],
                       .directory = (ida_directory_kind)d,
                       .object_id = ctl_account(user, (ida_directory_kind)d)};
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
