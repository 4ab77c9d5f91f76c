/* Owns one authenticated call: turn, token, sending, and what the answer means as a failure class.
 * Must not know users or groups. */
#include <apr_strings.h>
#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/graph/client.h"
#include "worker/graph/error.h"
#include "worker/graph/session.h"
#include "worker/graph/url.h"

#define ANSWER_MAX (8 * 1024 * 1024)
#define MESSAGE_MAX 1000
#define HEADERS_MAX 16

graph_call graph_call_begin(graph *g, apr_pool_t *pool, directory_error *e)
{
    *e = (directory_error){.class = DIRECTORY_OK};
    return (graph_call){
        .g = g, .pool = pool, .e = e, .deadline = ida_monotonic(g->env) + DIRECTORY_CALL_MS};
}

int64_t graph_left(const graph_call *k)
{
    int64_t left = k->deadline - ida_monotonic(k->g->env);
    return left > 0 ? left : 0;
}

directory_class graph_fail(graph_call *k, directory_class class, const char *field,
                           const char *format, ...)
{
    char text[4 * MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args); /* C11's conversions, not APR's */
    va_end(args);
    *k->e = (directory_error){.class = class,
                              .message = ida_clean(k->pool, text, strlen(text), MESSAGE_MAX),
                              .field = field};
    return class;
}

directory_class graph_fail_outcome(graph_call *k, http_outcome outcome, graph_effect effect,
                                   const char *url, const char *doing, const http_answer *answer)
{
    graph_address address = {.shown = ""};
    directory_class lost = effect == GRAPH_WRITE && answer->sent ? DIRECTORY_UNSURE
                                                                 : DIRECTORY_TRANSIENT;
    graph_url_parse(url, k->pool, &address);
    switch (outcome) {
    case HTTP_REFUSED:
        return graph_fail(
            k, DIRECTORY_CONFIG, NULL,
            "%s: %s: %s; check caFile, proxyUrl and that the certificate names this host",
            address.shown, doing, answer->fault);
    case HTTP_TOO_BIG:
        return graph_fail(k, effect == GRAPH_WRITE ? DIRECTORY_UNSURE : DIRECTORY_CONFIG, NULL,
                          "%s: %s: %s", address.shown, doing, answer->fault);
    case HTTP_STOPPED:
        return graph_fail(k, lost == DIRECTORY_UNSURE ? lost : DIRECTORY_LOCAL, NULL,
                          "%s: %s: stopped", address.shown, doing);
    case HTTP_FAULT:
        return graph_fail(k, lost == DIRECTORY_UNSURE ? lost : DIRECTORY_LOCAL, NULL, "%s: %s: %s",
                          address.shown, doing, answer->fault);
    default:
        return graph_fail(k, lost, NULL, "%s: %s: %s%s", address.shown, doing,
                          lost == DIRECTORY_UNSURE ? "the answer was lost: " : "", answer->fault);
    }
}

static const char *text_of(graph_call *k, const json_t *object, const char *member)
{
    const char *text = ida_json_string(object, member);
    return text ? ida_clean(k->pool, text, strlen(text), 500) : "";
}

static void read_error(graph_call *k, graph_answer *answer)
{
    const json_t *error = json_object_get(answer->json, "error");
    const json_t *details = json_object_get(error, "details"), *first = json_array_get(details, 0);
    answer->code = text_of(k, error, "code");
    answer->message = text_of(k, error, "message");
    answer->detail_code = text_of(k, first, "code");
    answer->detail_target = text_of(k, first, "target");
}

/* 1 when the body is what this call can have been answered with: JSON, or nothing to a write. A
 * page of some gateway is no answer of the directory, whatever its status says, and an empty one
 * would read as "there is nobody". */
static int plausible(graph_effect effect, const graph_request *r, const graph_answer *answer,
                     const http_answer *raw)
{
    return effect == GRAPH_READ ? json_is_object(answer->json) || answer->bytes_len > 0
                                : raw->len == 0 || answer->json || answer->bytes || r->bytes;
}

directory_class graph_answer_read(graph_call *k, graph_effect effect, const graph_request *r,
                                  http_answer *raw, graph_answer *answer)
{
    const graph *g = k->g;
    const char *field, *advice, *id = raw->request_id ? raw->request_id : "none";
    const char *doing = r->doing ? r->doing : r->method;
    answer->status = raw->status;
    if (r->raw && raw->status / 100 == 2) {
        answer->bytes = raw->bytes ? http_answer_keep(raw, k->pool) : apr_pstrdup(k->pool, "");
        answer->bytes_len = raw->len;
    } else {
        answer->json = raw->len ? ida_json_keep(k->pool, json_loadb(raw->bytes, raw->len, 0, NULL))
                                : NULL;
    }
    answer->location = raw->location;
    answer->retry_after_ms = http_retry_after_ms(raw, ida_now(g->env));
    read_error(k, answer);
    directory_class class = graph_classify(effect, raw->status, answer->code, answer->detail_code,
                                           answer->detail_target, &field);
    if (!class && !plausible(effect, r, answer, raw)) {
        return graph_fail(
            k, effect == GRAPH_WRITE ? DIRECTORY_UNSURE : DIRECTORY_TRANSIENT, NULL,
            "%s: %s: HTTP %d with a body that is empty, cut off or no JSON (request-id %s)",
            g->origin, doing, raw->status, id);
    }
    if (!class) {
        return class;
    }
    advice = graph_advice(raw->status, answer->code);
    graph_fail(k, class, field, "%s: %s: HTTP %d%s%s%s%s (request-id %s)%s%s", g->origin, doing,
               raw->status, answer->code[0] ? " " : "", answer->code,
               answer->message[0] ? ": " : "", answer->message,
               ida_clean(k->pool, id, strlen(id), 80), advice ? "; " : "", advice ? advice : "");
    k->e->retry_after_s = answer->retry_after_ms > 0 ? (answer->retry_after_ms + 999) / 1000 : 0;
    return class;
}

/* One exchange with the present token. */
static directory_class exchange(graph_call *k, graph_effect effect, const graph_request *r,
                                const char *body, size_t body_len, graph_answer *answer)
{
    graph_session *s = (graph_session *)k->g;
    char guid[GRAPH_GUID_SIZE], trace[80];
    const char *headers[HEADERS_MAX + 1] = {"Accept: application/json",
                                            "User-Agent: idadmin/" IDA_VERSION, trace};
    int count = 3;
    snprintf(trace, sizeof trace, "client-request-id: %s", graph_guid(k->g->env, guid));
    if (r->low_priority) {
        headers[count++] = "x-ms-throttle-priority: low";
    }
    if (body) {
        headers[count++] = r->bytes ? apr_pstrcat(k->pool, "Content-Type: ", r->bytes_type, NULL)
                                    : "Content-Type: application/json";
    } else {
        headers[count++] = "Content-Type:"; /* libcurl would name a form */
    }
    for (int i = 0; r->headers && r->headers[i]; i++) {
        if (count == HEADERS_MAX) {
            return graph_fail(k, DIRECTORY_LOCAL, NULL, "too many headers for one request");
        }
        headers[count++] = r->headers[i];
    }
    const http_request request = {.method = r->method,
                                  .url = r->url,
                                  .headers = headers,
                                  .secret_header = s->header,
                                  .body = body,
                                  .body_len = body_len,
                                  .max_bytes = r->max_bytes ? r->max_bytes : ANSWER_MAX,
                                  .plain = r->raw,
                                  .once = effect == GRAPH_WRITE,
                                  .deadline = k->deadline,
                                  .alive = k->alive,
                                  .baton = k->baton};
    http_answer raw;
    http_outcome outcome = http_send(k->g->http, k->pool, &request, &raw);
    int64_t date = http_date_ms(raw.date),
            wait = graph_throttle_answered(&k->g->client->throttle, k->g->env, &raw);
    if (date) {
        atomic_store(&k->g->client->clock_ahead, date - ida_now(k->g->env));
    }
    directory_class class = outcome == HTTP_ANSWERED
                                ? graph_answer_read(k, effect, r, &raw, answer)
                                : graph_fail_outcome(k, outcome, effect, r->url,
                                                     r->doing ? r->doing : r->method, &raw);
    s->last = (graph_seen){.percentage = raw.throttle_percentage,
                           .throttle_reason = raw.throttle_reason};
    http_answer_free(&raw);
    if (wait && k->e->retry_after_s < (wait + 999) / 1000) {
        k->e->retry_after_s = (int)((wait + 999) / 1000);
    }
    return class;
}

static directory_class check(graph_call *k, const graph_request *r)
{
    const char *doing = r->doing ? r->doing : r->method;
    if (!r->url) {
        return graph_fail(k, DIRECTORY_LOCAL, NULL, "%s: no address can be made of these IDs",
                          doing);
    }
    if (!graph_url_ours(k->g, r->url)) {
        graph_address other = {.shown = "an address that cannot be read"};
        graph_url_parse(r->url, k->pool, &other);
        return graph_fail(k, DIRECTORY_CONFIG, NULL,
                          "%s: the directory named a link to %s, which is not its own address %s: "
                          "not followed, as it would be "
                          "given the access token",
                          doing, other.shown, k->g->origin);
    }
    if (strcmp(r->method, "DELETE") == 0 && !graph_url_deletes_safely(r->url)) {
        return graph_fail(
            k, DIRECTORY_LOCAL, NULL,
            "%s: a removal from a group without $ref would delete the member: not sent", doing);
    }
    return DIRECTORY_OK;
}

directory_class graph_send(graph_call *k, graph_effect effect, const graph_request *r,
                           graph_answer *answer)
{
    graph_session *s = (graph_session *)k->g;
    *answer = (graph_answer){
        .code = "", .message = "", .detail_code = "", .detail_target = "", .retry_after_ms = -1};
    directory_class class = check(k, r);
    /* May hold a password. */
    char *text = class || !r->json ? NULL : json_dumps(r->json, JSON_COMPACT);
    if (!class && r->json && !text) {
        class = graph_fail(k, DIRECTORY_LOCAL, NULL, "a request cannot be put into JSON");
    }
    for (int renewed = 0; !class; renewed = 1) {
        class = graph_throttle_enter(&k->g->client->throttle, k, effect, r);
        class = class ? class : graph_token_get(k, s->header, &s->number);
        class = class ? class
                      : exchange(k, effect, r, text ? text : r->bytes,
                                 text ? strlen(text) : r->bytes_len, answer);
        if (answer->status != 401 || renewed) {
            break;
        }
        /* Revoked or expired early: once more with a new one. A 401 has had no effect. */
        graph_token_drop(&k->g->client->token, s->number);
        *answer = (graph_answer){.code = "",
                                 .message = "",
                                 .detail_code = "",
                                 .detail_target = "",
                                 .retry_after_ms = -1};
        class = DIRECTORY_OK;
    }
    if (text) {
        OPENSSL_cleanse(text, strlen(text));
        free(text);
    }
    return class;
}
