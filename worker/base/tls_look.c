/* Owns the handshake of a look at a server's certificate, and the words for what is wrong with it.
 * Must not know what the server is for. */
#include "worker/base/tls_look.h"

#include <apr_strings.h>
#include <arpa/inet.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/context.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "worker/base/certificate.h"

#define LINE_MAX_BYTES 1024
#define LINES_MAX 64

typedef struct look {
    apr_pool_t *pool;
    const tls_target *target;
    tls_seen *seen;
    char *host;
    int fd;
    ida_env env;
    int64_t until; /* monotonic ms */
    unsigned said; /* reasons, a bit each: a chain can meet one several times */
} look;

/* --- the connection, which never waits beyond l->until --- */

static int ready(look *l, short events)
{
    struct pollfd one = {.fd = l->fd, .events = events};
    int64_t left = l->until - ida_monotonic(&l->env);
    return left > 0 && poll(&one, 1, (int)left) == 1;
}

static int say(look *l, const void *bytes, size_t len)
{
    return ready(l, POLLOUT) && send(l->fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static int hear(look *l, void *bytes, size_t len)
{
    size_t had = 0;
    while (had < len && ready(l, POLLIN)) {
        ssize_t got = recv(l->fd, (char *)bytes + had, len - had, 0);
        if (got <= 0) {
            return 0;
        }
        had += (size_t)got;
    }
    return had == len;
}

/* One line of an answer without its end; 0: none came. */
static int hear_line(look *l, char line[LINE_MAX_BYTES])
{
    size_t len = 0;
    char c = 0;
    while (len + 1 < LINE_MAX_BYTES && hear(l, &c, 1) && c != '\n') {
        line[len++] = c;
    }
    line[len] = '\0';
    return c == '\n';
}

/* "250-first", "250 last" */
static int smtp_answer(look *l, const char *code)
{
    char line[LINE_MAX_BYTES] = "";
    for (int i = 0; i < LINES_MAX && hear_line(l, line); i++) {
        if (strncmp(line, code, 3) != 0) {
            return 0;
        }
        if (line[3] != '-') {
            return 1;
        }
    }
    return 0;
}

static int start_smtp(look *l)
{
    static const char hello[] = "EHLO localhost\r\n", start[] = "STARTTLS\r\n";
    return smtp_answer(l, "220") && say(l, hello, sizeof hello - 1) && smtp_answer(l, "250") &&
           say(l, start, sizeof start - 1) && smtp_answer(l, "220");
}

/* RFC 4511, 4.14: an extended request; the answer's result code is an ENUMERATED of one byte. */
static int start_ldap(look *l)
{
    static const unsigned char request[] = "\x30\x1d\x02\x01\x01\x77\x18\x80\x16"
                                           "1.3.6.1.4.1.1466.20037";
    unsigned char head[2], body[127];
    if (!say(l, request, sizeof request - 1) || !hear(l, head, 2) || head[0] != 0x30 ||
        head[1] > sizeof body || !hear(l, body, head[1])) {
        return 0;
    }
    return head[1] >= 8 && body[3] == 0x78 && body[5] == 0x0a && body[6] == 1 && body[7] == 0;
}

static int start_postgresql(look *l)
{
    static const unsigned char request[] = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f};
    char answer = 0;
    return say(l, request, sizeof request) && hear(l, &answer, 1) && answer == 'S';
}

static int start_at_once(look *l)
{
    (void)l;
    return 1;
}

static const struct {
    const char *scheme, *port;
    int (*start)(look *l);
    const char *refused;
} schemes[] = {
    {"https", "443", start_at_once, ""},
    {"ldaps", "636", start_at_once, ""},
    {"smtps", "465", start_at_once, ""},
    {"smtp", "25", start_smtp, "offers no STARTTLS: use smtps:// or turn it on there"},
    {"ldap", "389", start_ldap, "refuses StartTLS: use ldaps:// or give it a certificate"},
    {"pgsql", "5432", start_postgresql, "speaks no TLS: set ssl = on in postgresql.conf"},
};

/* Connects through libcurl, which has the time-outs, the names and the proxy. */
static CURL *connected(look *l, const char *port)
{
    CURL *curl = curl_easy_init();
    int bad = !curl;
#define SET(option, value) bad = bad || curl_easy_setopt(curl, CURLOPT_##option, value) != CURLE_OK
    SET(URL, ida_printf(l->pool, strchr(l->host, ':') ? "http://[%s]:%s" : "http://%s:%s", l->host,
                        port));
    SET(NOSIGNAL, 1L);
    SET(CONNECT_ONLY, 1L);
    SET(CONNECTTIMEOUT_MS, (long)TLS_LOOK_MS / 2);
    SET(PROXY, l->target->proxy_url ? l->target->proxy_url : "");
    SET(NOPROXY, "");
    SET(HTTPPROXYTUNNEL, l->target->proxy_url ? 1L : 0L);
#undef SET
    CURLcode code = bad ? CURLE_FAILED_INIT : curl_easy_perform(curl);
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (code == CURLE_OK && curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, &fd) == CURLE_OK) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    } else {
        l->seen->fault = ida_printf(l->pool, "cannot be reached: %s", curl_easy_strerror(code));
    }
    l->fd = fd;
    return curl;
}

/* --- the words --- */

enum { ISSUER = 1, SELF_SIGNED = 2, EXPIRED = 4, EARLY = 8, NAME = 16, OTHER = 32 };

static const char *day(apr_pool_t *pool, const ASN1_TIME *at)
{
    const char *text = ida_utc_text(pool, certificate_time(at));
    return text ? apr_pstrmemdup(pool, text, strcspn(text, "T")) : "?";
}

static const char *name_of(apr_pool_t *pool, const X509_NAME *name)
{
    char text[512] = "";
    X509_NAME_oneline(name, text, sizeof text);
    return ida_clean(pool, text, strlen(text), sizeof text);
}

static const char *names_of(apr_pool_t *pool, X509 *certificate)
{
    const char *all = NULL;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && i < 8; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        char address[64];
        const char *text = NULL;
        if (name->type == GEN_DNS) {
            text = ida_clean(pool, (const char *)ASN1_STRING_get0_data(name->d.dNSName),
                             (size_t)ASN1_STRING_length(name->d.dNSName), 255);
        } else if (name->type == GEN_IPADD &&
                   inet_ntop(ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6,
                             ASN1_STRING_get0_data(name->d.iPAddress), address, sizeof address)) {
            text = apr_pstrdup(pool, address);
        }
        all = !text ? all : all ? apr_pstrcat(pool, all, ", ", text, NULL) : text;
    }
    GENERAL_NAMES_free(names);
    return all ? all : name_of(pool, X509_get_subject_name(certificate));
}

static const char *authorities(const look *l)
{
    return l->target->ca_file ? ida_printf(l->pool, "%s %s", l->target->ca_name, l->target->ca_file)
                              : "the system's authorities";
}

static unsigned kind_of(int error)
{
    switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return ISSUER;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: return SELF_SIGNED;
    case X509_V_ERR_CERT_HAS_EXPIRED: return EXPIRED;
    case X509_V_ERR_CERT_NOT_YET_VALID: return EARLY;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return NAME;
    default: return OTHER;
    }
}

static const char *words(const look *l, unsigned kind, int error, X509 *one)
{
    apr_pool_t *pool = l->pool;
    switch (kind) {
    case ISSUER:
        return ida_printf(pool,
                          "unknown issuer: %s is not among %s; put the authority that signed it "
                          "there",
                          name_of(pool, X509_get_issuer_name(one)), authorities(l));
    case SELF_SIGNED:
        return ida_printf(pool,
                          "unknown issuer: it signed itself and is not among %s; put it there, or "
                          "use one of an authority",
                          authorities(l));
    case EXPIRED:
        return ida_printf(pool, "expired on %s: %s has to be renewed",
                          day(pool, X509_get0_notAfter(one)),
                          name_of(pool, X509_get_subject_name(one)));
    case EARLY:
        return ida_printf(pool,
                          "not yet valid: valid from %s; correct this machine's clock, or wait",
                          day(pool, X509_get0_notBefore(one)));
    case NAME:
        return ida_printf(pool,
                          "wrong name: it is for %s, not for %s; use that name in the address, or "
                          "a certificate for this one",
                          names_of(pool, one), l->host);
    default: return X509_verify_cert_error_string(error);
    }
}

/* Goes on after each fault, so that one look finds every reason. */
static int verified(int good, X509_STORE_CTX *store)
{
    SSL *tls = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    look *l = SSL_get_app_data(tls);
    X509 *one = X509_STORE_CTX_get_current_cert(store);
    int error = X509_STORE_CTX_get_error(store);
    int64_t ends = one ? certificate_time(X509_get0_notAfter(one)) : 0;
    if (ends && (!l->seen->ends || ends < l->seen->ends)) {
        l->seen->ends = ends;
    }
    unsigned kind = good ? 0 : kind_of(error);
    if (!good && one && !(l->said & kind)) {
        const char *text = words(l, kind, error, one), *before = l->seen->fault;
        l->seen->fault = before ? apr_pstrcat(l->pool, before, "; ", text, NULL) : text;
        l->said |= kind;
    }
    return 1;
}

/* --- the handshake --- */

static int trust(look *l, SSL_CTX *context)
{
    int64_t ends;
    const char *file = l->target->ca_file,
               *fault = file ? certificate_file(l->pool, file, 1, &ends) : NULL;
    if (!fault && (file ? SSL_CTX_load_verify_locations(context, file, NULL)
                        : SSL_CTX_set_default_verify_paths(context)) != 1) {
        fault = "cannot be loaded";
    }
    if (fault) {
        l->seen->fault = ida_printf(l->pool, "%s %s", authorities(l), fault);
    }
    return !fault;
}

static int connect_tls(look *l, SSL *tls)
{
    int done = SSL_connect(tls), why = SSL_get_error(tls, done);
    while (done != 1 && (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) &&
           ready(l, why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT)) {
        done = SSL_connect(tls);
        why = SSL_get_error(tls, done);
    }
    return done == 1;
}

static void shake_hands(look *l)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *tls = context && trust(l, context) ? SSL_new(context) : NULL;
    if (tls) {
        X509_VERIFY_PARAM *rules = SSL_get0_param(tls);
        int is_address = X509_VERIFY_PARAM_set1_ip_asc(rules, l->host);
        SSL_set_min_proto_version(tls, TLS1_2_VERSION);
        SSL_set_verify(tls, SSL_VERIFY_PEER, verified);
        SSL_set_app_data(tls, l);
        if (!is_address) {
            SSL_set1_host(tls, l->host);
            SSL_set_tlsext_host_name(tls, l->host);
        }
        SSL_set_fd(tls, l->fd);
        l->seen->reached = connect_tls(l, tls) || l->said;
        if (!l->seen->reached) {
            const char *reason = ERR_reason_error_string(ERR_peek_error());
            l->seen->fault = ida_printf(l->pool, "no TLS could be agreed on: %s",
                                        reason ? reason : "the server ended the connection");
        }
    }
    ERR_clear_error();
    SSL_free(tls);
    SSL_CTX_free(context);
}

void tls_look(apr_pool_t *pool, const tls_target *target, tls_seen *seen)
{
    look l = {.pool = pool, .target = target, .seen = seen, .fd = -1};
    CURLU *parsed = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL;
    size_t i = 0, count = sizeof schemes / sizeof *schemes;
    *seen = (tls_seen){0};
    ida_env_default(&l.env);
    l.until = ida_monotonic(&l.env) + TLS_LOOK_MS;
    if (parsed &&
        curl_url_set(parsed, CURLUPART_URL, target->url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK) {
        curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0);
        curl_url_get(parsed, CURLUPART_HOST, &host, 0);
        curl_url_get(parsed, CURLUPART_PORT, &port, 0);
    }
    while (i < count && (!scheme || strcmp(schemes[i].scheme, scheme) != 0)) {
        i++;
    }
    if (i == count || !host) {
        seen->fault = "is no address of a server with TLS";
    } else {
        size_t len = strlen(host);
        l.host = host[0] == '[' && len > 2 ? apr_pstrmemdup(pool, host + 1, len - 2)
                                           : apr_pstrdup(pool, host);
        CURL *curl = connected(&l, port ? port : schemes[i].port);
        if (target->clear) {
            seen->reached = !seen->fault;
        } else if (!seen->fault && !schemes[i].start(&l)) {
            seen->fault = schemes[i].refused;
        } else if (!seen->fault) {
            shake_hands(&l);
        }
        curl_easy_cleanup(curl);
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parsed);
}
