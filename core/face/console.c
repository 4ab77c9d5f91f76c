/* Owns the console's JSON: company, roles, entity tags. Must not know an HTTP server, nor what
 * operations do. */
#include "core/face/console.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/face/export.h"
#include "core/operation/etag.h"
#include "core/store/tenant.h"
#include "core/tenant/credentials.h"

const ida_face ida_console_face = {
    .bit = IDA_ON_CONSOLE,
    .via = "console",
    .category = "portal",
    .unknown = "request",
    .texts = 1,
    .cleans = 1,
    .root = "/api",
    .key_path = "/console",
    .explains = 1,
};

static ida_kind load_company(ida_call *call, const char *company, ida_question *asked,
                             ida_principal *who)
{
    ida_tenant *tenant = NULL;
    ida_kind kind = ida_call_acquire(call);
    kind = kind ? kind : store_tenant_get(call->store, call->c, company, &tenant, NULL);
    ida_call_release(call);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(call->c);
        return IDA_OK;
    }
    if (!kind) {
        asked->tenant = tenant;
        asked->roles = ida_person_roles(asked->person, company);
        who->company = tenant->id;
    }
    return kind;
}

ida_kind ida_console_open(ida_call *call, const ida_rest_request *request)
{
    ida_ctx *c = call->c;
    ida_question *asked = request->asked;
    ida_principal *who = apr_pcalloc(c->pool, sizeof *who);
    const char *path = request->route->path,
               *name = *path ? path + strlen(ida_console_face.root) : "";
    *who = (ida_principal){.company = "", .username = asked->person->user, .label = ""};
    asked->principal = who;
    asked->face = &ida_console_face;
    asked->operation = request->route->operation;
    asked->endpoint = apr_pstrcat(c->pool, "console ",
                                  ida_clean(c->pool, request->method, strlen(request->method), 32),
                                  " ", ida_clean(c->pool, name, strlen(name), 128), NULL);
    asked->arguments = ida_request_query(c, request->query);
    const char *company = apr_pstrdup(c->pool, ida_json_string(asked->arguments, "companyId"));
    json_object_del(asked->arguments, "companyId");
    return company && ida_name_valid(company) && ida_person_roles(asked->person, company)
               ? load_company(call, company, asked, who)
               : IDA_OK;
}

static ida_kind no_such_path(ida_call *call, const ida_route *route)
{
    const char *path = *route->path ? route->path : "this path";
    return ida_fail(call->c, IDA_NOT_FOUND, "There is no resource %s in the console.",
                    ida_clean(call->c->pool, path, strlen(path), 128));
}

static ida_kind no_role(ida_call *call)
{
    ida_fail(call->c, IDA_FORBIDDEN,
             "You are signed in as %s, but nobody has given you a role here. Ask whoever runs the "
             "server for a line IdAdminConsoleRole.",
             call->asked->person->user);
    return ida_because(call->c, "noRole", json_pack("{s:s}", "user", call->asked->person->user));
}

/* The same words if the company does not exist and if this person has no role in it. */
static ida_kind company_unknown(ida_call *call)
{
    ida_fail(call->c, IDA_FORBIDDEN,
             "There is no such company, or you have no role in it; companyId must name one of "
             "yours.");
    return ida_because(call->c, "companyUnknown", NULL);
}

/* A form on another site can send any content type except this one. */
static ida_kind wrong_type(ida_ctx *c, const ida_rest_request *request)
{
    int writes = strcmp(request->method, "POST") == 0 || strcmp(request->method, "PATCH") == 0;
    return writes && !ida_json_type(request->content_type)
               ? ida_fail(c, IDA_UNSUPPORTED_MEDIA_TYPE, "%s",
                          ida_kind_text(IDA_UNSUPPORTED_MEDIA_TYPE))
               : IDA_OK;
}

static ida_kind admit(ida_call *call, const ida_rest_request *request)
{
    if (!call->asked->operation) {
        return no_such_path(call, request->route);
    }
    if (!call->asked->person->grant_count) {
        return no_role(call);
    }
    if (!call->asked->tenant && !call->asked->operation->no_company) {
        return company_unknown(call);
    }
    ida_kind kind = ida_operation_admit(call);
    return kind ? kind : wrong_type(call->c, request);
}

ida_kind ida_console_admit(ida_call *call, const ida_rest_request *request, ida_rest_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    return ida_answer_refused(call, admit(call, request), answer);
}

void ida_console_run(ida_call *call, const ida_rest_request *request, ida_rest_answer *answer)
{
    ida_ctx *c = call->c;
    memset(answer, 0, sizeof *answer);
    ida_kind kind = ida_request_read(c, request);
    if (ida_answer_refused(call, kind ? kind : ida_operation_run(call), answer)) {
        return;
    }
    if (call->exported) {
        ida_export_answer(call, answer);
        return;
    }
    ida_answer_result(call, answer);
    if (call->asked->operation->scope == IDA_SCOPE_READ) {
        const char *tag = ida_etag(c->pool, call->result, call->asked->operation->one_state);
        ida_answer_header(c->pool, answer, "ETag", tag);
        if (ida_etag_named(request->if_none_match, tag)) {
            answer->status = 304;
            answer->body = NULL;
        }
    }
}
