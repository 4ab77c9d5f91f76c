/* idadminctl request: access requests and who decided them; a task carries an approval into the
 * directory. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/audit.h"
#include "worker/ctl/governance.h"

#define PAGE 200

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
    ida_json_put_or_null(row, "reason", r->reason);
    ida_json_put_time(row, "endedAt", r->ended_at);
    ida_json_put_time(row, "takenAwayAt", r->taken_away_at);
    ida_json_put_or_null(row, "taskId", r->task_id);
    ida_json_put_or_null(row, "taskState", r->task_state);
    ida_json_put_or_null(row, "error", r->task_error);
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
        kind = governance_request_list(s, ctl->c, ctl->arguments[0], before, NULL, most, &found,
                                       &count);
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
    const char *action;
    ida_kind (*act_in)(store *s, ida_ctx *c, governance_request_act *act);
    governance_request_act act;
} request_work;

static ida_kind act_in(store *s, ida_ctx *c, void *baton)
{
    request_work *work = baton;
    governance_request_act *act = &work->act;
    ida_kind kind = work->act_in(s, c, act);
    if (kind) {
        return kind;
    }
    audit_record *record = ctl_audit(work->ctl, act->by.tenant, work->action, act->upn);
    json_t *told = ida_json_keep(c->pool, json_pack("{s:s, s:s}", "service", act->about, "request",
                                                    act->id));
    ida_json_put(told, "by", act->decided_by);
    if (act->orders.tasks) {
        json_object_set(told, "tasks", act->orders.tasks);
    }
    record->parameters = ida_json_text(c->pool, told);
    if (act->decided_by) {
        record->detail = ida_printf(c->pool, "told by %s", record->actor);
        record->actor = act->decided_by;
    }
    return store_audit_add(s, c, record);
}

static int carry_out(ctl_call *ctl, request_work work)
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
    work.act.by = ctl_actor(ctl);
    ida_kind kind = ctl_governed(ctl, s, ctl->arguments[0]);
    kind = kind ? kind : store_transaction(s, ctl->c, act_in, &work);
    kind = kind ? kind
                : governance_request_get(s, ctl->c, ctl->arguments[0], work.act.id, &request);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    json_t *document = ida_json_keep(ctl->pool, request_json(ctl, request));
    if (!ctl_json(ctl, document)) {
        ctl_fields(ctl, document, fields);
    }
    return ctl_result(ctl, kind);
}

static int create(ctl_call *ctl)
{
    const char *justification = ctl_value(ctl, "justification");
    if (justification && (!ida_utf8_valid(justification, strlen(justification)) ||
                          ida_utf16_length(justification) > IDA_JUSTIFICATION_MAX)) {
        return ctl_usage(ctl, "--justification must be UTF-8 text of at most %d characters",
                         IDA_JUSTIFICATION_MAX);
    }
    return carry_out(ctl, (request_work){.action = "request.create",
                                         .act_in = governance_act_request,
                                         .act = {.service = ctl->arguments[1],
                                                 .user_named = ctl->arguments[2],
                                                 .justification = justification}});
}

static int decide(ctl_call *ctl, int approved)
{
    const char *by = ctl_value(ctl, "by");
    if (!by) {
        return ctl_usage(ctl, "--by UPN says who decides");
    }
    return carry_out(
        ctl,
        (request_work){.action = approved ? "request.approve" : "request.deny",
                       .act_in = governance_act_decide,
                       .act = {.id = ctl->arguments[1], .approver = by, .approved = approved}});
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
    return carry_out(ctl, (request_work){.action = "request.end",
                                         .act_in = governance_act_end,
                                         .act = {.id = ctl->arguments[1]}});
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
