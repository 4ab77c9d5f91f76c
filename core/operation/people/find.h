/* How arguments find the objects that they name; refusals name the argument. */
#ifndef CORE_OPERATION_PEOPLE_FIND_H
#define CORE_OPERATION_PEOPLE_FIND_H

#include "core/cache/people.h"
#include "core/cache/person.h"
#include "core/operation/operation.h"

/* The argument `user`: object ID or UPN. IDA_NOT_FOUND names up to five people with similar
 * names. `licenses` may be NULL. */
ida_kind ida_op_find_user(ida_call *call, ida_user **user, json_t **licenses);
/* The same for another argument; the target of the call's audit record does not change. */
ida_kind ida_op_find_user_of(ida_call *call, const char *argument, ida_user **user,
                             json_t **licenses);

/* The group that the argument `member` names. IDA_NOT_FOUND and IDA_BAD_REQUEST (several groups
 * have that name) name up to five candidates with their IDs. */
ida_kind ida_op_find_group(ida_call *call, store *s, const char *member, ida_group **group);

/* Adds "name" (handle) to the candidates that a refusal names; 0: they would exceed `bytes_max`
 * bytes. Names come from the directory: they are quoted as JSON strings, so that a model can
 * distinguish them from our own words. */
int ida_op_candidate(ida_ctx *c, const char **named, const char *name, size_t name_max,
                     const char *handle, size_t bytes_max);

/* Words of a query into a filter. Number of words, -1: too many. */
int ida_people_words(apr_pool_t *pool, const char *query, cache_people_filter *filter);

#endif
