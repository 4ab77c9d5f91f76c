/* idadmin-tenant.5, by the JSON Schema that the rows of members amount to. */
#include <apr_strings.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tenant/schema.h"
#include "manual/page.h"

static int is_required(const json_t *object, const char *name)
{
    size_t i;
    const json_t *one;
    json_array_foreach (json_object_get(object, "required"), i, one) {
        if (strcmp(json_string_value(one), name) == 0) {
            return 1;
        }
    }
    return 0;
}

static const char *dumped(apr_pool_t *pool, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *kept = apr_pstrdup(pool, text);
    free(text);
    return kept;
}

static const char *number(const json_t *schema, const char *key)
{
    static char text[2][32];
    static int turn;
    turn = !turn;
    snprintf(text[turn], sizeof text[turn], "%lld",
             (long long)json_integer_value(json_object_get(schema, key)));
    return text[turn];
}

/* "a list of at most 20 texts, each one of a, b" */
static const char *kind(apr_pool_t *pool, const json_t *schema)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    const json_t *items = json_object_get(schema, "items"), *words, *one;
    if (!type) {
        return "a percentage such as 20% or a whole number";
    }
    if (items) {
        int objects = !json_object_get(items, "type") ||
                      strcmp(json_string_value(json_object_get(items, "type")), "object") == 0;
        return apr_pstrcat(pool, "a list of at most ", number(schema, "maxItems"),
                           objects ? " objects" : " texts: ", objects ? "" : kind(pool, items),
                           NULL);
    }
    if ((words = json_object_get(schema, "enum")) != NULL) {
        const char *list = "one of";
        size_t i;
        json_array_foreach ((json_t *)words, i, one) {
            list = apr_pstrcat(pool, list, i ? ", " : " ", json_string_value(one), NULL);
        }
        return list;
    }
    return strcmp(type, "string") == 0
               ? apr_pstrcat(pool, "a text of at most ", number(schema, "maxLength"), " characters",
                             NULL)
           : strcmp(type, "integer") == 0
               ? apr_pstrcat(pool, "a whole number from ", number(schema, "minimum"), " to ",
                             number(schema, "maximum"), NULL)
           : strcmp(type, "boolean") == 0 ? "true or false"
                                          : "an object";
}

static const char *about(apr_pool_t *pool, const json_t *object, const char *name,
                         const json_t *schema)
{
    const json_t *fallback = json_object_get(schema, "default");
    const char *text = apr_pstrcat(pool, json_string_value(json_object_get(schema, "description")),
                                   ".\n", NULL);
    const char *what = json_string_value(json_object_get(schema, "const"));
    text = apr_pstrcat(pool, text, is_required(object, name) ? "Required: " : "Optional: ",
                       what ? what : kind(pool, schema), ".", NULL);
    return fallback ? apr_pstrcat(pool, text, "\nDefault: ", dumped(pool, fallback), ".", NULL)
                    : text;
}

static void members(apr_pool_t *pool, const json_t *object)
{
    const char *name;
    json_t *schema;
    page_line(".Bl -tag -width Ds");
    json_object_foreach (json_object_get(object, "properties"), name, schema) {
        page_item(apr_pstrcat(pool, "Cm ", name, NULL), about(pool, object, name, schema));
        const json_t *items = json_object_get(schema, "items");
        const json_t *inner = items ? items : schema;
        if (json_object_get(inner, "properties")) {
            members(pool, inner);
        }
    }
    page_line(".El");
}

static void actions(apr_pool_t *pool, const json_t *root)
{
    const json_t *at = root;
    static const char *const path[] = {"properties", "workflows", "items", "properties",
                                       "actions",    "items",     "oneOf", NULL};
    for (int i = 0; path[i]; i++) {
        at = json_object_get(at, path[i]);
    }
    size_t i;
    json_t *one;
    json_array_foreach ((json_t *)at, i, one) {
        const json_t *type = json_object_get(json_object_get(one, "properties"), "type");
        page_line(".Ss %s", json_string_value(json_object_get(type, "const")));
        page_text(
            apr_pstrcat(pool, json_string_value(json_object_get(one, "description")), ".", NULL));
        members(pool, one);
    }
}

void page_tenant(apr_pool_t *pool, const char *date)
{
    json_t *schema = ida_tenant_schema();
    page_begin(date, "IDADMIN-TENANT", "5", "idadmin-tenant", "tenant document of mod_idadmin");
    page_line(".Sh DESCRIPTION");
    page_text("A JSON object that describes one company: its names, limits, directories and "
              "workflows. `idadminctl tenant apply` checks, seals and stores it; `idadminctl "
              "tenant schema` prints its JSON Schema. Secrets stay in files that the document "
              "names, which only the worker's user can read.");
    page_line(".Sh MEMBERS");
    members(pool, schema);
    page_line(".Sh ACTIONS OF WORKFLOWS");
    actions(pool, schema);
    page_line(".Sh SEE ALSO\n.Xr idadminctl 1 ,\n.Xr idadmin.conf 5 ,\n.Xr idadmin-worker 8");
    json_decref(schema);
}

void schema_tenant(apr_pool_t *pool, const char *date)
{
    (void)pool;
    (void)date;
    json_t *schema = ida_tenant_schema();
    json_dumpf(schema, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(schema);
}
