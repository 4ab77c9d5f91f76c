/* Text of mails and their permitted addresses; signatures of webhooks and their permitted
 * addresses. */
#include "t/unit/setup.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "worker/base/secret.h"
#include "worker/send/mail.h"
#include "worker/send/webhook.h"

static const char *composed(const mail_message *m)
{
    size_t len, room;
    char *text = mail_compose(pool, "Räksmörgås \"AB\" <identity@contoso.example>", m, &len, &room);
    const char *copy = apr_pstrmemdup(pool, text, len);
    ok(strlen(copy) == len && len < room, "whole, without NUL");
    secret_unmap(text, room);
    return copy;
}

static void has(const char *text, const char *part, const char *name)
{
    if (!ok(strstr(text, part) != NULL, "%s", name)) {
        printf("# no \"%s\" in\n# %s\n", part, text);
    }
}

static void mails(void)
{
    const mail_message plain = {.to = "eva.berg@contoso.example",
                                .subject = "Hello",
                                .body = "One\nTwo = 2 \n.\r\nlast",
                                .id = "a.1",
                                .at_ms = INT64_C(1795000000123)};
    const char *text = composed(&plain);
    has(text, "Date: Wed, 18 Nov 2026 11:06:40 +0000\r\n", "date");
    has(text,
        "To: <eva.berg@contoso.example>\r\nMessage-ID: <a.1@contoso.example>\r\nAuto-Submitted: "
        "auto-generated\r\n",
        "headers");
    has(text, "From: =?UTF-8?B?UsOka3Ntw7ZyZ8OlcyAiQUIi?= <identity@contoso.example>\r\n",
        "a name that is not ASCII");
    has(text, "\r\nSubject: Hello\r\n\r\nOne\r\nTwo =3D 2=20\r\n.\r\nlast\r\n",
        "body, line ends made one");

    char lengthy[2001];
    memset(lengthy, 'x', 2000);
    lengthy[2000] = '\0';
    const mail_message hostile = {.to = "a@b.example",
                                  .subject = "Hi\r\nBcc: victim@x.example\r\n\r\nbody",
                                  .body = lengthy,
                                  .secret = "upn@x\npa=ss word.\n",
                                  .id = "a.2",
                                  .at_ms = 1000};
    text = composed(&hostile);
    ok(!strstr(text, "\nBcc:") && strstr(text, "\r\nSubject: Hi") &&
           strstr(text, "Bcc: victim@x.example"),
       "a subject ends no header");
    has(text, "\r\n\r\nupn@x\r\npa=3Dss word.\r\n", "the secret is a paragraph of its own");
    int longest = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        int len = (int)strcspn(line, "\r");
        longest = len > longest ? len : longest;
        if (!strchr(line, '\n')) {
            break;
        }
    }
    ok(longest <= 76, "no line is longer than 76 (%d)", longest);

    const mail_message words = {.to = "a@b.example",
                                .subject = "ÅÄÖåäöÅÄÖåäöÅÄÖåäöÅÄÖåäöÅÄÖåäöÅÄÖåäö x",
                                .body = "\xF0\x9F\x98\x80",
                                .id = "a.3",
                                .at_ms = 1000};
    text = composed(&words);
    has(text, "?=\r\n =?UTF-8?B?", "a long subject goes over lines");
    has(text, "\r\n\r\n=F0=9F=98=80\r\n", "a body in UTF-8");
    size_t len, room;
    char *bare = mail_compose(pool, "identity@contoso.example", &words, &len, &room);
    has(bare, "\r\nFrom: <identity@contoso.example>\r\n", "a sender without a name");
    secret_unmap(bare, room);
    const mail_message fake = {
        .to = "a@b.example", .subject = "=?UTF-8?B?eA==?=", .body = "", .id = "a.4", .at_ms = 1000};
    ok(!strstr(composed(&fake), "Subject: =?UTF-8?B?eA==?="),
       "what looks like an encoded word is one only by our doing");
}

static void addresses(void)
{
    static const char *const good[] = {"eva.berg@contoso.example", "o'neil+x@a-b.example",
                                       "a@localhost"};
    static const char *const bad[] = {"",
                                      "eva",
                                      "@x.example",
                                      "eva@",
                                      "eva berg@x.example",
                                      "eva@x.example\r\nRCPT TO:<y@z>",
                                      "<eva@x.example>",
                                      "eva@x.example>",
                                      "å@x.example",
                                      "eva@å.example",
                                      ".eva@x.example",
                                      "eva.@x.example",
                                      "-f@x.example",
                                      "eva@-x.example",
                                      "a,b@x.example",
                                      "\"a\"@x.example",
                                      "eva@x@y.example",
                                      "a\tb@x.example"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ok(!mail_address_fault(good[i]), "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(mail_address_fault(bad[i]) != NULL, "refused: number %d", (int)i);
    }
    ok(!mail_sender_fault(pool, "Identity <a@b.example>") &&
           !mail_sender_fault(pool, "a@b.example") && mail_sender_fault(pool, "Identity <a>") &&
           mail_sender_fault(pool, "Identity a@b.example>") &&
           mail_sender_fault(pool, "a@b.example <>"),
       "senders");
}

/* A server without EHLO and TLS, which disconnects after the message. */
typedef struct old_server {
    int fd, port, had_message;
    pthread_t thread;
} old_server;

static void *serve(void *data)
{
    static const char *const answers[][2] = {{"EHLO", "502 5.5.1 unknown\r\n"},
                                             {"HELO", "250 old\r\n"},
                                             {"MAIL", "250 ok\r\n"},
                                             {"RCPT", "250 ok\r\n"},
                                             {"DATA", "354 go on\r\n"}};
    old_server *s = data;
    int client = accept(s->fd, NULL, NULL);
    FILE *in = fdopen(client, "r");
    char line[1024];
    dprintf(client, "220 old\r\n");
    while (fgets(line, sizeof line, in) && strcmp(line, ".\r\n") != 0) {
        for (size_t i = 0; !s->had_message && i < sizeof answers / sizeof *answers; i++) {
            if (strncmp(line, answers[i][0], 4) == 0) {
                s->had_message = answers[i][1][0] == '3';
                dprintf(client, "%s", answers[i][1]);
                break;
            }
        }
    }
    fclose(in);
    return NULL;
}

/* The outcome of a mail sent to such a server on this machine under this name. */
static mail_outcome sent_to(const char *host, int *had_message)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    old_server s = {.fd = socket(AF_INET, SOCK_STREAM, 0)};
    if (!ok(bind(s.fd, (struct sockaddr *)&address, len) == 0 && listen(s.fd, 2) == 0 &&
                getsockname(s.fd, (struct sockaddr *)&address, &len) == 0,
            "a mail server of old")) {
        return MAIL_SENT;
    }
    pthread_create(&s.thread, NULL, serve, &s);
    worker_config config = {.smtp_url = apr_psprintf(pool, "smtp://%s:%d", host,
                                                     ntohs(address.sin_port)),
                            .smtp_from = "identity@contoso.example"};
    const mail_message m = {.to = "eva.berg@contoso.example",
                            .subject = "Hello",
                            .body = "Hello",
                            .id = "a.5",
                            .at_ms = 1000};
    const char *detail;
    int silent, wake = socket(AF_INET, SOCK_STREAM, 0);
    mail_outcome outcome = mail_send(pool, &config, &m, &detail, &silent);
    printf("# %s\n", detail);
    connect(wake, (struct sockaddr *)&address, len); /* a server without a client still waits */
    close(wake);
    pthread_join(s.thread, NULL);
    close(s.fd);
    *had_message = s.had_message;
    return outcome;
}

static void old_servers(void)
{
    int had_message;
    is_int(sent_to("127.0.0.1", &had_message), MAIL_LOST,
           "it had the message when it went away, whatever it refused before");
    mail_outcome outcome = sent_to("127.0.0.1.localhost", &had_message);
    ok((outcome == MAIL_REFUSED || outcome == MAIL_LATER) && !had_message,
       "in clear to addresses of this machine, not to a name like one");
}

static int is_private(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        return webhook_address_private((const struct sockaddr *)&v4);
    }
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1) {
        return -1;
    }
    return webhook_address_private((const struct sockaddr *)&v6);
}

static void receivers(void)
{
    static const char *const inside[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.0.9",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "::ffff:0:10.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:c0a8:101::1",
        "2001::1",
        "2001:db8::1",
        "100::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "5f00::1",
        "3fff::1",
    };
    static const char *const outside[] = {
        "1.1.1.1",          "8.8.8.8",         "9.255.255.255",   "11.0.0.0",
        "100.63.255.255",   "100.128.0.0",     "126.255.255.255", "128.0.0.1",
        "169.253.255.255",  "172.15.255.255",  "172.32.0.0",      "192.0.1.1",
        "192.167.255.255",  "192.169.0.0",     "198.17.255.255",  "198.20.0.0",
        "223.255.255.255",  "2606:4700::1111", "2a00:1450::1",    "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8", "2002:808:808::1", "2620:fe::fe",
    };
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        is_int(is_private(inside[i]), 1, inside[i]);
    }
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        is_int(is_private(outside[i]), 0, outside[i]);
    }
    struct sockaddr local = {.sa_family = AF_UNIX};
    is_int(webhook_address_private(&local), 1, "anything else");
}

static void signatures(void)
{
    static const char id[] = "msg_p5jXN8AQM9LWM0D4loKWxJek", body[] = "{\"test\": 2432232314}";
    const char *fault, *first = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                       *made = webhook_signature(pool, first, id, 1614265330, body, &fault);
    is_str(made, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
           "the signature, as another implementation reckons it");
    const char *two = webhook_signature(pool,
                                        apr_pstrcat(pool, " ", first, "\n", first, "\n", NULL), id,
                                        1614265330, body, &fault);
    is_str(two, apr_pstrcat(pool, made, " ", made, NULL), "two secrets while one is replaced");
    static const char *const bad[] = {"",
                                      " \n",
                                      "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                      "whsec_",
                                      "whsec_MfKQ9r8GKYqrTwjU",
                                      "whsec_!!!!",
                                      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw x",
                                      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwwhsec_"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!webhook_signature(pool, bad[i], id, 1, body, &fault) && fault, "refused: %s", bad[i]);
    }
}

int main(void)
{
    setup();
    mails();
    addresses();
    old_servers();
    receivers();
    signatures();
    return done();
}
