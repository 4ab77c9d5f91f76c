/* The OpenAPI description of the REST face as a file, for generators of clients. */
#include <jansson.h>
#include <stdio.h>

#include "core/face/rest.h"
#include "manual/page.h"

void openapi(apr_pool_t *pool, const char *date)
{
    (void)date;
    json_t *document = json_loads(ida_openapi(pool), 0, NULL);
    json_dumpf(document, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(document);
}
