/* idadminctl request: access requests and who decided them. Records alone: nothing here calls a directory. */
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/store_audit.h"
#include "core/store_governance_write.h"
#include "core/store_tenant.h"
#include "core/text.h"
#include "worker/ctl/governance.h"

#define JUSTIFICATION_MAX 1000 /* characters */

/* Sorts behind every ID of ida_new_id. */
static const char newest[] = "~";

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
    return row;
}

static int list(ctl_call *ctl)
{
    static const ctl_column columns[] = {{"ID", "id"},           {"STATE", "state"},         {"SERVICE", "service"},    {"REQUESTER", "requester"},
                                         {"ASKED", "requestedAt"}, {"DECIDED", "decidedAt"}, {"BY", "decidedBy"}, {NULL, NULL}};
    const char *limit = ctl_value(ctl, "limit"), *before = ctl_value(ctl, "before");
    int most = limit ? atoi(limit) : 50, count;
    if (most < 1 || most > 200) {
        return ctl_usage(ctl, "--limit must be 1 to 200");
    }
    store *s = ctl_store(ctl, DB_REQUEST);
    const ida_access_request *found;
    json_t *rows = ida_json_keep(ctl->pool, json_array());
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind) {
        kind = store_request_list(s, ctl->c, ctl->arguments[0], before ? before : newest, most, &found, &count);
    }
    for (int i = 0; !kind && i < count; i++) {
        json_array_append_new(rows, request_json(ctl, &found[i]));
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
} request_work;

static ida_kind audit(const request_work *work, store *s, ida_ctx *c, const char *target, json_t *parameters)
{
    ida_audit *record = ctl_audit(work->ctl, work->ctl->arguments[0], work->action, target);
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
        kind = store_service_get(s, c, tenant, ctl->arguments[1], &service);
    }
    if (!kind) {
        kind = ctl_person(ctl, s, tenant, ctl->arguments[2], &user);
    }
    if (!kind) {
        kind = store_request_create(s, c, tenant, &service, user, ctl_value(ctl, "justification"), &work->id);
    }
    return kind ? kind : audit(work, s, c, user->upn, json_pack("{s:s, s:s}", "service", service.name, "request", work->id));
}

/* An approver of the request, with an account that may be used. */
static ida_kind check_approver(ctl_call *ctl, store *s, const ida_access_request *request, const char *upn, const char **by)
{
    const char *key = ida_fold_address(ctl->pool, upn);
    const json_t *approvers = ida_json_load(ctl->pool, request->approvers), *one;
    ida_user *user;
    size_t i;
    int eligible = 0;
    json_array_foreach((json_t *)approvers, i, one) {
        eligible |= json_is_string(one) && strcmp(ida_fold_address(ctl->pool, json_string_value(one)), key) == 0;
    }
    if (!eligible) {
        return ida_fail(ctl->c, IDA_FORBIDDEN, "%s is no approver of %s; approvers are %s.", upn, request->service, request->approvers);
    }
    ida_kind kind = ctl_person(ctl, s, ctl->arguments[0], upn, &user);
    if (!kind && !user->enabled) {
        return ida_fail(ctl->c, IDA_FORBIDDEN, "The account of %s is disabled: it decides nothing.", upn);
    }
    *by = kind ? NULL : user->upn;
    return kind;
}

static ida_kind decide_in(store *s, ida_ctx *c, void *baton)
{
    request_work *work = baton;
    ctl_call *ctl = work->ctl;
    const char *tenant = ctl->arguments[0], *by = NULL;
    const ida_access_request *request;
    ida_kind kind = store_tenant_lock(s, c, tenant);
    if (!kind) {
        kind = store_request_get(s, c, tenant, work->id, &request);
        if (kind == IDA_NOT_FOUND) {
            return ida_fail(c, kind, "Tenant %s has no access request %s; `idadminctl request list %s` names them.", tenant, work->id, tenant);
        }
    }
    if (!kind) {
        kind = check_approver(ctl, s, request, work->by, &by);
    }
    if (!kind) {
        kind = store_request_decide(s, c, tenant, work->id, work->approved, by);
    }
    return kind ? kind : audit(work, s, c, request->upn, json_pack("{s:s, s:s, s:s}", "service", request->service, "request", work->id, "by", by));
}

static int carry_out(ctl_call *ctl, store_work in, request_work work)
{
    static const ctl_column fields[] = {{"Request", "id"},         {"State", "state"},         {"Service", "service"},   {"Group", "group"},
                                        {"Requester", "requester"}, {"Justification", "justification"}, {"Approvers", "approvers"},
                                        {"Asked", "requestedAt"},  {"Decided", "decidedAt"},   {"By", "decidedBy"},      {NULL, NULL}};
    store *s = ctl_store(ctl, DB_REQUEST);
    const ida_access_request *request;
    work.ctl = ctl;
    ida_kind kind = ctl_governed(ctl, s, ctl->arguments[0]);
    if (!kind) {
        kind = store_transaction(s, ctl->c, in, &work);
    }
    if (!kind) {
        kind = store_request_get(s, ctl->c, ctl->arguments[0], work.id, &request);
    }
    if (kind) {
        return ctl_result(ctl, kind);
    }
    json_t *document = ida_json_keep(ctl->pool, request_json(ctl, request));
    if (work.approved) {
        ida_json_put(document, "note", ctl_not_carried_out);
    }
    if (!ctl_json(ctl, document)) {
        ctl_fields(ctl, document, fields);
        if (work.approved) {
            ctl_say(ctl, "\n%s", ctl_not_carried_out);
        }
    }
    return CTL_DONE;
}

static int create(ctl_call *ctl)
{
    const char *justification = ctl_value(ctl, "justification");
    if (justification && (!ida_utf8_valid(justification, strlen(justification)) || ida_utf16_length(justification) > JUSTIFICATION_MAX)) {
        return ctl_usage(ctl, "--justification must be UTF-8 text of at most %d characters", JUSTIFICATION_MAX);
    }
    return carry_out(ctl, create_in, (request_work){.action = "request.create"});
}

static int decide(ctl_call *ctl, int approved)
{
    const char *by = ctl_value(ctl, "by");
    if (!by) {
        return ctl_usage(ctl, "--by UPN says who decides");
    }
    return carry_out(ctl, decide_in, (request_work){.id = ctl->arguments[1], .by = by, .approved = approved,
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

#define BY {{"by", "UPN", "the approver who decides; must be one of the service's and have an enabled account"}, {NULL, NULL, NULL}}

const ctl_command ctl_request_commands[] = {
    {"request", "list", "ID", 1, 1, "List access requests, newest first.", NULL,
     {{"limit", "N", "1 to 200, default 50"}, {"before", "REQUEST", "go on after this request of an earlier list"}, {NULL, NULL, NULL}}, list},
    {"request", "create", "ID SERVICE UPN", 3, 3, "Ask for a service of the access catalog on behalf of a user.", NULL,
     {{"justification", "TEXT", "why the access is needed"}, {NULL, NULL, NULL}}, create},
    {"request", "approve", "ID REQUEST", 2, 2, "Approve an open request.", ctl_not_carried_out, BY, approve},
    {"request", "deny", "ID REQUEST", 2, 2, "Deny an open request.", NULL, BY, deny},
    {0},
};
