/* Owns how tables of members become JSON Schema. Must not know what they mean. */
#include "core/operation/schema.h"

#include <string.h>

#include "core/operation/operation.h"

static const char *const type_names[] = {
    [IDA_FIELD_TEXT] = "string",     [IDA_FIELD_TIME] = "string",   [IDA_FIELD_INTEGER] = "integer",
    [IDA_FIELD_BOOLEAN] = "boolean", [IDA_FIELD_OBJECT] = "object", [IDA_FIELD_LIST] = "array",
};

static json_t *reference_to(const char *schema)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", schema));
}

static json_t *entry_of(const ida_field *list, int terse)
{
    return list->schema    ? reference_to(list->schema)
           : list->members ? ida_schema_of(list->members, terse)
                           : json_pack("{s:s}", "type", "string");
}

static json_t *words_of(const char *const *words)
{
    json_t *list = json_array();
    for (; *words; words++) {
        json_array_append_new(list, json_string(*words));
    }
    return list;
}

static json_t *value_schema(const ida_field *f, int terse)
{
    int text = (f->type == IDA_FIELD_TEXT || f->type == IDA_FIELD_TIME) && !f->words;
    if (terse && text && (f->flags & OR_NULL)) {
        /* No type at all: an alternative for each of seventy such texts would take 3 KB more. */
        return json_object();
    }
    json_t *schema = f->type == IDA_FIELD_OBJECT && f->members ? ida_schema_of(f->members, terse)
                                                               : json_object();
    if (!(terse && f->words)) {
        json_object_set_new(schema, "type", json_string(type_names[f->type]));
    }
    if (f->type == IDA_FIELD_LIST) {
        json_object_set_new(schema, "items", entry_of(f, terse));
    }
    if (f->type == IDA_FIELD_TIME && !terse) {
        json_object_set_new(schema, "format", json_string("date-time"));
    }
    if (f->words) {
        json_object_set_new(schema, "enum", words_of(f->words));
    }
    if ((f->flags & OR_NULL) && terse) {
        return json_pack("{s:[o, {s:s}]}", "anyOf", schema, "type", "null");
    }
    if (f->flags & OR_NULL) {
        json_object_set_new(schema, "type", json_pack("[s, s]", type_names[f->type], "null"));
        json_array_append_new(json_object_get(schema, "enum"), json_null());
    }
    return schema;
}

/* `asked`: 1 if each of the members comes only if requested. */
static void add_members(const ida_field *f, int terse, int asked, json_t *schema)
{
    json_t *properties = json_object_get(schema, "properties"),
           *required = json_object_get(schema, "required");
    for (; f->name; f++) {
        if (f->type == IDA_FIELD_INCLUDE) {
            add_members(f->members, terse, asked || (f->flags & NEVER_REQUIRED), schema);
            continue;
        }
        json_t *value = f->schema && f->type == IDA_FIELD_OBJECT ? reference_to(f->schema)
                                                                 : value_schema(f, terse);
        if (strcmp(f->name, "*") == 0) {
            json_object_set_new(schema, "additionalProperties", value);
            continue;
        }
        json_object_set_new(properties, f->name, value);
        if ((f->flags & ALWAYS) && !asked) {
            json_array_append_new(required, json_string(f->name));
        }
    }
}

json_t *ida_schema_of(const ida_field *members, int terse)
{
    json_t *schema = json_pack("{s:s, s:[], s:{}}", "type", "object", "required", "properties");
    add_members(members, terse, 0, schema);
    if (!json_array_size(json_object_get(schema, "required"))) {
        json_object_del(schema, "required");
    }
    return schema;
}

/* Whether members may be missing because the caller lacks a right. */
static int may_omit(const ida_field *f)
{
    for (; f && f->name; f++) {
        if (f->right || may_omit(f->members)) {
            return 1;
        }
    }
    return 0;
}

json_t *ida_schema_of_result(const ida_operation *op, int terse)
{
    static const ida_field nothing[] = {OUT_END};
    static const ida_field named[] = {OUT_TEXTS("omitted", SOMETIMES), OUT_END};
    const ida_field *omitted = may_omit(op->output) || may_omit(op->item) ? named : nothing;
    const ida_field list[] = {
        OUT_LIST("items", ALWAYS, op->item),
        OUT_INTEGER("totalCount", ALWAYS),
        OUT_BOOLEAN("totalCountIsMinimum", ALWAYS),
        OUT_TEXT("nextCursor", ALWAYS | OR_NULL),
        OUT_TIME("asOf", ALWAYS | OR_NULL),
        OUT_INCLUDE(op->output ? op->output : nothing),
        OUT_INCLUDE(omitted),
        OUT_END,
    };
    const ida_field one[] = {OUT_INCLUDE(op->output ? op->output : nothing), OUT_INCLUDE(omitted),
                             OUT_END};
    return ida_schema_of(op->item ? list : one, terse);
}
