/* Bytes as a tenant document: alone, and over one that stands. What is accepted loads again as
 * the same text, which is sealed. */
#include <string.h>

#include "core/base/json.h"
#include "core/tenant/tenant.h"
#include "t/fuzz/fuzz_copy.h"
#include "t/fuzz/mutate.h"

static void sound(ida_ctx *c, const char *canonical)
{
    ida_tenant *again;
    FUZZ_HOLDS(ida_tenant_load(c, canonical, &again) == IDA_OK);
    FUZZ_HOLDS(strcmp(ida_json_sorted(c->pool, again->document), canonical) == 0);
    FUZZ_HOLDS(again->id && again->upn_domain && again->email_domain && again->username_format &&
               again->has_directory[again->create_users_in]);
}

FUZZ_STRUCTURE(fuzz_json, 0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char standing[] =
        "{\"companyId\":\"c\",\"directories\":{\"onPremises\":{\"bindDn\":\"cn=a\","
        "\"bindPasswordFile\":\"/"
        "p\",\"dialect\":\"openLdap\",\"groupBase\":\"dc=g\",\"urls\":[\"ldaps://"
        "h\"],\"userBase\":\"dc=u\"}},\"name\":\"C\",\"upnDomain\":\"c.example\"}";
    ida_ctx *c = fuzz_context();
    for (int over = 0; over < 2; over++) {
        ida_tenant *tenant;
        char *canonical;
        ida_ctx_clear(c);
        ida_kind kind = ida_tenant_apply(c, (const char *)data, size, over ? standing : NULL,
                                         &tenant, &canonical);
        fuzz_told(c, kind);
        FUZZ_HOLDS(kind ? !tenant && !canonical : tenant && canonical);
        if (!kind) {
            sound(c, canonical);
        }
    }
    return 0;
}
