/* Owns libcurl: its options, what its result codes mean, and that a write is never sent twice on
 * its own account. Must not know tokens, users or what a status means. */
#include "worker/base/http.h"

#include <apr_strings.h>
#include <curl/curl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/text.h"
#include "worker/base/secret.h"
#include "worker/base/transfer.h"

#define CONNECT_MS 8000
/* an unused connection is not trusted for longer: balancers drop them in silence */
#define IDLE_S 50L
#define HEADER_MAX 4096
#define BODY_LEAST 16384
#define BUFFER (128 * 1024L) /* libcurl's own 16 KB take many more turns for a page of a sync */
#define LAST_S INT64_C(253402300800) /* year 10000: no date of HTTP */
#define RETRY_AFTER_MOST_MS (24 * 3600 * 1000)

struct http_client {
    CURL *curl;
    const ida_env *env;
    const char *ca_file, *proxy_url;
    int single;
};

/* One exchange, as the callbacks see it. */
typedef struct exchange {
    CURL *curl;
    const http_request *request;
    http_answer *answer;
    apr_pool_t *pool;
    size_t room;
    int sends, resent, too_big, no_memory, stopped;
} exchange;

void http_library_init(void)
{
    /* Only our own settings count, and no file gets the keys of our connections. */
    unsetenv("SSLKEYLOGFILE");
    curl_global_init_mem(CURL_GLOBAL_ALL, malloc, secret_free, secret_realloc, strdup, calloc);
}

http_client *http_make(apr_pool_t *pool, const ida_env *env, const char *ca_file,
                       const char *proxy_url, int single)
{
    http_client *h = apr_pcalloc(pool, sizeof *h);
    *h = (http_client){.curl = curl_easy_init(),
                       .env = env,
                       .ca_file = ca_file,
                       .proxy_url = proxy_url,
                       .single = single};
    return h->curl ? h : NULL;
}

void http_close(http_client *h)
{
    curl_easy_cleanup(h->curl);
    h->curl = NULL;
}

void http_answer_free(http_answer *answer)
{
    if (answer->bytes) {
        secret_free(answer->bytes);
        answer->bytes = NULL;
    }
}

/* Makes room for `size` bytes in all: at first the announced length, then twice as much each
 * time. */
static int make_room(exchange *x, size_t size)
{
    http_answer *a = x->answer;
    size_t room = x->room;
    if (!room) {
        curl_off_t told = 0;
        curl_easy_getinfo(x->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &told);
        room = told > 0 && (uint64_t)told < x->request->max_bytes ? (size_t)told + 1 : BODY_LEAST;
    }
    while (room < size) {
        room *= 2;
    }
    char *larger = secret_realloc(a->bytes, room);
    if (!larger) {
        x->no_memory = 1;
        return 0;
    }
    a->bytes = larger;
    x->room = room;
    return 1;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *baton)
{
    exchange *x = baton;
    http_answer *a = x->answer;
    size_t len = size * count;
    if (len > x->request->max_bytes - a->len) {
        x->too_big = 1;
        return 0;
    }
    if (a->len + len + 1 > x->room && !make_room(x, a->len + len + 1)) {
        return 0;
    }
    memcpy(a->bytes + a->len, bytes, len);
    a->len += len;
    a->bytes[a->len] = '\0';
    return len;
}

void http_answer_header(http_answer *a, apr_pool_t *pool, const char *bytes, size_t len)
{
    const struct {
        const char *name;
        const char **at;
    } known[] = {
        {"location", &a->location},
        {"retry-after", &a->retry_after},
        {"request-id", &a->request_id},
        {"date", &a->date},
        {"content-type", &a->content_type},
        {"x-ms-throttle-scope", &a->throttle_scope},
        {"x-ms-throttle-limit-percentage", &a->throttle_percentage},
        {"x-ms-throttle-information", &a->throttle_reason},
    };
    size_t name;
    const char *colon = memchr(bytes, ':', len);
    if (len > 5 && strncasecmp(bytes, "HTTP/", 5) == 0) {
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            *known[i].at = NULL; /* of an interim answer, or of the proxy's */
        }
        return;
    }
    if (!colon || len > HEADER_MAX) {
        return;
    }
    name = (size_t)(colon - bytes);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) == name && strncasecmp(known[i].name, bytes, name) == 0) {
            char *value = apr_pstrmemdup(pool, colon + 1, len - name - 1);
            value += strspn(value, " \t");
            value[strcspn(value, "\r\n")] = '\0';
            *known[i].at = value;
        }
    }
}

static size_t take_header(char *bytes, size_t size, size_t count, void *baton)
{
    exchange *x = baton;
    http_answer_header(x->answer, x->pool, bytes, size * count);
    return size * count;
}

/* Called before each sending, also when libcurl found its kept connection dead and begins again on
 * a new one. For a write that is not its decision: the dead one may have carried the request. */
static int before_sending(void *baton, char *ip, char *local_ip, int port, int local_port)
{
    exchange *x = baton;
    (void)ip, (void)local_ip, (void)port, (void)local_port;
    if (x->sends++ && x->request->once) {
        x->resent = 1;
        return CURL_PREREQFUNC_ABORT;
    }
    return CURL_PREREQFUNC_OK;
}

static int progress(void *baton, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    exchange *x = baton;
    (void)a, (void)b, (void)c, (void)d;
    x->stopped = x->request->alive && x->request->alive(x->request->baton);
    return x->stopped;
}

static const struct {
    CURLcode code;
    http_outcome outcome;
} outcomes[] = {
    {CURLE_COULDNT_RESOLVE_PROXY, HTTP_UNSENT},
    {CURLE_COULDNT_RESOLVE_HOST, HTTP_UNSENT},
    {CURLE_COULDNT_CONNECT, HTTP_UNSENT},
    {CURLE_PROXY, HTTP_UNSENT},
    {CURLE_SSL_CONNECT_ERROR, HTTP_UNSENT},
    {CURLE_PEER_FAILED_VERIFICATION, HTTP_REFUSED},
    {CURLE_SSL_CACERT_BADFILE, HTTP_REFUSED},
    {CURLE_SSL_CERTPROBLEM, HTTP_REFUSED},
    {CURLE_SSL_ISSUER_ERROR, HTTP_REFUSED},
    {CURLE_SSL_CIPHER, HTTP_REFUSED},
    {CURLE_SSL_INVALIDCERTSTATUS, HTTP_REFUSED},
    {CURLE_UNSUPPORTED_PROTOCOL, HTTP_REFUSED},
    {CURLE_URL_MALFORMAT, HTTP_REFUSED},
    {CURLE_OUT_OF_MEMORY, HTTP_FAULT},
    {CURLE_FAILED_INIT, HTTP_FAULT},
    {CURLE_BAD_FUNCTION_ARGUMENT, HTTP_FAULT},
    {CURLE_NOT_BUILT_IN, HTTP_FAULT},
    {CURLE_UNKNOWN_OPTION, HTTP_FAULT},
};

static http_outcome judge(const exchange *x, CURLcode code)
{
    if (code == CURLE_OK) {
        return HTTP_ANSWERED;
    }
    if (x->stopped) {
        return HTTP_STOPPED;
    }
    if (x->no_memory) {
        return HTTP_FAULT;
    }
    if (x->too_big) {
        return HTTP_TOO_BIG;
    }
    for (size_t i = 0; !x->sends && i < sizeof outcomes / sizeof *outcomes; i++) {
        if (outcomes[i].code == code) {
            return outcomes[i].outcome;
        }
    }
    return x->sends ? HTTP_LOST : HTTP_UNSENT;
}

/* The settings of every exchange; 0 when libcurl refuses one. */
static int set_options(http_client *h, const http_request *r, exchange *x, char *error,
                       int64_t left)
{
    CURL *curl = h->curl;
    curl_easy_reset(curl); /* connections stay */
    int bad = !transfer_guard(curl, r->url, TRANSFER_HTTP, h->ca_file, error);
#define SET(option, value) bad |= curl_easy_setopt(curl, CURLOPT_##option, value) != CURLE_OK
    SET(FOLLOWLOCATION, 0L);
    SET(PATH_AS_IS, 1L);
    SET(HTTP_VERSION, h->single ? (long)CURL_HTTP_VERSION_1_1 : (long)CURL_HTTP_VERSION_2TLS);
    SET(FORBID_REUSE, h->single ? 1L : 0L);
    /* An empty text disables the environment's setting. Unencrypted requests are for this
     * machine and use no proxy. */
    SET(PROXY, h->proxy_url && strncasecmp(r->url, "https:", 6) == 0 ? h->proxy_url : "");
    SET(NOPROXY, "");
    SET(SUPPRESS_CONNECT_HEADERS, 1L);
    SET(HEADEROPT, (long)CURLHEADER_SEPARATE); /* the proxy gets no token */
    SET(TCP_KEEPALIVE, 1L);
    SET(MAXAGE_CONN, IDLE_S);
    SET(ACCEPT_ENCODING, "gzip");
    SET(BUFFERSIZE, BUFFER);
    SET(TIMEOUT_MS, (long)left);
    SET(CONNECTTIMEOUT_MS, (long)(left < CONNECT_MS ? left : CONNECT_MS));
    SET(NOPROGRESS, 0L);
    SET(XFERINFOFUNCTION, progress);
    SET(XFERINFODATA, x);
    SET(PREREQFUNCTION, before_sending);
    SET(PREREQDATA, x);
    SET(WRITEFUNCTION, take_body);
    SET(WRITEDATA, x);
    SET(HEADERFUNCTION, take_header);
    SET(HEADERDATA, x);
    int bodied = r->body || strcmp(r->method, "POST") ==
                                0; /* a POST without a body still sends Content-Length: 0 */
    if (bodied) {
        SET(POST, 1L);
        SET(POSTFIELDS, r->body ? r->body : "");
        SET(POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
    }
    if (strcmp(r->method, bodied ? "POST" : "GET") != 0) {
        SET(CUSTOMREQUEST, r->method);
    }
#undef SET
    return !bad;
}

http_outcome http_send(http_client *h, apr_pool_t *pool, const http_request *r, http_answer *answer)
{
    char error[CURL_ERROR_SIZE] = "";
    exchange x = {.curl = h->curl, .request = r, .answer = answer, .pool = pool};
    *answer = (http_answer){0};
    int64_t left = r->deadline - ida_monotonic(h->env);
    if (left <= 0) {
        answer->fault = "no time was left to ask";
        return HTTP_UNSENT;
    }
    if (!set_options(h, r, &x, error, left)) {
        answer->fault = ida_printf(pool, "libcurl refuses an option: %s",
                                   ida_clean(pool, error, strlen(error), 200));
        return HTTP_FAULT;
    }
    /* The list is on the stack and in the caller's memory: libcurl only reads it, so that no
     * copy of a token remains. */
    size_t count = 0;
    while (r->headers && r->headers[count]) {
        count++;
    }
    struct curl_slist *list = apr_pcalloc(pool, (count + 2) * sizeof *list), *last = &list[0];
    list[0].data = (char *)(uintptr_t) "Expect:";
    for (size_t i = 0; i < count + (r->secret_header != NULL); i++) {
        last->next = &list[i + 1];
        last = last->next;
        last->data = (char *)(uintptr_t)(i < count ? r->headers[i] : r->secret_header);
    }
    curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, list);
    CURLcode code = curl_easy_perform(h->curl);
    long status = 0, proxy_status = 0;
    curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(h->curl, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
    curl_easy_reset(h->curl); /* forgets our pointers */
    answer->status = code == CURLE_OK ? (int)status : 0;
    answer->sent = x.sends > 0;
    http_outcome outcome = judge(&x, code);
    if (outcome == HTTP_UNSENT && (proxy_status == 403 || proxy_status == 407)) {
        answer->fault =
            proxy_status == 407
                ? "the proxy asks for credentials (HTTP 407), which this service has not: let this "
                  "machine through"
                : "the proxy refuses to connect to this host (HTTP 403): allow it there";
        return HTTP_REFUSED;
    }
    if (outcome != HTTP_ANSWERED) {
        const char *text = x.resent
                               ? "the kept connection was closed while the request was under way"
                           : x.too_big ? ida_printf(pool, "the answer is larger than %zu bytes",
                                                    r->max_bytes)
                           : x.stopped ? "stopped"
                           : error[0]  ? error
                                       : curl_easy_strerror(code);
        answer->fault = ida_clean(pool, text, strlen(text), 300);
    }
    return outcome;
}

int64_t http_date_ms(const char *text)
{
    time_t at = text ? curl_getdate(text, NULL) : -1;
    return at > 0 && at < LAST_S ? (int64_t)at * 1000 : 0;
}

int http_retry_after_ms(const http_answer *answer, int64_t now)
{
    const char *text = answer->retry_after;
    char *end;
    if (!text) {
        return -1;
    }
    text += strspn(text, " \t");
    double wait;
    if (*text >= '0' && *text <= '9') {
        wait = strtod(text, &end) * 1000;
        if (end[strspn(end, " \t\r\n")]) {
            return -1;
        }
    } else {
        int64_t at = http_date_ms(text), theirs = http_date_ms(answer->date);
        if (!at) {
            return -1;
        }
        wait = (double)(at - (theirs ? theirs : now));
    }
    return wait <= 0 ? 0 : !(wait < RETRY_AFTER_MOST_MS) ? RETRY_AFTER_MOST_MS : (int)ceil(wait);
}
