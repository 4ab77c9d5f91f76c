/* Owns one write from its credentials to its answer: the caller is checked again, as if the
 * child had not done so. Must not know sockets or httpd. */
#include <apr_strings.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/correlation.h"
#include "core/face/console.h"
#include "core/face/rest.h"
#include "core/store/audit.h"
#include "core/tenant/credentials.h"
#include "writer/writer.h"

#define UNSEALED_RETRY 60 /* seconds: a person has to look */

/* What a write consists of besides the call. */
typedef struct writing {
    served *s;
    ida_correlation correlation;
    ida_env env; /* the writer's, with that */
    ida_question asked;
    ida_call call;
    ida_route route;
    ida_rest_request request;
    ida_rest_answer answer;
    ida_person person;
    const ida_caller *caller; /* of REST */
} writing;

static int is_left(void *baton)
{
    return wire_is_left(((const served *)baton)->end);
}

/* A document that may not be followed is no fault of the request. The log says what to do. */
static ida_kind unless_followed(ida_ctx *c, ida_kind kind)
{
    if (kind != IDA_INTERNAL_ERROR) {
        return kind;
    }
    ida_ctx_clear(c);
    c->retry_after = UNSEALED_RETRY;
    return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "%s", ida_kind_text(IDA_SERVICE_UNAVAILABLE));
}

/* --- credentials --- */

static ida_kind refused(ida_ctx *c, const char *why)
{
    /* A key may have been taken back since the child has looked. */
    ida_log(c->env, IDA_LOG_INFO, NULL,
            "a child of httpd handed over a write that its credentials do not allow: %s", why);
    return ida_fail(c, IDA_UNAUTHORIZED, "%s", ida_kind_text(IDA_UNAUTHORIZED));
}

static ida_kind know_caller(writing *g)
{
    served *s = g->s;
    ida_ctx *c = g->call.c;
    const char *company = s->text[ASKED_COMPANY], *user = s->text[ASKED_USER],
               *key = s->text[ASKED_KEY];
    if (!ida_name_valid(company) || !ida_name_valid(user) || !ida_key_well_formed(key)) {
        return refused(c, "malformed");
    }
    char hash[IDA_KEY_HASH_LEN + 1];
    ida_key_hash(key, hash);
    ida_kind kind = ida_caller_get(s->w->callers, c, s->w->source, company, user, hash, &g->caller);
    const char *fault = kind ? NULL
                             : ida_caller_fault(g->caller, hash, s->text[ASKED_ADDRESS],
                                                ida_now(c->env));
    OPENSSL_cleanse(hash, sizeof hash);
    if (fault) {
        return refused(c, fault);
    }
    if (!kind) {
        g->asked.principal = &g->caller->principal;
        g->asked.tenant = g->caller->tenant;
        g->asked.synced = g->caller->synced;
    }
    return unless_followed(c, kind);
}

/* The rules of the configuration that match the person, as the child reports them; the
 * configuration decides which role a rule gives. */
static void know_roles(writing *g)
{
    const writer_settings *settings = &g->s->w->settings;
    const char *at = g->s->text[ASKED_RULES] ? g->s->text[ASKED_RULES] : "";
    ida_grant *grants = apr_pcalloc(g->s->pool,
                                    sizeof *grants * (size_t)(settings->role_count + 1));
    while (*at && g->person.grant_count < settings->role_count) {
        char *end;
        long rule = strtol(at, &end, 10);
        if (end == at) {
            break;
        }
        if (rule >= 0 && rule < settings->role_count) {
            grants[g->person.grant_count++] = settings->roles[rule];
        }
        at = end + (*end == ',');
    }
    g->person.grants = grants;
}

static ida_kind know_person(writing *g)
{
    served *s = g->s;
    ida_ctx *c = g->call.c;
    const writer_settings *settings = &s->w->settings;
    if (!s->text[ASKED_USER] || !*s->text[ASKED_USER]) {
        return refused(c, "nobody is signed in");
    }
    g->person = (ida_person){.user = s->text[ASKED_USER], .upn = s->text[ASKED_UPN]};
    know_roles(g);
    g->asked.person = &g->person;
    g->asked.server_rate_key = settings->rate_key;
    g->asked.server_rate_company = settings->rate_company;
    g->asked.seen = s->text[ASKED_IF_MATCH];
    return unless_followed(c, ida_console_open(&g->call, &g->request));
}

/* --- the write --- */

static void run(writing *g, int console)
{
    ida_call *call = &g->call;
    if (console ? know_person(g) : know_caller(g)) {
        ida_answer_error(call->c, console ? &ida_console_face : &ida_rest_face, &g->answer);
    } else if (console && !ida_console_admit(call, &g->request, &g->answer)) {
        ida_console_run(call, &g->request, &g->answer);
    } else if (!console && !ida_rest_admit(call, &g->request, &g->answer)) {
        ida_rest_run(call, &g->request, &g->answer);
    }
}

/* A refusal is recorded where children cannot write, like a success. */
static ida_kind add_record(store *s, ida_ctx *c, void *baton)
{
    const ida_call *call = baton;
    return store_audit_add(s, c, call->audit);
}

static int record(writing *g)
{
    ida_call *call = &g->call;
    if (call->audit_written) {
        return 1;
    }
    if (!call->audit || !call->asked->tenant) {
        return 0;
    }
    ida_ctx *answered = call->c;
    call->c = ida_ctx_make(answered->env, answered->pool);
    ida_kind kind = ida_call_transaction(call, add_record, call);
    call->c = answered;
    return kind == IDA_OK;
}

static void tell(writing *g, int recorded)
{
    served *s = g->s;
    const ida_rest_answer *a = &g->answer;
    s->told[TOLD_STATUS] = apr_itoa(s->pool, a->status);
    s->told[TOLD_RETRY_AFTER] = a->retry_after ? apr_itoa(s->pool, a->retry_after) : NULL;
    s->told[TOLD_TASK] = g->call.task_id;
    s->told[TOLD_RECORDED] = recorded ? "1" : NULL;
    const char *headers = "";
    for (const ida_rest_header *h = a->headers; h; h = h->next) {
        headers = apr_pstrcat(s->pool, headers, h->name, ": ", h->value, "\n", NULL);
    }
    s->told[TOLD_HEADERS] = headers;
    s->answer = a->body;
    s->answer_len = a->body ? a->len : 0;
}

int serve(served *s)
{
    int console = s->text[ASKED_FACE] && strcmp(s->text[ASKED_FACE], "console") == 0;
    const char *method = s->text[ASKED_METHOD] ? s->text[ASKED_METHOD] : "",
               *uri = s->text[ASKED_URI] ? s->text[ASKED_URI] : "";
    writing g = {
        .s = s,
        .asked = {.address = s->text[ASKED_ADDRESS]},
        .call = {.source = s->w->source},
        .request = {.method = method,
                    .query = s->text[ASKED_QUERY],
                    .content_type = s->text[ASKED_CONTENT_TYPE],
                    .idempotency_key = s->text[ASKED_IDEMPOTENCY_KEY],
                    .has_body = s->text[ASKED_HAS_BODY] != NULL,
                    .body = s->body,
                    .body_len = s->body_len},
    };
    ida_correlation_take(&s->w->env, s->text[ASKED_REQUEST_ID], s->text[ASKED_TRACE],
                         &g.correlation);
    g.env = ida_env_correlated(&s->w->env, &g.correlation);
    g.env.gone = is_left;
    g.env.gone_baton = s;
    g.call.c = ida_ctx_make(&g.env, s->pool);
    g.call.asked = g.request.asked = &g.asked;
    g.request.route = &g.route;
    ida_route_find(s->pool, console ? &ida_console_face : &ida_rest_face, method, uri, &g.route);
    if (!g.route.operation || g.route.operation->scope != IDA_SCOPE_WRITE) {
        return 0; /* reads are the child's own, with its own rights */
    }
    run(&g, console);
    tell(&g, record(&g));
    if (g.caller) {
        ida_caller_release(g.caller);
    }
    return 1;
}
