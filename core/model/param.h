/* What callers may send: one row an argument of a query or tool, or a member of a JSON body.
 * Checks, storage, tools/list, the OpenAPI document and what the audit log may show follow from the
 * row. */
#ifndef CORE_MODEL_PARAM_H
#define CORE_MODEL_PARAM_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/context.h"

typedef enum ida_param_type {
    IDA_PARAM_STRING,
    IDA_PARAM_INTEGER,
    IDA_PARAM_BOOLEAN,
    IDA_PARAM_LIST, /* words; in a query separated by commas */
    IDA_PARAM_TIME, /* a date, or RFC 3339 with any offset; checked value: RFC 3339 in UTC */
    /* texts of bodies alone */
    IDA_PARAM_NAME,    /* of a person: not of question marks alone, which a sender's lost encoding
                          leaves */
    IDA_PARAM_LINES,   /* may contain line breaks */
    IDA_PARAM_WALL,    /* date or time of day in the tenant's zone; core/zone judges its form, so it
                          stays as given */
    IDA_PARAM_PERSON,  /* a UPN or a directory's ID */
    IDA_PARAM_COUNTRY, /* an ISO 3166-1 code becomes upper case, other text stays */
    IDA_PARAM_LANGUAGE, /* BCP 47 tag */
    IDA_PARAM_PHOTO     /* base64; never into the audit log */
} ida_param_type;

typedef enum ida_param_flags {
    IDA_PARAM_REQUIRED = 1, /* absent: a fault that names it */
    IDA_PARAM_REFUSED = 2,  /* known only to be refused by name: what the service generates */
    IDA_PARAM_CLEARED = 4   /* null is a value: it clears */
} ida_param_flags;

typedef struct ida_param {
    const char *name;
    ida_param_type type;
    int flags;
    int64_t min, max; /* integers: range; texts: UTF-16 units, as directories count. 0: no limit */
    const char *const *allowed; /* NULL-terminated words, or NULL */
    const char *about;          /* first sentence sufficient, with format and example */
    int64_t fallback;           /* integers: default value; 0: none */
    int right; /* an ida_right that it requires in addition to the operation's; 0: none */
    size_t at; /* texts of bodies: of the const char * in the struct, or IDA_PARAM_IN_VALUES */
} ida_param;

#define IDA_PARAM_IN_VALUES SIZE_MAX /* stored in ida_update.values under its name */

/* Tables end with a row without a name. `out` and `in` are the struct that the table's `at` belong
 * to. */

/* The row of that name, or NULL. */
const ida_param *ida_param_find(const ida_param *params, const char *name);

/* Leaves out of a text, or of each of a list, what people would not see (ida_seen), and says so in
 * the warnings, NULL: nowhere. */
void ida_param_see(ida_ctx *c, const ida_param *p, json_t *given, json_t *warnings);
/* A text of the body as the directory will get it; NULL if it is absent (missing, null, blank)
 * or at fault, which is recorded. `required_rule`: the message for an absent one; NULL: it is
 * optional. */
const char *ida_param_text(ida_ctx *c, const json_t *body, const ida_param *p,
                           const char *required_rule);
/* All texts with a place in the struct. */
void ida_params_read(ida_ctx *c, const json_t *body, const ida_param *members,
                     const char *required_rule, void *out);
#define IDA_UNKNOWN_MAX 20 /* names of one request that are refused, or warned of, one by one */

/* For a name that the table does not have: `: it is written "date"` of the row whose name looks the
 * same but for one letter (core/base/similar.h); NULL: there is none. */
const char *ida_param_written(ida_ctx *c, const ida_param *members, const char *name);
/* Checks for members that the table does not have: a fault for one that is written like a known one
 * ("Date" must never mean now), or that may tell the day where the body has none; otherwise a
 * warning. `warnings` NULL: a fault for each. */
void ida_params_unknown(ida_ctx *c, const json_t *body, const ida_param *members, json_t *warnings);

/* Texts of the struct that are set, as an object; a new reference. And back: 0 if one is not a
 * text, or a required one is missing. */
json_t *ida_params_stored(const void *in, const ida_param *members);
int ida_params_load(const json_t *stored, const ida_param *members, void *out);

/* Value of a text with a place in the struct; NULL of any other row. */
const char *ida_param_value(const void *in, const ida_param *p);

#endif
