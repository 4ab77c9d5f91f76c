/* Owns the call of a webhook: its signature, which addresses it may reach, what an answer means.
 * Knows nothing of actions, events and people. */
#include "worker/send/webhook.h"

#include <apr_strings.h>
#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <string.h>
#include <strings.h>

#include "core/base/correlation.h"
#include "core/base/secret_path.h"
#include "core/base/text.h"
#include "core/tenant/shape.h"
#include "core/tenant/tenant.h"
#include "worker/base/http.h"
#include "worker/base/secret.h"
#include "worker/base/transfer.h"

#define CONNECT_MS 5000
#define SECRET_FILE_MAX 1024
#define SECRETS_MAX 4
#define ANSWER_MAX 65536 /* bytes that are listened to; the status is what counts */

/* --- addresses --- */

typedef struct range {
    unsigned char bytes[16];
    int bits;
} range;

/* IANA special-purpose registries: whatever is not globally reachable. */
static const range private4[] = {
    {{0}, 8},         {{10}, 8},       {{100, 64}, 10},      {{127}, 8},
    {{169, 254}, 16}, {{172, 16}, 12}, {{192, 0, 0}, 24},    {{192, 0, 2}, 24},
    {{192, 168}, 16}, {{198, 18}, 15}, {{198, 51, 100}, 24}, {{203, 0, 113}, 24},
    {{224}, 4},       {{240}, 4},
};
static const range private6[] = {
    {{0}, 128},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128}, /* ::, ::1 */
    {{0x00, 0x64, 0xFF, 0x9B, 0x00, 0x01}, 48},
    {{0x01}, 64},
    {{0x20, 0x01, 0x00}, 23},
    {{0x20, 0x01, 0x0D, 0xB8}, 32},
    {{0x3F, 0xFF}, 20},
    {{0x5F}, 16},
    {{0xFC}, 7},
    {{0xFE, 0x80}, 10},
    {{0xFE, 0xC0}, 10},
    {{0xFF}, 8},
};
/* IPv6 that carries an IPv4 at the byte given: compatible, mapped, translated, NAT64, 6to4. */
static const struct {
    range of;
    int at;
} carriers[] = {
    {{{0}, 96}, 12},
    {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}, 96}, 12},
    {{{0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}, 96}, 12},
    {{{0x00, 0x64, 0xFF, 0x9B}, 96}, 12},
    {{{0x20, 0x02}, 16}, 2},
};

static int within(const unsigned char *address, const range *r)
{
    int whole = r->bits / 8, rest = r->bits % 8;
    unsigned char mask = (unsigned char)(0xFF00 >> rest);
    return memcmp(address, r->bytes, (size_t)whole) == 0 &&
           (!rest || ((address[whole] ^ r->bytes[whole]) & mask) == 0);
}

static int in_any(const unsigned char *address, const range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (within(address, &ranges[i])) {
            return 1;
        }
    }
    return 0;
}

#define IN_ANY(address, ranges) in_any(address, ranges, sizeof(ranges) / sizeof *(ranges))

int webhook_address_private(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        return IN_ANY(
            (const unsigned char *)&((const struct sockaddr_in *)(const void *)address)->sin_addr,
            private4);
    }
    if (address->sa_family != AF_INET6) {
        return 1;
    }
    const unsigned char *bytes =
        ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr;
    for (size_t i = 0; i < sizeof carriers / sizeof *carriers; i++) {
        if (within(bytes, &carriers[i].of) && IN_ANY(bytes + carriers[i].at, private4)) {
            return 1;
        }
    }
    return IN_ANY(bytes, private6);
}

static int is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        return *(const unsigned char *)&((const struct sockaddr_in *)(const void *)address)
                    ->sin_addr == 127;
    }
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* --- signature --- */

/* "v1,..." of one secret; NULL when it is none. */
static const char *sign(apr_pool_t *pool, const char *secret, const char *content)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned mac_len = 0;
    size_t len = 0;
    unsigned char *key = strncmp(secret, "whsec_", 6) == 0
                             ? ida_base64_decode(pool, secret + 6, strlen(secret + 6), &len)
                             : NULL;
    int good = key && len >= 24 && len <= 64 &&
               HMAC(EVP_sha256(), key, (int)len, (const unsigned char *)content, strlen(content),
                    mac, &mac_len);
    if (key) {
        OPENSSL_cleanse(key, len);
    }
    return good ? apr_pstrcat(pool, "v1,", ida_base64_encode(pool, mac, mac_len), NULL) : NULL;
}

const char *webhook_signature(apr_pool_t *pool, const char *secrets, const char *id, int64_t at_s,
                              const char *body, const char **fault)
{
    static const char blank[] = " \t\r\n";
    const char *content = ida_printf(pool, "%s.%lld.%s", id, (long long)at_s, body), *value = NULL;
    int count = 0;
    *fault = NULL;
    for (const char *p = secrets + strspn(secrets, blank); *p && !*fault; p += strspn(p, blank)) {
        size_t len = strcspn(p, blank);
        char *secret = apr_pstrmemdup(pool, p, len);
        const char *one = ++count <= SECRETS_MAX ? sign(pool, secret, content) : NULL;
        OPENSSL_cleanse(secret, len);
        *fault = one ? NULL
                     : "must hold one to four secrets, each whsec_ and the base64 of 24 to 64 "
                       "random bytes";
        value = value ? apr_pstrcat(pool, value, " ", one, NULL) : one;
        p += len;
    }
    if (!count) {
        *fault = "holds no secret";
    }
    return *fault ? NULL : value;
}

static const char *signature_of(apr_pool_t *pool, const webhook_call *call, int64_t at_s,
                                const char **fault)
{
    size_t len;
    char *secrets = secret_map(SECRET_FILE_MAX);
    const char *value = NULL;
    *fault = secrets ? secret_file_read(pool, "secretFile", call->secret_file, secrets,
                                        SECRET_FILE_MAX, &len)
                     : "no memory";
    if (!*fault) {
        value = webhook_signature(pool, secrets, call->id, at_s, call->body, fault);
        *fault = *fault ? ida_printf(pool, "secretFile %s %s", call->secret_file, *fault) : NULL;
    }
    secret_unmap(secrets, SECRET_FILE_MAX);
    return value;
}

const char *webhook_secret_fault(apr_pool_t *pool, const webhook_call *call)
{
    webhook_call empty = *call;
    const char *fault;
    empty.id = empty.body = "";
    signature_of(pool, &empty, 0, &fault);
    return fault;
}

static void check_secret(ida_ctx *c, const char *member, const char *path, int secret)
{
    static const char end[] = ".secretFile";
    size_t len = strlen(member);
    if (secret && ida_secret_path(c->pool, path) && len >= sizeof end &&
        strcmp(member + len - (sizeof end - 1), end) == 0) {
        const webhook_call call = {.secret_file = path};
        const char *fault = webhook_secret_fault(c->pool, &call);
        if (fault) {
            ida_fault_add(c, member, "%s", fault);
        }
    }
}

void webhook_secrets_check(ida_ctx *c, const struct ida_tenant *tenant)
{
    ida_tenant_files(c, tenant->document, check_secret);
}

/* --- the call --- */

typedef struct exchange {
    const webhook_call *call;
    apr_pool_t *pool;
    http_answer headers; /* these alone */
    const char *refused; /* an address that may not be reached */
    size_t heard;
    int sent;
} exchange;

/* The address that is connected to, whatever name and answers of name servers led to it. */
static curl_socket_t open_socket(void *baton, curlsocktype purpose, struct curl_sockaddr *address)
{
    exchange *x = baton;
    char text[INET6_ADDRSTRLEN] = "";
    const struct sockaddr *to = &address->addr;
    int clear = strncasecmp(x->call->url, "http:", 5) == 0;
    if ((clear && !is_loopback(to)) || (!x->call->allow_private && webhook_address_private(to)) ||
        purpose != CURLSOCKTYPE_IPCXN) {
        const void *bytes =
            to->sa_family == AF_INET6
                ? (const void *)&((const struct sockaddr_in6 *)(const void *)to)->sin6_addr
                : (const void *)&((const struct sockaddr_in *)(const void *)to)->sin_addr;
        inet_ntop(to->sa_family, bytes, text, sizeof text);
        x->refused = apr_pstrdup(x->pool, text);
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static int before_sending(void *baton, char *ip, char *local_ip, int port, int local_port)
{
    (void)ip, (void)local_ip, (void)port, (void)local_port;
    ((exchange *)baton)->sent = 1;
    return CURL_PREREQFUNC_OK;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *baton)
{
    exchange *x = baton;
    (void)bytes;
    x->heard += size * count;
    return x->heard <= ANSWER_MAX ? size * count : 0;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *baton)
{
    exchange *x = baton;
    http_answer_header(&x->headers, x->pool, bytes, size * count);
    return size * count;
}

static int set_options(CURL *curl, const webhook_call *call, exchange *x,
                       struct curl_slist *headers, char *error)
{
    int bad = !transfer_guard(curl, call->url, TRANSFER_HTTP, call->ca_file, error);
#define SET(option, value) bad |= curl_easy_setopt(curl, CURLOPT_##option, value) != CURLE_OK
    SET(FOLLOWLOCATION, 0L);
    SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(PROXY, "");
    SET(TIMEOUT_MS, (long)WEBHOOK_MS);
    SET(CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    SET(FORBID_REUSE, 1L);
    SET(OPENSOCKETFUNCTION, open_socket);
    SET(OPENSOCKETDATA, x);
    SET(PREREQFUNCTION, before_sending);
    SET(PREREQDATA, x);
    SET(WRITEFUNCTION, take_body);
    SET(WRITEDATA, x);
    SET(HEADERFUNCTION, take_header);
    SET(HEADERDATA, x);
    SET(POST, 1L);
    SET(POSTFIELDS, call->body);
    SET(POSTFIELDSIZE_LARGE, (curl_off_t)strlen(call->body));
    SET(HTTPHEADER, headers);
#undef SET
    return !bad;
}

webhook_outcome webhook_judge_status(apr_pool_t *pool, long status, const char **detail)
{
    static const struct {
        long from, to;
        webhook_outcome outcome;
        const char *text;
    } table[] = {
        {200, 299, WEBHOOK_TAKEN, "answered"},
        {300, 399, WEBHOOK_REFUSED,
         "The receiver answered with a redirect, which is not followed: name the final address"},
        {408, 408, WEBHOOK_LATER, "The receiver did not wait for the whole call"},
        {425, 425, WEBHOOK_LATER, "The receiver asks to be called later"},
        {410, 410, WEBHOOK_GONE, "The receiver says that this webhook is gone for good"},
        {429, 429, WEBHOOK_LATER, "The receiver asks to slow down"},
        {400, 499, WEBHOOK_REFUSED, "The receiver refuses the call"},
        {500, 599, WEBHOOK_LATER, "The receiver has failed"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (status >= table[i].from && status <= table[i].to) {
            *detail = ida_printf(pool, "%s (status %ld)", table[i].text, status);
            return table[i].outcome;
        }
    }
    *detail = ida_printf(pool, "The receiver answered with status %ld, which means nothing",
                         status);
    return WEBHOOK_REFUSED;
}

static webhook_outcome judge(const exchange *x, CURLcode code, long status, const char *error,
                             const char **detail)
{
    if (status >= 200) { /* the status decides, however the rest of the answer ends */
        return webhook_judge_status(x->pool, status, detail);
    }
    const char *raw = error[0] ? error : curl_easy_strerror(code),
               *text = ida_clean(x->pool, raw, strlen(raw), 300);
    if (x->refused && !x->sent) {
        *detail = ida_printf(
            x->pool, "Its host is at the address %s, which is %s; nothing was sent", x->refused,
            x->call->allow_private ? "not of this machine: http:// is for this machine alone"
                                   : "not of the public internet: set \"allowPrivate\": true "
                                     "beside its url if that is meant");
        return WEBHOOK_REFUSED;
    }
    const char *advice =
        transfer_distrusts(code)
            ? "; check caFile beside its url, and that the certificate names this host"
            : "";
    *detail = ida_printf(x->pool, "%s: %s%s",
                         x->sent ? "The call was sent, but no answer came"
                                 : "The receiver cannot be reached",
                         text, advice);
    return x->sent ? WEBHOOK_LOST : WEBHOOK_LATER;
}

/* libcurl sends no header whose line ends with the colon. */
static const char *traced(apr_pool_t *pool, const char *name, const char *value)
{
    return apr_pstrcat(pool, name, value, NULL);
}

webhook_outcome webhook_send(const ida_env *env, apr_pool_t *pool, const webhook_call *call,
                             int *retry_after_ms, const char **detail)
{
    char error[CURL_ERROR_SIZE] = "";
    exchange x = {.call = call, .pool = pool};
    int64_t now = ida_now(env);
    const char *fault, *signature = signature_of(pool, call, now / 1000, &fault);
    *retry_after_ms = 0;
    if (!signature) {
        *detail = fault;
        return WEBHOOK_REFUSED;
    }
    const char *lines[] = {"Content-Type: application/json",
                           "Expect:",
                           "User-Agent: mod_idadmin/" IDA_VERSION,
                           apr_pstrcat(pool, "webhook-id: ", call->id, NULL),
                           ida_printf(pool, "webhook-timestamp: %lld", (long long)(now / 1000)),
                           apr_pstrcat(pool, "webhook-signature: ", signature, NULL),
                           traced(pool, IDA_REQUEST_ID ": ", ida_correlation_id(env)),
                           traced(pool, "traceparent: ", ida_correlation_trace(env))};
    struct curl_slist list[sizeof lines / sizeof *lines] = {{0}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        list[i].data = (char *)(uintptr_t)lines[i];
        list[i].next = i + 1 < sizeof lines / sizeof *lines ? &list[i + 1] : NULL;
    }
    webhook_outcome outcome = WEBHOOK_LATER;
    CURL *curl = curl_easy_init();
    if (!curl || !set_options(curl, call, &x, list, error)) {
        *detail = error[0] ? ida_clean(pool, error, strlen(error), 300) : "no memory for a call";
    } else {
        long status = 0;
        CURLcode code = curl_easy_perform(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        outcome = judge(&x, code, status, error, detail);
    }
    curl_easy_cleanup(curl);
    int asked = outcome == WEBHOOK_LATER ? http_retry_after_ms(&x.headers, now) : 0;
    *retry_after_ms = asked <= 0                            ? 0
                      : asked < WEBHOOK_RETRY_AFTER_MOST_MS ? asked
                                                            : WEBHOOK_RETRY_AFTER_MOST_MS;
    return outcome;
}

const char *webhook_unreachable(apr_pool_t *pool, const webhook_call *call, int64_t *ends)
{
    char error[CURL_ERROR_SIZE] = "";
    webhook_call empty = *call;
    exchange x = {.call = &empty, .pool = pool};
    const char *why = NULL;
    CURL *curl = curl_easy_init();
    empty.body = "";
    *ends = 0;
    if (!curl || !set_options(curl, &empty, &x, NULL, error) || !transfer_connect_only(curl)) {
        why = error[0] ? ida_clean(pool, error, strlen(error), 300) : "no memory for a call";
    } else {
        CURLcode code = curl_easy_perform(curl);
        *ends = transfer_certificate_ends(curl);
        if (code != CURLE_OK) {
            judge(&x, code, 0, error, &why);
        }
    }
    curl_easy_cleanup(curl);
    return why;
}
