/* Owns the preview of a hire: name, seat and time that a creation would get. Reserves nothing,
 * so another request can take a name a second later. */
#include <string.h>

#include "core/base/json.h"
#include "core/operation/op.h"
#include "core/operation/people/create.h"
#include "core/operation/people/rehire.h"
#include "core/operation/table.h"
#include "core/tenant/naming.h"
#include "core/zone/schedule.h"

typedef struct preview_input {
    char *upn_local, *mail_local;
    const char *display_name;
    zone_due due;
} preview_input;

/* The format in the argument, or else the company's. */
static const char *format_of(ida_call *call, const char *argument, const char *own, int address)
{
    const char *given = ida_json_string(call->arguments, argument);
    const char *fault = given ? ida_naming_format_fault(call->c->pool, given, address) : NULL;
    if (fault) {
        ida_fault_add(call->c, argument, "%s", fault);
    }
    return given && !fault ? given : own;
}

static ida_kind check(ida_call *call)
{
    ida_ctx *c = call->c;
    const ida_tenant *t = call->asked->tenant;
    const json_t *a = call->arguments;
    preview_input *in = call->input = apr_pcalloc(c->pool, sizeof *in);
    ida_name_parts parts = {ida_json_string(a, "firstname"), ida_json_string(a, "middleName"),
                            ida_json_string(a, "surname")};
    const char *upn = format_of(call, "usernameFormat", t->username_format, 1),
               *mail = format_of(call, "emailFormat", t->email_format, 1),
               *shown = format_of(call, "displayNameFormat", t->display_name_format, 0);
    ida_kind kind = zone_schedule(c, ZONE_DUE_CREATE, t->time_zone, ida_json_string(a, "date"),
                                  ida_json_string(a, "time"), &in->due);
    kind = kind ? kind : ida_faults_raise(c);
    kind = kind ? kind : ida_naming_local(c, upn, &parts, &in->upn_local);
    kind = kind ? kind : ida_naming_local(c, mail, &parts, &in->mail_local);
    in->display_name = kind ? NULL : ida_naming_display(c->pool, shown, &parts);
    return kind;
}

static ida_kind work(ida_call *call, store *s, ida_ctx *c)
{
    const preview_input *in = call->input;
    const ida_tenant *t = call->asked->tenant;
    const char *employee_id = ida_json_string(call->arguments, "employeeId");
    json_t *out = call->result = ida_json_keep(c->pool, json_object()), *people = json_array();
    json_t *seats = NULL;
    char *upn, *mail;
    ida_kind kind = ida_op_choose_names(s, c, t, in->upn_local, in->mail_local, NULL, &upn, &mail);
    kind = kind ? kind : ida_op_seats(s, c, t, &seats);
    json_object_set_new(out, "seats", seats);
    if (!kind && employee_id) {
        json_decref(people);
        kind = ida_op_same_employee(s, c, t->id, employee_id, &people);
    }
    json_object_set_new(out, "sameEmployeeId", people);
    if (kind) {
        return kind;
    }
    const char *first = ida_naming_candidate(c->pool, in->upn_local, t->upn_domain, 1);
    ida_json_put(out, "displayName", in->display_name);
    ida_json_put(out, "userPrincipalName", upn);
    ida_json_put(out, "mail", mail);
    json_object_set_new(out, "numbered", json_boolean(strcmp(first, upn) != 0));
    ida_json_put(out, "scheduledAt", zone_schedule_local(c, t->time_zone, in->due.at_ms));
    ida_json_put_time(out, "scheduledAtUtc", in->due.at_ms);
    ida_json_put(out, "timeZone", t->time_zone);
    ida_json_put_or_null(out, "adjustment", in->due.adjustment);
    return IDA_OK;
}

static const ida_param params[] = {
    {"firstname", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 64, .about = "Given name."},
    {"surname", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 64, .about = "Surname."},
    {"middleName", IDA_PARAM_STRING, .max = 64, .about = "Middle name."},
    {"date", IDA_PARAM_STRING, .max = 10, .about = "YYYY-MM-DD in the company's zone."},
    {"time", IDA_PARAM_STRING, .max = 5, .about = "HH:mm in the company's zone."},
    {"employeeId", IDA_PARAM_STRING, .max = 16, .about = "The person's number."},
    {"usernameFormat", IDA_PARAM_STRING, .max = 256, .about = "Instead of the company's."},
    {"emailFormat", IDA_PARAM_STRING, .max = 256, .about = "Instead of the company's."},
    {"displayNameFormat", IDA_PARAM_STRING, .max = 256, .about = "Instead of the company's."},
    {0},
};

const ida_operation ida_op_user_preview = {
    .name = "user.preview",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_PEOPLE_WRITE, /* because it reveals whose an employeeId is */
    IDA_READS("/user/preview"),
    .needs_sync = 1,
    .discreet = 1,
    .params = params,
    .check = check,
    .work = work,
    .summary = "Names, seat and time that a new hire would get.",
};
