/* Owns a child's connections to the writer: how they are opened, pooled and lost, and the answer to
 * the caller when the writer is silent. Must not know what a write is.
 *
 * A request that was sent completely is never sent again, because its outcome is unknown. */
#include "mod_idadmin/writer.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/end.h"

APLOG_USE_MODULE(idadmin);

#define SILENCE_MS 5000 /* the writer sends a sign at least once a second while it works */
/* Of a write: the writer lets it begin within 20 s, or says that it does not. */
#define DEADLINE_MS 30000
#define TRY_AGAIN_US 20000
#define IDLE_MAX 64 /* connections kept for the next write */

static struct {
    pthread_mutex_t lock;
    int idle[IDLE_MAX], count;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Takes the connection used last, because older ones may have been closed. -1: none. */
static int take_idle(void)
{
    int end = -1;
    pthread_mutex_lock(&kept.lock);
    while (end < 0 && kept.count) {
        struct pollfd one = {.fd = kept.idle[--kept.count], .events = POLLIN | POLLRDHUP};
        end = one.fd;
        if (poll(&one, 1, 0) != 0) { /* closed, or it sent data without a request */
            wire_close(&end);
        }
    }
    pthread_mutex_unlock(&kept.lock);
    return end;
}

static void keep_idle(int end)
{
    pthread_mutex_lock(&kept.lock);
    if (kept.count < IDLE_MAX) {
        kept.idle[kept.count++] = end;
        end = -1;
    }
    pthread_mutex_unlock(&kept.lock);
    wire_close(&end);
}

/* A new connection that the writer has greeted; -1: it has not, until then. */
static int introduce(int64_t until)
{
    const char version = WIRE_VERSION;
    int ends[2];
    if (wire_pair(SOCK_STREAM, ends) != 0) {
        return -1;
    }
    wire_head head = {0};
    struct ucred from = {.uid = (uid_t)-1};
    int64_t left = until - ida_monotonic(&child->env);
    int good = left > 0 && wire_send(writers_introductions(), &version, sizeof version, ends[1]);
    close(ends[1]);
    good = good && wire_read(ends[0], &head, sizeof head, (int)left, &from) == WIRE_DONE &&
           head.kind == WIRE_HELLO && from.uid == writers_user();
    if (!good) {
        close(ends[0]);
    }
    return good ? ends[0] : -1;
}

int writer_answers(int ms)
{
    int end = introduce(ida_monotonic(&child->env) + ms);
    int answers = end >= 0;
    wire_close(&end);
    return answers;
}

/* 1 if the writer has received all of it: over a kept connection, otherwise over new ones, for
 * as long as a write may wait. */
static int hand_over(const char *const *texts, const char *body, size_t len, int *end)
{
    int64_t until = ida_monotonic(&child->env) + SILENCE_MS;
    do {
        *end = take_idle();
        *end = *end < 0 ? introduce(until) : *end;
        if (*end >= 0 && wire_write_message(*end, WIRE_ASKED, texts, ASKED_COUNT, body, len,
                                            SILENCE_MS) == WIRE_DONE) {
            return 1;
        }
        if (*end < 0) {
            apr_sleep(TRY_AGAIN_US);
        }
        wire_close(end); /* what it has of the message is no message */
    } while (ida_monotonic(&child->env) < until);
    return 0;
}

/* WIRE_DONE: texts and body of the answer, in the pool. */
static wire_fate hear(request_rec *r, int end, const char **told, char **body, size_t *len)
{
    const int64_t until = ida_monotonic(&child->env) + DEADLINE_MS;
    apr_pool_t *pool = r->pool;
    wire_head head;
    wire_fate fate;
    do {
        fate = wire_read(end, &head, sizeof head, SILENCE_MS, NULL);
        if (!fate && head.kind == WIRE_ALIVE &&
            (ida_monotonic(&child->env) >= until || request_gone(r))) {
            fate = WIRE_SILENT;
        }
    } while (!fate && head.kind == WIRE_ALIVE && !head.texts_len && !head.body_len);
    if (fate || head.kind != WIRE_TOLD || head.texts_len > WIRE_TEXTS_MAX) {
        return fate ? fate : WIRE_LOST;
    }
    char *texts = apr_palloc(pool, head.texts_len);
    *len = head.body_len;
    *body = apr_palloc(pool, *len + 1);
    fate = wire_read(end, texts, head.texts_len, SILENCE_MS, NULL);
    fate = fate ? fate : wire_read(end, *body, *len, SILENCE_MS, NULL);
    (*body)[*len] = '\0';
    return fate ? fate : wire_get(texts, head.texts_len, told, TOLD_COUNT) ? WIRE_DONE : WIRE_LOST;
}

static void take_headers(apr_pool_t *pool, char *lines, ida_rest_answer *answer)
{
    for (char *line; lines && (line = strsep(&lines, "\n")) != NULL && *line;) {
        char *value = strstr(line, ": ");
        if (value) {
            *value = '\0';
            ida_answer_header(pool, answer, line, value + 2);
        }
    }
}

#define NOTHING_DONE "The service cannot write at the moment; nothing was done. Try again."

static ida_kind silent(ida_ctx *c, const char *message)
{
    c->retry_after = 1;
    c->message_is_public = 1;
    ida_fail(c, IDA_SERVICE_UNAVAILABLE, "%s", message);
    return ida_because(c, "storeAway", NULL);
}

ida_kind writer_ask(request_rec *r, ida_call *call, const char **texts,
                    const ida_rest_request *request, ida_rest_answer *answer)
{
    ida_ctx *c = call->c;
    texts[ASKED_METHOD] = request->method;
    texts[ASKED_URI] = r->uri;
    texts[ASKED_QUERY] = request->query;
    texts[ASKED_CONTENT_TYPE] = request->content_type;
    texts[ASKED_IDEMPOTENCY_KEY] = request->idempotency_key;
    texts[ASKED_ADDRESS] = call->asked->address;
    texts[ASKED_HAS_BODY] = request->has_body ? "1" : NULL;
    texts[ASKED_REQUEST_ID] = ida_correlation_id(c->env);
    texts[ASKED_TRACE] = ida_correlation_trace(c->env);
    const char *told[TOLD_COUNT];
    char *text = NULL;
    size_t text_len = 0;
    int end;
    memset(answer, 0, sizeof *answer);
    if (wire_size(texts, ASKED_COUNT) > WIRE_TEXTS_MAX) { /* it would break the writer's rules */
        return ida_fail(c, IDA_PAYLOAD_TOO_LARGE,
                        "Address, query and headers of the request are too long: together they may "
                        "have %d bytes.",
                        WIRE_TEXTS_MAX);
    }
    if (!hand_over(texts, request->body, request->body_len, &end)) {
        return silent(c, NOTHING_DONE);
    }
    wire_fate fate = hear(r, end, told, &text, &text_len);
    if (fate) {
        wire_close(&end); /* the writer notices and does not commit */
        request_say(r, APLOG_INFO, "the writer %s",
                    fate == WIRE_SILENT ? "does not answer" : "was lost during a write");
        return silent(c, "The service was interrupted, and this request may have been carried out "
                         "or not. Send it again with the same Idempotency-Key, if it had one; else "
                         "look before you send it again.");
    }
    if (!told[TOLD_STATUS]) { /* it did not come to its turn, or there was no room for its body */
        wire_close(&end);
        return silent(c, NOTHING_DONE);
    }
    keep_idle(end);
    answer->status = atoi(told[TOLD_STATUS]);
    answer->retry_after = told[TOLD_RETRY_AFTER] ? atoi(told[TOLD_RETRY_AFTER]) : 0;
    answer->body = text_len ? text : NULL;
    answer->len = text_len;
    take_headers(r->pool, (char *)told[TOLD_HEADERS], answer);
    call->task_id = told[TOLD_TASK];
    call->audit_written = told[TOLD_RECORDED] != NULL;
    if (!call->audit_written) {
        ida_operation_record(call, ida_kind_of_status(answer->status));
    }
    return IDA_OK;
}
