/* A segment of the audit spool: whole records are found wherever they stand, however the bytes
 * come; what is a record is one after encoding too. */
#include "core/audit/spool.h"
#include "core/base/text.h"
#include "t/fuzz/fuzz_copy.h"

static int read_all(ida_ctx *c, const uint8_t *data, size_t size, int final)
{
    char *bytes = malloc(size ? size : 1);
    FUZZ_HOLDS(bytes);
    memcpy(bytes, data, size);
    audit_spool_scan scan = {.bytes = bytes, .len = size, .final = final};
    const char *json;
    size_t len;
    int count = 0;
    while (audit_spool_next(&scan, &json, &len)) {
        count++;
        FUZZ_HOLDS(len && json > bytes && json + len < bytes + size && scan.at <= size);
        audit_record *record = audit_decode(c->pool, json, len);
        const char *text = record ? audit_encode(c->pool, record, AUDIT_SPOOL_JSON_MAX) : NULL;
        if (text) {
            char frame[AUDIT_MAX];
            const audit_record *again = audit_decode(c->pool, text, strlen(text));
            FUZZ_HOLDS(again && strcmp(again->rid, record->rid) == 0 &&
                       strcmp(again->tenant, record->tenant) == 0 && again->at == record->at);
            FUZZ_HOLDS(audit_spool_frame(text, strlen(text), frame));
        }
        const audit_record *damaged = audit_damaged(c, "r", "t", AUDIT_SPOOL_CATEGORY, "httpd",
                                                    json, len);
        FUZZ_HOLDS(ida_utf8_valid(damaged->detail, strlen(damaged->detail)));
    }
    FUZZ_HOLDS(!final || scan.at == size);
    FUZZ_HOLDS(final || scan.at || size < 2 * AUDIT_MAX);
    free(bytes);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    FUZZ_HOLDS(read_all(c, data, size, 0) <= read_all(c, data, size, 1));
    char *name = fuzz_text(data, size), again[AUDIT_SPOOL_NAME_SIZE];
    int64_t minute = audit_spool_minute(name);
    if (minute >= 0) {
        audit_spool_name(minute, again);
        FUZZ_HOLDS(strcmp(again, name) == 0);
    }
    free(name);
    return 0;
}
