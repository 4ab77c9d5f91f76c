/* Bytes as Accept, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name (each up to a NUL,
 * empty: absent) and the body of an MCP message, through every stage. The store is away: a call
 * that is good so far gets a tool error. */
#include "core/audit/spool.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/face/mcp.h"
#include "t/fuzz/fuzz_copy.h"
#include "t/fuzz/mutate.h"

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
    const char *record = audit_encode(c->pool, call->audit, AUDIT_SPOOL_JSON_MAX);
    FUZZ_HOLDS(record && audit_decode(c->pool, record, strlen(record)));
    if (answer->status == 202) {
        FUZZ_HOLDS(!answer->body && !answer->len);
        return;
    }
    const json_t *body = ida_json_load(c->pool, answer->body),
                 *result = json_object_get(body, "result"), *error = json_object_get(body, "error");
    FUZZ_HOLDS(strlen(answer->body) == answer->len && (result != NULL) != (error != NULL));
    FUZZ_HOLDS(strcmp(ida_json_string(body, "jsonrpc"), "2.0") == 0);
    FUZZ_HOLDS(!result || answer->status == 200);
    FUZZ_HOLDS(!error || (json_is_integer(json_object_get(error, "code")) &&
                          ida_json_string(error, "message")));
    FUZZ_HOLDS(!json_is_true(json_object_get(result, "isError")) ||
               !json_object_get(result, "structuredContent"));
    json_int_t code = json_integer_value(json_object_get(error, "code"));
    FUZZ_HOLDS(!error || code == answer->status || code == -32700 ||
               (code <= -32600 && code >= -32602) || code == -32020 || code == -32022);
}

FUZZ_STRUCTURE(fuzz_json, fuzz_after_nuls(data, size, 5))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ida_tenant tenant = {.id = "nordic",
                                      .time_zone = "Europe/Stockholm",
                                      .public_api = 1,
                                      .access_governance = 1,
                                      .seat_limit = -1};
    static const ida_principal who = {
        .company = "nordic", .username = "ai", .label = "", .access = IDA_ACCESS_READ_ONLY};
    static apr_pool_t *kept;
    static const ida_mcp *fixed;
    ida_ctx *c = fuzz_context();
    if (!fixed) {
        apr_pool_create(&kept, NULL);
        fixed = ida_mcp_make(kept);
    }
    char *headers[5];
    for (int i = 0; i < 5; i++) {
        headers[i] = part(&data, &size);
    }
    char *body = malloc(size ? size : 1);
    FUZZ_HOLDS(body);
    if (size) {
        memcpy(body, data, size);
    }
    ida_question asked = {.principal = &who, .tenant = &tenant, .synced = 1};
    ida_mcp_request request = {&asked,
                               *headers[0] ? headers[0] : NULL,
                               *headers[1] ? headers[1] : NULL,
                               *headers[2] ? headers[2] : NULL,
                               *headers[3] ? headers[3] : NULL,
                               *headers[4] ? headers[4] : NULL,
                               body,
                               size};
    ida_call call = {
        .c = c,
        .asked = &asked,
        .source = store_source_of(c->pool, store_make(c->pool, "sqlite3:/nonexistent/idadmin.db",
                                                      DB_REQUEST))};
    ida_rest_answer answer;
    ida_mcp_message message;
    if (ida_mcp_admit(&call, &request, &answer) == IDA_OK &&
        ida_mcp_read(&call, fixed, &request, &message, &answer)) {
        FUZZ_HOLDS(asked.operation && asked.operation->tool);
        ida_mcp_call(&call, &message, &answer);
    }
    check_answer(c, &call, &answer);
    for (int i = 0; i < 5; i++) {
        free(headers[i]);
    }
    free(body);
    return 0;
}
