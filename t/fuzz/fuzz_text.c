/* Text from outside: every function is total and gives valid UTF-8; cleaning and folding change
 * nothing the second time. */
#include "core/base/text.h"
#include "t/fuzz/fuzz.h"

static const char *valid(const char *text)
{
    FUZZ_HOLDS(text && ida_utf8_valid(text, strlen(text)));
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    apr_pool_t *pool = c->pool;
    size_t len = 0;

    const char *clean = valid(ida_clean(pool, (const char *)data, size, 0));
    FUZZ_HOLDS(strcmp(clean, ida_clean(pool, clean, strlen(clean), 0)) == 0);
    FUZZ_HOLDS(strlen(valid(ida_clean(pool, (const char *)data, size, 40))) <= 40);

    const char *folded = valid(ida_fold_search(pool, clean));
    FUZZ_HOLDS(strcmp(folded, ida_fold_search(pool, folded)) == 0);
    valid(ida_transliterate(pool, clean));
    FUZZ_HOLDS(ida_utf16_length(clean) <= strlen(clean));
    ida_language_tag_valid(clean);

    char *raw = malloc(size + 1);
    memcpy(raw, data, size);
    raw[size] = '\0';
    FUZZ_HOLDS(ida_fold_address(pool, raw) != NULL);
    ida_unhex(pool, raw, &len);
    free(raw);

    unsigned char *bytes = ida_base64_decode(pool, (const char *)data, size, &len);
    if (bytes) {
        char *encoded = ida_base64_encode(pool, bytes, len);
        FUZZ_HOLDS(strlen(encoded) == size && memcmp(encoded, data, size) == 0);
    }
    return 0;
}
