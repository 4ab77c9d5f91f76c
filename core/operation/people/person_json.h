/* People as members of results: one place for every operation that shows one. */
#ifndef CORE_OPERATION_PEOPLE_PERSON_JSON_H
#define CORE_OPERATION_PEOPLE_PERSON_JSON_H

#include "core/cache/people.h"
#include "core/cache/person.h"
#include "core/operation/schema.h"

/* What GET user always gives, of it what is populated in the directory. New references throughout.
 */
json_t *ida_user_json(const ida_user *u);
/* What the directory holds of a person; `licenses` is borrowed. */
json_t *ida_user_details_json(const ida_user *u, json_t *licenses);
/* One row of a list of people. */
json_t *ida_person_row_json(const cache_listed_person *p);
/* {id, userPrincipalName, displayName}; null where unknown. */
json_t *ida_person_json(const char *id, const char *upn, const char *display_name);
/* The same of a user; NULL: what was written down when there was one. */
json_t *ida_person_or_stored(const ida_user *user, const char *id, const char *upn);

/* Adds status and department to such a person; not `known`: null. */
void ida_person_standing(json_t *person, int known, int enabled, int guest, const char *department);
extern const ida_field ida_person_standing_members[];

/* Members of one person in full (core/operation/people/details.c), which are those that `fields=`
 * of GET user may ask for. */
extern const ida_field ida_person_detail_members[];
/* The user of GET user (core/operation/people/user.c). */
extern const ida_field ida_user_members[];
/* Members of such rows, and of a person mentioned beside the subject. */
extern const ida_field ida_person_row_members[], ida_person_members[];
extern const char *const ida_person_statuses[], *const ida_person_types[];

#endif
