/* Answers of the cloud directory's API and of its token endpoint: a byte for the status, one for
 * what was asked, header lines, an empty line, the body. Nothing in a message but clean text,
 * nothing of the credential in it, no token that could add a header. */
#include <stdio.h>

#include "core/base/text.h"
#include "t/fuzz/fuzz_copy.h"
#include "t/fuzz/mutate.h"
#include "worker/graph/answer.h"
#include "worker/graph/token.h"

#define SECRET "the-client-secret"

static http_answer answer_of(apr_pool_t *pool, int status, const uint8_t *data, size_t size)
{
    http_answer a = {.status = status};
    size_t len = 0;
    for (char *line; len != 1 && (line = fuzz_line(&data, &size, &len)) != NULL;
         free(line)) { /* to the empty line */
        http_answer_header(&a, pool, line, len);
    }
    a.bytes = malloc(size + 1);
    FUZZ_HOLDS(a.bytes);
    memcpy(a.bytes, data, size);
    a.bytes[size] = '\0';
    a.len = size;
    return a;
}

static void check_error(const directory_error *e, directory_class class)
{
    FUZZ_HOLDS(!class ||
               (e->message && *e->message && ida_utf8_valid(e->message, strlen(e->message)) &&
                !strpbrk(e->message, "\r\n")));
    FUZZ_HOLDS(e->retry_after_s >= 0);
}

FUZZ_STRUCTURE(fuzz_json, fuzz_after_empty_line(data, size))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 201, 204, 302, 400, 401, 403, 404,
                                   407, 409, 410, 423, 429, 500, 503, 504};
    static char header[GRAPH_TOKEN_SIZE];
    if (size < 2) {
        return 0;
    }
    ida_ctx *c = fuzz_context();
    graph g = {.env = c->env,
               .pool = c->pool,
               .root = "https://graph.example/v1.0",
               .origin = "https://graph.example:443",
               .secret_file = "/x"};
    directory_error e;
    graph_call k = graph_call_begin(&g, c->pool, &e);
    http_answer raw = answer_of(c->pool, statuses[data[0] % 16], data + 2, size - 2);
    if (data[1] & 4) {
        int64_t life = 0;
        int answered = 0;
        directory_class class = graph_token_answer(&k, "https://login.example/token", &raw, SECRET,
                                                   header, &life, &answered);
        check_error(&e, class);
        FUZZ_HOLDS(!class || !strstr(e.message, SECRET));
        FUZZ_HOLDS(class || (life > 0 && !strpbrk(header, "\r\n\t")));
    } else {
        const graph_request request = {.method = "GET", .sync = data[1] & 2, .doing = "reading"};
        graph_answer answer = {0};
        directory_class class = graph_answer_read(&k, data[1] & 1 ? GRAPH_WRITE : GRAPH_READ,
                                                  &request, &raw, &answer);
        check_error(&e, class);
        FUZZ_HOLDS(answer.code && answer.message && answer.detail_code && answer.detail_target &&
                   answer.retry_after_ms >= -1);
    }
    http_answer_free(&raw);
    return 0;
}
