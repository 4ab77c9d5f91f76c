/* A subschema: each line, by its first letter, an attribute type, an object class or a content
 * rule. What was read is asked for. */
#include <apr_tables.h>

#include "t/fuzz/fuzz_copy.h"
#include "worker/ldap/wire/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const classes[] = {"inetOrgPerson", "user", "a", "top"},
                             *const attributes[] = {"cn", "member", "a", "mail"};
    ida_ctx *c = fuzz_context();
    char *text = fuzz_text(data, size), *rest, *blocks[256];
    int count = 0;
    apr_array_header_t *of[3];
    for (int i = 0; i < 3; i++) {
        of[i] = apr_array_make(c->pool, 8, sizeof(struct berval));
    }
    for (char *line = strtok_r(text, "\n", &rest); line && count < 256;
         line = strtok_r(NULL, "\n", &rest)) {
        apr_array_header_t *to = of[*line == 'a' ? 0 : *line == 'r' ? 2 : 1];
        char *own = blocks[count++] = strdup(line + 1); /* of exactly its size */
        FUZZ_HOLDS(own);
        APR_ARRAY_PUSH(to, struct berval) = (struct berval){.bv_val = own, .bv_len = strlen(own)};
    }
    fuzz_leaks(1); /* libldap's readers lose parts of definitions that they refuse */
    ld_schema *s = ld_schema_make(c->pool, (struct berval *)of[0]->elts, of[0]->nelts,
                                  (struct berval *)of[1]->elts, of[1]->nelts);
    ld_schema_rules(s, (struct berval *)of[2]->elts, of[2]->nelts);
    fuzz_leaks(0);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            FUZZ_HOLDS(!ld_schema_allows(s, classes[i], attributes[j]) ||
                       ld_schema_knows(s, attributes[j]));
        }
        ld_schema_auxiliary(s, attributes[i]);
    }
    while (count) {
        free(blocks[--count]);
    }
    free(text);
    return 0;
}
