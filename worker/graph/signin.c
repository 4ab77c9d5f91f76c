/* Owns the pass over sign-in activity: its pace, its place between rounds, and directories without
 * it. Must not know delta rounds.
 *
 * Reports may be read 5 times in 10 s, so a pass over a large directory takes many rounds: each
 * reads a part, and the position is stored with the tokens. Until the first pass is complete no
 * sign-in is known, and no person is called stale. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/base/config.h"
#include "worker/graph/sync.h"
#include "worker/graph/url.h"

#define WAIT_MAX_MS                                                           \
    (6 * 60 * INT64_C(60000)) /* longer ones result from a clock that was set \
                                 back */
#define INTERVAL_DEFAULT_MS (60 * INT64_C(60000))
#define REFUSED_EVERY_MS (60 * INT64_C(60000)) /* a permission may be granted meanwhile */
#define FAILED_WAIT_MS (5 * INT64_C(60000))
#define THROTTLED_WAIT_MS 30000
#define WINDOW_MS 11000 /* published: 10 s; requests travel at different speeds */
#define REASON_MAX 300
#define SENT (sizeof((graph_sign_ins *)0)->sent / sizeof(int64_t))

static int64_t number(const json_t *object, const char *member)
{
    int64_t n = json_integer_value(json_object_get(object, member));
    return n > 0 ? n : 0;
}

void graph_sign_ins_load(graph_sign_ins *s, apr_pool_t *pool, const json_t *tokens)
{
    const json_t *kept = json_object_get(tokens, "signIns"), *sent = json_object_get(kept, "sent");
    *s = (graph_sign_ins){
        .next = apr_pstrdup(pool, ida_json_string(kept, "next")),
        .begun_at = number(kept, "begunAt"),
        .known_at = number(kept, "knownAt"),
        .completed_at = number(kept, "completedAt"),
        .not_before = number(kept, "notBefore"),
        .refused = apr_pstrdup(pool, ida_json_string(kept, "refused")),
    };
    for (size_t i = 0; i < SENT; i++) {
        s->sent[i] = json_integer_value(json_array_get(sent, i));
    }
}

json_t *graph_sign_ins_json(const graph_sign_ins *s)
{
    json_t *kept = json_object(), *sent = json_array();
    ida_json_put(kept, "next", s->next);
    json_object_set_new(kept, "begunAt", json_integer(s->begun_at));
    json_object_set_new(kept, "knownAt", json_integer(s->known_at));
    json_object_set_new(kept, "completedAt", json_integer(s->completed_at));
    json_object_set_new(kept, "notBefore", json_integer(s->not_before));
    ida_json_put(kept, "refused", s->refused);
    for (size_t i = 0; i < SENT; i++) {
        json_array_append_new(sent, json_integer(s->sent[i]));
    }
    json_object_set_new(kept, "sent", sent);
    return kept;
}

int graph_sign_ins_known(const graph_sign_ins *s)
{
    return s->completed_at > 0 && !s->refused;
}

/* Rows of deleted users can appear: without an ID, or with one that the cache does not hold. */
static directory_class take(void *baton, json_t *item)
{
    graph_delta *d = baton;
    const char *id = ida_json_string(item, "id");
    const cache_sign_in_list times = graph_sign_ins_value(json_object_get(item, "signInActivity"));
    return id ? graph_stored(d->k, d->c, cache_sync_sign_ins(d->run, d->c, id, &times))
              : DIRECTORY_OK;
}

/* --- pace --- */

static void note_sent(graph_sign_ins *s, int64_t now)
{
    memmove(s->sent, s->sent + 1, (SENT - 1) * sizeof *s->sent);
    s->sent[SENT - 1] = now;
}

/* Waits until the oldest of the last five requests is old enough. 0: that is longer than
 * `*patience`, or the call shall stop. */
static int turn(const graph_call *k, const graph_sign_ins *s, int64_t *patience)
{
    int64_t now = ida_now(k->g->env), wait = s->sent[0] + WINDOW_MS - now;
    if (s->sent[0] > now) { /* the clock was set back */
        wait = WINDOW_MS;
    }
    if (wait > *patience) {
        return 0;
    }
    *patience -= wait > 0 ? wait : 0;
    return graph_rest(k, wait);
}

/* --- the pass --- */

/* From the end of one whole pass to the next. */
static int64_t interval_of(const graph *g)
{
    const char *text = ida_json_string(g->tenant->directory[IDA_DIR_CLOUD], "signInInterval");
    int64_t ms = text ? worker_duration_parse(text) : 0;
    return ms > 0 ? ms : INTERVAL_DEFAULT_MS;
}

/* Logged when it changes. */
static void refused(graph_delta *d, graph_sign_ins *s, const graph_answer *answer, int64_t now)
{
    const graph *g = d->k->g;
    const char *code = answer->code && *answer->code ? answer->code : "HTTP 403";
    if (!s->refused) {
        ida_log(g->env, IDA_LOG_WARN, "IDA0480",
                "tenant %s: the cloud directory tells no sign-ins (%s): it needs the application "
                "permission AuditLog.Read.All and a Microsoft Entra ID P1 or P2 licence; reports "
                "of stale accounts count from creation instead",
                g->tenant->id, ida_clean(d->item_pool, code, strlen(code), 80));
    }
    s->refused = ida_clean(d->k->pool, code, strlen(code), REASON_MAX);
    s->next = NULL;
    s->not_before = now + REFUSED_EVERY_MS;
}

/* What a page that did not come means: never the end of the main sync. */
static void failed(graph_delta *d, graph_sign_ins *s, directory_class class,
                   const graph_answer *answer, const directory_error *e)
{
    const graph *g = d->k->g;
    int64_t now = ida_now(g->env), told = (int64_t)e->retry_after_s * 1000;
    if (class == DIRECTORY_FORBIDDEN) {
        refused(d, s, answer, now);
    } else if (class == DIRECTORY_THROTTLED) {
        s->not_before = now + (told > THROTTLED_WAIT_MS ? told : THROTTLED_WAIT_MS);
    } else {
        /* The page's link is valid for a while only: any fault that is not temporary restarts
         * the pass. */
        s->next = class == DIRECTORY_TRANSIENT ? s->next : NULL;
        s->not_before = now + (class == DIRECTORY_TOKEN_LOST ? 0 : FAILED_WAIT_MS);
        ida_log(g->env, IDA_LOG_INFO, NULL,
                "tenant %s: sign-in activity could not be read and is tried again: %s",
                g->tenant->id, e->message ? e->message : directory_class_text(class));
    }
}

directory_class graph_sign_ins_read(graph_delta *d, graph_sign_ins *s, int full, int64_t patience)
{
    graph_call *k = d->k;
    const graph *g = k->g;
    int64_t begun = ida_now(g->env), every = interval_of(g);
    int due = s->next || full || s->refused || begun - s->completed_at >= every ||
              s->completed_at > begun;
    if (!due || (s->not_before > begun && s->not_before - begun <= WAIT_MAX_MS)) {
        return DIRECTORY_OK;
    }
    for (int more = 1; more && turn(k, s, &patience);) {
        directory_error e = {0};
        graph_call own = *k;
        graph_list list = {
            .request = {.method = "GET",
                        .url = s->next ? s->next
                                       : graph_url(g, k->pool,
                                                   "/users?$select=id,signInActivity&$top=500"),
                        .sync = 1,
                        .doing = "reading sign-in activity"}};
        apr_pool_create(&own.pool, k->pool);
        own.e = &e;
        s->begun_at = s->next ? s->begun_at : ida_now(g->env);
        note_sent(s, ida_now(g->env));
        directory_class class = graph_page(&own, &list, take, d);
        if (class == DIRECTORY_LOCAL) {
            return graph_fail(k, class, NULL, "%s", e.message);
        }
        more = !class && list.next;
        if (class == DIRECTORY_TRANSIENT) { /* a repetition did not help */
            note_sent(s, ida_now(g->env));
        }
        if (class) {
            failed(d, s, class, &list.answer, &e);
        } else {
            s->next = apr_pstrdup(k->pool, list.next);
            s->refused = NULL;
        }
        if (!class && !list.next) {
            s->completed_at = begun;
            s->known_at = s->begun_at;
            s->not_before = 0;
        }
        apr_pool_destroy(own.pool);
    }
    return DIRECTORY_OK;
}
