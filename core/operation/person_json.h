/* People as members of results: one place for every operation that shows one. */
#ifndef CORE_OPERATION_PERSON_JSON_H
#define CORE_OPERATION_PERSON_JSON_H

#include "core/cache/people.h"
#include "core/cache/person.h"
#include "core/operation/schema.h"

/* The fields of specification 2.1, those populated in the directory. New references throughout. */
json_t *ida_user_json(const ida_user *u);
/* All members of get_user; `licenses` is borrowed. */
json_t *ida_user_details_json(const ida_user *u, json_t *licenses);
/* One row of a list of people. */
json_t *ida_person_row_json(const cache_listed_person *p);
/* {id, userPrincipalName, displayName}; null where unknown. */
json_t *ida_person_json(const char *id, const char *upn, const char *display_name);

/* Members of a row of search_users as schema, without braces. */
/* clang-format off */
#define OUT_PERSON_ROW \
    OUT_IS("id", OUT_TEXT) "," OUT_IS("userPrincipalName", OUT_TEXT) "," \
    OUT_IS("displayName", OUT_TEXT) "," OUT_IS("department", OUT_TEXT) "," \
    OUT_IS("jobTitle", OUT_TEXT) "," \
    OUT_IS("status", OUT_ENUM("\"active\",\"disabled\",\"guest\"")) "," \
    OUT_IS("userType", OUT_ENUM("\"member\",\"guest\"")) "," \
    OUT_IS("lastSignInAt", OUT_TIME_OR_NULL)
/* clang-format on */
#define OUT_PERSON_ROW_ALWAYS "\"id\",\"status\",\"userType\",\"lastSignInAt\""

#endif
