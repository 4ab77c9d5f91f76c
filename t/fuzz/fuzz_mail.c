/* Lines of a mail server and how libcurl ended, judged; the same text as an address, a sender and a
 * mail. */
#include "core/base/text.h"
#include "t/fuzz/fuzz_copy.h"
#include "worker/base/secret.h"
#include "worker/send/mail_answer.h"

static void judged(ida_ctx *c, unsigned end, const uint8_t *data, size_t size)
{
    static const CURLcode ends[] = {CURLE_OK,
                                    CURLE_RECV_ERROR,
                                    CURLE_SEND_ERROR,
                                    CURLE_OPERATION_TIMEDOUT,
                                    CURLE_USE_SSL_FAILED,
                                    CURLE_LOGIN_DENIED,
                                    CURLE_PEER_FAILED_VERIFICATION,
                                    CURLE_COULDNT_CONNECT};
    const worker_config config = {.smtp_url = "smtp://mail.example:25"};
    mail_heard heard = {.pool = c->pool};
    const char *detail = NULL;
    size_t len;
    for (char *line; (line = fuzz_line(&data, &size, &len)) != NULL; free(line)) {
        mail_hear(&heard, line, len);
    }
    CURLcode code = ends[end % 8];
    mail_outcome outcome = mail_judge(c->pool, &config, &heard, code, "", &detail);
    FUZZ_HOLDS(detail && *detail && ida_utf8_valid(detail, strlen(detail)) &&
               !strpbrk(detail, "\r\n"));
    FUZZ_HOLDS((outcome == MAIL_SENT) == (code == CURLE_OK));
    FUZZ_HOLDS(outcome != MAIL_LOST || heard.data);
}

static void composed(ida_ctx *c, const char *text)
{
    int address = !mail_address_fault(text), sender = !mail_sender_fault(c->pool, text);
    FUZZ_HOLDS(!address || (sender && !strpbrk(text, "\r\n <>")));
    const mail_message m = {
        .to = "a@b.example", .subject = text, .body = text, .secret = text, .id = "x"};
    size_t len, room;
    char *mail = mail_compose(c->pool, sender ? text : "a@b.example", &m, &len, &room);
    FUZZ_HOLDS(mail && len < room && strlen(mail) == len);
    char *body = strstr(mail, "\r\n\r\n");
    FUZZ_HOLDS(body);
    for (const char *p = mail; *p;
         p++) { /* lines end as they should and are not too long; nothing else controls anything */
        FUZZ_HOLDS((*p != '\n' || (p > mail && p[-1] == '\r')) && (*p != '\r' || p[1] == '\n'));
        FUZZ_HOLDS((unsigned char)*p < 0x7F && ((unsigned char)*p >= ' ' || strchr("\r\n\t", *p)));
    }
    secret_unmap(mail, room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    char *text = fuzz_text(data, size);
    if (size) {
        judged(c, data[0], data + 1, size - 1);
    }
    if (ida_utf8_valid(text, strlen(text))) {
        composed(c, text);
    }
    free(text);
    return 0;
}
