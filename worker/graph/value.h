/* Users, groups and members as the API shows them, in a page of changes as in a single read, and as
 * the cache takes them: the one place where they are decoded. Texts of a value are borrowed from
 * the JSON. A value of another type than the API's reads as absent. */
#ifndef WORKER_GRAPH_VALUE_H
#define WORKER_GRAPH_VALUE_H

#include <jansson.h>

#include "worker/graph/call.h"

#define GRAPH_PROPERTY(column, name, listed, property, ...) property ","
#define GRAPH_USER_SELECT                                                           \
    "id," IDA_PERSON(GRAPH_PROPERTY) "accountEnabled,userType,createdDateTime,"     \
                                     "onPremisesSyncEnabled,onPremisesImmutableId," \
                                     "assignedLicenses,proxyAddresses"

/* Its lists are allocated in `pool`; licences by skuPartNumber if it is known, otherwise by
 * skuId. Properties missing in the JSON (licences, manager, sign-ins) are marked as not
 * reported. 0: it has no ID. */
int graph_user_value(const graph *g, apr_pool_t *pool, const json_t *json, cache_user *user);
/* Of a user's signInActivity; NULL: never. */
cache_sign_in_list graph_sign_ins_value(const json_t *activity);

#define GRAPH_GROUP_SELECT                                                              \
    "id,displayName,description,groupTypes,securityEnabled,mailEnabled,membershipRule," \
    "membershipRuleProcessingState,"                                                    \
    "onPremisesSyncEnabled,isAssignableToRole,isManagementRestricted,assignedLicenses"

/* 0: it has no ID. */
int graph_group_value(const json_t *json, cache_group *group);
/* NULL if members of the group can be changed here, otherwise why not, for people. */
const char *graph_group_retained(const json_t *group);

/* A member of a group. A device or application becomes a member that matches no cached entry:
 * the group is not empty, but no person has access through it. 0: it has no ID. */
int graph_member_value(const json_t *json, cache_member *member);

/* --- licences (worker/graph/license.c) --- */

/* Reads the directory's licences unless that was done recently; `force`: in any case. Their
 * names are then valid for the whole process. */
directory_class graph_license_load(graph_call *k, int force);
/* Part number of a SKU, copied into `pool`; `sku_id` itself while it is not known. */
const char *graph_license_name(const graph *g, apr_pool_t *pool, const char *sku_id);

#endif
