/* A segment of the audit spool: whole records are found wherever they stand, however the bytes come; what is a record is one after
 * encoding too. */
#include "core/audit/spool.h"
#include "core/base/text.h"
#include "t/fuzz/fuzz_copy.h"

static int read_all(ida_ctx *c, const uint8_t *data, size_t size, int final)
{
    char *bytes = malloc(size ? size : 1);
    FUZZ_HOLDS(bytes);
    memcpy(bytes, data, size);
    ida_spool_scan scan = {.bytes = bytes, .len = size, .final = final};
    const char *json;
    size_t len;
    int count = 0;
    while (ida_spool_next(&scan, &json, &len)) {
        count++;
        FUZZ_HOLDS(len && json > bytes && json + len < bytes + size && scan.at <= size);
        ida_audit *record = ida_audit_decode(c->pool, json, len);
        const char *text = record ? ida_audit_encode(c->pool, record, IDA_SPOOL_JSON_MAX) : NULL;
        if (text) {
            char frame[IDA_AUDIT_MAX];
            const ida_audit *again = ida_audit_decode(c->pool, text, strlen(text));
            FUZZ_HOLDS(again && strcmp(again->rid, record->rid) == 0 && strcmp(again->tenant, record->tenant) == 0 && again->at == record->at);
            FUZZ_HOLDS(ida_spool_frame(text, strlen(text), frame));
        }
        const ida_audit *damaged = ida_audit_damaged(c, "r", "t", IDA_SPOOL_CATEGORY, "httpd", json, len);
        FUZZ_HOLDS(ida_utf8_valid(damaged->detail, strlen(damaged->detail)));
    }
    FUZZ_HOLDS(!final || scan.at == size);
    FUZZ_HOLDS(final || scan.at || size < 2 * IDA_AUDIT_MAX);
    free(bytes);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    FUZZ_HOLDS(read_all(c, data, size, 0) <= read_all(c, data, size, 1));
    char *name = fuzz_text(data, size), again[IDA_SPOOL_NAME_SIZE];
    int64_t minute = ida_spool_minute(name);
    if (minute >= 0) {
        ida_spool_name(minute, again);
        FUZZ_HOLDS(strcmp(again, name) == 0);
    }
    free(name);
    return 0;
}
