/* Attribution: from which source a person's membership of a group comes, and through which
 * groups. Person and group give the same answer: the path with the fewest groups, then the one
 * whose first membership has the strongest source, then by names. Reads the store; writes
 * nothing. */
#ifndef CORE_GOVERNANCE_ACCESS_H
#define CORE_GOVERNANCE_ACCESS_H

#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "core/governance/membership.h"

/* From strongest to weakest. */
typedef enum access_source {
    ACCESS_DYNAMIC,
    ACCESS_REQUEST,
    ACCESS_TEMPLATE,
    ACCESS_DIRECT,
    ACCESS_SOURCE_COUNT
} access_source;
extern const char
    *const governance_access_source_words[];          /* "dynamic_group" ..., NULL-terminated */
int governance_access_source_parse(const char *word); /* -1: none, every source */

typedef struct access_group {
    const char *directory, *id, *name, *name_key, *kind;
    int dynamic;
    const char *rule; /* of a dynamic group; NULL: not reported */
    int distance;     /* group's side: memberships from here to the resource */
    const struct access_group
        *next; /* group's side: the next group on the path to it; person's side: the previous one */
} access_group;

typedef struct access_grant {
    access_source source;
    int64_t at; /* when it was approved or a task assigned it; otherwise 0 */
    /* What granted it: the group with the rule, the request with its service, the template; of a
     * direct one the run that gave it with its workflow, or NULL. */
    const char *id, *name;
    const char *rule;        /* of the dynamic group */
    const char *approved_by; /* of the request */
    const char *task_id; /* of a direct one that a task gave; without `id` a rehire gave it back */
} access_grant;

/* One row of a result. */
typedef struct access_row {
    const access_group *group; /* the resource */
    access_grant grant;        /* of the first membership on the path */
    int inherited;
    const access_group *const *via;
    int via_count;
} access_row;

/* The accounts of one person. */
typedef struct access_person {
    const char *id, *other_id; /* other_id NULL: one account */
    const char *upn_key;       /* NULL: none */
} access_person;

/* What governance granted to a set of people. A grant explains a membership only while the
 * membership has lasted since: if a synchronisation or a task has seen it removed (access_end),
 * or a task had to add it again, earlier grants no longer explain it. */
typedef struct access_facts access_facts;
ida_kind governance_access_facts_load(access_facts **facts, store *s, ida_ctx *c,
                                      const char *tenant, const access_person *people, int count);
ida_kind governance_access_attribute(access_facts *facts, ida_ctx *c, const access_person *person,
                                     const access_group *group, access_grant *grant);

/* Every group that contains the person, directly or through other groups to any depth; direct
 * ones first, then by name. */
ida_kind governance_access_of_user(store *s, ida_ctx *c, const char *tenant, const ida_user *user,
                                   const access_row **rows, int *count);

/* --- from the group's side (core/governance/access_resource.c) --- */

typedef struct access_member {
    int64_t number;                                   /* order of the list */
    const char *id, *upn, *display_name, *department; /* the person */
    int known, enabled, guest;                        /* known 0: the cache has only the ID (yet) */
    access_row row;
} access_member;

typedef struct access_query {
    const char *tenant;
    const ida_group *resource;
    int source;    /* access_source, -1: all */
    int inherited; /* page begins after (inherited, after); both 0 for the first page */
    int64_t after;
    int limit;
    int64_t count_max; /* a total is counted to this; 0: it is not wanted */
} access_query;

/* Everyone in the group, those directly in it first. *more: there are further ones. *total only
 * when wanted. */
ida_kind governance_access_to_resource(store *s, ida_ctx *c, const access_query *query,
                                       const access_member **rows, int *count, int *more,
                                       int64_t *total);

/* For both sides. */
int governance_access_group_order(const access_group *a,
                                  const access_group *b); /* by name, then ID */
/* JSON array of `count` texts. */
const char *governance_access_list(apr_pool_t *pool, const char *const *texts, int count);

#endif
