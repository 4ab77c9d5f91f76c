/* Text as a cursor, and as a position: nothing that this service did not make opens, all that it
 * made does. */
#include "core/base/cursor.h"
#include "t/fuzz/fuzz_copy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char key[IDA_CURSOR_KEY_LEN] = "a key for fuzzing, 32 bytes long";
    ida_ctx *c = fuzz_context();
    char *text = fuzz_text(data, size), *position;
    ida_kind kind = ida_cursor_open(c, key, "tenant users", text, &position);
    fuzz_told(c, kind);
    FUZZ_HOLDS(kind || strcmp(ida_cursor_make(c->pool, key, "tenant users", position), text) == 0);
    if (strlen(text) < 4096) {
        const char *cursor = ida_cursor_make(c->pool, key, "tenant users", text);
        FUZZ_HOLDS(ida_cursor_open(c, key, "tenant users", cursor, &position) == IDA_OK &&
                   strcmp(position, text) == 0);
        FUZZ_HOLDS(ida_cursor_open(c, key, "tenant groups", cursor, &position) == IDA_BAD_REQUEST);
    }
    free(text);
    return 0;
}
