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

#define OUT_TEXT(name, flags)                                         \
    {                                                                 \
        name, IDA_FIELD_TEXT, flags, NULL, NULL, NULL, IDA_RIGHT_NONE \
    }
#define OUT_WORD(name, flags, words)                                   \
    {                                                                  \
        name, IDA_FIELD_TEXT, flags, NULL, words, NULL, IDA_RIGHT_NONE \
    }
#define OUT_TIME(name, flags)                                         \
    {                                                                 \
        name, IDA_FIELD_TIME, flags, NULL, NULL, NULL, IDA_RIGHT_NONE \
    }
#define OUT_INTEGER(name, flags)                                         \
    {                                                                    \
        name, IDA_FIELD_INTEGER, flags, NULL, NULL, NULL, IDA_RIGHT_NONE \
    }
#define OUT_BOOLEAN(name, flags)                                         \
    {                                                                    \
        name, IDA_FIELD_BOOLEAN, flags, NULL, NULL, NULL, IDA_RIGHT_NONE \
    }
#define OUT_OBJECT(name, flags, members)                                   \
    {                                                                      \
        name, IDA_FIELD_OBJECT, flags, members, NULL, NULL, IDA_RIGHT_NONE \
    }
#define OUT_LIST(name, flags, members)                                   \
    {                                                                    \
        name, IDA_FIELD_LIST, flags, members, NULL, NULL, IDA_RIGHT_NONE \
    }
#define OUT_TEXTS(name, flags)                                        \
    {                                                                 \
        name, IDA_FIELD_LIST, flags, NULL, NULL, NULL, IDA_RIGHT_NONE \
    }
/* A list that is left out of the answer for callers without the right. */
#define OUT_LIST_FOR(right, name, members)                          \
    {                                                               \
        name, IDA_FIELD_LIST, SOMETIMES, members, NULL, NULL, right \
    }
/* An object whose members are listed here, so that rights inside it are checked. */
#define OUT_NAMED_OBJECT(name, flags, members, schema)                       \
    {                                                                        \
        name, IDA_FIELD_OBJECT, flags, members, NULL, schema, IDA_RIGHT_NONE \
    }
#define OUT_NAMED(name, flags, schema)                                    \
    {                                                                     \
        name, IDA_FIELD_OBJECT, flags, NULL, NULL, schema, IDA_RIGHT_NONE \
    }
#define OUT_NAMED_LIST(name, flags, schema)                             \
    {                                                                   \
        name, IDA_FIELD_LIST, flags, NULL, NULL, schema, IDA_RIGHT_NONE \
    }
#define OUT_INCLUDE(members)                                          \
    {                                                                 \
        "", IDA_FIELD_INCLUDE, 0, members, NULL, NULL, IDA_RIGHT_NONE \
    }
/* The same, each of them only if requested. */
#define OUT_INCLUDE_SOMETIMES(members)                                             \
    {                                                                              \
        "", IDA_FIELD_INCLUDE, NEVER_REQUIRED, members, NULL, NULL, IDA_RIGHT_NONE \
    }
#define OUT_END                                                   \
    {                                                             \
        NULL, IDA_FIELD_TEXT, 0, NULL, NULL, NULL, IDA_RIGHT_NONE \
    }

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
