/* Owns the interpretation of an answer of the API: its JSON, its error, its failure class. Must
 * not know how it arrived. */
#include "worker/graph/answer.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/graph/error.h"
#include "worker/graph/url.h"

#define VALUES_MAX 1000000 /* in one answer: a value of a few bytes takes some 250 as a tree */

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

static int too_many(const char *bytes, size_t len)
{
    size_t values = 0; /* each but the first follows one of these; those in texts count as well */
    for (size_t i = 0; i < len; i++) {
        values += bytes[i] == ',' || bytes[i] == '[' || bytes[i] == '{';
    }
    return values > VALUES_MAX;
}

/* The code unit of "\uXXXX"; -1 if this is not one. */
static int code_unit(const char *at, const char *end)
{
    int unit = 0;
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') {
        return -1;
    }
    for (int i = 2; i < 6; i++) {
        int digit = ida_hex_digit(at[i]);
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

/* Half a character (a name that was cut by length) and U+0000 can be written in JSON, but are no
 * text: each becomes U+FFFD, so that one odd name does not hide the whole page from us. */
static void mend_texts(char *bytes, size_t len)
{
    char *end = bytes + len;
    for (char *at = bytes; (at = memchr(at, '\\', (size_t)(end - at))) != NULL;) {
        int unit = code_unit(at, end), next = unit < 0 ? -1 : code_unit(at + 6, end);
        int pair = unit >= 0xD800 && unit < 0xDC00 && next >= 0xDC00 && next < 0xE000;
        if (unit == 0 || (unit >= 0xD800 && unit < 0xE000 && !pair)) {
            memcpy(at + 2, "fffd", 4);
        }
        at += pair ? 12 : unit >= 0 ? 6 : end - at > 1 ? 2 : 1;
    }
}

/* NULL if there is none. A member that occurs twice makes the answer invalid, because one of the
 * two values would be lost. */
static json_t *body_of(apr_pool_t *pool, const http_answer *raw)
{
    if (!raw->len || too_many(raw->bytes, raw->len)) {
        return NULL;
    }
    mend_texts(raw->bytes, raw->len);
    return ida_json_keep(pool, json_loadb(raw->bytes, raw->len, JSON_REJECT_DUPLICATES, NULL));
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

/* 1 if the body is a possible answer to this call: JSON, or nothing after a write. The page of a
 * gateway is not an answer of the directory, whatever its status, and an empty one would read as
 * "there are no users". */
static int plausible(graph_effect effect, const graph_request *r, const graph_answer *answer,
                     const http_answer *raw)
{
    return effect == GRAPH_READ ? json_is_object(answer->json)
                                : raw->len == 0 || answer->json || r->bytes;
}

directory_class graph_answer_read(graph_call *k, graph_effect effect, const graph_request *r,
                                  const http_answer *raw, graph_answer *answer)
{
    const graph *g = k->g;
    const char *field, *advice, *id = raw->request_id ? raw->request_id : "none";
    const char *doing = r->doing ? r->doing : r->method;
    answer->status = raw->status;
    answer->json = body_of(k->pool, raw);
    answer->location = raw->location;
    answer->used = raw->throttle_percentage;
    answer->used_for = raw->throttle_reason;
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

int graph_answer_says(const graph_answer *answer, const char *text)
{
    const json_t *details = json_object_get(json_object_get(answer->json, "error"), "details"),
                 *detail;
    size_t i;
    if (strcasestr(answer->message, text)) {
        return 1;
    }
    json_array_foreach (details, i, detail) {
        const char *code = ida_json_string(detail, "code"),
                   *message = ida_json_string(detail, "message");
        if ((code && strcasestr(code, text)) || (message && strcasestr(message, text))) {
            return 1;
        }
    }
    return 0;
}

int graph_missing_reference(const graph_answer *answer)
{
    return answer->status == 400 &&
           (graph_answer_says(answer, "reference-property objects are not present") ||
            graph_answer_says(answer, "not a valid reference update"));
}
