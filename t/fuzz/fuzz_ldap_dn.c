/* Text as a DN, an extended DN, an ID, a time, and as a value on its way into a DN or a filter. */
#include <apr_strings.h>

#include "core/base/text.h"
#include "t/fuzz/fuzz_copy.h"
#include "worker/ldap/wire/ad.h"
#include "worker/ldap/wire/escape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    char *text = fuzz_text(data, size), *key = ld_dn_key(c->pool, text);
    if (key) {
        FUZZ_HOLDS(ld_dn_key_below(key, key));
        ld_dn_first(c->pool, text);
        ld_dn_parent(c->pool, text);
    }
    ld_rdn_value(c->pool, text, "cn");
    if (*text && ida_utf8_valid(text, strlen(text))) { /* what is escaped into a DN comes back */
        char *dn = apr_pstrcat(c->pool, "cn=", ld_dn_value(c->pool, text), ",dc=x", NULL),
             *back = ld_rdn_value(c->pool, dn, "CN");
        FUZZ_HOLDS(back && strcmp(back, text) == 0 && ld_dn_key(c->pool, dn));
    }
    const char *guid, *bare = ld_extended_dn(c->pool, text, &guid);
    FUZZ_HOLDS(bare >= text && bare <= text + strlen(text) && (!guid || strlen(guid) == 36));
    char *uuid = ld_uuid_canonical(c->pool, text);
    FUZZ_HOLDS(!uuid || ld_guid_bytes(c->pool, uuid));
    char *filter = ld_filter_value(c->pool, data, size),
         *all = ld_filter_bytes(c->pool, data, size);
    FUZZ_HOLDS(!strpbrk(filter, "()*") && strlen(all) == 3 * size);
    ld_time(text);
    ld_filetime(text);
    free(text);
    return 0;
}
