/* The tenant documents in conf/ are examples to begin with: each is accepted unchanged, and
 * applying it twice changes nothing. */
#include <glob.h>

#include "core/tenant/tenant.h"
#include "t/unit/setup.h"

static char *read_file(const char *path, size_t *len)
{
    static char bytes[65536];
    FILE *in = fopen(path, "rb");
    *len = in ? fread(bytes, 1, sizeof bytes, in) : 0;
    if (in) {
        fclose(in);
    }
    return bytes;
}

int main(void)
{
    setup();
    const char *source = getenv("IDADMIN_SRC");
    glob_t found;
    if (glob(apr_pstrcat(pool, source ? source : ".", "/conf/tenant-*.json", NULL), 0, NULL,
             &found) != 0) {
        found.gl_pathc = 0;
    }
    ok(found.gl_pathc >= 3,
       "there are tenant examples (run from the source directory, or set IDADMIN_SRC)");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        ida_ctx *c = ida_ctx_make(&env, pool);
        ida_tenant *tenant = NULL;
        char *first = NULL, *second = NULL;
        size_t len;
        char *text = read_file(found.gl_pathv[i], &len);

        ok(ida_tenant_apply(c, text, len, NULL, &tenant, &first) == IDA_OK, "%s is accepted%s%s",
           name, c->message ? ": " : "", c->message ? c->message : "");
        ok(tenant && tenant->brake_per_hour > 0, "%s has a brake", name);
        ok(ida_tenant_apply(c, text, len, first, &tenant, &second) == IDA_OK && first && second &&
               strcmp(first, second) == 0,
           "%s: applied twice it is the same", name);
    }
    globfree(&found);
    return done();
}
