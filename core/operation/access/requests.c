/* Owns the lists of the access catalog and of the requests for it. */
#include "core/base/json.h"
#include "core/cache/groups.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/people/known.h"
#include "core/operation/people/person_json.h"
#include "core/operation/table.h"

static const char *const states[] = {"open", "approved", "denied", "withdrawn", "ended", NULL};

/* --- requests --- */

static ida_kind add_request(ida_page *page, const ida_access_request *r)
{
    const ida_user *user;
    ida_kind kind = ida_op_known_person(page, r->user_id ? r->user_id : r->upn, &user);
    if (kind) {
        return kind;
    }
    json_t *item = json_object();
    ida_json_put(item, "id", r->id);
    ida_json_put(item, "service", r->service);
    json_object_set_new(item, "group",
                        ida_json_texts("id", r->group_id, "name", r->group_name, NULL));
    json_object_set_new(item, "requester", ida_person_or_stored(user, r->user_id, r->upn));
    ida_json_put(item, "justification", r->justification);
    ida_json_put(item, "state", r->state);
    ida_json_put_time(item, "requestedAt", r->requested_at);
    ida_json_put_time(item, "decidedAt", r->decided_at);
    ida_json_put_or_null(item, "decidedBy", r->decided_by);
    ida_json_put_or_null(item, "reason", r->reason);
    ida_json_put_time(item, "endedAt", r->ended_at);
    ida_json_put_time(item, "takenAwayAt", r->taken_away_at);
    ida_json_put_or_null(item, "taskId", r->task_id);
    ida_json_put_or_null(item, "taskState", r->task_state);
    ida_json_put_or_null(item, "error", r->task_error);
    ida_page_add(page, item, ida_place("s", r->id));
    return IDA_OK;
}

static ida_kind list_requests(ida_call *call, store *s, ida_ctx *c)
{
    const char *tenant = call->asked->tenant->id, *wanted = ida_argument_words(call, "state");
    const ida_access_request *rows;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "s", &page);
    kind = kind ? kind
                : governance_request_list(s, c, tenant,
                                          page->from ? ida_place_text(page->from, 0) : NULL, wanted,
                                          page->limit + 1, &rows, &page->count);
    kind = kind ? kind
                : governance_request_count(s, c, tenant, wanted, IDA_COUNT_MOST, &page->total);
    for (int i = 0; !kind && ida_page_row(page, i); i++) {
        kind = add_request(page, &rows[i]);
    }
    return kind ? kind : ida_page_result(page);
}

static const ida_param request_params[] = {
    {"state", IDA_PARAM_LIST, .allowed = states,
     .about = "Only requests in these states, separated by commas."},
    IDA_LIST_PARAMS,
    {0},
};

static const ida_field group[] = {OUT_TEXT("id", ALWAYS | OR_NULL), OUT_TEXT("name", ALWAYS),
                                  OUT_END};
static const ida_field requester[] = {OUT_TEXT("id", ALWAYS | OR_NULL),
                                      OUT_TEXT("userPrincipalName", ALWAYS),
                                      OUT_TEXT("displayName", ALWAYS | OR_NULL), OUT_END};
static const ida_field request[] = {OUT_TEXT("id", ALWAYS),
                                    OUT_TEXT("service", ALWAYS),
                                    OUT_OBJECT("group", ALWAYS, group),
                                    OUT_OBJECT("requester", ALWAYS, requester),
                                    OUT_TEXT("justification", ALWAYS),
                                    OUT_WORD("state", ALWAYS, states),
                                    OUT_TIME("requestedAt", ALWAYS | OR_NULL),
                                    OUT_TIME("decidedAt", ALWAYS | OR_NULL),
                                    OUT_TEXT("decidedBy", ALWAYS | OR_NULL),
                                    OUT_TEXT("reason", ALWAYS | OR_NULL),
                                    OUT_TIME("endedAt", ALWAYS | OR_NULL),
                                    OUT_TIME("takenAwayAt", ALWAYS | OR_NULL),
                                    OUT_TEXT("taskId", ALWAYS | OR_NULL),
                                    OUT_TEXT("taskState", ALWAYS | OR_NULL),
                                    OUT_TEXT("error", ALWAYS | OR_NULL),
                                    OUT_END};

const ida_operation ida_op_requests = {
    .name = "request.list",
    .faces = IDA_ON_REST | IDA_ON_CONSOLE,
    .right = IDA_REQUESTS_READ,
    IDA_READS("/access-requests"),
    .commands = IDA_COMMANDS(
        {"request", "list",
         .columns = "id state service requester requestedAt decidedAt decidedBy taskState error",
         .summary = "List access requests, newest first."}),
    .module = IDA_MODULE_ACCESS_GOVERNANCE,
    .needs_sync = 1,
    .lists = 1,
    .params = request_params,
    .work = list_requests,
    .summary = "Access requests in every state, newest first.",
    .schema = "AccessRequestList",
    .item = request,
};

/* --- services --- */

/* Approvers as the catalog names them; eligible: the person is known and may sign in. */
static ida_kind put_approvers(ida_page *page, const char *approvers, json_t *item)
{
    const json_t *named = ida_json_load(page->call->c->pool, approvers), *one;
    json_t *out = json_array();
    size_t i;
    json_object_set_new(item, "approvers", out);
    json_array_foreach (named, i, one) {
        const char *upn = json_string_value(one);
        const ida_user *user = NULL;
        ida_kind kind = upn ? ida_op_known_approver(page, upn, &user) : IDA_OK;
        if (kind) {
            return kind;
        }
        json_t *person = ida_person_or_stored(user, NULL, upn);
        json_object_set_new(person, "eligible", json_boolean(user && user->enabled));
        json_array_append_new(out, person);
    }
    return IDA_OK;
}

static ida_kind list_services(ida_call *call, store *s, ida_ctx *c)
{
    const char *tenant = call->asked->tenant->id;
    const ida_access_service *rows;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "s", &page);
    kind = kind ? kind
                : governance_service_list(s, c, tenant, ida_place_text(page->from, 0),
                                          page->limit + 1, &rows, &page->count, &page->total);
    const char **named = apr_pcalloc(c->pool, ((size_t)page->count + 1) * sizeof *named);
    ida_group **groups = apr_pcalloc(c->pool, ((size_t)page->count + 1) * sizeof *groups);
    for (int i = 0; i < page->count; i++) {
        named[i] = rows[i].group;
    }
    kind = kind || !page->count ? kind
                                : cache_groups_find(s, c, tenant, named, page->count, groups);
    for (int i = 0; !kind && ida_page_row(page, i); i++) {
        json_t *item = json_object();
        ida_json_put(item, "service", rows[i].name);
        json_object_set_new(item, "group",
                            groups[i]
                                ? ida_json_texts("id", groups[i]->id, "name", groups[i]->name, NULL)
                                : ida_json_texts("id", NULL, "name", rows[i].group, NULL));
        ida_page_add(page, item, ida_place("s", rows[i].name));
        kind = put_approvers(page, rows[i].approvers, item);
    }
    return kind ? kind : ida_page_result(page);
}

const ida_operation ida_op_services = {
    .name = "service.list",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_REQUESTS_READ,
    IDA_READS("/access-services"),
    .commands = IDA_COMMANDS(
        {"request", "services",
         .summary = "List the services of the access catalog and who decides."}),
    .module = IDA_MODULE_ACCESS_GOVERNANCE,
    .needs_sync = 1,
    .lists = 1,
    .params = ida_list_params,
    .work = list_services,
    .summary = "Services that can be requested, and who decides.",
};
