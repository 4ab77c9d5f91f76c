/* Owns the JSON Schema that the rows of the tenant document's members amount to. Must not know a
 * member by its name. */
#include "core/tenant/schema.h"

#include <string.h>

#include "core/base/secret_path.h"
#include "core/tenant/members.h"

/* Rules for texts that a pattern says without refusing more than the rule does. */
static const struct {
    ida_value_rule *rule;
    const char *pattern;
} patterns[] = {
    {ida_rule_path, "^/"},
    {ida_rule_secret, "^(/|" IDA_CREDENTIAL_PATTERN ")"},
    {ida_rule_guid, "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"},
    {ida_rule_duration, "^[0-9]+[smh]$"},
    {ida_rule_ldap_url, "^ldap[si]?://"},
    {ida_rule_cloud_marker, "^extensionAttribute([1-9]|1[0-5])$"},
};

static void put(json_t *schema, const char *key, json_t *value)
{
    json_object_set_new(schema, key, value);
}

static json_t *words(const char *const *list)
{
    json_t *array = json_array();
    for (; *list; list++) {
        json_array_append_new(array, json_string(*list));
    }
    return array;
}

static json_t *text_schema(const member *m)
{
    json_t *schema = json_pack("{s:s}", "type", "string");
    if (m->words) {
        put(schema, "enum", words(m->words));
        return schema;
    }
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (m->rule == patterns[i].rule) {
            put(schema, "pattern", json_string(patterns[i].pattern));
        }
    }
    if (!(m->flags & MAY_BE_EMPTY)) {
        put(schema, "minLength", json_integer(1));
    }
    /* Characters here, UTF-16 units in the rule: never fewer. */
    put(schema, "maxLength",
        json_integer(m->type == STRING && m->high ? m->high : IDA_MEMBER_TEXT_MAX));
    return schema;
}

static json_t *object_schema(const member *members);

static json_t *action_schema(void)
{
    json_t *kinds = json_array();
    for (const action_type *a = ida_tenant_actions; a->type; a++) {
        json_t *one = object_schema(a->members);
        put(one, "description", json_string(a->about));
        put(json_object_get(json_object_get(one, "properties"), "type"), "const",
            json_string(a->type));
        json_array_append_new(kinds, one);
    }
    return json_pack("{s:o}", "oneOf", kinds);
}

static json_t *list_schema(const member *m)
{
    json_t *items = m->type == STRINGS   ? text_schema(m)
                    : m->type == ACTIONS ? action_schema()
                                         : object_schema(m->inner);
    json_t *schema = json_pack("{s:s, s:o, s:I}", "type", "array", "items", items, "maxItems",
                               (json_int_t)m->high);
    if (m->flags & NOT_EMPTY) {
        put(schema, "minItems", json_integer(1));
    }
    return schema;
}

static json_t *member_schema(const member *m)
{
    switch (m->type) {
    case STRING: return text_schema(m);
    case BOOLEAN: return json_pack("{s:s}", "type", "boolean");
    case INTEGER:
        return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)m->low,
                         "maximum", (json_int_t)m->high);
    case SHARE:
        return json_pack("{s:[{s:s, s:s}, {s:s, s:i}]}", "oneOf", "type", "string", "pattern",
                         "^[0-9]{1,3}%$", "type", "integer", "minimum", 1);
    case OBJECT: return object_schema(m->inner);
    default: return list_schema(m);
    }
}

static json_t *object_schema(const member *members)
{
    json_t *properties = json_object(), *required = json_array();
    for (const member *m = members; m->name; m++) {
        json_t *schema = member_schema(m);
        put(schema, "description", json_string(m->about));
        if (m->fallback && m->type != OBJECT) {
            put(schema, "default", json_loads(m->fallback, JSON_DECODE_ANY, NULL));
        }
        put(properties, m->name, schema);
        if (m->flags & REQUIRED) {
            json_array_append_new(required, json_string(m->name));
        }
    }
    json_t *schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                               "additionalProperties", 0);
    if (json_array_size(required)) {
        json_object_set(schema, "required", required);
    }
    json_decref(required);
    return schema;
}

json_t *ida_tenant_schema(void)
{
    json_t *schema = object_schema(ida_tenant_members);
    put(schema, "$schema", json_string("https://json-schema.org/draft/2020-12/schema"));
    put(schema, "title", json_string("Tenant document of mod_idadmin"));
    put(schema, "description",
        json_string("A whole document. Applied to a company that exists, an absent member stays as "
                    "it was and null takes an optional one back."));
    return schema;
}
