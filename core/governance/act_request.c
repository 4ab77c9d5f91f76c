/* Owns access requests from creation to the end of the grant: who may decide, and the
 * consequences. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/groups.h"
#include "core/governance/act.h"
#include "core/governance/decision.h"
#include "core/governance/named.h"

ida_kind governance_act_request(store *s, ida_ctx *c, governance_request_act *act)
{
    const char *tenant = act->by.tenant;
    ida_access_service service;
    ida_user *user;
    ida_kind kind = governance_service_get(s, c, tenant, act->service, &service);
    kind = kind ? kind : governance_act_whom(s, c, tenant, act->user_named, &user);
    kind = kind ? kind
                : governance_request_create(s, c, tenant, &service, user, act->justification,
                                            &act->id);
    if (!kind) {
        act->upn = user->upn;
        act->about = service.name;
        act->orders.left = user->enabled ? NULL : user->upn;
    }
    return kind;
}

static ida_kind refuse(ida_ctx *c, const char *reason)
{
    return ida_because(c, reason, NULL);
}

/* An approver of the request, with an account that may be used. */
static ida_kind check_approver(store *s, ida_ctx *c, const ida_access_request *request,
                               governance_request_act *act)
{
    const char *shown = ida_clean(c->pool, act->approver, strlen(act->approver), 256);
    const json_t *approvers = ida_json_load(c->pool, request->approvers), *one, *known;
    ida_user *user = NULL;
    const char *named = "nobody";
    size_t i;
    int eligible = 0;
    ida_kind kind = governance_named(s, c, act->by.tenant, &known);
    kind = kind ? kind : governance_act_person(s, c, act->by.tenant, act->approver, &user);
    if (kind && kind != IDA_NOT_FOUND) {
        return kind;
    }
    json_array_foreach ((json_t *)approvers, i, one) {
        const char *approver = json_is_string(one) ? json_string_value(one) : "";
        eligible |= governance_named_means(c->pool, known, approver, user, act->approver);
        named = i ? apr_pstrcat(c->pool, named, ", ", approver, NULL) : approver;
    }
    if (!eligible) {
        ida_fail(c, IDA_FORBIDDEN, "%s is no approver of %s, which %s may decide.", shown,
                 request->service, named);
        return refuse(c, "notEligible");
    }
    if (kind == IDA_NOT_FOUND) {
        ida_fail(c, IDA_FORBIDDEN, "%s", c->message);
        return refuse(c, "personUnknown");
    }
    if (!kind && !user->enabled) {
        ida_fail(c, IDA_FORBIDDEN, "The account of %s is disabled: it decides nothing.", shown);
        return refuse(c, "notEligible");
    }
    if (!kind && governance_request_is_own(c, request, user)) {
        ida_fail(c, IDA_FORBIDDEN,
                 "%s asked for it and decides nothing of it: let another approver do it (all of "
                 "them: %s).",
                 shown, named);
        return refuse(c, "ownRequest");
    }
    act->decided_by = kind ? NULL : user->upn;
    act->by.approver_id = kind ? NULL : user->id;
    return kind;
}

static ida_kind find(store *s, ida_ctx *c, governance_request_act *act,
                     const ida_access_request **request)
{
    ida_kind kind = governance_request_get(s, c, act->by.tenant, act->id, request);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, kind, "There is no access request %s.",
                        ida_clean(c->pool, act->id, strlen(act->id), 64));
    }
    act->upn = kind ? NULL : (*request)->upn;
    act->about = kind ? NULL : (*request)->service;
    return kind;
}

/* The task that puts the requester into the group. */
static ida_kind order_grant(governance_request_act *act, store *s, ida_ctx *c,
                            const ida_access_request *request)
{
    const char *tenant = act->by.tenant;
    ida_group *group;
    ida_user *user;
    access_grantor by = {governance_by_request, request->id, request->service};
    ida_kind kind = cache_group_find(s, c, tenant, request->group_id, &group);
    if (kind == IDA_NOT_FOUND) {
        ida_fail(
            c, kind,
            "The group %s, which the service %s grants, is gone: deny the request, and correct "
            "the access catalog.",
            request->group_name, request->service);
        return ida_because(c, "groupUnknown", NULL);
    }
    kind = kind ? kind
                : governance_act_person(s, c, tenant,
                                        request->user_id ? request->user_id : request->upn, &user);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, kind, "The directory has no %s any more: deny the request.",
                        request->upn);
    }
    if (kind) {
        return kind;
    }
    if (!governance_account(user, group->directory)) {
        return ida_fail(c, IDA_CONFLICT,
                        "%s has no account in the directory %s, where the group %s is: the access "
                        "cannot be granted.",
                        user->upn, ida_directory_name(group->directory), group->name);
    }
    access_item item = {0, group->directory, group->id, group->name};
    const governance_order grant = {IDA_ACCESS_GRANT, user, &by, &item, 1};
    kind = governance_order_all(s, c, &act->by, &grant, &act->orders);
    return kind ? kind : governance_request_task(s, c, tenant, request->id, act->orders.first);
}

ida_kind governance_act_decide(store *s, ida_ctx *c, governance_request_act *act)
{
    const ida_access_request *request;
    governance_no_orders(c, &act->orders);
    ida_kind kind = find(s, c, act, &request);
    kind = kind ? kind : check_approver(s, c, request, act);
    act->by.approver = act->decided_by;
    kind = kind ? kind
                : governance_request_decide(s, c, act->by.tenant, act->id, act->approved,
                                            act->decided_by, act->reason);
    return kind || !act->approved ? kind : order_grant(act, s, c, request);
}

ida_kind governance_act_end(store *s, ida_ctx *c, governance_request_act *act)
{
    const ida_access_request *request;
    const access_item *items;
    ida_user *user;
    int count = 0;
    governance_no_orders(c, &act->orders);
    ida_kind kind = find(s, c, act, &request);
    act->was_open = !kind && strcmp(request->state, "open") == 0;
    kind = kind ? kind : governance_request_end(s, c, act->by.tenant, act->id);
    if (kind) {
        return kind;
    }
    access_grantor by = {governance_by_request, request->id, request->service};
    kind = governance_act_person(s, c, act->by.tenant,
                                 request->user_id ? request->user_id : request->upn, &user);
    if (kind == IDA_NOT_FOUND) { /* there is no account left to remove it from */
        ida_ctx_clear(c);
        kind = IDA_OK;
    } else if (!kind) {
        kind = governance_given(s, c, act->by.tenant, user, &by, &items, &count);
    }
    if (!kind && count) {
        const governance_order revoke = {IDA_ACCESS_REVOKE, user, &by, items, count};
        kind = governance_order_all(s, c, &act->by, &revoke, &act->orders);
    }
    if (!kind && act->orders.first) {
        kind = governance_request_task(s, c, act->by.tenant, request->id, act->orders.first);
    }
    return kind;
}
