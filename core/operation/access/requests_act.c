/* Owns what people do with access requests: request, decide, end. core/governance judges who
 * may. */
#include <stddef.h>
#include <string.h>

#include "core/base/json.h"
#include "core/operation/access/act.h"
#include "core/operation/op.h"
#include "core/operation/table.h"

typedef struct request_input {
    const char *service, *user, *justification;
    const char *id, *decision, *approver, *reason, *comment;
} request_input;

#define TEXT(name, field, flags, most, text)                                \
    {                                                                       \
        name, IDA_PARAM_STRING, flags, .max = most, .about = text,          \
                                       .at = offsetof(request_input, field) \
    }
#define REQUEST_ID TEXT("requestId", id, IDA_PARAM_REQUIRED, 64, "ID of the access request.")

static request_input *read_body(ida_call *call)
{
    request_input *in = call->input = apr_pcalloc(call->c->pool, sizeof *in);
    ida_params_read(call->c, call->asked->body, call->asked->operation->body, "is required", in);
    return in;
}

/* --- ask --- */

static const ida_param create_members[] = {
    TEXT("service", service, IDA_PARAM_REQUIRED, 256, "A service of the access catalog."),
    TEXT("user", user, IDA_PARAM_REQUIRED, 256, "For whom: object ID or UPN."),
    {"justification", IDA_PARAM_LINES, .max = IDA_JUSTIFICATION_MAX,
     .at = offsetof(request_input, justification), .about = "Why the access is needed."},
    {0},
};

static ida_kind check(ida_call *call)
{
    read_body(call);
    return ida_faults_raise(call->c);
}

static ida_kind create(ida_call *call, store *s, ida_ctx *c)
{
    const request_input *in = call->input;
    governance_request_act act = {.by = ida_op_actor(call),
                                  .service = in->service,
                                  .user_named = in->user,
                                  .justification = in->justification};
    ida_kind kind = governance_act_request(s, c, &act);
    json_t *also = kind ? NULL : ida_json_texts("requestId", act.id, NULL);
    return kind ? kind
                : ida_op_acted(call, s, c, &act.orders, act.upn,
                               ida_printf(c->pool,
                                          "%s has asked for %s; one of its approvers decides.",
                                          act.upn, act.about),
                               also);
}

static const ida_field created[] = {OUT_TEXT("requestId", ALWAYS), OUT_INCLUDE(ida_acted_members),
                                    OUT_END};

/* Members that the three acts share. */
#define REQUEST_ACT \
    .module = IDA_MODULE_ACCESS_GOVERNANCE, .needs_sync = 1, .params = ida_write_params

const ida_operation ida_op_request_create = {
    .name = "request.create",
    REQUEST_ACT,
    .faces = IDA_ON_CONSOLE,
    .right = IDA_ACCESS_WRITE,
    IDA_WRITES("POST", "/access-request"),
    .commands = IDA_COMMANDS(
        {"request", "create", .at = {{"service", "SERVICE"}, {"user", "UPN"}},
         .summary = "Request a service of the access catalog on behalf of a user."}),
    .body = create_members,
    .check = check,
    .work = create,
    .summary = "Requests a service of the access catalog for a person.",
    .output = created,
};

/* --- end --- */

static const ida_param end_members[] = {REQUEST_ID, {0}};

static ida_kind end(ida_call *call, store *s, ida_ctx *c)
{
    const request_input *in = call->input;
    governance_request_act act = {.by = ida_op_actor(call), .id = in->id};
    ida_kind kind = governance_act_end(s, c, &act);
    call->action = !kind && act.was_open ? "request.withdraw" : NULL;
    return kind ? kind
                : ida_op_acted(call, s, c, &act.orders, act.upn,
                               ida_printf(c->pool, "The request of %s for %s is %s.", act.upn,
                                          act.about, act.was_open ? "withdrawn" : "ended"),
                               NULL);
}

const ida_operation ida_op_request_end = {
    .name = "request.end",
    REQUEST_ACT,
    .faces = IDA_ON_CONSOLE,
    .right = IDA_ACCESS_WRITE,
    IDA_WRITES("POST", "/access-request/end"),
    .commands = IDA_COMMANDS(
        {"request", "end", .at = {{"requestId", "REQUEST"}},
         .summary = "Withdraw an open request, or end an approved one.",
         .help = "A task removes the requester from the group again, unless the membership existed "
                 "before or an assigned template or another request grants it."}),
    .body = end_members,
    .check = check,
    .work = end,
    .summary = "Withdraws an open request, or ends an approved one.",
    .output = ida_acted_members,
};

/* --- decide --- */

static const char *const decisions[] = {"approve", "deny", NULL};

static const ida_param decision_members[] = {
    REQUEST_ID,
    {"decision", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .allowed = decisions,
     .at = offsetof(request_input, decision), .about = "approve or deny."},
    TEXT("approver", approver, 0, 256,
         "UPN of the approver who decides; required, except in the console, where the signed-in "
         "person decides."),
    {"reason", IDA_PARAM_LINES, .max = IDA_JUSTIFICATION_MAX, .at = offsetof(request_input, reason),
     .about = "Reason for the decision."},
    {"comment", IDA_PARAM_LINES, .max = IDA_JUSTIFICATION_MAX,
     .at = offsetof(request_input, comment), .about = "Another name for reason."},
    {0},
};

static ida_kind check_decision(ida_call *call)
{
    ida_ctx *c = call->c;
    int named = call->asked->face->names_approver;
    request_input *in = read_body(call);
    if (!named && json_object_get(call->asked->body, "approver")) {
        ida_fault_add(c, "approver", "is the signed-in person: leave it out");
    } else if (named && !in->approver) {
        ida_fault_add(c, "approver", "is required");
    }
    if (in->reason && in->comment) {
        ida_fault_add(c, "comment", "is another name for reason: give one of them");
    }
    in->reason = in->reason ? in->reason : in->comment;
    int approves = in->decision && strcmp(in->decision, "approve") == 0;
    if (in->decision && !approves && strcmp(in->decision, "deny") != 0) {
        ida_fault_add(c, "decision", "must be one of approve, deny");
    }
    call->action = in->decision ? approves ? "request.approve" : "request.deny" : NULL;
    ida_kind kind = ida_faults_raise(c);
    if (kind || named) {
        return kind;
    }
    in->approver = call->asked->person->upn;
    if (!in->approver) {
        ida_fail(c, IDA_FORBIDDEN,
                 "Your sign-in is not linked to a person, so you cannot decide. The server's "
                 "setting IdAdminConsolePerson names the person.");
        return ida_because(c, "personUnknown", NULL);
    }
    return IDA_OK;
}

static ida_kind decide(ida_call *call, store *s, ida_ctx *c)
{
    const request_input *in = call->input;
    governance_request_act act = {.by = ida_op_actor(call),
                                  .id = in->id,
                                  .approver = in->approver,
                                  .reason = in->reason,
                                  .approved = strcmp(in->decision, "approve") == 0};
    ida_kind kind = governance_act_decide(s, c, &act);
    if (call->asked->person) {
        call->actor = act.decided_by;
        call->remark = ida_printf(c->pool, "reported by %s", call->asked->principal->username);
    } else if (act.decided_by) { /* no person is signed in: the record names the key's owner */
        call->remark = ida_printf(c->pool, "in the name of %s", act.decided_by);
    }
    return kind ? kind
                : ida_op_acted(call, s, c, &act.orders, act.upn,
                               ida_printf(c->pool, "The request of %s for %s is %s.", act.upn,
                                          act.about, act.approved ? "approved" : "denied"),
                               NULL);
}

const ida_operation ida_op_request_decide = {
    .name = "request.decide",
    REQUEST_ACT,
    .faces = IDA_ON_REST | IDA_ON_CONSOLE,
    .right = IDA_REQUESTS_DECIDE,
    IDA_WRITES("POST", "/access-request/decision"),
    .commands = IDA_COMMANDS(
        {"request", "approve", .at = {{"requestId", "REQUEST"}}, .named = {{"approver", "by"}},
         .given = {{"decision", "approve"}, {"comment", NULL}},
         .summary = "Approve an open request.",
         .help =
             "A task puts the requester into the service's group. --by names one of the service's "
             "approvers, whose account is enabled and who is not the requester."},
        {"request", "deny", .at = {{"requestId", "REQUEST"}}, .named = {{"approver", "by"}},
         .given = {{"decision", "deny"}, {"comment", NULL}}, .summary = "Deny an open request.",
         .help = "--by names one of the service's approvers, whose account is enabled and who is "
                 "not the requester."}),
    .body = decision_members,
    .example = "{\"requestId\":\"3f1c9b52-8d0e-4a7b-9c55-6b1de0f2a914\",\"decision\":\"approve\","
               "\"approver\":\"karl.ek@contoso.example\",\"reason\":\"Covers for Ida.\"}",
    .check = check_decision,
    .work = decide,
    .summary = "Approves or denies an open access request, on behalf of one of its approvers.",
    .output = ida_acted_members,
    .schema = "DecidedRequest",
};
