/* Text as an MCP secret, an API key, a name, a rate and hostile directory text. */
#include "core/base/rate.h"
#include "core/base/text.h"
#include "core/tenant/credentials.h"
#include "t/fuzz/fuzz_copy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    char *text = fuzz_text(data, size), *company, *username, *key;
    if (ida_secret_split(c->pool, text, &company, &username, &key)) {
        FUZZ_HOLDS(ida_name_valid(company) && ida_name_valid(username) && *key &&
                   !strchr(key, ':'));
        FUZZ_HOLDS(strcmp(ida_printf(c->pool, "%s:%s:%s", company, username, key), text) == 0);
    }
    FUZZ_HOLDS(!ida_key_well_formed(text) || strlen(text) == 40);
    char hash[IDA_KEY_HASH_LEN + 1];
    ida_key_hash(text, hash);
    FUZZ_HOLDS(ida_key_hash_equal(hash, hash) && !ida_key_hash_equal(hash, NULL));
    ida_rate rate, again;
    if (!ida_rate_parse(text, &rate)) {
        FUZZ_HOLDS(!ida_rate_parse(ida_rate_text(c->pool, &rate), &again) &&
                   again.limit == rate.limit && again.period_s == rate.period_s);
    }
    for (size_t max = 0; max < 20; max += 7) {
        char *clean = ida_clean(c->pool, (const char *)data, size, max);
        FUZZ_HOLDS(ida_utf8_valid(clean, strlen(clean)) && (!max || strlen(clean) <= max));
    }
    char *folded = ida_fold_address(c->pool, text), *search = ida_fold_search(c->pool, text);
    FUZZ_HOLDS(strcmp(ida_fold_address(c->pool, folded), folded) == 0);
    FUZZ_HOLDS(!ida_utf8_valid(text, strlen(text)) || ida_utf8_valid(search, strlen(search)));
    size_t len;
    unsigned char *decoded = ida_base64_decode(c->pool, text, strlen(text), &len);
    FUZZ_HOLDS(!decoded || strcmp(ida_base64_encode(c->pool, decoded, len), text) == 0);
    ida_language_tag_valid(text);
    ida_country_code_valid(text);
    free(text);
    return 0;
}
