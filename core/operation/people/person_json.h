/* People as members of results, for every operation that shows one. */
#ifndef CORE_OPERATION_PEOPLE_PERSON_JSON_H
#define CORE_OPERATION_PEOPLE_PERSON_JSON_H

#include "core/base/json_row.h"
#include "core/cache/people.h"
#include "core/cache/person.h"
#include "core/operation/schema.h"

/* The members that GET user always gives, without those that are empty in the directory. All
 * references are new. */
json_t *ida_user_json(const ida_user *u);
/* All that the directory holds about a person; `licenses` is borrowed. */
json_t *ida_user_details_json(const ida_user *u, json_t *licenses);
/* Begins one row of a list of people, whose texts are cut at `max` bytes (0: not cut). */
void ida_person_row_begin(ida_json_row *row, apr_pool_t *pool, const cache_listed_person *p,
                          size_t max);
/* {id, userPrincipalName, displayName}; null if unknown. */
json_t *ida_person_json(const char *id, const char *upn, const char *display_name);
/* The same for a user; NULL: from the values that were stored while the account existed. */
json_t *ida_person_or_stored(const ida_user *user, const char *id, const char *upn);

/* Adds status and department to such a person; if not `known`, null. */
void ida_person_standing(json_t *person, int known, int enabled, int guest, const char *department);
extern const ida_field ida_person_standing_members[];

/* Members of one person in full (core/operation/people/details.c), which are also the values of
 * `fields=` of GET user. */
extern const ida_field ida_person_detail_members[];
/* The user in the answer of GET user (core/operation/people/user.c). */
extern const ida_field ida_user_members[];
/* Members of such rows, and of a person mentioned in another object. */
extern const ida_field ida_person_row_members[], ida_person_members[];
extern const char *const ida_person_statuses[], *const ida_person_types[];

#endif
