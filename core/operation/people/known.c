/* Owns the look-up of people whom rows of a page name. Must not know why they are named. */
#include "core/operation/people/known.h"

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/named.h"
#include "core/operation/people/person_json.h"

ida_kind ida_op_known_person(ida_page *page, const char *named, const ida_user **user)
{
    static const ida_user nobody;
    const ida_call *call = page->call;
    ida_ctx *c = call->c;
    const char *key = ida_fold_address(c->pool, named);
    const ida_user *found = apr_hash_get(page->known, key, APR_HASH_KEY_STRING);
    if (!found) {
        ida_user *u;
        ida_kind kind = cache_user_mentioned(call->store, c, call->asked->tenant->id, named, &u);
        if (kind) {
            return kind;
        }
        found = u ? u : &nobody;
        apr_hash_set(page->known, key, APR_HASH_KEY_STRING, found);
    }
    *user = found->id ? found : NULL;
    return IDA_OK;
}

ida_kind ida_op_known_approver(ida_page *page, const char *named, const ida_user **user)
{
    const ida_call *call = page->call;
    ida_kind kind = page->named ? IDA_OK
                                : governance_named(call->store, call->c, call->asked->tenant->id,
                                                   &page->named);
    const char *id = kind ? NULL
                          : governance_named_id(call->c->pool, page->named, GOVERNANCE_PERSON,
                                                named);
    return kind ? kind : ida_op_known_person(page, id ? id : named, user);
}

ida_kind ida_op_eligible_approvers(ida_page *page, const ida_access_request *r, json_t *approvers)
{
    ida_ctx *c = page->call->c;
    const json_t *named = ida_json_load(c->pool, r->approvers), *upn;
    const ida_user *user;
    ida_kind kind = IDA_OK;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)named, i, upn) {
        /* A person who has left or may not sign in cannot decide, and neither can the requester. */
        kind = kind || !json_is_string(upn)
                   ? kind
                   : ida_op_known_approver(page, json_string_value(upn), &user);
        if (!kind && json_is_string(upn) && user && user->enabled &&
            !governance_request_is_own(c, r, user)) {
            json_array_append_new(approvers,
                                  ida_person_json(user->id, user->upn, user->display_name));
        }
    }
    return kind;
}
