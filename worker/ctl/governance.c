/* Owns what `role` and `request` share: who acts, and whether the tenant has the module. */
#include "worker/ctl/governance.h"

#include "core/store/tenant.h"

governance_actor ctl_actor(const ctl_call *ctl)
{
    return (governance_actor){
        .tenant = ctl->arguments[0], .username = ctl->actor, .label = "", .via = "command"};
}

ida_kind ctl_governed(ctl_call *ctl, store *s, const char *tenant)
{
    ida_tenant *found = NULL;
    ida_kind kind = ctl_tenant_exists(ctl, s, tenant);
    kind = kind ? kind : store_tenant_get(s, ctl->c, tenant, &found, NULL);
    if (kind || found->access_governance) {
        return kind;
    }
    return ida_fail(ctl->c, IDA_FORBIDDEN,
                    "The access governance module is not enabled for tenant %s: set "
                    "\"modules\":{\"accessGovernance\":true} in its document.",
                    tenant);
}
