/* Owns how the console shows a company: its settings in force, its seats, its directories. Only
 * `idadminctl tenant apply` changes settings: their seal needs a key that a server cannot read. */
#include "core/base/json.h"
#include "core/operation/company/directory_json.h"
#include "core/operation/op.h"
#include "core/operation/table.h"

static void put_settings(const ida_tenant *t, json_t *out)
{
    ida_json_put(out, "companyId", t->id);
    ida_json_put(out, "name", t->name);
    ida_json_put(out, "timeZone", t->time_zone);
    ida_json_put(out, "usernameFormat", t->username_format);
    ida_json_put(out, "emailFormat", t->email_format);
    ida_json_put(out, "displayNameFormat", t->display_name_format);
    ida_json_put(out, "upnDomain", t->upn_domain);
    ida_json_put(out, "emailDomain", t->email_domain);
    ida_json_put(out, "createUsersIn", ida_directory_name(t->create_users_in));
    json_object_set_new(out, "modules",
                        json_pack("{s:b, s:b}", "publicApi", t->public_api, "accessGovernance",
                                  t->access_governance));
    json_object_set_new(out, "brake",
                        t->brake_per_hour ? json_pack("{s:I}", "offboardingsPerHour",
                                                      (json_int_t)t->brake_per_hour)
                                          : json_null());
    json_object_set_new(out, "hygiene", json_pack("{s:i}", "staleAfterDays", t->stale_after_days));
    json_object_set_new(out, "retention",
                        json_pack("{s:i, s:i}", "taskHistoryDays", t->task_history_days,
                                  "auditDays", t->audit_days));
}

/* The tenant's limit takes precedence over the server's; a key's own limit is in its row. */
static void put_rate(const ida_call *call, const char *name, const ida_rate *own,
                     const ida_rate *servers, json_t *limits, json_t *source)
{
    int tenants = own->limit || own->off;
    ida_json_put_or_null(limits, name, ida_rate_text(call->c->pool, tenants ? own : servers));
    ida_json_put(source, name, tenants ? "tenant" : "server");
}

static void put_rates(const ida_call *call, json_t *out)
{
    json_t *limits = json_object(), *source = json_object();
    put_rate(call, "key", &call->asked->tenant->rate_key, &call->asked->server_rate_key, limits,
             source);
    put_rate(call, "company", &call->asked->tenant->rate_company, &call->asked->server_rate_company,
             limits, source);
    json_object_set_new(limits, "source", source);
    json_object_set_new(out, "rateLimits", limits);
}

static void put_counts(const ida_tenant *t, json_t *out)
{
    static const char *const lists[][2] = {{"workflows", "workflowCount"},
                                           {"notifications", "notificationCount"}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const json_t *list = json_object_get(t->document, lists[i][0]);
        json_object_set_new(out, lists[i][1], json_integer((json_int_t)json_array_size(list)));
    }
}

static ida_kind get(ida_call *call, store *s, ida_ctx *c)
{
    json_t *out = call->result = ida_json_keep(c->pool, json_object()), *directories, *seats;
    put_settings(call->asked->tenant, out);
    put_rates(call, out);
    put_counts(call->asked->tenant, out);
    ida_kind kind = ida_op_seats(s, c, call->asked->tenant, &seats);
    if (!kind) {
        json_object_set_new(out, "seats", seats);
        kind = ida_directories_json(call, s, c, &directories);
    }
    if (!kind) {
        json_object_set(out, "directories", directories);
    }
    return kind;
}

const ida_operation ida_op_company = {
    .name = "company.get",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_COMPANY_READ,
    IDA_READS("/company"),
    .params = ida_no_params,
    .work = get,
    .summary = "Settings in force, seats and directories of the company.",
};
