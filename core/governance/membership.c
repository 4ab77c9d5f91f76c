/* Owns reading memberships and grants. Must not write, must not know how a source is told from
 * them. */
#include "core/governance/membership.h"

#include <string.h>

#include "core/store/rows.h"

static int is_dynamic(const char *kind, const char *rule)
{
    return strcmp(kind, "dynamic") == 0 || (rule && *rule);
}

static void up_of(const db_result *r, int i, void *out)
{
    *(governance_edge *)out = (governance_edge){db_text(r, i, 0),
                                                db_text(r, i, 1),
                                                db_text(r, i, 2),
                                                db_text(r, i, 3),
                                                db_text(r, i, 4),
                                                db_text(r, i, 5),
                                                is_dynamic(db_text(r, i, 5), db_text(r, i, 6))};
}

ida_kind governance_membership_up(store *s, ida_ctx *c, const char *tenant, const char *member_kind,
                                  const char *ids, const governance_edge **rows, int *count)
{
    return store_rows(s, c, STMT_access_up, DB_ARGS(DB_T(tenant), DB_T(member_kind), DB_T(ids)),
                      up_of, sizeof **rows, rows, count);
}

static void down_of(const db_result *r, int i, void *out)
{
    *(governance_edge *)out = (governance_edge){NULL,
                                                db_text(r, i, 1),
                                                db_text(r, i, 0),
                                                db_text(r, i, 2),
                                                db_text(r, i, 3),
                                                db_text(r, i, 4),
                                                is_dynamic(db_text(r, i, 4), db_text(r, i, 5))};
}

ida_kind governance_membership_down(store *s, ida_ctx *c, const char *tenant, const char *directory,
                                    const char *ids, const governance_edge **rows, int *count)
{
    return store_rows(s, c, STMT_access_down, DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(ids)),
                      down_of, sizeof **rows, rows, count);
}

static void member_of(const db_result *r, int i, void *out)
{
    *(governance_member *)out = (governance_member){db_text(r, i, 0),     db_text(r, i, 1),
                                                    db_text(r, i, 2),     db_text(r, i, 3),
                                                    db_int(r, i, 4) != 0, db_int(r, i, 5)};
}

ida_kind governance_membership_direct(store *s, ida_ctx *c, const char *tenant,
                                      const char *directory, const char *group, int64_t after,
                                      int limit, const governance_member **rows, int *count)
{
    return store_rows(s, c, STMT_access_direct,
                      DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(group), DB_I(after), DB_I(limit)),
                      member_of, sizeof **rows, rows, count);
}

ida_kind governance_membership_inherited(store *s, ida_ctx *c, const char *tenant,
                                         const char *directory, const char *group,
                                         const char *within, int64_t after, int limit,
                                         const governance_member **rows, int *count)
{
    return store_rows(s, c, STMT_access_inherited,
                      DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(group), DB_T(within), DB_I(after),
                              DB_I(limit)),
                      member_of, sizeof **rows, rows, count);
}

ida_kind governance_membership_inherited_count(store *s, ida_ctx *c, const char *tenant,
                                               const char *directory, const char *group,
                                               const char *within, int64_t *total)
{
    return store_number(s, c, STMT_access_inherited_count,
                        DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(group), DB_T(within)), total);
}

static void pair_of(const db_result *r, int i, void *out)
{
    *(governance_pair *)out = (governance_pair){db_text(r, i, 0), db_text(r, i, 1)};
}

ida_kind governance_membership_roots(store *s, ida_ctx *c, const char *tenant,
                                     const char *directory, const char *people, const char *groups,
                                     const governance_pair **rows, int *count)
{
    return store_rows(s, c, STMT_access_roots,
                      DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(people), DB_T(groups)), pair_of,
                      sizeof **rows, rows, count);
}

static void twin_of(const db_result *r, int i, void *out)
{
    *(governance_twin *)out = (governance_twin){db_text(r, i, 0), db_text(r, i, 2),
                                                db_text(r, i, 3), db_text(r, i, 4),
                                                db_text(r, i, 5)};
}

ida_kind governance_membership_twins(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                     const governance_twin **rows, int *count)
{
    return store_rows(s, c, STMT_access_twins, DB_ARGS(DB_T(tenant), DB_T(ids)), twin_of,
                      sizeof **rows, rows, count);
}

static void approval_of(const db_result *r, int i, void *out)
{
    *(governance_approval *)out = (governance_approval){db_text(r, i, 0), db_text(r, i, 1),
                                                        db_text(r, i, 2), db_text(r, i, 3),
                                                        db_text(r, i, 4), db_text(r, i, 5),
                                                        db_int(r, i, 6)};
}

ida_kind governance_membership_approvals(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                         const char *keys, const governance_approval **rows,
                                         int *count)
{
    return store_rows(s, c, STMT_access_requests, DB_ARGS(DB_T(tenant), DB_T(ids), DB_T(keys)),
                      approval_of, sizeof **rows, rows, count);
}

static void assigned_of(const db_result *r, int i, void *out)
{
    *(governance_assigned *)out = (governance_assigned){db_text(r, i, 0), db_text(r, i, 1),
                                                        db_text(r, i, 2)};
}

ida_kind governance_membership_assigned(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                        const char *keys, const governance_assigned **rows,
                                        int *count)
{
    return store_rows(s, c, STMT_access_assignments, DB_ARGS(DB_T(tenant), DB_T(ids), DB_T(keys)),
                      assigned_of, sizeof **rows, rows, count);
}

static void granting_of(const db_result *r, int i, void *out)
{
    *(governance_granting *)out = (governance_granting){db_text(r, i, 0), db_text(r, i, 1),
                                                        db_text(r, i, 2)};
}

ida_kind governance_membership_templates(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                         const governance_granting **rows, int *count)
{
    return store_rows(s, c, STMT_access_templates, DB_ARGS(DB_T(tenant), DB_T(ids)), granting_of,
                      sizeof **rows, rows, count);
}
