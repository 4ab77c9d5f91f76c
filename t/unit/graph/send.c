/* One authenticated call of the cloud connector against a scripted server: tokens, repeated and not
 * repeated requests, lost answers, throttling, foreign links. */
#include "t/unit/graph_server.h"
#include "t/unit/setup.h"

#include <sys/stat.h>

#include "core/base/correlation.h"
#include "core/base/json.h"
#include "worker/base/http.h"
#include "worker/graph/client.h"
#include "worker/graph/url.h"

#define SECRET "a+secret/with&odd=signs~Q8"
#define TOKEN "{\"token_type\":\"Bearer\",\"expires_in\":3599,\"access_token\":\"eyTOKEN-1\"}"

static char secret_file[] = "/tmp/test_graph_secret.XXXXXX";
static directory_error e;
#define GOOD_TOKEN                                                   \
    {                                                                \
        ACT_ANSWER, 200, "Content-Type: application/json\r\n", TOKEN \
    }

/* A session with its own client, so that tests do not share tokens and holds. */
static graph *fresh_session(void)
{
    static int number;
    ida_tenant *tenant = apr_pcalloc(pool, sizeof *tenant);
    json_t *doc = ida_json_keep(
        pool,
        json_pack("{s:o,s:o,s:s,s:o,s:s}", "apiUrl",
                  json_sprintf("http://127.0.0.1:%d/v1.0", server.port), "authorityUrl",
                  json_sprintf("http://127.0.0.1:%d/", server.port), "directoryId", "dir",
                  "clientId", json_sprintf("app-%d", ++number), "clientSecretFile", secret_file));
    tenant->id = "acme";
    tenant->directory[IDA_DIR_CLOUD] = doc;
    directory *d = NULL;
    directory_class class = graph_open(&d, &env, tenant, IDA_DIR_CLOUD, pool, &e);
    if (class) {
        printf("# %s\n", e.message);
    }
    return (graph *)d;
}

static directory_class ask(graph *g, const char *method, const char *path, const json_t *body,
                           int64_t ms, graph_answer *answer)
{
    graph_call k = graph_call_begin(g, pool, &e);
    const graph_request r = {
        .method = method, .url = graph_url(g, pool, path), .json = body, .doing = "testing"};
    k.deadline = ida_monotonic(&env) + ms;
    return graph_send(&k, strcmp(method, "GET") == 0 ? GRAPH_READ : GRAPH_WRITE, &r, answer);
}

static int said(const char *part)
{
    int found = e.message && strstr(e.message, part);
    if (!found) {
        printf("# message: %s\n", e.message ? e.message : "(none)");
    }
    return found;
}

#define SCRIPT(...)                                               \
    do {                                                          \
        static const reply replies[] = {__VA_ARGS__};             \
        script(replies, (int)(sizeof replies / sizeof *replies)); \
    } while (0)
#define TOKENS(...)                                                     \
    do {                                                                \
        static const reply replies[] = {__VA_ARGS__};                   \
        token_script(replies, (int)(sizeof replies / sizeof *replies)); \
    } while (0)
#define JSON "Content-Type: application/json\r\n"

/* The identity of the request that is carried out names it to Graph, too, as a GUID. */
static void named_calls(void)
{
    static const struct {
        ida_correlation of;
        const char *guid; /* NULL: made of it */
    } cases[] = {
        {{.id = "7F3c2a1e-0d4b-4c1a-9a55-6b1de0f2a914"}, "7f3c2a1e-0d4b-4c1a-9a55-6b1de0f2a914"},
        {{.id = "4bf92f3577b34da6a3ce929d0e0e4736"}, "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"},
        {{.id = "4bf92f3577b34da6a3ce929d0e0e47361"}, NULL},
        {{.id = "hr-4711"}, NULL},
    };
    char out[GRAPH_GUID_SIZE], again[GRAPH_GUID_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ida_env of = ida_env_correlated(&env, &cases[i].of);
        graph_request_guid(&of, pool, out);
        is_str(graph_request_guid(&of, pool, again), out, "the same each time");
        if (cases[i].guid) {
            is_str(out, cases[i].guid, cases[i].of.id);
        } else {
            ok(out[14] == '8' && strchr("89ab", out[19]) && strlen(out) == 36, "%s: %s",
               cases[i].of.id, out);
        }
    }
    graph_request_guid(&env, pool, out);
    ok(strcmp(graph_request_guid(&env, pool, again), out) != 0, "of no request another each time");
}

static void plain_calls(void)
{
    graph_answer a;
    graph *g = fresh_session();
    TOKENS(GOOD_TOKEN);
    SCRIPT({ACT_ANSWER, 200, JSON "request-id: r1\r\n", "{\"value\":[1]}"},
           {ACT_ANSWER, 204, NULL, NULL},
           {ACT_ANSWER, 201, JSON "Location: http://127.0.0.1/x\r\n", "{\"id\":\"7\"}"},
           {ACT_ANSWER, 204, NULL, NULL});
    is_int(ask(g, "GET", "/users?$top=1", NULL, PATIENCE_MS, &a), DIRECTORY_OK, "a read");
    ok(a.status == 200 && json_array_size(json_object_get(a.json, "value")) == 1, "its answer");
    const char *token = last_seen("POST /dir/oauth2"),
               *get = last_seen("GET /v1.0/users?$top=1 HTTP/1.1");
    ok(strstr(token, "client_secret=a%2Bsecret%2Fwith%26odd%3Dsigns~Q8") &&
           strstr(token, "grant_type=client_credentials") &&
           strstr(token, "&scope=http%3A%2F%2F127.0.0.1"),
       "the token request's form");
    ok(strstr(get, "Authorization: Bearer eyTOKEN-1\r\n") && strstr(get, "client-request-id: ") &&
           strstr(get, "User-Agent: idadmin/") && strstr(get, "Accept: application/json"),
       "the request's headers");
    is_int(ask(g, "POST", "/users/1/revokeSignInSessions", NULL, PATIENCE_MS, &a), DIRECTORY_OK,
           "a write without body");
    const char *post = last_seen("POST /v1.0/users/1");
    ok(strstr(post, "Content-Length: 0\r\n") && !strstr(post, "Content-Type:"),
       "says that it has none");
    json_t *body = ida_json_keep(pool, json_pack("{s:s}", "displayName", "Åsa"));
    is_int(ask(g, "POST", "/users", body, PATIENCE_MS, &a), DIRECTORY_OK, "a write with a body");
    ok(strstr(last_seen("POST /v1.0/users HTTP"), "\r\n\r\n{\"displayName\":\"Åsa\"}") &&
           strstr(last_seen("POST /v1.0/users HTTP"), "Content-Type: application/json\r\n"),
       "the body is JSON");
    is_str(a.location, "http://127.0.0.1/x", "the Location");
    is_int(ask(g, "PATCH", "/users/7", body, PATIENCE_MS, &a), DIRECTORY_OK, "PATCH");
    ok(seen("PATCH /v1.0/users/7 HTTP/1.1") == 1 && seen("POST /dir/oauth2") == 1,
       "one token for all of them");
    is_int(server.connections, 2, "one connection for the token, one for the rest");
    is_int(ask(g, "DELETE", "/groups/1/members/2", NULL, PATIENCE_MS, &a), DIRECTORY_LOCAL,
           "a removal without $ref is not sent");
    ok(seen("DELETE") == 0, "indeed");
    graph_call k = graph_call_begin(g, pool, &e);
    const graph_request foreign = {.method = "GET",
                                   .url = "http://127.0.0.2/v1.0/users?$skiptoken=x",
                                   .doing = "paging"};
    is_int(graph_send(&k, GRAPH_READ, &foreign, &a), DIRECTORY_CONFIG,
           "a link to another origin is not followed");
    ok(said("127.0.0.2") && a.status == 0, "and the message names it");
    graph_close((directory *)g);
}

static void failures(void)
{
    graph_answer a;
    graph *g = fresh_session();
    TOKENS(GOOD_TOKEN);
#define CASE(method, want, what, ...)                                          \
    do {                                                                       \
        SCRIPT(__VA_ARGS__);                                                   \
        is_int(ask(g, method, "/users/1", NULL, PATIENCE_MS, &a), want, what); \
    } while (0)
    CASE("GET", DIRECTORY_NOT_FOUND, "404",
         {ACT_ANSWER, 404, JSON "request-id: abc-1\r\n",
          "{\"error\":{\"code\":\"Request_ResourceNotFound\",\"message\":\"Not\\nthere\"}}"});
    ok(said("HTTP 404 Request_ResourceNotFound: Not there (request-id abc-1)"),
       "what the directory said, on one line");
    is_str(a.code, "Request_ResourceNotFound", "its code");
    CASE("POST", DIRECTORY_CONFLICT, "a taken name",
         {ACT_ANSWER, 400, JSON,
          "{\"error\":{\"code\":\"Request_BadRequest\",\"message\":\"Another "
          "object\",\"details\":[{\"code\":\"ObjectConflict\",\"target\":\"userPrincipalName\"}]}"
          "}"});
    is_str(e.field, "upn", "which one");
    CASE("GET", DIRECTORY_TRANSIENT, "503 with HTML and Retry-After",
         {ACT_ANSWER, 503, "Content-Type: text/html\r\nRetry-After: 3.2\r\n", "<html>busy</html>"});
    is_int(e.retry_after_s, 4, "how long to wait");
    CASE("POST", DIRECTORY_UNSURE, "503 of a write", {ACT_ANSWER, 503, NULL, NULL});
    CASE("GET", DIRECTORY_TRANSIENT, "a 200 that is a gateway's page",
         {ACT_ANSWER, 200, "Content-Type: text/html\r\n", "<html>"});
    CASE("POST", DIRECTORY_UNSURE, "the same of a write is no success",
         {ACT_ANSWER, 200, "Content-Type: text/html\r\n", "<html>"});
    CASE("GET", DIRECTORY_TRANSIENT, "a 200 without a body", {ACT_ANSWER, 200, JSON, NULL});
    CASE("GET", DIRECTORY_TRANSIENT, "half a JSON text", {ACT_ANSWER, 200, JSON, "{\"value\":["});
    CASE("GET", DIRECTORY_TRANSIENT, "a cut off body", {ACT_CUT, 200, JSON, "{\"value\":[]}"});
    CASE("POST", DIRECTORY_UNSURE, "a cut off body of a write",
         {ACT_CUT, 201, JSON, "{\"id\":\"1\"}"});
    CASE("POST", DIRECTORY_UNSURE, "a reset instead of an answer to a write",
         {ACT_RESET, 0, NULL, NULL}, {ACT_ANSWER, 201, JSON, "{}"});
    is_int(seen("POST /v1.0/users/1"), 1, "it is not sent again");
    CASE("DELETE", DIRECTORY_UNSURE, "a reset of a bodyless write", {ACT_RESET, 0, NULL, NULL},
         {ACT_ANSWER, 204, NULL, NULL});
    is_int(seen("DELETE /v1.0/users/1"), 1, "neither is this");
    CASE("GET", DIRECTORY_OK, "after a reset connections work", {ACT_ANSWER, 200, JSON, "{}"});
    /* A kept connection that ends just as the next request is sent: libcurl would retry by
     * itself. */
    CASE("POST", DIRECTORY_UNSURE, "a reset on a kept connection", {ACT_RESET, 0, NULL, NULL},
         {ACT_ANSWER, 201, JSON, "{}"});
    is_int(seen("POST /v1.0/users/1"), 1, "the write is not repeated there either");
    ok(said("lost"), "and the message says that the answer was lost");
    CASE("GET", DIRECTORY_OK, "once more", {ACT_ANSWER, 200, JSON, "{}"});
    CASE("POST", DIRECTORY_OK, "a connection closed after its answer",
         {ACT_CLOSE, 201, JSON, "{}"});
    for (int i = 0; i < 60000 && !atomic_load(&server.closed); i++) {
        usleep(1000);
    }
    CASE("POST", DIRECTORY_OK, "is seen before the next write", {ACT_ANSWER, 201, JSON, "{}"});
    int64_t from, took;
    directory_class silence;
    int tries = 0;
    do { /* a call that got no processor for so long is not sent at all */
        SCRIPT({ACT_HANG, 0, NULL, NULL});
        from = ida_monotonic(&env);
        silence = ask(g, "POST", "/users", NULL, 700, &a);
        took = ida_monotonic(&env) - from;
    } while (!seen("POST /v1.0/users ") && ++tries < 20);
    is_int(silence, DIRECTORY_UNSURE, "silence after a write");
    ok(took >= 600, "ends with the deadline (%lld ms)", (long long)took);
    is_int(ask(g, "GET", "/users", NULL, 300, &a), DIRECTORY_TRANSIENT, "silence after a read");
    CASE("GET", DIRECTORY_CONFIG, "a redirect",
         {ACT_ANSWER, 302, "Location: http://127.0.0.2/\r\n", NULL});
    static char big[8 * 1024 * 1024 + 100];
    memset(big, ' ', sizeof big - 1);
    memcpy(big, "{}", 2);
    static reply large = {ACT_ANSWER, 200, JSON, big};
    script(&large, 1);
    graph_call k = graph_call_begin(g, pool, &e);
    const graph_request r = {.method = "GET", .url = graph_url(g, pool, "/users")};
    is_int(graph_send(&k, GRAPH_READ, &r, &a), DIRECTORY_CONFIG, "an answer larger than allowed");
    ok(said("larger than 8388608 bytes"), "and its message");
    graph_close((directory *)g);
}

static void tokens(void)
{
    graph_answer a;
    graph *g = fresh_session();
    TOKENS(GOOD_TOKEN,
           {ACT_ANSWER, 200, JSON, "{\"expires_in\":\"3599\",\"access_token\":\"eyTOKEN-2\"}"});
    SCRIPT({ACT_ANSWER, 401, JSON, "{\"error\":{\"code\":\"InvalidAuthenticationToken\"}}"},
           {ACT_ANSWER, 200, JSON, "{}"});
    is_int(ask(g, "GET", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_OK,
           "a 401 is answered with a new token");
    ok(strstr(last_seen("GET /v1.0/users"), "eyTOKEN-2") && seen("GET /v1.0/users") == 2,
       "and the call repeated once");
    SCRIPT({ACT_ANSWER, 401, JSON, "{}"});
    is_int(ask(g, "POST", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_CREDENTIALS,
           "a second 401 is final");
    is_int(seen("POST /v1.0/users"), 2, "after two calls");

    g = fresh_session();
    TOKENS({ACT_ANSWER, 401, JSON,
            "{\"error\":\"invalid_client\",\"error_codes\":[7000215],\"error_description\":"
            "\"AADSTS7000215: Invalid client secret provided: " SECRET "\\r\\nTrace ID: 1\"}"});
    SCRIPT({ACT_ANSWER, 200, JSON, "{}"});
    is_int(ask(g, "GET", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_CREDENTIALS, "a wrong secret");
    ok(said("invalid_client") && said("clientSecretFile") && !strstr(e.message, SECRET),
       "the message helps and holds no secret");
    is_int(ask(g, "GET", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_CREDENTIALS,
           "is not shown again at once");
    ok(seen("POST /dir/oauth2") == 1 && e.retry_after_s > 3 && e.retry_after_s <= 8,
       "but when the directory's hold may be over");
    FILE *file = fopen(secret_file, "w");
    fputs(SECRET "X\n", file);
    fclose(file);
    TOKENS(GOOD_TOKEN);
    is_int(ask(g, "GET", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_OK, "unless the file changes");
    ok(strstr(last_seen("POST /dir/oauth2"), "Q8X") != NULL, "whose new content is sent");

    g = fresh_session();
    TOKENS({ACT_ANSWER, 503, "Content-Type: text/html\r\n", "<html>"}, GOOD_TOKEN);
    is_int(ask(g, "GET", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_TRANSIENT,
           "a token endpoint that is busy");
    usleep(1100000);
    is_int(ask(g, "GET", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_OK, "is asked again soon");

    g = fresh_session();
    TOKENS({ACT_ANSWER, 200, JSON, "{\"expires_in\":3599,\"access_token\":\"a\\r\\nX-Evil: 1\"}"});
    is_int(ask(g, "GET", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_TRANSIENT,
           "a token with line ends is not used");
    chmod(secret_file, 0644);
    usleep(1100000);
    is_int(ask(g, "GET", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_CONFIG,
           "a secret that others can read");
    ok(said("chmod o="), "says what to do");
    chmod(secret_file, 0600);
}

static atomic_int threads_good;

static void *one_of_many(void *baton)
{
    apr_pool_t *own;
    graph_answer a;
    directory_error mine;
    apr_pool_create(&own, NULL);
    const graph *of = baton;
    directory *d;
    if (graph_open(&d, &env, of->tenant, IDA_DIR_CLOUD, own, &mine) == DIRECTORY_OK) {
        graph *g = (graph *)d;
        graph_call k = graph_call_begin(g, own, &mine);
        const graph_request r = {.method = "GET", .url = graph_url(g, own, "/users")};
        atomic_fetch_add(&threads_good, graph_send(&k, GRAPH_READ, &r, &a) == DIRECTORY_OK &&
                                            g->client == of->client);
    }
    apr_pool_destroy(own);
    return NULL;
}

static void one_refresh(void)
{
    pthread_t threads[16];
    graph *g = fresh_session();
    TOKENS(GOOD_TOKEN);
    SCRIPT({ACT_ANSWER, 200, JSON, "{}"});
    server.token_delay_ms = 300;
    for (int i = 0; i < 16; i++) {
        pthread_create(&threads[i], NULL, one_of_many, g);
    }
    for (int i = 0; i < 16; i++) {
        pthread_join(threads[i], NULL);
    }
    server.token_delay_ms = 0;
    is_int(atomic_load(&threads_good), 16, "sixteen threads that come together");
    is_int(seen("POST /dir/oauth2"), 1, "ask for one token");
}

static void throttling(void)
{
    graph_answer a;
    graph *g = fresh_session();
    int64_t (*real)(void *) = env.monotonic;
    test_monotonic_ms = ida_monotonic(&env);
    env.monotonic = test_monotonic;
    TOKENS(GOOD_TOKEN);
    SCRIPT({ACT_ANSWER, 429,
            JSON "Retry-After: 1\r\nx-ms-throttle-scope: Tenant_Application/Write/app/dir\r\n",
            "{}"},
           {ACT_ANSWER, 200, JSON, "{}"});
    is_int(ask(g, "POST", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_THROTTLED, "429");
    is_int(e.retry_after_s, 1, "when to come back");
    is_int(ask(g, "POST", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_THROTTLED, "until then");
    is_int(seen("POST /v1.0/users"), 1, "no write is sent");
    is_int(ask(g, "GET", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_OK,
           "reads go on, as the scope is Write");
    test_monotonic_ms += 1050;
    is_int(ask(g, "POST", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_OK, "after it writes go on");
    SCRIPT({ACT_ANSWER, 429, NULL, NULL}, {ACT_ANSWER, 200, JSON, "{}"});
    is_int(ask(g, "GET", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_THROTTLED,
           "429 without Retry-After");
    ok(e.retry_after_s >= 1 && e.retry_after_s <= 2, "1 to 2 s (%d)", e.retry_after_s);
    is_int(ask(g, "POST", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_THROTTLED,
           "holds everything");
    env.monotonic = real;
}

/* --- lists --- */

/* Pages "0" to count - 1, each with a link to the next; after them the answer `last`. */
static void page_script(int count, reply last)
{
    static reply replies[200];
    for (int i = 0; i < count; i++) {
        replies[i] = (reply){
            ACT_ANSWER, 200, JSON,
            apr_psprintf(
                pool, "{\"value\":[\"%d\"],\"@odata.nextLink\":\"http://127.0.0.1:%d/v1.0/p%d\"}",
                i, server.port, i + 1)};
    }
    replies[count] = last;
    script(replies, count + 1);
}

static directory_class in_order(void *baton, json_t *item)
{
    int *at = baton;
    *at += atoi(json_string_value(item)) == *at;
    return DIRECTORY_OK;
}

static int stop_after; /* looks */

static int looking(void *baton)
{
    (void)baton;
    return stop_after-- <= 0;
}

static directory_class pages_of(graph *g, graph_list *list, int *got)
{
    graph_call k = graph_call_begin(g, pool, &e);
    *list = (graph_list){.request = {.method = "GET",
                                     .url = graph_url(g, pool, "/p0"),
                                     .sync = 1,
                                     .doing = "testing"}};
    k.alive = looking;
    *got = 0;
    return graph_each(&k, list, in_order, got);
}

static void lists(void)
{
    graph *g = fresh_session();
    graph_list list;
    int got;
    TOKENS(GOOD_TOKEN);
    graph_throttle_tenant_size(g, 1000);
    stop_after = 1000;
    page_script(20, (reply){ACT_ANSWER, 200, JSON,
                            "{\"value\":[\"20\"],\"@odata.deltaLink\":\"http://x/d\"}"});
    is_int(pages_of(g, &list, &got), DIRECTORY_OK, "a list");
    ok(got == 21 && list.pages == 21, "every page, in order");
    is_str(list.delta, "http://x/d", "and the link of the next round");
    page_script(2, (reply){ACT_ANSWER, 403, JSON,
                           "{\"error\":{\"code\":\"Authorization_RequestDenied\"}}"});
    is_int(pages_of(g, &list, &got), DIRECTORY_FORBIDDEN, "a page that is refused");
    ok(got == 2 && list.answer.status == 403 && said("Authorization_RequestDenied"), "with reason");
    static const char *const bad[] = {
        "{}", "{\"value\":{}}", "{\"value\":\"[]\"}", "{\"error\":{\"code\":\"x\"}}",
        "{\"value\":[],\"@odata.nextLink\":\"a\",\"@odata.deltaLink\":\"b\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        page_script(0, (reply){ACT_ANSWER, 200, JSON, bad[i]});
        is_int(pages_of(g, &list, &got), DIRECTORY_TRANSIENT, bad[i]);
        is_int(seen("GET /v1.0/p0"), 2, "is asked for once more");
    }
    SCRIPT({ACT_CUT, 200, JSON, "{\"value\":[\"0\"]}"},
           {ACT_ANSWER, 200, JSON, "{\"value\":[\"0\"]}"});
    is_int(pages_of(g, &list, &got), DIRECTORY_OK, "a page that is cut off once");
    ok(got == 1 && !list.delta, "is taken once");
    static char large[9 * 1024 * 1024];
    memset(large, ' ', sizeof large - 1);
    memcpy(large, "{\"value\":[]}", 12);
    page_script(0, (reply){ACT_ANSWER, 200, JSON, large});
    is_int(pages_of(g, &list, &got), DIRECTORY_OK, "pages of a sync may be long");
}

/* Links that form a cycle, beginning at some page, and a stop between pages. */
static void endless_lists(void)
{
    graph *g = fresh_session();
    graph_list list;
    int got;
    TOKENS(GOOD_TOKEN);
    stop_after = 1000;
    for (int length = 1; length <= 3; length++) {
        static reply replies[60];
        for (int i = 0; i < 60; i++) {
            replies[i] = (reply){
                ACT_ANSWER, 200, JSON,
                apr_psprintf(pool,
                             "{\"value\":[],\"@odata.nextLink\":\"http://127.0.0.1:%d/v1.0/c%d\"}",
                             server.port, i < 5 ? i : 5 + i % length)};
        }
        script(replies, 60);
        is_int(pages_of(g, &list, &got), DIRECTORY_TRANSIENT, "a circle ends");
        ok(said("lead back") && list.pages < 20, "after %d pages", list.pages);
    }
    stop_after = 3;
    page_script(20, (reply){ACT_ANSWER, 403, JSON, "{}"});
    is_int(pages_of(g, &list, &got), DIRECTORY_LOCAL, "a run that shall stop");
    ok(said("stopped") && list.pages < 5, "stops");
}

/* The bucket for reads keeps its share when the tenant turns out to be large: no pause in the
 * middle of a first round. */
static void tenant_size(void)
{
    graph_answer a;
    graph *g = fresh_session();
    graph_throttle *t = &g->client->throttle;
    SCRIPT({ACT_ANSWER, 200, JSON, "{}"});
    ask(g, "GET", "/users", NULL, PATIENCE_MS, &a);
    double small = t->units.rate, full = t->units.level / t->units.burst;
    graph_throttle_tenant_size(g, 499);
    graph_throttle_tenant_size(g, 30); /* a smaller number means nothing: only a part was read */
    ask(g, "GET", "/users", NULL, PATIENCE_MS, &a);
    ok(t->units.rate > small * 1.4 && t->units.rate < small * 1.5,
       "499 users: 5,000 units in place of 3,500");
    graph_throttle_tenant_size(g, 500);
    ask(g, "GET", "/users", NULL, PATIENCE_MS, &a);
    ok(t->units.rate > small * 2.2 && t->units.rate < small * 2.3, "500 users: 8,000");
    ok(t->units.level / t->units.burst >= full - 0.02, "as full as before (%.2f, %.2f)",
       t->units.level / t->units.burst, full);
}

/* The proxy is used for encrypted requests, and only for these. */
static void proxies(void)
{
    http_answer a;
    http_client *h = http_make(pool, &env, NULL, "http://127.0.0.1:9", 0);
    http_request r = {.method = "GET",
                      .url = apr_psprintf(pool, "http://127.0.0.1:%d/v1.0/x", server.port),
                      .max_bytes = 1000};
    r.deadline = ida_monotonic(&env) + PATIENCE_MS;
    SCRIPT({ACT_ANSWER, 200, JSON, "{}"});
    is_int(http_send(h, pool, &r, &a), HTTP_ANSWERED,
           "plain HTTP to this machine goes past the proxy");
    http_answer_free(&a);
    r.url = apr_psprintf(pool, "https://127.0.0.1:%d/v1.0/x", server.port);
    is_int(http_send(h, pool, &r, &a), HTTP_UNSENT, "HTTPS goes through it");
    ok(a.fault && strstr(a.fault, "127.0.0.1 port 9"), "as its failure shows");
    http_answer_free(&a);
    http_close(h);
}

static void unreachable(void)
{
    graph_answer a;
    graph *g = fresh_session();
    int port = server.port;
    TOKENS(GOOD_TOKEN);
    SCRIPT({ACT_ANSWER, 200, JSON, "{}"});
    ask(g, "GET", "/users", NULL, PATIENCE_MS, &a);
    /* A port without a listener. */
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    bind(fd, (struct sockaddr *)&address, sizeof address);
    getsockname(fd, (struct sockaddr *)&address, &len);
    g->root = apr_psprintf(pool, "http://127.0.0.1:%d/v1.0", ntohs(address.sin_port));
    g->origin = apr_psprintf(pool, "http://127.0.0.1:%d", ntohs(address.sin_port));
    is_int(ask(g, "POST", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_TRANSIENT,
           "a write that could not be sent is not unsure");
    close(fd);
    server.port = port;
    unlink(secret_file);
    g = fresh_session();
    is_int(ask(g, "GET", "/users", NULL, PATIENCE_MS, &a), DIRECTORY_CONFIG, "no secret file");
    ok(said(secret_file), "is named");
}

int main(void)
{
    setup();
    directory_library_init();
    server_start();
    int fd = mkstemp(secret_file);
    if (fd < 0 || write(fd, SECRET "\n", sizeof SECRET) != sizeof SECRET) {
        return 1;
    }
    close(fd);
    named_calls();
    plain_calls();
    failures();
    tokens();
    one_refresh();
    throttling();
    lists();
    endless_lists();
    tenant_size();
    proxies();
    unreachable();
    return done();
}
