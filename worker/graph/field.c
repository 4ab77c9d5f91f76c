/* Owns what the members of a payload are called in the API. Must not know requests. */
#include "worker/graph/field.h"

#include <string.h>
#include <strings.h>

#define FIELD(column, name, listed, property, ...) {property, offsetof(ida_create, column), name},
const graph_field graph_fields[] = {
    {"givenName", offsetof(ida_create, firstname), "firstname"},
    {"surname", offsetof(ida_create, surname), "surname"},
    IDA_PERSON_GIVEN(FIELD){NULL, 0, NULL},
};

const char *graph_field_value(const ida_create *person, const graph_field *field)
{
    const char *value = *(const char *const *)((const char *)person + field->value);
    return value && *value ? value : NULL;
}

const graph_field *graph_field_named(const char *name)
{
    const graph_field *f = graph_fields;
    while (f->property && strcmp(f->name, name) != 0) {
        f++;
    }
    return f->property ? f : NULL;
}

const char *graph_field_of(const char *property)
{
    static const struct {
        const char *property, *name;
    } others[] = {{"usageLocation", "country"},
                  {"displayName", "displayName"},
                  {"passwordProfile", "password"}};
    for (const graph_field *f = graph_fields; f->property; f++) {
        if (strcasecmp(f->property, property) == 0) {
            return f->name;
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcasecmp(others[i].property, property) == 0) {
            return others[i].name;
        }
    }
    return NULL;
}
