/* The first byte chooses an operation that is a tool, the rest is its arguments as a JSON object:
 * checks, cursor, audit record. The store is away; what passes is refused there. */
#include "core/audit/spool.h"
#include "core/base/json.h"
#include "core/base/time.h"
#include "core/face/mcp.h"
#include "core/face/mcp_cut.h"
#include "core/operation/param.h"
#include "core/operation/table.h"
#include "t/fuzz/fuzz_copy.h"

static const ida_operation *choose(unsigned number)
{
    unsigned tools = 0;
    for (int i = 0; ida_operations[i]; i++) {
        tools += ida_operations[i]->tool != NULL;
    }
    for (int i = 0; ida_operations[i]; i++) {
        if (ida_operations[i]->tool && number-- % (tools ? tools : 1) == 0) {
            return ida_operations[i];
        }
    }
    return ida_operations[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ida_tenant tenant = {.id = "nordic",
                                      .time_zone = "Europe/Stockholm",
                                      .public_api = 1,
                                      .access_governance = 1,
                                      .seat_limit = -1};
    static const ida_principal who = {
        .company = "nordic", .username = "ai", .label = "", .access = IDA_ACCESS_READ_ONLY};
    ida_ctx *c = fuzz_context();
    char *bytes = malloc(size ? size : 1);
    json_t *arguments;
    FUZZ_HOLDS(bytes);
    if (size > 1) {
        memcpy(bytes, data + 1, size - 1);
    }
    ida_kind kind = ida_json_object(c, bytes, size ? size - 1 : 0, &arguments);
    fuzz_told(c, kind);
    if (!kind) {
        ida_json_both texts;
        const ida_question asked = {.operation = choose(data[0]),
                                    .face = &ida_mcp_face,
                                    .principal = &who,
                                    .tenant = &tenant,
                                    .synced = 1,
                                    .endpoint = "mcp tools/call",
                                    .arguments = arguments};
        ida_call call = {.c = c,
                         .asked = &asked,
                         .source = store_source_of(
                             c->pool,
                             store_make(c->pool, "sqlite3:/nonexistent/idadmin.db", DB_REQUEST))};
        kind = ida_mcp_run_cut(&call, 51200, &texts);
        fuzz_told(c, kind);
        FUZZ_HOLDS(kind != IDA_OK && call.audit);
        const char *record = audit_encode(c->pool, call.audit, AUDIT_SPOOL_JSON_MAX);
        FUZZ_HOLDS(record && audit_decode(c->pool, record, strlen(record)));
    }
    int64_t at = 0;
    char *text = fuzz_text(data, size);
    FUZZ_HOLDS(!ida_time_parse(text, &at) || at > 0);
    free(text);
    free(bytes);
    return 0;
}
