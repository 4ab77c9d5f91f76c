/* Members of results as tables, of which tools/list and OpenAPI make JSON Schema. Example:
 *
 *   static const ida_field person[] = {OUT_TEXT("id", ALWAYS), OUT_TEXT("mail", OR_NULL), OUT_END};
 *   .output = (const ida_field[]){OUT_OBJECT("user", ALWAYS, person), OUT_END}
 *
 * All eleven tools together must stay below 26 KB: say types and what always comes, nothing that is
 * obvious. */
#ifndef CORE_OPERATION_SCHEMA_H
#define CORE_OPERATION_SCHEMA_H

#include <jansson.h>

#include "core/tenant/rights.h"

#define IDA_TOOL_TEXT_MAX 2048 /* bytes of one text in a tool's result */

typedef enum ida_field_type {
    IDA_FIELD_TEXT,
    IDA_FIELD_TIME, /* RFC 3339 in UTC */
    IDA_FIELD_INTEGER,
    IDA_FIELD_BOOLEAN,
    IDA_FIELD_OBJECT,
    IDA_FIELD_LIST,
    IDA_FIELD_INCLUDE /* the members of another table, in its place */
} ida_field_type;

enum { SOMETIMES = 0, ALWAYS = 1, OR_NULL = 2, NEVER_REQUIRED = 4 };

typedef struct ida_field {
    const char *name; /* "*": every other member of an object */
    ida_field_type type;
    int flags;
    const struct ida_field *members; /* of an object, or of the objects in a list; NULL for a list
                                        of texts */
    const char *const *words;        /* the possible texts, NULL-terminated; NULL: any */
    const char *schema; /* name of the object's, or the list items', schema in OpenAPI */
    ida_right right;    /* required in addition to the operation's own; IDA_RIGHT_NONE: none */
} ida_field;

#define OUT_ROW(name_, type_, ...)                            \
    {                                                         \
        .name = name_, .type = IDA_FIELD_##type_, __VA_ARGS__ \
    }
#define OUT_TEXT(name, how) OUT_ROW(name, TEXT, .flags = how)
#define OUT_WORD(name, how, list) OUT_ROW(name, TEXT, .flags = how, .words = list)
#define OUT_TIME(name, how) OUT_ROW(name, TIME, .flags = how)
#define OUT_INTEGER(name, how) OUT_ROW(name, INTEGER, .flags = how)
#define OUT_BOOLEAN(name, how) OUT_ROW(name, BOOLEAN, .flags = how)
#define OUT_OBJECT(name, how, list) OUT_ROW(name, OBJECT, .flags = how, .members = list)
#define OUT_LIST(name, how, list) OUT_ROW(name, LIST, .flags = how, .members = list)
#define OUT_TEXTS(name, how) OUT_ROW(name, LIST, .flags = how)
/* A list that is left out of the answer for callers without the right. */
#define OUT_LIST_FOR(needed, name, list) OUT_ROW(name, LIST, .members = list, .right = needed)
/* An object whose members are listed here, so that rights inside it are checked. */
#define OUT_NAMED_OBJECT(name, how, list, type) \
    OUT_ROW(name, OBJECT, .flags = how, .members = list, .schema = type)
#define OUT_NAMED(name, how, type) OUT_ROW(name, OBJECT, .flags = how, .schema = type)
#define OUT_NAMED_LIST(name, how, type) OUT_ROW(name, LIST, .flags = how, .schema = type)
#define OUT_INCLUDE(list) OUT_ROW("", INCLUDE, .members = list)
/* The same, each of them only if requested. */
#define OUT_INCLUDE_SOMETIMES(list) OUT_ROW("", INCLUDE, .flags = NEVER_REQUIRED, .members = list)
#define OUT_END OUT_ROW(NULL, TEXT, .flags = 0)

/* `revoked` and `notRevoked` of a task that revokes memberships
 * (core/operation/company/workflows.c). */
extern const ida_field ida_revoked_members[];

/* {"type":"object","required":[...],"properties":{...}}. `terse` as in tools: few words, and
 * alternatives instead of lists of types, which clients with one type for each value cannot
 * read; no type for a text that may be null. New reference. */
json_t *ida_schema_of(const ida_field *members, int terse);

/* Of the result. */
struct ida_operation;
json_t *ida_schema_of_result(const struct ida_operation *op, int terse);

#endif
