/* Owns the list of open access requests: who requests what, since when, and who may decide. */
#include "core/base/json.h"
#include "core/governance/governance.h"
#include "core/operation/page.h"
#include "core/operation/people/known.h"
#include "core/operation/people/person_json.h"
#include "core/operation/table.h"

#define DAY_MS INT64_C(86400000)

static ida_kind add_request(ida_page *page, const ida_access_request *r)
{
    ida_call *call = page->call;
    json_t *shown = json_object(), *approvers = json_array();
    const ida_user *user;
    ida_page_add(page, shown, ida_place("is", r->requested_at, r->id));
    ida_kind kind = ida_op_known_person(page, r->user_id ? r->user_id : r->upn, &user);
    if (kind) {
        json_decref(approvers);
        return kind;
    }
    ida_json_put(shown, "id", r->id);
    json_object_set_new(shown, "requester", ida_person_or_stored(user, r->user_id, r->upn));
    ida_json_put(shown, "service", r->service);
    ida_json_put_time(shown, "requestedAt", r->requested_at);
    json_object_set_new(shown, "ageDays",
                        json_integer((ida_now(call->c->env) - r->requested_at) / DAY_MS));
    ida_json_put(shown, "justification", r->justification);
    json_object_set_new(shown, "eligibleApprovers", approvers);
    return ida_op_eligible_approvers(page, r, approvers);
}

static ida_kind list(ida_call *call, store *s, ida_ctx *c)
{
    const ida_access_request *rows;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "is", &page);
    kind = kind ? kind
                : governance_request_open(s, c, call->asked->tenant->id,
                                          ida_place_number(page->from, 0),
                                          ida_place_text(page->from, 1), page->limit + 1, &rows,
                                          &page->count);
    kind = kind ? kind : governance_request_open_count(s, c, call->asked->tenant->id, &page->total);
    kind = kind ? kind : ida_page_as_of(page, s);
    for (int i = 0; !kind && ida_page_row(page, i); i++) {
        kind = add_request(page, &rows[i]);
    }
    return kind ? kind : ida_page_result(page);
}

static const ida_field requester[] = {OUT_TEXT("id", ALWAYS | OR_NULL),
                                      OUT_TEXT("userPrincipalName", ALWAYS | OR_NULL),
                                      OUT_TEXT("displayName", OR_NULL), OUT_END};
static const ida_field item[] = {OUT_TEXT("id", ALWAYS),
                                 OUT_OBJECT("requester", ALWAYS, requester),
                                 OUT_TEXT("service", ALWAYS),
                                 OUT_TIME("requestedAt", ALWAYS | OR_NULL),
                                 OUT_INTEGER("ageDays", ALWAYS),
                                 OUT_TEXT("justification", ALWAYS),
                                 OUT_LIST("eligibleApprovers", ALWAYS, ida_person_members),
                                 OUT_END};

const ida_operation ida_op_approvals = {
    .name = "approval.list",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_REQUESTS_READ,
    IDA_READS("/approvals"),
    .commands = IDA_COMMANDS(
        {"request", "pending",
         .columns = "id requester service ageDays eligibleApprovers justification",
         .summary = "List open requests, oldest first, and who may decide."}),
    .module = IDA_MODULE_ACCESS_GOVERNANCE,
    .needs_sync = 1,
    .params = ida_list_params,
    .work = list,
    .summary = "Open access requests, oldest first.",
    .schema = "ApprovalList",
    .tool = "list_pending_approvals",
    .title = "Pending approvals",
    .lists = 1,
    .description =
        "Lists open access requests, oldest first: requester, service, age in days, justification "
        "and the people who may decide. "
        "Decided requests are not listed: access they granted shows in get_user_access with source "
        "iga_request. Needs the access governance module.",
    .item = item,
};
