/* Memberships in both directions, and what governance knows of how people came into groups. Role DB_REQUEST. Lists of IDs are JSON arrays. */
#ifndef CORE_GOVERNANCE_MEMBERSHIP_H
#define CORE_GOVERNANCE_MEMBERSHIP_H

#include "core/store/store.h"

/* A direct membership with the group that it leads to: upwards the holder, downwards the member. */
typedef struct store_edge {
    const char *directory, *member_id, *group_id;
    const char *name, *name_key, *kind; /* of the group it leads to */
    int dynamic;                        /* a rule of the directory decides who is in it */
} store_edge;

/* Groups that hold the members `ids` ("user" or "group") directly. */
ida_kind store_access_up(store *s, ida_ctx *c, const char *tenant, const char *member_kind, const char *ids, const store_edge **rows, int *count);
/* Groups directly in the groups `ids`. */
ida_kind store_access_down(store *s, ida_ctx *c, const char *tenant, const char *directory, const char *ids, const store_edge **rows, int *count);

typedef struct store_member {
    const char *id, *upn, *display_name, *upn_key; /* all but id NULL: the cache does not know this member (yet) */
    int shadow;                                    /* 1: the cloud has this person too, see store_access_twins */
    int64_t number;                                /* order of the lists; above 0 */
} store_member;

/* People directly in a group, behind the number `after`. */
ida_kind store_access_direct(store *s, ida_ctx *c, const char *tenant, const char *directory, const char *group, int64_t after, int limit,
                             const store_member **rows, int *count);
/* People in the groups `within` who are not directly in `group`, each once. */
ida_kind store_access_inherited(store *s, ida_ctx *c, const char *tenant, const char *directory, const char *group, const char *within, int64_t after,
                                int limit, const store_member **rows, int *count);
ida_kind store_access_inherited_count(store *s, ida_ctx *c, const char *tenant, const char *directory, const char *group, const char *within,
                                      int64_t *total);

typedef struct store_pair {
    const char *member, *group;
} store_pair;

/* Which of the groups hold which of the people directly. */
ida_kind store_access_roots(store *s, ida_ctx *c, const char *tenant, const char *directory, const char *people, const char *groups,
                            const store_pair **rows, int *count);

typedef struct store_twin {
    const char *own, *id, *upn, *display_name, *upn_key; /* own: ID in the premises; the rest is the cloud's row */
} store_twin;

/* The best match of each comes first. */
ida_kind store_access_twins(store *s, ida_ctx *c, const char *tenant, const char *ids, const store_twin **rows, int *count);

/* Approved requests and assigned templates of people: by account, or by UPN where the account was not known when it was noted. */
typedef struct store_approval {
    const char *user_id, *person, *id, *service, *group_id, *group_name;
    int64_t decided_at;
} store_approval;

typedef struct store_assigned {
    const char *user_id, *person, *template_id;
} store_assigned;

typedef struct store_granting {
    const char *id, *name, *groups; /* groups: JSON array of IDs and names */
} store_granting;

ida_kind store_access_approvals(store *s, ida_ctx *c, const char *tenant, const char *ids, const char *keys, const store_approval **rows, int *count);
ida_kind store_access_assigned(store *s, ida_ctx *c, const char *tenant, const char *ids, const char *keys, const store_assigned **rows, int *count);
/* By name. */
ida_kind store_access_templates(store *s, ida_ctx *c, const char *tenant, const char *ids, const store_granting **rows, int *count);

#endif
