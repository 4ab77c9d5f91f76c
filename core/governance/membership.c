/* Owns reading memberships and grants. Must not write or know how a source is derived from them. */
#include "core/governance/membership.h"

#include <string.h>

#include "core/store/rows.h"

static int is_dynamic(const char *kind, const char *rule)
{
    return strcmp(kind, "dynamic") == 0 || (rule && *rule);
}

STORE_FILL(up_of, governance_edge, edge_up, row->directory.text, row->member_id.text, row->id.text,
           row->name.text, row->name_key.text, row->kind.text,
           is_dynamic(row->kind.text, row->rule.text), row->rule.text)

ida_kind governance_membership_up(store *s, ida_ctx *c, const char *tenant, const char *member_kind,
                                  const char *ids, const governance_edge **rows, int *count)
{
    return store_rows(s, c, STMT_access_up, DB_ARGS(DB_T(tenant), DB_T(member_kind), DB_T(ids)),
                      up_of, sizeof **rows, rows, count);
}

STORE_FILL(down_of, governance_edge, edge_down, NULL, row->id.text, row->group_id.text,
           row->name.text, row->name_key.text, row->kind.text,
           is_dynamic(row->kind.text, row->rule.text), row->rule.text)

ida_kind governance_membership_down(store *s, ida_ctx *c, const char *tenant, const char *directory,
                                    const char *ids, const governance_edge **rows, int *count)
{
    return store_rows(s, c, STMT_access_down, DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(ids)),
                      down_of, sizeof **rows, rows, count);
}

STORE_FILL(member_of, governance_member, member, .id = row->id.text, .upn = row->upn.text,
           .display_name = row->display_name.text, .upn_key = row->upn_key.text,
           .department = row->department.text, .known = row->shadow.text != NULL,
           .enabled = row->enabled.number != 0, .guest = row->guest.number != 0,
           .shadow = row->shadow.number != 0, .number = row->member_no.number)

ida_kind governance_membership_direct(store *s, ida_ctx *c, const governance_group *group,
                                      const governance_member **rows, int *count)
{
    return store_rows(s, c, STMT_access_direct,
                      DB_ARGS(DB_T(group->tenant), DB_T(group->directory), DB_T(group->id),
                              DB_I(group->after), DB_I(group->limit)),
                      member_of, sizeof **rows, rows, count);
}

ida_kind governance_membership_inherited(store *s, ida_ctx *c, const governance_group *group,
                                         const governance_member **rows, int *count)
{
    return store_rows(s, c, STMT_access_inherited,
                      DB_ARGS(DB_T(group->tenant), DB_T(group->directory), DB_T(group->id),
                              DB_T(group->within), DB_I(group->after), DB_I(group->limit)),
                      member_of, sizeof **rows, rows, count);
}

ida_kind governance_membership_inherited_count(store *s, ida_ctx *c, const governance_group *group,
                                               int64_t most, int64_t *total)
{
    return store_number(s, c, STMT_access_inherited_count,
                        DB_ARGS(DB_T(group->tenant), DB_T(group->directory), DB_T(group->id),
                                DB_T(group->within), DB_I(most)),
                        total);
}

STORE_FILL(pair_of, governance_pair, root, row->user_id.text, row->group_id.text)

ida_kind governance_membership_roots(store *s, ida_ctx *c, const char *tenant,
                                     const char *directory, const char *people, const char *groups,
                                     const governance_pair **rows, int *count)
{
    return store_rows(s, c, STMT_access_roots,
                      DB_ARGS(DB_T(tenant), DB_T(directory), DB_T(people), DB_T(groups)), pair_of,
                      sizeof **rows, rows, count);
}

STORE_FILL(twin_of, governance_twin, twin, row->own.text, row->id.text, row->upn.text,
           row->display_name.text, row->upn_key.text, row->department.text,
           row->enabled.number != 0, row->guest.number != 0)

ida_kind governance_membership_twins(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                     const governance_twin **rows, int *count)
{
    return store_rows(s, c, STMT_access_twins, DB_ARGS(DB_T(tenant), DB_T(ids)), twin_of,
                      sizeof **rows, rows, count);
}

STORE_FILL(approval_of, governance_approval, granted_request, row->user_id.text, row->person.text,
           row->id.text, row->service.text, row->group_id.text, row->group_name.text,
           row->decided_by.text, row->decided_at.number)

ida_kind governance_membership_approvals(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                         const char *keys, const governance_approval **rows,
                                         int *count)
{
    return store_rows(s, c, STMT_access_requests, DB_ARGS(DB_T(tenant), DB_T(ids), DB_T(keys)),
                      approval_of, sizeof **rows, rows, count);
}

STORE_FILL(assigned_of, governance_assigned, granted_role, row->user_id.text, row->person.text,
           row->template_id.text, row->assigned_at.number)

ida_kind governance_membership_assigned(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                        const char *keys, const governance_assigned **rows,
                                        int *count)
{
    return store_rows(s, c, STMT_access_assignments, DB_ARGS(DB_T(tenant), DB_T(ids), DB_T(keys)),
                      assigned_of, sizeof **rows, rows, count);
}

STORE_FILL(granting_of, governance_granting, template_groups, row->id.text, row->name.text,
           row->groups.text)

ida_kind governance_membership_templates(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                         const governance_granting **rows, int *count)
{
    return store_rows(s, c, STMT_access_templates, DB_ARGS(DB_T(tenant), DB_T(ids)), granting_of,
                      sizeof **rows, rows, count);
}

STORE_FILL(given_of, governance_gift, given, row->user_id.text, row->task_id.text, row->run_id.text,
           row->workflow.text, row->progress.text)

ida_kind governance_membership_gifts(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                     const governance_gift **rows, int *count)
{
    return store_rows(s, c, STMT_access_given, DB_ARGS(DB_T(tenant), DB_T(ids)), given_of,
                      sizeof **rows, rows, count);
}

STORE_FILL(carried_out_of, governance_moment, granted_at, row->user_id.text, row->item.text,
           row->source_id.text, row->at.number)

ida_kind governance_membership_carried_out(store *s, ida_ctx *c, const char *tenant,
                                           const char *ids, const governance_moment **rows,
                                           int *count)
{
    return store_rows(s, c, STMT_access_carried_out, DB_ARGS(DB_T(tenant), DB_T(ids)),
                      carried_out_of, sizeof **rows, rows, count);
}

STORE_FILL(missing_of, governance_missing, access_missing, row->id.text, row->name.text,
           row->source.text, row->source_name.text)

ida_kind governance_membership_missing(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                       const governance_missing **rows, int *count)
{
    return store_rows(s, c, STMT_access_missing, DB_ARGS(DB_T(tenant), DB_T(ids)), missing_of,
                      sizeof **rows, rows, count);
}

STORE_FILL(end_of, governance_moment, access_end, row->user_id.text, row->group_id.text, NULL,
           row->at.number)

ida_kind governance_membership_ends(store *s, ida_ctx *c, const char *tenant, const char *ids,
                                    const governance_moment **rows, int *count)
{
    return store_rows(s, c, STMT_access_ends, DB_ARGS(DB_T(tenant), DB_T(ids)), end_of,
                      sizeof **rows, rows, count);
}
