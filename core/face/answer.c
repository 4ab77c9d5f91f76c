/* Owns how results and errors look in JSON over HTTP. Must not know which operation they belong
 * to. */
#include "core/face/answer.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/correlation.h"
#include "core/base/json.h"

static char *error_text(apr_pool_t *pool, ida_kind kind, const char *message, const ida_ctx *more)
{
    json_t *error = json_object(), *body = json_object();
    ida_json_put(error, "code", ida_kind_code(kind));
    ida_json_put(error, "message", message ? message : ida_kind_text(kind));
    if (more && more->reason) {
        ida_json_put(error, "reason", more->reason);
    }
    if (more) {
        ida_json_put(error, "correlationId", ida_correlation_id(more->env));
    }
    if (more && more->fields) {
        json_t *fields = json_array();
        for (const ida_fault *f = more->fields; f; f = f->next) {
            json_array_append_new(fields,
                                  json_pack("{s:s, s:s}", "name", f->field, "message", f->rule));
        }
        json_object_set_new(error, "fields", fields);
    }
    if (more && more->details) {
        json_object_set(error, "details", more->details);
    }
    json_object_set_new(body, "error", error);
    char *text = ida_json_text(pool, body);
    json_decref(body);
    return text;
}

const char *ida_answer_error_text(apr_pool_t *pool, ida_kind kind, const char *message)
{
    return error_text(pool, kind, message, NULL);
}

const char *ida_answer_fault_text(const ida_ctx *c, ida_kind kind)
{
    return error_text(c->pool, kind, c->message, c);
}

void ida_answer_error(ida_ctx *c, const ida_face *face, ida_rest_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    answer->status = ida_kind_status(c->kind);
    answer->body = error_text(c->pool, c->kind, ida_public_message(c), face->explains ? c : NULL);
    answer->len = strlen(answer->body);
    answer->retry_after = c->retry_after                       ? c->retry_after
                          : c->kind == IDA_SERVICE_UNAVAILABLE ? 1
                                                               : 0;
}

void ida_answer_header(apr_pool_t *pool, ida_rest_answer *answer, const char *name,
                       const char *value)
{
    ida_rest_header *h = apr_palloc(pool, sizeof *h);
    h->name = name;
    h->value = value;
    h->next = answer->headers;
    answer->headers = h;
}

ida_kind ida_answer_refused(ida_call *call, ida_kind kind, ida_rest_answer *answer)
{
    if (!kind) {
        return kind;
    }
    if (!call->audit) {
        ida_operation_record(call, kind);
    }
    ida_answer_error(call->c, call->asked->face, answer);
    if (call->c->kind == IDA_INTERNAL_ERROR) {
        ida_log(call->c->env, IDA_LOG_ERROR, "IDA0011", "%s failed: %s", call->asked->endpoint,
                call->c->message ? call->c->message : "no reason given");
    }
    return kind;
}

void ida_answer_result(ida_call *call, ida_rest_answer *answer)
{
    apr_pool_t *pool = call->c->pool;
    answer->status = 200;
    answer->body = apr_pstrcat(pool, "{\"data\":", ida_json_text(pool, call->result), "}", NULL);
    answer->len = strlen(answer->body);
    if (call->replayed) {
        ida_answer_header(pool, answer, "Idempotent-Replayed", "true");
    }
}
