/* Owns the stages of a console request in httpd. When the handler runs, 405, other sites, the
 * address limit, authentication and the person's limit have been dealt with; it continues with
 * roles, company, body and operation. Must not know what operations do or how a person signed
 * in. */
#include "mod_idadmin/writer.h"

#include <string.h>

#include "core/base/json.h"

APLOG_USE_MODULE(idadmin);

/* Roles and person, evaluated again for each request. `*numbers`: numbers of the rules that
 * apply, for the writer, which cannot evaluate httpd's expressions. */
static ida_person *person_of(request_rec *r, const char **numbers)
{
    const location_config *config = config_location(r);
    ida_person *p = apr_pcalloc(r->pool, sizeof *p);
    int rules = config->roles ? config->roles->nelts : 0;
    apr_array_header_t *matched = apr_array_make(r->pool, 8, sizeof(const char *));
    ida_grant *grants = apr_pcalloc(r->pool, sizeof *grants * (size_t)(rules + 1));
    for (int i = 0; i < rules; i++) {
        const console_role *rule = &APR_ARRAY_IDX(config->roles, i, console_role);
        const char *fault = NULL;
        if (ap_expr_exec(r, rule->condition, &fault) > 0 && !fault) {
            grants[p->grant_count++] = rule->grant;
            APR_ARRAY_PUSH(matched, const char *) = apr_itoa(r->pool, rule->number);
        } else if (fault) {
            request_say(r, APLOG_WARNING,
                        "IDA0214: the expression of IdAdminConsoleRole %s %s cannot be judged: "
                        "%s",
                        ida_role_name(rule->grant.role), rule->grant.company, fault);
        }
    }
    *numbers = apr_array_pstrcat(r->pool, matched, ',');
    const char *fault = NULL;
    const char *upn = config->person ? ap_expr_str_exec(r, config->person, &fault) : NULL;
    p->user = r->user;
    p->upn = upn && *upn && !fault ? upn : NULL;
    p->grants = grants;
    json_t *links = json_object();
    json_object_set_new(links, "rest", json_string("/v1/api"));
    json_object_set_new(links, "mcp", json_string("/mcp"));
    for (int i = 0; config->links && i < apr_table_elts(config->links)->nelts; i++) {
        const apr_table_entry_t *e = &APR_ARRAY_IDX(apr_table_elts(config->links), i,
                                                    apr_table_entry_t);
        json_object_set_new(links, e->key, json_string(e->val));
    }
    p->links = ida_json_keep(r->pool, links);
    return p;
}

/* Refusals in no known company are for the server's log: no company's audit is concerned. */
static ida_kind record(request_rec *r, ida_call *call, const ida_rest_answer *answer)
{
    if (call->asked->tenant) {
        int nothing_new = answer->status == HTTP_NOT_MODIFIED && !ida_console_first_poll(call);
        return nothing_new ? IDA_OK : spool_call(r, call);
    }
    if (answer->status >= 400) {
        request_say(r, APLOG_INFO, "%s by %s: %d, %s", call->asked->endpoint,
                    call->asked->person->user, answer->status,
                    call->c->message ? call->c->message : "refused");
    }
    return IDA_OK;
}

static int go_home(request_rec *r)
{
    apr_table_setn(r->headers_out, "Location",
                   apr_pstrcat(r->pool, ap_escape_uri(r->pool, request_route(r)->base), "/", NULL));
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    r->status = HTTP_SEE_OTHER;
    return OK;
}

static int answer_request(request_rec *r, request_state *state)
{
    const char *rules;
    ida_question asked = {
        .person = person_of(r, &rules),
        .server_rate_key = *config_rate(r->server, LIMIT_KEY),
        .server_rate_company = *config_rate(r->server, LIMIT_COMPANY),
        .address = r->useragent_ip,
        .seen = apr_table_get(r->headers_in, "If-Match"),
    };
    ida_call call = {.c = state->c, .asked = &asked, .source = child->source};
    ida_rest_request request = handler_request(r, &asked);
    ida_rest_answer answer;
    int status = OK;
    if (!ida_answer_refused(&call, ida_console_open(&call, &request), &answer) &&
        !ida_console_admit(&call, &request, &answer) &&
        !ida_answer_refused(&call, rates_at_once(r, asked.operation), &answer)) {
        const char *texts[ASKED_COUNT] = {
            [ASKED_FACE] = "console",
            [ASKED_COMPANY] = asked.principal->company,
            [ASKED_USER] = asked.person->user,
            [ASKED_UPN] = asked.person->upn,
            [ASKED_RULES] = rules,
            [ASKED_IF_MATCH] = asked.seen,
        };
        status = handler_run(r, &call, texts, &request, &answer);
    }
    if (asked.tenant) {
        apr_table_setn(r->notes, "idadmin-company", asked.tenant->id);
    }
    if (record(r, &call, &answer) != IDA_OK) {
        ida_answer_error(state->c, &ida_console_face, &answer);
        status = OK;
    }
    return status != OK      ? status
           : answer.exported ? export_stream(r, &call, &answer)
                             : respond(r, &answer);
}

int console_handler(request_rec *r)
{
    if (!r->handler || strcasecmp(r->handler, "idadmin-console") != 0) {
        return DECLINED;
    }
    request_state *state = child ? request_state_of(r) : NULL;
    if (!state || !r->user || !*r->user) {
        request_say(r, APLOG_ERR,
                    "IDA0213: %s is served by idadmin-console without authentication: its "
                    "Location needs an AuthType and \"Require valid-user\"",
                    r->uri);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    request_trust(r);
    int status = rates_person(r);
    return status != OK ? status : console_is_sign_in(r) ? go_home(r) : answer_request(r, state);
}
