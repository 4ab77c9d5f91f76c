/* What the receiver of a webhook answers (two bytes of status, header lines), a secrets file,
 * addresses. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "core/base/text.h"
#include "t/fuzz/fuzz_copy.h"
#include "worker/base/http.h"
#include "worker/send/webhook.h"

static void answered(ida_ctx *c, const uint8_t *data, size_t size)
{
    const char *detail = NULL;
    long status = (data[0] << 8 | data[1]) % 1000;
    webhook_outcome outcome = webhook_judge_status(c->pool, status, &detail);
    FUZZ_HOLDS(detail && *detail && (outcome == WEBHOOK_TAKEN) == (status >= 200 && status < 300) &&
               outcome != WEBHOOK_LOST);
    http_answer headers = {0};
    for (data += 2, size -= 2; size;) {
        const uint8_t *stop = memchr(data, '\n', size);
        size_t len = stop ? (size_t)(stop - data) + 1 : size;
        char *line = malloc(len);
        FUZZ_HOLDS(line);
        memcpy(line, data, len);
        http_answer_header(&headers, c->pool, line, len);
        free(line);
        data += len;
        size -= len;
    }
    FUZZ_HOLDS(http_retry_after_ms(&headers, ida_now(c->env)) >= -1 &&
               http_date_ms(headers.date) >= 0);
}

static void addressed(const uint8_t *data, size_t size)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (size >= 16) {
        memcpy(&v4.sin_addr, data + 12, 4);
        memcpy(&v6.sin6_addr, data, 16);
        int inner = webhook_address_private((const struct sockaddr *)&v4),
            whole = webhook_address_private((const struct sockaddr *)&v6);
        FUZZ_HOLDS(!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) || !inner || whole);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    char *text = fuzz_text(data, size);
    const char *fault, *value = webhook_signature(c->pool, text, "id", 1795253400, "{}", &fault);
    FUZZ_HOLDS(!value == (fault != NULL));
    FUZZ_HOLDS(!value || strncmp(value, "v1,", 3) == 0);
    free(text);
    if (size >= 2) {
        answered(c, data, size);
    }
    addressed(data, size);
    return 0;
}
