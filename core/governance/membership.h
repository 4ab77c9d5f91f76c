/* Memberships in both directions, and what governance knows about their origin. Role DB_REQUEST.
 * Lists of IDs are JSON arrays. */
#ifndef CORE_GOVERNANCE_MEMBERSHIP_H
#define CORE_GOVERNANCE_MEMBERSHIP_H

#include "core/store/store.h"

/* A direct membership with the group that it leads to: upwards the holder, downwards the member. */
typedef struct governance_edge {
    const char *directory, *member_id, *group_id;
    const char *name, *name_key, *kind; /* of the group it leads to */
    int dynamic;                        /* 1: a rule of the directory decides the membership */
    const char *rule;                   /* that rule; NULL: not reported */
} governance_edge;

/* Groups that contain the members `ids` ("user" or "group") directly. */
ida_kind governance_membership_up(store *s, ida_ctx *c, const char *tenant, const char *member_kind,
                                  const char *ids, const governance_edge **rows, int *count);
/* Groups directly in the groups `ids`. */
ida_kind governance_membership_down(store *s, ida_ctx *c, const char *tenant, const char *directory,
                                    const char *ids, const governance_edge **rows, int *count);

typedef struct governance_member {
    const char *id, *upn, *display_name, *upn_key,
        *department; /* all but id NULL: the cache does not know this member (yet) */
    int known, enabled, guest;
    int shadow;     /* 1: the cloud has this person too, see governance_membership_twins */
    int64_t number; /* order of the lists; above 0 */
} governance_member;

/* A group whose members are read, in pages. */
typedef struct governance_group {
    const char *tenant, *directory, *id;
    const char *within; /* JSON array of the groups in it; NULL: there is none */
    int64_t after;      /* number of the member before the page */
    int limit;
} governance_group;

/* Direct members of the group who are people. */
ida_kind governance_membership_direct(store *s, ida_ctx *c, const governance_group *group,
                                      const governance_member **rows, int *count);
/* People in the groups within who are not direct members of the group, each once. */
ida_kind governance_membership_inherited(store *s, ida_ctx *c, const governance_group *group,
                                         const governance_member **rows, int *count);
/* At most `most`. */
ida_kind governance_membership_inherited_count(store *s, ida_ctx *c, const governance_group *group,
                                               int64_t most, int64_t *total);

typedef struct governance_pair {
    const char *member, *group;
} governance_pair;

/* Which of the groups contain which of the people directly. */
ida_kind governance_membership_roots(store *s, ida_ctx *c, const char *tenant,
                                     const char *directory, const char *people, const char *groups,
                                     const governance_pair **rows, int *count);

typedef struct governance_twin {
    const char *own, *id, *upn, *display_name, *upn_key,
        *department; /* own: ID in the premises; the rest is the cloud's row */
    int enabled, guest;
} governance_twin;

/* The best match for each comes first. */
ida_kind governance_membership_twins(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                     const governance_twin **rows, int *count);

/* Approved requests and assigned templates of people: by account, or by UPN where the account was
 * not known when it was noted. */
typedef struct governance_approval {
    const char *user_id, *person, *id, *service, *group_id, *group_name, *decided_by;
    int64_t decided_at;
} governance_approval;

typedef struct governance_assigned {
    const char *user_id, *person, *template_id;
    int64_t at;
} governance_assigned;

typedef struct governance_granting {
    const char *id, *name, *groups; /* groups: JSON array of IDs and names */
} governance_granting;

ida_kind governance_membership_approvals(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                         const char *keys, const governance_approval **rows,
                                         int *count);
ida_kind governance_membership_assigned(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                        const char *keys, const governance_assigned **rows,
                                        int *count);
/* By name. */
ida_kind governance_membership_templates(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                         const governance_granting **rows, int *count);

/* What tasks put the accounts `ids` into: actions of workflows, and rehires. */
typedef struct governance_gift {
    const char *user_id, *task_id;
    const char *run_id, *workflow; /* NULL: of a rehire */
    const char *progress;          /* of the task, JSON: actionsGave {group ID: {workflow, at}} */
} governance_gift;
ida_kind governance_membership_gifts(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                     const governance_gift **rows, int *count);

/* Something happened to an account's membership of a group. */
typedef struct governance_moment {
    const char *user_id, *group_id;
    const char
        *source_id; /* template or request that was carried out; NULL: the membership ended */
    int64_t at;
} governance_moment;
ida_kind governance_membership_carried_out(store *s, ida_ctx *c, const char *tenant,
                                           const char *ids, const governance_moment **rows,
                                           int *count);
/* Groups that templates and requests granted to the accounts `ids`, and that the directory does not
 * show any more. */
typedef struct governance_missing {
    const char *id, *name, *source, *source_name; /* "template" or "request", and its name */
} governance_missing;
ida_kind governance_membership_missing(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                       const governance_missing **rows, int *count);
ida_kind governance_membership_ends(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                    const governance_moment **rows, int *count);

#endif
