/* Bytes as method, path, query, media type and body of a REST request, each up to a NUL, through
 * routing, admission, argument checks, answer and audit record. The store is away: what is good so
 * far gets 503. */
#include "core/audit/spool.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/face/rest.h"
#include "core/zone/zone.h"
#include "t/fuzz/fuzz_copy.h"
#include "t/fuzz/mutate.h"

/* The next part, in memory of its own; NULL when it is empty. */
static char *part(const uint8_t **data, size_t *size)
{
    char *text = fuzz_text(*data, *size);
    size_t len = strlen(text), taken = len < *size ? len + 1 : len;
    *data += taken;
    *size -= taken;
    return text;
}

static void check_answer(ida_ctx *c, const ida_call *call, const ida_rest_answer *answer)
{
    const json_t *body = ida_json_load(c->pool, answer->body);
    FUZZ_HOLDS(answer->status >= 400 && strlen(answer->body) == answer->len && answer->len < 32768);
    FUZZ_HOLDS(ida_json_string(json_object_get(body, "error"), "message"));
    const char *record = audit_encode(c->pool, call->audit, AUDIT_SPOOL_JSON_MAX);
    char frame[AUDIT_MAX];
    FUZZ_HOLDS(record && audit_spool_frame(record, strlen(record), frame));
    FUZZ_HOLDS(audit_decode(c->pool, record, strlen(record)));
    for (const ida_rest_header *h = answer->headers; h; h = h->next) {
        FUZZ_HOLDS(!strpbrk(h->value, "\r\n"));
    }
}

FUZZ_STRUCTURE(fuzz_json, fuzz_after_nuls(data, size, 4))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ida_tenant tenant = {.id = "nordic",
                                      .time_zone = "Europe/Stockholm",
                                      .public_api = 1,
                                      .username_format = "{firstname}",
                                      .email_format = "{surname}",
                                      .display_name_format = "{firstname}",
                                      .seat_limit = -1};
    static const ida_principal who = {
        .company = "nordic", .username = "hr", .label = "", .access = IDA_ACCESS_FULL};
    ida_ctx *c = fuzz_context();
    store *s = store_make(c->pool, "sqlite3:/nonexistent/idadmin.db", DB_REQUEST);
    char *method = part(&data, &size), *uri = part(&data, &size), *query = part(&data, &size),
         *type = part(&data, &size);
    char *body = malloc(size ? size : 1);
    FUZZ_HOLDS(body);
    if (size) {
        memcpy(body, data, size);
    }
    zone_init(c->pool);
    ida_route route;
    ida_rest_answer answer;
    ida_route_find(c->pool, &ida_rest_face, method, uri, &route);
    int is_told = route.kind == IDA_ROUTE_WRONG_METHOD || route.kind == IDA_ROUTE_OPTIONS;
    FUZZ_HOLDS(route.path && route.base && (!is_told || *route.allow) &&
               (route.kind != IDA_ROUTE_OPERATION || route.operation));
    if (route.kind == IDA_ROUTE_OPERATION || route.kind == IDA_ROUTE_UNKNOWN_PATH) {
        ida_question asked = {.principal = &who, .tenant = &tenant, .synced = size & 1};
        ida_call call = {.c = c, .asked = &asked, .source = store_source_of(c->pool, s)};
        ida_rest_request request = {.asked = &asked,
                                    .route = &route,
                                    .method = method,
                                    .query = query,
                                    .content_type = *type ? type : NULL,
                                    .has_body = size > 0};
        if (ida_rest_admit(&call, &request, &answer) == IDA_OK) {
            request.body = body;
            request.body_len = size;
            ida_rest_run(&call, &request, &answer);
        }
        check_answer(c, &call, &answer);
    }
    free(method);
    free(uri);
    free(query);
    free(type);
    free(body);
    return 0;
}
