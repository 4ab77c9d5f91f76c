/* Owns the form of a mail (RFC 5322, 2045, 2047) and its way to the mail server (libcurl). Knows
 * nothing of actions and people. */
#include "worker/send/mail_answer.h"

#include <apr_strings.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/host.h"
#include "core/base/text.h"
#include "worker/base/secret.h"
#include "worker/base/transfer.h"

#define CONNECT_MS 8000
#define CREDENTIAL_MAX 1024
#define LINE_LEN 75   /* of an encoded body, without its line end */
#define WORD_BYTES 45 /* of a text in one encoded word */
#define PLAIN_WORDS_MAX 200

/* --- the message --- */

typedef struct writer {
    char *at;
    size_t len, room;
} writer;

static void put(writer *w, const char *bytes, size_t len)
{
    if (len < w->room - w->len) { /* the room was reckoned for the worst case */
        memcpy(w->at + w->len, bytes, len);
        w->len += len;
        w->at[w->len] = '\0';
    }
}

static void put_text(writer *w, const char *text)
{
    put(w, text, strlen(text));
}

static int is_plain(unsigned char ch)
{
    return ch >= 0x20 && ch < 0x7F;
}

/* Writes a text as it is, within the given quotes, or as encoded words of whole characters (RFC
 * 2047). */
static void put_words(writer *w, apr_pool_t *pool, const char *given, const char *quote)
{
    const char *text = ida_clean(pool, given, strlen(given), 0);
    size_t len = strlen(text), from = 0;
    int plain = len <= PLAIN_WORDS_MAX && !strstr(text, "=?") && !(*quote && strpbrk(text, "\"\\"));
    for (size_t i = 0; i < len; i++) {
        plain = plain && is_plain((unsigned char)text[i]);
    }
    if (plain) {
        put_text(w, quote);
        put(w, text, len);
        put_text(w, quote);
    }
    while (!plain && from < len) {
        size_t to = from + WORD_BYTES < len ? from + WORD_BYTES : len;
        while (to < len && ((unsigned char)text[to] & 0xC0) == 0x80) {
            to--;
        }
        put_text(w, from ? "\r\n =?UTF-8?B?" : "=?UTF-8?B?");
        put_text(w, ida_base64_encode(pool, (const unsigned char *)text + from, to - from));
        put_text(w, "?=");
        from = to;
    }
}

/* Quoted-printable (RFC 2045 6.7). Nothing here goes through a pool: the text may be a password. */
static void put_body(writer *w, const char *text)
{
    size_t column = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '\n' || *p == '\r') {
            p += *p == '\r' && p[1] == '\n';
            put_text(w, "\r\n");
            column = 0;
            continue;
        }
        int last = !p[1] || p[1] == '\n' || p[1] == '\r';
        int whole = (is_plain(*p) || *p == '\t') && *p != '=' &&
                    !(last && (*p == ' ' || *p == '\t'));
        char coded[3] = {'='};
        ida_hex_byte(coded + 1, *p);
        size_t len = whole ? 1 : 3;
        if (column + len > LINE_LEN) {
            put_text(w, "=\r\n");
            column = 0;
        }
        put(w, whole ? (const char *)p : coded, len);
        column += len;
    }
    put_text(w, "\r\n");
}

static const char *date_text(apr_pool_t *pool, int64_t at_ms)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t at = (time_t)(at_ms / 1000);
    struct tm t;
    gmtime_r(&at, &t);
    return ida_printf(pool, "%s, %d %s %d %02d:%02d:%02d +0000", days[t.tm_wday], t.tm_mday,
                      months[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

char *mail_compose(apr_pool_t *pool, const char *from, const mail_message *m, size_t *len,
                   size_t *room)
{
    const char *name, *address = mail_sender(pool, from, &name);
    /* Every byte may become three, every 25 of those need a soft line end. */
    size_t texts = strlen(name) + strlen(m->subject) + strlen(m->body) +
                   (m->secret ? strlen(m->secret) : 0);
    *room = texts * 4 + 8192;
    writer w = {.at = secret_map(*room), .room = *room};
    if (!w.at) {
        return NULL;
    }
    const char *lines[] = {
        apr_pstrcat(pool, "Date: ", date_text(pool, m->at_ms), NULL),
        apr_pstrcat(pool, "To: <", m->to, ">", NULL),
        apr_pstrcat(pool, "Message-ID: <", m->id, strrchr(address, '@'), ">", NULL),
        "Auto-Submitted: auto-generated",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        "Content-Transfer-Encoding: quoted-printable",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        put_text(&w, lines[i]);
        put_text(&w, "\r\n");
    }
    put_text(&w, "From: ");
    if (*name) {
        put_words(&w, pool, name, "\"");
        put_text(&w, " ");
    }
    put_text(&w, "<");
    put_text(&w, address);
    put_text(&w, ">\r\nSubject: ");
    put_words(&w, pool, m->subject, "");
    put_text(&w, "\r\n\r\n");
    put_body(&w, m->body);
    if (m->secret) {
        put_text(&w, "\r\n");
        put_body(&w, m->secret);
    }
    *len = w.len;
    return w.at;
}

/* --- its way --- */

typedef struct sending {
    const char *bytes;
    size_t len, at;
    mail_heard heard;
} sending;

static size_t give(char *out, size_t size, size_t count, void *baton)
{
    sending *s = baton;
    size_t len = size * count, left = s->len - s->at;
    len = len < left ? len : left;
    memcpy(out, s->bytes + s->at, len);
    s->at += len;
    return len;
}

void mail_hear(mail_heard *s, const char *bytes, size_t len)
{
    int code = len >= 3 && bytes[0] >= '2' && bytes[0] <= '5'
                   ? atoi(apr_pstrmemdup(s->pool, bytes, 3))
                   : 0;
    /* A refusal is final, unless libcurl found a way around it (HELO for EHLO) and the server
     * asks for the message. */
    if (code && code != 221 && (s->code < 400 || code == 354)) {
        s->code = code;
        s->data |= code == 354;
        s->reply = ida_present(s->pool, ida_clean(s->pool, bytes, len, 300));
    }
}

static size_t hear(char *bytes, size_t size, size_t count, void *baton)
{
    mail_hear(&((sending *)baton)->heard, bytes, size * count);
    return size * count;
}

static int is_loopback(const char *url)
{
    char *host = NULL;
    CURLU *parsed = curl_url();
    int near = parsed &&
               curl_url_set(parsed, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
               curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
               ida_host_loopback(host, strlen(host));
    curl_free(host);
    curl_url_cleanup(parsed);
    return near;
}

int mail_is_clear(const worker_config *config)
{
    return is_loopback(config->smtp_url) && !config->smtp_ca_file && !config->smtp_user;
}

/* The password, in memory of secret_map; NULL with *fault, or without one when none is needed. */
static char *password_of(apr_pool_t *pool, const worker_config *config, const char **fault)
{
    size_t len;
    *fault = NULL;
    if (!config->smtp_user && !config->smtp_password_file) {
        return NULL;
    }
    if (!config->smtp_user) {
        *fault = "smtp_password_file is set in idadmin.conf, smtp_user is not";
        return NULL;
    }
    if (!config->smtp_password_file) {
        *fault = "smtp_user is set in idadmin.conf, smtp_password_file is not";
        return NULL;
    }
    char *password = secret_map(CREDENTIAL_MAX);
    *fault = password ? secret_file_read(pool, "smtp_password_file", config->smtp_password_file,
                                         password, CREDENTIAL_MAX, &len)
                      : "no memory";
    if (*fault) {
        secret_unmap(password, CREDENTIAL_MAX);
        return NULL;
    }
    password[strcspn(password, "\r\n")] = '\0';
    return password;
}

const char *mail_credential_fault(apr_pool_t *pool, const worker_config *config)
{
    const char *fault;
    secret_unmap(password_of(pool, config, &fault), CREDENTIAL_MAX);
    return fault;
}

static const char *not_configured(const worker_config *config)
{
    return config->smtp_url && config->smtp_from
               ? NULL
               : "No mail server is configured: set smtp_url and smtp_from in idadmin.conf";
}

const char *mail_settings_fault(apr_pool_t *pool, const worker_config *config)
{
    const char *fault = not_configured(config);
    return fault ? fault : mail_credential_fault(pool, config);
}

static int set_options(CURL *curl, const worker_config *config, const char *from,
                       struct curl_slist *to, const char *password, sending *s, char *error)
{
    int bad = !transfer_guard(curl, config->smtp_url, TRANSFER_MAIL, config->smtp_ca_file, error);
    int clear = mail_is_clear(config);
#define SET(option, value) bad |= curl_easy_setopt(curl, CURLOPT_##option, value) != CURLE_OK
    SET(PROXY, "");
    SET(USE_SSL, clear ? (long)CURLUSESSL_NONE : (long)CURLUSESSL_ALL);
    if (password) {
        SET(USERNAME, config->smtp_user);
        SET(PASSWORD, password);
    }
    SET(TIMEOUT_MS, (long)MAIL_MS);
    SET(CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    SET(FORBID_REUSE, 1L);
    SET(MAIL_FROM, from);
    SET(MAIL_RCPT, to);
    SET(UPLOAD, 1L);
    SET(READFUNCTION, give);
    SET(READDATA, s);
    SET(HEADERFUNCTION, hear);
    SET(HEADERDATA, s);
#undef SET
    return !bad;
}

static const char *server_of(apr_pool_t *pool, const char *url)
{
    const char *host = strstr(url, "://") + 3;
    return apr_pstrmemdup(pool, host, strcspn(host, "/"));
}

mail_outcome mail_judge(apr_pool_t *pool, const worker_config *config, const mail_heard *s,
                        CURLcode code, const char *error, const char **detail)
{
    const char *server = server_of(pool, config->smtp_url);
    const char *text = ida_clean(pool, error[0] ? error : curl_easy_strerror(code),
                                 strlen(error[0] ? error : curl_easy_strerror(code)), 300);
    if (code == CURLE_OK) {
        *detail = ida_printf(pool, "accepted by the mail server %s: %s", server,
                             s->reply ? s->reply : "250");
        return MAIL_SENT;
    }
    if (s->code >= 400) {
        /* libcurl's text begins with the refused command: sender, recipient or message. */
        *detail = ida_printf(pool, "The mail server %s refuses: %s (%s)", server, s->reply, text);
        return s->code >= 500 ? MAIL_REFUSED : MAIL_LATER;
    }
    if (code == CURLE_USE_SSL_FAILED) {
        *detail = ida_printf(pool,
                             "The mail server %s offers no STARTTLS; mail is not sent in clear",
                             server);
        return MAIL_REFUSED;
    }
    if (code == CURLE_LOGIN_DENIED) {
        *detail = ida_printf(
            pool, "The mail server %s takes no sign-in of a kind that this program knows: %s",
            server, text);
        return MAIL_REFUSED;
    }
    if (s->data) {
        *detail = ida_printf(pool,
                             "The mail was sent to the mail server %s, whose answer is lost: %s",
                             server, text);
        return MAIL_LOST;
    }
    const char *advice =
        "; check smtp_ca_file in idadmin.conf, and that the certificate names this host";
    *detail = ida_printf(pool, "The mail server %s cannot be used: %s%s", server, text,
                         transfer_distrusts(code) ? advice : "");
    return MAIL_LATER;
}

mail_outcome mail_send(apr_pool_t *pool, const worker_config *config, const mail_message *m,
                       const char **detail, int *silent)
{
    *silent = 0;
    char error[CURL_ERROR_SIZE] = "";
    const char *fault = NULL;
    *detail = not_configured(config);
    if (*detail) {
        return MAIL_REFUSED;
    }
    fault = mail_address_fault(m->to);
    if (fault) {
        *detail = ida_printf(pool, "The recipient %s %s",
                             ida_clean(pool, m->to, strlen(m->to), 256), fault);
        return MAIL_REFUSED;
    }
    sending s = {.heard = {.pool = pool}};
    size_t room;
    char *password = password_of(pool, config, &fault);
    char *message = fault ? NULL : mail_compose(pool, config->smtp_from, m, &s.len, &room);
    CURL *curl = message ? curl_easy_init() : NULL;
    const char *name, *from = mail_sender(pool, config->smtp_from, &name);
    struct curl_slist to = {.data = apr_pstrcat(pool, "<", m->to, ">", NULL)};
    mail_outcome outcome = MAIL_LATER;
    s.bytes = message;
    if (fault) {
        *detail = fault;
        outcome = MAIL_REFUSED;
    } else if (!curl || !set_options(curl, config, apr_pstrcat(pool, "<", from, ">", NULL), &to,
                                     password, &s, error)) {
        *detail = error[0] ? ida_clean(pool, error, strlen(error), 300) : "no memory for a mail";
    } else {
        CURLcode code = curl_easy_perform(curl);
        *silent = code == CURLE_OPERATION_TIMEDOUT;
        outcome = mail_judge(pool, config, &s.heard, code, error, detail);
    }
    curl_easy_cleanup(curl);
    secret_unmap(password, CREDENTIAL_MAX);
    if (message) {
        secret_unmap(message, room);
    }
    return outcome;
}

const char *mail_unreachable(apr_pool_t *pool, const worker_config *config, int64_t *ends)
{
    char error[CURL_ERROR_SIZE] = "";
    sending s = {.heard = {.pool = pool}};
    const char *why = NULL;
    CURL *curl = curl_easy_init();
    *ends = 0;
    if (!curl || !set_options(curl, config, "", NULL, NULL, &s, error) ||
        !transfer_connect_only(curl)) {
        why = error[0] ? ida_clean(pool, error, strlen(error), 300) : "no memory for a connection";
    } else {
        CURLcode code = curl_easy_perform(curl);
        *ends = transfer_certificate_ends(curl);
        if (code != CURLE_OK) {
            mail_judge(pool, config, &s.heard, code, error, &why);
        }
    }
    curl_easy_cleanup(curl);
    return why;
}
