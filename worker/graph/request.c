/* Owns one authenticated request: turn, token, sending, and which requests are worth repeating.
 * Must not know users or groups. */
#include "worker/graph/request.h"

#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "worker/base/counts.h"
#include "worker/base/secret.h"
#include "worker/graph/answer.h"
#include "worker/graph/client.h"
#include "worker/graph/url.h"

#define ANSWER_MAX (8 * 1024 * 1024)
#define PAGE_MAX (32 * 1024 * 1024) /* of a sync: members of groups come by the thousand */
#define HEADERS_MAX 16
#define WRITES_MAX 3  /* of one write with an unknown outcome */
#define REPEAT_MS 250 /* before the first repetition, doubled each time */
#define RETRY_AFTER_MAX_MS 2000

/* One exchange with the present token. */
static directory_class exchange(graph_call *k, graph_effect effect, const graph_request *r,
                                const char *body, size_t body_len, graph_answer *answer)
{
    graph *g = k->g;
    char guid[GRAPH_GUID_SIZE], trace[80];
    const char *headers[HEADERS_MAX + 1] = {"Accept: application/json",
                                            "User-Agent: idadmin/" IDA_VERSION, trace};
    int count = 3;
    snprintf(trace, sizeof trace, "client-request-id: %s",
             graph_request_guid(g->env, k->pool, guid));
    if (r->sync) {
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
                                  .secret_header = g->header,
                                  .body = body,
                                  .body_len = body_len,
                                  .max_bytes = r->sync ? PAGE_MAX : ANSWER_MAX,
                                  .once = effect == GRAPH_WRITE,
                                  .deadline = k->deadline,
                                  .alive = k->alive,
                                  .baton = k->baton};
    http_answer raw;
    http_outcome outcome = http_send(g->http, k->pool, &request, &raw);
    int64_t date = http_date_ms(raw.date),
            wait = graph_throttle_answered(&g->client->throttle, g->env, &raw);
    if (date) {
        atomic_store(&g->client->clock_ahead, date - ida_now(g->env));
    }
    directory_class class = outcome == HTTP_ANSWERED
                                ? graph_answer_read(k, effect, r, &raw, answer)
                                : graph_fail_outcome(k, outcome, effect, r->url,
                                                     r->doing ? r->doing : r->method, &raw);
    http_answer_free(&raw);
    if (wait) {
        count_one(COUNT_THROTTLED, ida_directory_name(IDA_DIR_CLOUD), NULL);
    }
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
                          "not followed, as it would be given the access token",
                          doing, other.shown, k->g->origin);
    }
    if (strcmp(r->method, "DELETE") == 0 && !graph_url_deletes_safely(r->url)) {
        return graph_fail(
            k, DIRECTORY_LOCAL, NULL,
            "%s: a removal from a group without $ref would delete the member: not sent", doing);
    }
    return DIRECTORY_OK;
}

static const graph_answer no_answer = {
    .code = "", .message = "", .detail_code = "", .detail_target = "", .retry_after_ms = -1};

directory_class graph_send(graph_call *k, graph_effect effect, const graph_request *r,
                           graph_answer *answer)
{
    graph *g = k->g;
    *answer = no_answer;
    directory_class class = check(k, r);
    char *text = class || !r->json ? NULL : json_dumps(r->json, JSON_COMPACT);
    if (!class && r->json && !text) {
        class = graph_fail(k, DIRECTORY_LOCAL, NULL, "a request cannot be put into JSON");
    }
    for (int renewed = 0; !class; renewed = 1) {
        class = graph_throttle_enter(&g->client->throttle, k, effect, r);
        class = class ? class : graph_token_get(k, g->header, &g->number);
        class = class ? class
                      : exchange(k, effect, r, text ? text : r->bytes,
                                 text ? strlen(text) : r->bytes_len, answer);
        if (answer->status != 401 || renewed) {
            break;
        }
        /* The token was revoked or expired early: try once more with a new one. A 401 has had no
         * effect. */
        graph_token_drop(&g->client->token, g->number);
        *answer = no_answer;
        class = DIRECTORY_OK;
    }
    secret_free(text); /* it may have held a password */
    return class;
}

directory_class graph_read(graph_call *k, const graph_request *request, graph_answer *answer)
{
    directory_class class = graph_send(k, GRAPH_READ, request, answer);
    return class == DIRECTORY_TRANSIENT && graph_pause(k, REPEAT_MS)
               ? graph_send(k, GRAPH_READ, request, answer)
               : class;
}

directory_class graph_write(graph_call *k, const graph_request *request, graph_answer *answer)
{
    int wait = REPEAT_MS, lost = 0;
    for (int times = 1;; times++, wait *= 2) {
        directory_class class = graph_send(k, GRAPH_WRITE, request, answer);
        answer->sent_before = lost;
        lost |= class == DIRECTORY_UNSURE;
        int again = class == DIRECTORY_UNSURE || (class == DIRECTORY_TRANSIENT && answer->status);
        /* If the directory asks to wait longer than this, the task waits instead of this thread. */
        if (!again || times == WRITES_MAX || answer->retry_after_ms > RETRY_AFTER_MAX_MS ||
            !graph_pause(k, answer->retry_after_ms > wait ? answer->retry_after_ms : wait)) {
            return class;
        }
    }
}

json_t *graph_reference(graph_call *k, const char *url)
{
    return ida_json_keep(k->pool, json_pack("{s:s}", "@odata.id", url));
}
