/* Owns answers: writing ours, and turning errors raised in any phase by any module into our
 * JSON. Must not know operations. */
#include "mod_idadmin/module.h"

#include <mod_core.h>
#include <string.h>
#include <util_filter.h>

APLOG_USE_MODULE(idadmin);

#define ERROR_FILTER "IDADMIN_ERROR"

static ap_filter_rec_t *error_filter;

static void set_type(request_rec *r, const request_state *state)
{
    ap_set_content_type(r, state->face == FACE_MCP ? IDA_MCP_TYPE : IDA_JSON_TYPE);
    if (state->face == FACE_MCP || state->face == FACE_CONSOLE) {
        apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
    }
    if (state->face == FACE_CONSOLE) {
        apr_table_setn(r->headers_out, "Cross-Origin-Resource-Policy", "same-origin");
    }
}

void respond_begin(request_rec *r, const ida_rest_answer *answer)
{
    request_leave_seat(request_state_of(r)); /* before a client can know that it may continue */
    r->status = answer->status;
    for (const ida_rest_header *h = answer->headers; h; h = h->next) {
        apr_table_setn(r->headers_out, h->name, h->value);
    }
    if (answer->retry_after) {
        apr_table_setn(r->headers_out, "Retry-After", apr_itoa(r->pool, answer->retry_after));
    }
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    if (!answer->body && !answer->exported) {
        return;
    }
    set_type(r, request_state_of(r));
    if (answer->type) {
        ap_set_content_type(r, answer->type);
    }
    /* httpd would cut any 200 to the requested range, for a POST too: then the ID of a queued
     * task would be lost. */
    apr_table_unset(r->headers_in, "Range");
    apr_table_unset(r->headers_in, "Request-Range");
    keepalive_preserve(r);
}

int respond(request_rec *r, const ida_rest_answer *answer)
{
    respond_begin(r, answer);
    if (!answer->body) {
        return OK;
    }
    ap_set_content_length(r, (apr_off_t)answer->len);
    ap_rwrite(answer->body, (int)answer->len, r); /* dropped by httpd for HEAD */
    return OK;
}

/* --- errors of any phase --- */

static const char *error_body(request_rec *r, const request_state *state)
{
    const ida_ctx *c = state->c;
    ida_kind kind = ida_kind_of_status(r->status);
    int ours = c->kind && c->kind == kind;
    const char *text = ours ? ida_public_message(c) : foreign_text(r);
    if (state->face == FACE_CONSOLE && ours) {
        ida_rest_answer answer;
        ida_answer_error(state->c, &ida_console_face, &answer);
        return answer.body;
    }
    if (state->face != FACE_MCP) {
        return ida_answer_error_text(r->pool, kind, text);
    }
    text = text ? text : ida_mcp_kind_text(kind);
    return ida_mcp_refusal(r->pool, r->status, text ? text : ida_kind_text(kind));
}

static void error_headers(request_rec *r, const request_state *state, size_t len)
{
    set_type(r, state);
    ap_set_content_length(r, (apr_off_t)len);
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    if (r->status == HTTP_METHOD_NOT_ALLOWED && state->routed) {
        const char *allow = state->route.allow;
        const ida_face *as = state->face == FACE_CONSOLE ? &ida_console_face : &ida_rest_face;
        apr_table_setn(r->headers_out, "Allow",
                       allow ? allow : ida_route_allow(r->pool, as, state->route.path));
    }
    if (r->status == HTTP_SERVICE_UNAVAILABLE && !apr_table_get(r->headers_out, "Retry-After")) {
        apr_table_setn(r->headers_out, "Retry-After", "1");
    }
}

/* Drops httpd's own error body up to its end, then writes the JSON. Runs a second time for one
 * request (after 413): then it only drops. */
static apr_status_t filter_error(ap_filter_t *f, apr_bucket_brigade *in)
{
    request_rec *r = f->r;
    request_state *state = request_state_of(r);
    int end = 0;
    for (apr_bucket *b = APR_BRIGADE_FIRST(in); b != APR_BRIGADE_SENTINEL(in) && !end;
         b = APR_BUCKET_NEXT(b)) {
        end = APR_BUCKET_IS_EOS(b);
    }
    apr_brigade_cleanup(in);
    if (!end) {
        return APR_SUCCESS;
    }
    if (!state->error_sent) {
        const char *text = error_body(r, state);
        size_t len = strlen(text);
        state->error_sent = 1;
        request_leave_seat(state);
        error_headers(r, state, len);
        APR_BRIGADE_INSERT_TAIL(in, apr_bucket_pool_create(text, len, r->pool, f->c->bucket_alloc));
    }
    APR_BRIGADE_INSERT_TAIL(in, apr_bucket_eos_create(f->c->bucket_alloc));
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, in);
}

/* Runs before the answer's status line is made, for every error page that httpd itself writes. */
void respond_insert_error_filter(request_rec *r)
{
    if (request_face(r) == FACE_NONE || r->status < 400 || !child) {
        return;
    }
    request_state *state = request_state_of(r);
    int raised = r->status;
    if (r->status == HTTP_UNAUTHORIZED && state->principal) {
        r->status = HTTP_FORBIDDEN; /* a Require directive refused valid credentials */
        state->require_refused = 1;
        r->status_line = NULL;
        apr_table_unset(r->err_headers_out, "WWW-Authenticate");
        apr_table_unset(r->headers_out, "WWW-Authenticate");
    }
    if (state->principal && !state->quotas[LIMIT_KEY].known && rates_fixups(r) != DECLINED) {
        r->status = HTTP_TOO_MANY_REQUESTS; /* refused before the phase of the limits, but a request
                                               all the same */
        r->status_line = NULL;
    }
    if (spool_refusal(r, ida_kind_of_status(r->status)) != IDA_OK) {
        r->status = HTTP_SERVICE_UNAVAILABLE;
        r->status_line = NULL;
    }
    /* httpd has chosen the body by the status that was raised: an ErrorDocument for a status set
     * here would not be used. */
    if (r->status != raised ||
        ap_response_code_string(r, ap_index_of_response(r->status)) == NULL) {
        ap_add_output_filter_handle(error_filter, NULL, r, r->connection);
    }
}

void respond_register(void)
{
    error_filter = ap_register_output_filter(ERROR_FILTER, filter_error, NULL,
                                             AP_FTYPE_CONTENT_SET);
}
