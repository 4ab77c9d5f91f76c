/* idadminctl request: access requests and who decided them; a task carries an approval into the
 * directory. */
#include <string.h>

#include <apr_strings.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/decision.h"
#include "core/queue/change.h"
#include "core/store/audit.h"
#include "core/store/tenant.h"
#include "worker/ctl/governance.h"

#define JUSTIFICATION_MAX 1000 /* characters */
#define PAGE 200

/* Sorts behind every ID of ida_new_id. */
static const char newest[] = "~";

/* What came of the task that carries a request out: people must see an approval that did not reach
 * the directory. */
static ida_kind put_task(ctl_call *ctl, store *s, const ida_access_request *r, json_t *row)
{
    ida_task *task = NULL;
    ida_kind kind = r->task_id ? queue_task_get(s, ctl->c, ctl->arguments[0], r->task_id, 0, &task)
                               : IDA_OK;
    if (kind == IDA_NOT_FOUND) { /* past its retention */
        ida_ctx_clear(ctl->c);
        kind = IDA_OK;
    }
    ida_json_put_or_null(row, "taskId", r->task_id);
    ida_json_put_or_null(row, "taskState", task ? ida_task_state_text(task->state) : NULL);
    ida_json_put_or_null(row, "error", task ? task->error : NULL);
    return kind;
}

static json_t *request_json(ctl_call *ctl, const ida_access_request *r)
{
    json_t *row = json_object(), *approvers = ida_json_load(ctl->pool, r->approvers);
    ida_json_put(row, "id", r->id);
    ida_json_put(row, "service", r->service);
    ida_json_put(row, "group", r->group_name);
    ida_json_put(row, "requester", r->upn);
    ida_json_put(row, "justification", r->justification);
    ida_json_put(row, "state", r->state);
    json_object_set(row, "approvers", approvers);
    ida_json_put_time(row, "requestedAt", r->requested_at);
    ida_json_put_time(row, "decidedAt", r->decided_at);
    ida_json_put_or_null(row, "decidedBy", r->decided_by);
    ida_json_put_time(row, "endedAt", r->ended_at);
    return row;
}

static int list(ctl_call *ctl)
{
    static const ctl_column columns[] = {{"ID", "id"},
                                         {"STATE", "state"},
                                         {"SERVICE", "service"},
                                         {"REQUESTER", "requester"},
                                         {"ASKED", "requestedAt"},
                                         {"DECIDED", "decidedAt"},
                                         {"BY", "decidedBy"},
                                         {"TASK", "taskState"},
                                         {"REASON", "error"},
                                         {NULL, NULL}};
    const char *before = ctl_value(ctl, "before");
    int most = (int)ctl_number(ctl, "limit", 50, PAGE), count;
    if (!most) {
        return ctl_usage(ctl, "--limit must be 1 to %d", PAGE);
    }
    store *s = ctl_store(ctl, DB_REQUEST);
    const ida_access_request *found;
    json_t *rows = ida_json_keep(ctl->pool, json_array());
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind) {
        kind = governance_request_list(s, ctl->c, ctl->arguments[0], before ? before : newest, most,
                                       &found, &count);
    }
    for (int i = 0; !kind && i < count; i++) {
        json_t *row = request_json(ctl, &found[i]);
        json_array_append_new(rows, row);
        kind = put_task(ctl, s, &found[i], row);
    }
    if (!kind && !ctl_json(ctl, rows)) {
        ctl_table(ctl, rows, columns, "No access was asked for.");
        if (count == most) {
            ctl_say(ctl, "--before %s goes on.", found[count - 1].id);
        }
    }
    return ctl_result(ctl, kind);
}

typedef struct request_work {
    ctl_call *ctl;
    const char *id, *by, *action;
    int approved;
    ctl_orders orders;
} request_work;

static ida_kind audit(const request_work *work, store *s, ida_ctx *c, const char *target,
                      json_t *parameters)
{
    audit_record *record = ctl_audit(work->ctl, work->ctl->arguments[0], work->action, target);
    record->parameters = ida_json_text(c->pool, ida_json_keep(c->pool, parameters));
    return store_audit_add(s, c, record);
}

static ida_kind create_in(store *s, ida_ctx *c, void *baton)
{
    request_work *work = baton;
    ctl_call *ctl = work->ctl;
    const char *tenant = ctl->arguments[0];
    ida_access_service service;
    ida_user *user;
    ida_kind kind = store_tenant_lock(s, c, tenant);
    if (!kind) {
        kind = governance_service_get(s, c, tenant, ctl->arguments[1], &service);
    }
    if (!kind) {
        kind = ctl_person(ctl, s, tenant, ctl->arguments[2], &user);
    }
    if (!kind) {
        kind = governance_request_create(s, c, tenant, &service, user,
                                         ctl_value(ctl, "justification"), &work->id);
    }
    return kind ? kind
                : audit(work, s, c, user->upn,
                        json_pack("{s:s, s:s}", "service", service.name, "request", work->id));
}

/* An approver of the request, with an account that may be used. */
static ida_kind check_approver(ctl_call *ctl, store *s, const ida_access_request *request,
                               const char *upn, const char **by)
{
    const char *key = ida_fold_address(ctl->pool, upn);
    const json_t *approvers = ida_json_load(ctl->pool, request->approvers), *one;
    ida_user *user;
    const char *named = "nobody";
    size_t i;
    int eligible = 0;
    json_array_foreach ((json_t *)approvers, i, one) {
        const char *approver = json_is_string(one) ? json_string_value(one) : "";
        eligible |= strcmp(ida_fold_address(ctl->pool, approver), key) == 0;
        named = i ? apr_pstrcat(ctl->pool, named, ", ", approver, NULL) : approver;
    }
    if (!eligible) {
        return ida_fail(ctl->c, IDA_FORBIDDEN, "%s is no approver of %s, which %s may decide.", upn,
                        request->service, named);
    }
    ida_kind kind = ctl_person(ctl, s, ctl->arguments[0], upn, &user);
    if (!kind && !user->enabled) {
        return ida_fail(ctl->c, IDA_FORBIDDEN, "The account of %s is disabled: it decides nothing.",
                        upn);
    }
    if (!kind && governance_request_is_own(ctl->c, request, user)) {
        return ida_fail(ctl->c, IDA_FORBIDDEN,
                        "%s asked for it and decides nothing of it: let another approver do it "
                        "(all of them: %s).",
                        upn, named);
    }
    *by = kind ? NULL : user->upn;
    return kind;
}

static ida_kind find(ctl_call *ctl, store *s, ida_ctx *c, const char *id,
                     const ida_access_request **request)
{
    const char *tenant = ctl->arguments[0];
    ida_kind kind = store_tenant_lock(s, c, tenant);
    kind = kind ? kind : governance_request_get(s, c, tenant, id, request);
    return kind != IDA_NOT_FOUND
               ? kind
               : ida_fail(
                     c, kind,
                     "Tenant %s has no access request %s; `idadminctl request list %s` names them.",
                     tenant, id, tenant);
}

/* The task that puts the requester into the group. */
static ida_kind order_grant(request_work *work, store *s, ida_ctx *c,
                            const ida_access_request *request)
{
    ctl_call *ctl = work->ctl;
    const char *tenant = ctl->arguments[0];
    ida_group *group;
    ida_user *user;
    access_grantor by = {governance_by_request, request->id, request->service};
    ida_kind kind = cache_group_find(s, c, tenant, request->group_id, &group);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, kind,
                        "The group %s, which the service %s grants, is gone: deny the request, and "
                        "correct the access catalog.",
                        request->group_name, request->service);
    }
    kind = kind ? kind
                : ctl_person(ctl, s, tenant, request->user_id ? request->user_id : request->upn,
                             &user);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, kind, "The directory has no %s any more: deny the request.",
                        request->upn);
    }
    if (kind) {
        return kind;
    }
    if (!ctl_account(user, group->directory)) {
        return ida_fail(c, IDA_CONFLICT,
                        "%s has no account in the directory %s, where the group %s is: the access "
                        "cannot be granted.",
                        user->upn, ida_directory_name(group->directory), group->name);
    }
    access_item item = {0, group->directory, group->id, group->name};
    kind = ctl_order(ctl, s, c, IDA_ACCESS_GRANT, user, &by, &item, 1, &work->orders);
    return kind ? kind : governance_request_task(s, c, tenant, request->id, work->orders.first);
}

static ida_kind decide_in(store *s, ida_ctx *c, void *baton)
{
    request_work *work = baton;
    ctl_call *ctl = work->ctl;
    const char *tenant = ctl->arguments[0], *by = NULL;
    const ida_access_request *request;
    ctl_no_orders(ctl, &work->orders);
    ida_kind kind = find(ctl, s, c, work->id, &request);
    kind = kind ? kind : check_approver(ctl, s, request, work->by, &by);
    kind = kind ? kind : governance_request_decide(s, c, tenant, work->id, work->approved, by);
    if (!kind && work->approved) {
        kind = order_grant(work, s, c, request);
    }
    return kind ? kind
                : audit(work, s, c, request->upn,
                        json_pack("{s:s, s:s, s:s, s:O}", "service", request->service, "request",
                                  work->id, "by", by, "tasks", work->orders.tasks));
}

static ida_kind end_in(store *s, ida_ctx *c, void *baton)
{
    request_work *work = baton;
    ctl_call *ctl = work->ctl;
    const ida_access_request *request;
    const access_item *items;
    ida_user *user;
    int count = 0;
    ctl_no_orders(ctl, &work->orders);
    ida_kind kind = find(ctl, s, c, work->id, &request);
    kind = kind ? kind : governance_request_end(s, c, ctl->arguments[0], work->id);
    if (kind) {
        return kind;
    }
    access_grantor by = {governance_by_request, request->id, request->service};
    kind = ctl_person(ctl, s, ctl->arguments[0], request->user_id ? request->user_id : request->upn,
                      &user);
    if (kind == IDA_NOT_FOUND) { /* nobody is left to take it from */
        ida_ctx_clear(c);
        kind = IDA_OK;
    } else if (!kind) {
        kind = ctl_given(ctl, s, c, user, &by, &items, &count);
    }
    if (!kind && count) {
        kind = ctl_order(ctl, s, c, IDA_ACCESS_REVOKE, user, &by, items, count, &work->orders);
    }
    if (!kind && work->orders.first) {
        kind = governance_request_task(s, c, ctl->arguments[0], request->id, work->orders.first);
    }
    return kind ? kind
                : audit(work, s, c, request->upn,
                        json_pack("{s:s, s:s, s:O}", "service", request->service, "request",
                                  work->id, "tasks", work->orders.tasks));
}

static int carry_out(ctl_call *ctl, store_work in, request_work work)
{
    static const ctl_column fields[] = {
        {"Request", "id"},          {"State", "state"},         {"Service", "service"},
        {"Group", "group"},         {"Requester", "requester"}, {"Justification", "justification"},
        {"Approvers", "approvers"}, {"Asked", "requestedAt"},   {"Decided", "decidedAt"},
        {"By", "decidedBy"},        {"Ended", "endedAt"},       {"Task", "taskId"},
        {"Task is", "taskState"},   {"Reason", "error"},        {NULL, NULL}};
    store *s = ctl_store(ctl, DB_REQUEST);
    const ida_access_request *request;
    work.ctl = ctl;
    ida_kind kind = ctl_governed(ctl, s, ctl->arguments[0]);
    kind = kind ? kind : store_transaction(s, ctl->c, in, &work);
    kind = kind ? kind : governance_request_get(s, ctl->c, ctl->arguments[0], work.id, &request);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    json_t *document = ida_json_keep(ctl->pool, request_json(ctl, request));
    kind = put_task(ctl, s, request, document);
    if (!kind && !ctl_json(ctl, document)) {
        ctl_fields(ctl, document, fields);
    }
    return ctl_result(ctl, kind);
}

static int create(ctl_call *ctl)
{
    const char *justification = ctl_value(ctl, "justification");
    if (justification && (!ida_utf8_valid(justification, strlen(justification)) ||
                          ida_utf16_length(justification) > JUSTIFICATION_MAX)) {
        return ctl_usage(ctl, "--justification must be UTF-8 text of at most %d characters",
                         JUSTIFICATION_MAX);
    }
    return carry_out(ctl, create_in, (request_work){.action = "request.create"});
}

static int decide(ctl_call *ctl, int approved)
{
    const char *by = ctl_value(ctl, "by");
    if (!by) {
        return ctl_usage(ctl, "--by UPN says who decides");
    }
    return carry_out(ctl, decide_in,
                     (request_work){.id = ctl->arguments[1],
                                    .by = by,
                                    .approved = approved,
                                    .action = approved ? "request.approve" : "request.deny"});
}

static int approve(ctl_call *ctl)
{
    return decide(ctl, 1);
}

static int deny(ctl_call *ctl)
{
    return decide(ctl, 0);
}

static int end(ctl_call *ctl)
{
    return carry_out(ctl, end_in, (request_work){.id = ctl->arguments[1], .action = "request.end"});
}

#define BY                                                                                      \
    {                                                                                           \
        {"by", "UPN",                                                                           \
         "the approver who decides; must be one of the service's and have an enabled account"}, \
        {                                                                                       \
            NULL, NULL, NULL                                                                    \
        }                                                                                       \
    }

const ctl_command ctl_request_commands[] = {
    {"request",
     "list",
     "ID",
     1,
     1,
     "List access requests, newest first.",
     NULL,
     {{"limit", "N", "1 to 200, default 50"},
      {"before", "REQUEST", "go on after this request of an earlier list"},
      {NULL, NULL, NULL}},
     list},
    {"request",
     "create",
     "ID SERVICE UPN",
     3,
     3,
     "Ask for a service of the access catalog on behalf of a user.",
     NULL,
     {{"justification", "TEXT", "why the access is needed"}, {NULL, NULL, NULL}},
     create},
    {"request", "approve", "ID REQUEST", 2, 2, "Approve an open request.",
     "A task puts the requester into the service's group.", BY, approve},
    {"request", "deny", "ID REQUEST", 2, 2, "Deny an open request.", NULL, BY, deny},
    {"request",
     "end",
     "ID REQUEST",
     2,
     2,
     "Withdraw an open request, or end an approved one.",
     "A task takes the requester out of the group again, unless the membership stood before or an "
     "assigned template or another request grants it.",
     {{NULL, NULL, NULL}},
     end},
    {0},
};
