/* Request bodies: whatever the bytes are, they are an object that survives a round trip, or a
 * refusal with a message. */
#include "core/base/json.h"
#include "core/base/text.h"
#include "t/fuzz/fuzz.h"
#include "t/fuzz/mutate.h"

FUZZ_STRUCTURE(fuzz_json, 0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    json_t *object = NULL, *again = NULL;

    if (ida_json_object(c, (const char *)data, size, &object)) {
        FUZZ_HOLDS(c->message && ida_utf8_valid(c->message, strlen(c->message)));
        return 0;
    }
    char *text = ida_json_sorted(c->pool, object);
    FUZZ_HOLDS(text && ida_utf8_valid(text, strlen(text)));
    FUZZ_HOLDS(ida_json_object(c, text, strlen(text), &again) == IDA_OK);
    FUZZ_HOLDS(strcmp(text, ida_json_sorted(c->pool, again)) == 0);
    return 0;
}
