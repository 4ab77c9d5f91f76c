/* Owns reading memberships and grants. Must not write, must not know how a source is told from
 * them. */
#include "core/governance/membership.h"

#include <string.h>

/* Rows of `r` as an array of `type` made by `of(r, i)`. */
#define ROWS(type, of)                                                           \
    do {                                                                         \
        type *all = apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof *all); \
        for (int i = 0; i < r.rows; i++) {                                       \
            all[i] = of(&r, i);                                                  \
        }                                                                        \
        *rows = all;                                                             \
        *count = r.rows;                                                         \
    } while (0)

static int is_dynamic(const char *kind, const char *rule)
{
    return strcmp(kind, "dynamic") == 0 || (rule && *rule);
}

static governance_edge up_of(const db_result *r, int i)
{
    return (governance_edge){db_text(r, i, 0),
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
    db_result r;
    ida_kind kind = store_read(s, c, STMT_access_up,
                               DB_ARGS(DB_T(tenant), DB_T(member_kind), DB_T(ids)), &r);
    *count = 0;
    if (!kind) {
        ROWS(governance_edge, up_of);
    }
    return kind;
}

static governance_edge down_of(const db_result *r, int i)
{
    return (governance_edge){NULL,
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
    db_result r;
    ida_kind kind = store_read(s, c, STMT_access_down,
                               DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(ids)), &r);
    *count = 0;
    if (!kind) {
        ROWS(governance_edge, down_of);
    }
    return kind;
}

static governance_member member_of(const db_result *r, int i)
{
    return (governance_member){db_text(r, i, 0), db_text(r, i, 1),     db_text(r, i, 2),
                               db_text(r, i, 3), db_int(r, i, 4) != 0, db_int(r, i, 5)};
}

ida_kind governance_membership_direct(store *s, ida_ctx *c, const char *tenant,
                                      const char *directory, const char *group, int64_t after,
                                      int limit, const governance_member **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(
        s, c, STMT_access_direct,
        DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(group), DB_I(after), DB_I(limit)), &r);
    *count = 0;
    if (!kind) {
        ROWS(governance_member, member_of);
    }
    return kind;
}

ida_kind governance_membership_inherited(store *s, ida_ctx *c, const char *tenant,
                                         const char *directory, const char *group,
                                         const char *within, int64_t after, int limit,
                                         const governance_member **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_access_inherited,
                               DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(group), DB_T(within),
                                       DB_I(after), DB_I(limit)),
                               &r);
    *count = 0;
    if (!kind) {
        ROWS(governance_member, member_of);
    }
    return kind;
}

ida_kind governance_membership_inherited_count(store *s, ida_ctx *c, const char *tenant,
                                               const char *directory, const char *group,
                                               const char *within, int64_t *total)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_access_inherited_count,
                               DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(group), DB_T(within)),
                               &r);
    *total = kind ? 0 : db_int(&r, 0, 0);
    return kind;
}

static governance_pair pair_of(const db_result *r, int i)
{
    return (governance_pair){db_text(r, i, 0), db_text(r, i, 1)};
}

ida_kind governance_membership_roots(store *s, ida_ctx *c, const char *tenant,
                                     const char *directory, const char *people, const char *groups,
                                     const governance_pair **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_access_roots,
                               DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(people), DB_T(groups)),
                               &r);
    *count = 0;
    if (!kind) {
        ROWS(governance_pair, pair_of);
    }
    return kind;
}

static governance_twin twin_of(const db_result *r, int i)
{
    return (governance_twin){db_text(r, i, 0), db_text(r, i, 2), db_text(r, i, 3), db_text(r, i, 4),
                             db_text(r, i, 5)};
}

ida_kind governance_membership_twins(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                     const governance_twin **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_access_twins, DB_ARGS(DB_T(tenant), DB_T(ids)), &r);
    *count = 0;
    if (!kind) {
        ROWS(governance_twin, twin_of);
    }
    return kind;
}

static governance_approval approval_of(const db_result *r, int i)
{
    return (governance_approval){db_text(r, i, 0), db_text(r, i, 1), db_text(r, i, 2),
                                 db_text(r, i, 3), db_text(r, i, 4), db_text(r, i, 5),
                                 db_int(r, i, 6)};
}

ida_kind governance_membership_approvals(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                         const char *keys, const governance_approval **rows,
                                         int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_access_requests,
                               DB_ARGS(DB_T(tenant), DB_T(ids), DB_T(keys)), &r);
    *count = 0;
    if (!kind) {
        ROWS(governance_approval, approval_of);
    }
    return kind;
}

static governance_assigned assigned_of(const db_result *r, int i)
{
    return (governance_assigned){db_text(r, i, 0), db_text(r, i, 1), db_text(r, i, 2)};
}

ida_kind governance_membership_assigned(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                        const char *keys, const governance_assigned **rows,
                                        int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_access_assignments,
                               DB_ARGS(DB_T(tenant), DB_T(ids), DB_T(keys)), &r);
    *count = 0;
    if (!kind) {
        ROWS(governance_assigned, assigned_of);
    }
    return kind;
}

static governance_granting granting_of(const db_result *r, int i)
{
    return (governance_granting){db_text(r, i, 0), db_text(r, i, 1), db_text(r, i, 2)};
}

ida_kind governance_membership_templates(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                         const governance_granting **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_access_templates, DB_ARGS(DB_T(tenant), DB_T(ids)), &r);
    *count = 0;
    if (!kind) {
        ROWS(governance_granting, granting_of);
    }
    return kind;
}
