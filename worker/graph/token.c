/* Owns getting, sharing and renewing access tokens, and that a refused credential is not tried
 * again and again. Must not know what tokens are used for. */
#include "worker/graph/token.h"

#include <apr_strings.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/base/secret.h"
#include "worker/graph/answer.h"
#include "worker/graph/client.h"
#include "worker/graph/error.h"
#include "worker/graph/url.h"

#define PREFIX "Authorization: Bearer "
#define CREDENTIAL_SIZE 32768
#define FORM_SIZE 65536
#define ANSWER_MAX (2 * GRAPH_TOKEN_SIZE)
/* renewed so long before its end; a short-lived token after three quarters of its life */
#define EARLY_MS (5 * 60 * 1000)
#define USABLE_MS 10000 /* least life left for a call to begin with it */
#define LIFE_UNTOLD_S 300
#define LIFE_MOST_S (28 * 3600)
/* for so long no concurrent call sends a refused credential again; the directory's hold lasts
 * longer */
#define REFUSED_MS 7000
#define FAILED_MS 1000 /* any other failure: threads that waited for it do not all try in turn */
#define LATER_MS 30000 /* next attempt after a failed renewal, while the token is still valid */

int graph_token_init(graph_token *t)
{
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    t->header = secret_map(GRAPH_TOKEN_SIZE);
    return t->header != NULL;
}

const char *graph_token_scope(const graph *g, apr_pool_t *pool)
{
    graph_address root;
    /* (graph_open has judged the root) */
    return graph_url_parse(g->root, pool, &root) ? apr_pstrcat(pool, root.shown, "/.default", NULL)
                                                 : "";
}

/* Form-encoded after what is there; 0 when it does not fit. */
static int append_encoded(char *out, size_t size, const char *text)
{
    char *to = out + strlen(out);
    for (; *text; text++) {
        if (to + 4 > out + size) {
            return 0;
        }
        to = ida_percent_byte(to, *text, "");
        *to = '\0';
    }
    return 1;
}

static directory_class read_credential(graph_call *k, char *credential, size_t *len)
{
    const graph *g = k->g;
    const char *fault = g->secret_file
                            ? secret_file_read(k->pool, "clientSecretFile", g->secret_file,
                                               credential, CREDENTIAL_SIZE, len)
                            : secret_file_read(k->pool, "certificateFile", g->certificate_file,
                                               credential, CREDENTIAL_SIZE, len);
    if (fault) {
        return graph_fail(k, DIRECTORY_CONFIG, NULL, "%s", fault);
    }
    if (!g->secret_file) {
        return DIRECTORY_OK;
    }
    while (*len && strchr(" \t\r\n", credential[*len - 1])) {
        credential[--*len] = '\0';
    }
    if (!*len || strlen(credential) != *len || strpbrk(credential, "\r\n")) {
        return graph_fail(k, DIRECTORY_CONFIG, NULL,
                          "clientSecretFile %s must hold one line, the secret's value",
                          g->secret_file);
    }
    return DIRECTORY_OK;
}

/* The form into `form`; `credential` is the secret or the PEM. */
static directory_class make_form(graph_call *k, const char *url, const char *credential, size_t len,
                                 char *form)
{
    const graph *g = k->g;
    const char *scope = graph_token_scope(g, k->pool), *fault = NULL;
    snprintf(form, FORM_SIZE, "grant_type=client_credentials&client_id=");
    int fits = append_encoded(form, FORM_SIZE / 2, g->client_id);
    strcat(form, "&scope=");
    fits &= append_encoded(form, FORM_SIZE / 2, scope);
    if (g->secret_file) {
        strcat(form, "&client_secret=");
        fits &= append_encoded(form, FORM_SIZE, credential);
    } else {
        strcat(form, "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%"
                     "3Ajwt-bearer&client_assertion=");
        fault = graph_assertion(g->env, k->pool, credential, len, g->client_id, url, form,
                                FORM_SIZE);
    }
    return fault   ? graph_fail(k, DIRECTORY_CONFIG, NULL, "certificateFile %s %s",
                                g->certificate_file, fault)
           : !fits ? graph_fail(k, DIRECTORY_CONFIG, NULL,
                                "clientSecretFile %s holds too long a secret", g->secret_file)
                   : DIRECTORY_OK;
}

/* The number, however it is written; 0 when it is none, or out of all reason. */
static int64_t whole(const json_t *value)
{
    double number = json_number_value(value);
    return json_is_string(value)             ? strtoll(json_string_value(value), NULL, 10)
           : number > -1e15 && number < 1e15 ? (int64_t)number
                                             : 0;
}

/* Tokens are printable ASCII: other bytes could add header lines. */
static int token_valid(const char *token)
{
    size_t len = 0;
    while (token[len] > ' ' && token[len] < 0x7f) {
        len++;
    }
    return len > 0 && !token[len] && len < GRAPH_TOKEN_SIZE - sizeof PREFIX;
}

/* First line of the answer, for the log. The server may echo our secret: search the cleaned
 * text, because removed characters may have split it. */
static const char *told(const graph_call *k, const char *text, const char *credential)
{
    const char *clean = text ? ida_clean(k->pool, text, strcspn(text, "\r\n"), 0) : "";
    return k->g->secret_file && strstr(clean, credential) ? "" : clean;
}

static directory_class refused(graph_call *k, const char *url, const http_answer *a,
                               const json_t *body, const char *credential)
{
    const char *said = ida_json_string(body, "error"),
               *text = ida_json_string(body, "error_description"), *advice;
    const json_t *codes = json_object_get(body, "error_codes");
    int64_t number = json_array_size(codes) ? whole(json_array_get(codes, 0)) : 0;
    const char *named = text ? strstr(text, "AADSTS") : NULL;
    if (!number && named) {
        number = strtoll(named + 6, NULL, 10);
    }
    const char *error = told(k, said, credential), *shown = told(k, text, credential);
    directory_class class = graph_token_classify(a->status, error, number, &advice);
    graph_fail(k, class, NULL, "%s: the token was refused: HTTP %d%s%s%s%s%s%s", url, a->status,
               error[0] ? " " : "", error, shown[0] ? ": " : "",
               ida_clean(k->pool, shown, strlen(shown), 400), advice ? "; " : "",
               advice ? advice : "");
    int wait = http_retry_after_ms(a, ida_now(k->g->env));
    k->e->retry_after_s = wait > 0 ? (wait + 999) / 1000 : 0;
    return class;
}

directory_class graph_token_answer(graph_call *k, const char *url, const http_answer *a,
                                   const char *credential, char *header, int64_t *life,
                                   int *answered)
{
    json_t *body = json_loadb(a->bytes ? a->bytes : "", a->len, 0, NULL);
    const char *token = ida_json_string(body, "access_token");
    directory_class class = DIRECTORY_OK;
    if (a->status != 200) {
        class = refused(k, url, a, body, credential);
        *answered = class == DIRECTORY_CREDENTIALS || class == DIRECTORY_CONFIG;
    } else if (!token || !token_valid(token)) {
        class = graph_fail(k, DIRECTORY_TRANSIENT, NULL,
                           "%s: the answer holds no usable access_token", url);
    } else {
        snprintf(header, GRAPH_TOKEN_SIZE, PREFIX "%s", token);
        *life = whole(json_object_get(body, "expires_in"));
        *life = *life > 0 ? *life < LIFE_MOST_S ? *life : LIFE_MOST_S : LIFE_UNTOLD_S;
    }
    json_decref(body); /* which wipes it */
    return class;
}

static directory_class exchange(graph_call *k, const char *form, const char *credential,
                                const char *url, char *header, int64_t *life, int *answered)
{
    const graph *g = k->g;
    const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded",
                                   "Accept: application/json", "User-Agent: idadmin/" IDA_VERSION,
                                   NULL};
    const http_request request = {.method = "POST",
                                  .url = url,
                                  .headers = headers,
                                  .body = form,
                                  .body_len = strlen(form),
                                  .max_bytes = ANSWER_MAX,
                                  .deadline = k->deadline,
                                  .alive = k->alive,
                                  .baton = k->baton};
    http_answer answer;
    http_client *http = http_make(k->pool, g->env, g->ca_file, g->proxy_url, 1);
    if (!http) {
        return graph_fail(k, DIRECTORY_LOCAL, NULL, "libcurl is out of memory");
    }
    http_outcome outcome = http_send(http, k->pool, &request, &answer);
    int64_t date = http_date_ms(answer.date);
    if (date) {
        atomic_store(&g->client->clock_ahead, date - ida_now(g->env));
    }
    directory_class class = outcome == HTTP_ANSWERED
                                ? graph_token_answer(k, url, &answer, credential, header, life,
                                                     answered)
                                : graph_fail_outcome(k, outcome, GRAPH_READ, url, "get a token",
                                                     &answer);
    http_answer_free(&answer);
    http_close(http);
    return class;
}

static directory_class fetch(graph_call *k, char *header, int64_t *life, int *answered)
{
    const graph *g = k->g;
    const char *url = apr_pstrcat(k->pool, g->authority, "/", g->directory_id, "/oauth2/v2.0/token",
                                  NULL);
    char *credential = secret_map(CREDENTIAL_SIZE), *form = secret_map(FORM_SIZE);
    size_t len;
    directory_class class = credential && form
                                ? DIRECTORY_OK
                                : graph_fail(k, DIRECTORY_LOCAL, NULL, "no memory for a secret");
    class = class ? class : read_credential(k, credential, &len);
    class = class ? class : make_form(k, url, credential, len, form);
    class = class ? class : exchange(k, form, credential, url, header, life, answered);
    secret_unmap(credential, CREDENTIAL_SIZE);
    secret_unmap(form, FORM_SIZE);
    return class;
}

/* --- sharing --- */

static struct stat credential_file(const graph *g)
{
    struct stat st;
    if (stat(g->secret_file ? g->secret_file : g->certificate_file, &st) != 0) {
        memset(&st, 0, sizeof st);
    }
    return st;
}

static int file_changed(const graph_token *t, const graph *g)
{
    struct stat st = credential_file(g);
    return st.st_ino != t->refused_file.st_ino || st.st_size != t->refused_file.st_size ||
           st.st_mtim.tv_sec != t->refused_file.st_mtim.tv_sec ||
           st.st_mtim.tv_nsec != t->refused_file.st_mtim.tv_nsec;
}

static void keep_token(graph_token *t, const ida_env *env, const char *header, int64_t asked_at,
                       int64_t life_s)
{
    uint32_t random;
    int64_t life = life_s * 1000, early = life / 4 < EARLY_MS ? life / 4 : EARLY_MS;
    ida_random(env, &random, sizeof random);
    OPENSSL_cleanse(t->header, GRAPH_TOKEN_SIZE);
    strcpy(t->header, header);
    t->number++;
    t->expires_at = asked_at + life;
    /* Jitter, so that the processes of one application do not renew at the same moment. */
    t->renew_at = t->expires_at - early - (int64_t)(random % (uint32_t)(early / 4 + 1));
    t->refusal = DIRECTORY_OK;
}

static void keep_refusal(graph_token *t, const graph_call *k, int answered)
{
    int64_t told = (int64_t)k->e->retry_after_s * 1000, wait = answered ? REFUSED_MS : FAILED_MS;
    t->refusal = k->e->class;
    snprintf(t->refusal_text, sizeof t->refusal_text, "%s", k->e->message);
    t->refusal_until = ida_monotonic(k->g->env) + (told > wait ? told : wait);
    t->refused_file = credential_file(k->g);
}

/* The lock is held on entry and on return. */
static directory_class renew(graph_token *t, graph_call *k)
{
    int64_t asked_at = ida_monotonic(k->g->env), life = 0;
    int answered = 0;
    char *header = secret_map(GRAPH_TOKEN_SIZE);
    t->fetching = 1;
    pthread_mutex_unlock(&t->lock);
    directory_class class = header ? fetch(k, header, &life, &answered)
                                   : graph_fail(k, DIRECTORY_LOCAL, NULL, "no memory for a token");
    pthread_mutex_lock(&t->lock);
    t->fetching = 0;
    int64_t left = t->expires_at - ida_monotonic(k->g->env);
    if (!class) {
        keep_token(t, k->g->env, header, asked_at, life);
    } else if (class != DIRECTORY_LOCAL) {
        keep_refusal(t, k, answered);
    }
    if (class && left > USABLE_MS) {
        t->renew_at = ida_monotonic(k->g->env) + LATER_MS;
        ida_log(k->g->env, IDA_LOG_WARN, "IDA0450",
                "tenant %s: the access token cannot be renewed; it holds for another %lld s: %s",
                k->g->tenant->id, (long long)(left / 1000), k->e->message);
        class = DIRECTORY_OK;
        *k->e = (directory_error){.class = DIRECTORY_OK};
    }
    pthread_cond_broadcast(&t->changed);
    secret_unmap(header, GRAPH_TOKEN_SIZE);
    return class;
}

static directory_class repeat_refusal(const graph_token *t, graph_call *k, int64_t now)
{
    int seconds = (int)((t->refusal_until - now + 999) / 1000);
    graph_fail(k, t->refusal, NULL, "%s", t->refusal_text);
    k->e->retry_after_s = seconds > 1 ? seconds : 0;
    return t->refusal;
}

static void wait_for_other(graph_token *t)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&t->changed, &t->lock, &until);
}

directory_class graph_token_get(graph_call *k, char *header, int64_t *number)
{
    const graph *g = k->g;
    graph_token *t = &g->client->token;
    directory_class class = DIRECTORY_OK;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        int64_t now = ida_monotonic(g->env);
        int usable = t->number && now + USABLE_MS < t->expires_at;
        /* A token of a few seconds is used as long as it lives. */
        usable |= t->number && now < t->renew_at;
        if (usable && (t->fetching || now < t->renew_at)) {
            break;
        }
        if (!usable && t->refusal && now < t->refusal_until && !file_changed(t, g)) {
            class = repeat_refusal(t, k, now);
            break;
        }
        if (!t->fetching) {
            class = renew(t, k);
            if (class) {
                break;
            }
        } else if (graph_left(k) <= 0 || graph_stopped(k)) {
            class = graph_fail(k, DIRECTORY_TRANSIENT, NULL, "%s: no access token came in time",
                               g->authority);
            break;
        } else {
            wait_for_other(t);
        }
    }
    if (!class && *number != t->number) {
        OPENSSL_cleanse(header, GRAPH_TOKEN_SIZE);
        strcpy(header, t->header);
        *number = t->number;
    }
    pthread_mutex_unlock(&t->lock);
    return class;
}

void graph_token_drop(graph_token *t, int64_t number)
{
    pthread_mutex_lock(&t->lock);
    if (number == t->number) {
        t->expires_at = t->renew_at = 0;
    }
    pthread_mutex_unlock(&t->lock);
}
