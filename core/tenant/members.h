/* The rows of core/tenant/members.c, for what walks over them: shape.c and schema.c alone. */
#ifndef CORE_TENANT_MEMBERS_H
#define CORE_TENANT_MEMBERS_H

#include "core/tenant/value.h"

#define IDA_MEMBER_TEXT_MAX 256 /* UTF-16 units of a string without a limit of its own */

typedef enum member_type {
    STRING,
    INTEGER,
    BOOLEAN,
    OBJECT,
    STRINGS,
    OBJECTS,
    ACTIONS, /* objects whose members depend on `type` */
    SHARE    /* a percentage or a number */
} member_type;
enum {
    OPTIONAL = 0,
    REQUIRED = 1,
    FILL = 2,
    SECRET_FILE = 4,
    PUBLIC_FILE = 8,
    NOT_EMPTY = 16,
    MAY_BE_EMPTY = 32
};

typedef struct member {
    const char *name;
    member_type type;
    int flags;
    const char *fallback; /* JSON text of the default, NULL when none (or one that depends on other
                             members) */
    ida_value_rule *rule; /* for each string of STRINGS */
    const char *const *words; /* STRING, STRINGS: one of these, NULL-terminated */
    int64_t low, high; /* INTEGER: range; STRING: `high` is the length limit when not 0; lists:
                          `high` entries */
    const struct member
        *inner;         /* OBJECT, OBJECTS: their members; tables end with a row without a name */
    const char *unique; /* OBJECTS: no two entries share this member */
    const char *about;  /* for people: one line */
} member;

#define ACTION_MEMBERS_MAX 8
typedef struct action_type {
    const char *type, *about;
    member members[ACTION_MEMBERS_MAX]; /* ended by a NULL name */
} action_type;

extern const member ida_tenant_members[];
extern const action_type ida_tenant_actions[]; /* ended by a NULL type */

#endif
