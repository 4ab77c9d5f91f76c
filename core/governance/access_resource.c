/* Owns who has access to a resource and through which groups: the group's side of
 * core/governance/access.c. Must not know how results are presented. */
#include <apr_hash.h>
#include <apr_tables.h>
#include <string.h>

#include "core/base/text.h"
#include "core/cache/groups.h"
#include "core/governance/access.h"

#define ROUND 500 /* people examined together if only some of them are in the answer */

/* The resource and every group within it, to any depth. */
typedef struct below {
    apr_hash_t *groups; /* ID -> access_group */
    access_group *resource;
    const char *within; /* IDs of the groups within, without the resource, as JSON; NULL: none */
    const char *all;    /* with it */
} below;

/* For each group, pick the parent nearest to the resource; ties go to the first name. */
static ida_kind nest(below *b, store *s, ida_ctx *c, const char *tenant, const ida_group *resource)
{
    apr_pool_t *pool = c->pool;
    apr_array_header_t *order = apr_array_make(pool, 16, sizeof(const char *));
    const char *directory = ida_directory_name(resource->directory);
    b->groups = apr_hash_make(pool);
    b->resource = apr_pcalloc(pool, sizeof *b->resource);
    *b->resource = (access_group){.directory = directory,
                                  .id = resource->id,
                                  .name = resource->name,
                                  .name_key = ida_fold_search(pool, resource->name),
                                  .kind = resource->kind,
                                  .dynamic = strcmp(resource->kind, "dynamic") == 0 ||
                                             (resource->rule && *resource->rule),
                                  .rule = resource->rule};
    apr_hash_set(b->groups, resource->id, APR_HASH_KEY_STRING, b->resource);
    APR_ARRAY_PUSH(order, const char *) = resource->id;
    for (int from = 0; from < order->nelts;) {
        const governance_edge *edges;
        int count, to = order->nelts;
        const char *ids = governance_access_list(pool, (const char *const *)order->elts + from,
                                                 to - from);
        ida_kind kind = governance_membership_down(s, c, tenant, directory, ids, &edges, &count);
        if (kind) {
            return kind;
        }
        for (int i = 0; i < count; i++) {
            const governance_edge *e = &edges[i];
            const access_group *holder = apr_hash_get(b->groups, e->group_id, APR_HASH_KEY_STRING);
            access_group *g = apr_hash_get(b->groups, e->member_id, APR_HASH_KEY_STRING);
            if (!g) {
                g = apr_pcalloc(pool, sizeof *g);
                *g = (access_group){.directory = directory,
                                    .id = e->member_id,
                                    .name = e->name,
                                    .name_key = e->name_key,
                                    .kind = e->kind,
                                    .dynamic = e->dynamic,
                                    .rule = e->rule,
                                    .distance = holder->distance + 1,
                                    .next = holder};
                apr_hash_set(b->groups, g->id, APR_HASH_KEY_STRING, g);
                APR_ARRAY_PUSH(order, const char *) = g->id;
            } else if (g->distance == holder->distance + 1 &&
                       governance_access_group_order(holder, g->next) < 0) {
                g->next = holder;
            }
        }
        from = to;
    }
    b->all = governance_access_list(pool, (const char *const *)order->elts, order->nelts);
    b->within = order->nelts > 1
                    ? governance_access_list(pool, (const char *const *)order->elts + 1,
                                             order->nelts - 1)
                    : NULL;
    return IDA_OK;
}

/* --- one batch of members --- */

/* The person of each member: for an on-premises account that the cloud has too, the cloud's row. */
static ida_kind persons_of(store *s, ida_ctx *c, const char *tenant, const governance_member *rows,
                           int count, access_member *members, access_person *people)
{
    const char **shadows = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *shadows);
    apr_hash_t *twins = apr_hash_make(c->pool);
    const governance_twin *found;
    int shadow_count = 0, found_count = 0;
    for (int i = 0; i < count; i++) {
        if (rows[i].shadow) {
            shadows[shadow_count++] = rows[i].id;
        }
    }
    ida_kind kind = shadow_count
                        ? governance_membership_twins(
                              s, c, tenant, governance_access_list(c->pool, shadows, shadow_count),
                              &found, &found_count)
                        : IDA_OK;
    for (int i = found_count - 1; i >= 0; i--) { /* the best one is set last */
        apr_hash_set(twins, found[i].own, APR_HASH_KEY_STRING, &found[i]);
    }
    for (int i = 0; i < count; i++) {
        const governance_twin *t = apr_hash_get(twins, rows[i].id, APR_HASH_KEY_STRING);
        members[i] = t ? (access_member){.number = rows[i].number,
                                         .id = t->id,
                                         .upn = t->upn,
                                         .display_name = t->display_name,
                                         .department = t->department,
                                         .known = 1,
                                         .enabled = t->enabled,
                                         .guest = t->guest}
                       : (access_member){.number = rows[i].number,
                                         .id = rows[i].id,
                                         .upn = rows[i].upn,
                                         .display_name = rows[i].display_name,
                                         .department = rows[i].department,
                                         .known = rows[i].known,
                                         .enabled = rows[i].enabled,
                                         .guest = rows[i].guest};
        people[i] = t ? (access_person){t->id, rows[i].id, t->upn_key}
                      : (access_person){rows[i].id, NULL, rows[i].upn_key};
    }
    return kind;
}

typedef struct root {
    const access_group *group;
    struct root *next;
} root;

/* Which groups on the path contain these people directly: member -> roots. */
static ida_kind roots_of(const below *b, store *s, ida_ctx *c, const char *tenant,
                         const governance_member *rows, int count, apr_hash_t *roots)
{
    const char **ids = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *ids);
    const governance_pair *pairs;
    int pair_count;
    for (int i = 0; i < count; i++) {
        ids[i] = rows[i].id;
    }
    ida_kind kind = governance_membership_roots(s, c, tenant, b->resource->directory,
                                                governance_access_list(c->pool, ids, count), b->all,
                                                &pairs, &pair_count);
    for (int i = 0; !kind && i < pair_count; i++) {
        root *r = apr_palloc(c->pool, sizeof *r);
        *r = (root){apr_hash_get(b->groups, pairs[i].group, APR_HASH_KEY_STRING),
                    apr_hash_get(roots, pairs[i].member, APR_HASH_KEY_STRING)};
        apr_hash_set(roots, pairs[i].member, APR_HASH_KEY_STRING, r);
    }
    return kind;
}

static ida_kind way_of(const below *b, ida_ctx *c, access_facts *facts, const access_person *person,
                       const root *roots, access_row *row)
{
    const access_group *best = NULL;
    access_grant best_grant = {0};
    for (const root *r = roots; r; r = r->next) {
        access_grant grant;
        if (!r->group || (best && r->group->distance > best->distance)) {
            continue;
        }
        ida_kind kind = governance_access_attribute(facts, c, person, r->group, &grant);
        if (kind) {
            return kind;
        }
        if (!best || r->group->distance < best->distance || grant.source < best_grant.source ||
            (grant.source == best_grant.source &&
             governance_access_group_order(r->group, best) < 0)) {
            best = r->group;
            best_grant = grant;
        }
    }
    int depth = best ? best->distance : 0;
    const access_group **via = apr_palloc(c->pool, (apr_size_t)(depth + 1) * sizeof *via);
    for (int i = 0; i < depth; i++, best = best->next) {
        via[i] = best;
    }
    *row = (access_row){b->resource, best_grant, depth > 0, via, depth};
    return IDA_OK;
}

static ida_kind attribute_all(const below *b, store *s, ida_ctx *c, const char *tenant,
                              const governance_member *rows, int count, access_member *members)
{
    access_person *people = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *people);
    apr_hash_t *roots = apr_hash_make(c->pool);
    access_facts *facts = NULL;
    ida_kind kind = persons_of(s, c, tenant, rows, count, members, people);
    if (!kind) {
        kind = governance_access_facts_load(&facts, s, c, tenant, people, count);
    }
    if (!kind) {
        kind = roots_of(b, s, c, tenant, rows, count, roots);
    }
    for (int i = 0; !kind && i < count; i++) {
        kind = way_of(b, c, facts, &people[i], apr_hash_get(roots, rows[i].id, APR_HASH_KEY_STRING),
                      &members[i].row);
    }
    return kind;
}

/* --- all of them --- */

/* Without a filter both numbers are in the cache's own hands. */
static ida_kind count_all(const below *b, store *s, ida_ctx *c, const access_query *q,
                          int64_t *total)
{
    const governance_edge *nested;
    int nested_count;
    const char *ids[] = {q->resource->id};
    int64_t inherited = 0;
    ida_kind kind = governance_membership_down(s, c, q->tenant, b->resource->directory,
                                               governance_access_list(c->pool, ids, 1), &nested,
                                               &nested_count);
    if (!kind && b->within) {
        const governance_group group = {.tenant = q->tenant,
                                        .directory = b->resource->directory,
                                        .id = q->resource->id,
                                        .within = b->within};
        kind = governance_membership_inherited_count(s, c, &group, q->count_max, &inherited);
    }
    *total = q->resource->member_count - (kind ? 0 : nested_count) + inherited;
    return kind;
}

ida_kind governance_access_to_resource(store *s, ida_ctx *c, const access_query *q,
                                       const access_member **out, int *count, int *more,
                                       int64_t *total)
{
    below b;
    access_member *kept = apr_palloc(c->pool, (apr_size_t)(q->limit + 1) * sizeof *kept);
    int inherited = q->inherited, filtered = q->source >= 0, found = 0;
    int64_t seen = 0;
    ida_kind kind = nest(&b, s, c, q->tenant, q->resource);
    if (kind) {
        return kind;
    }
    governance_group group = {.tenant = q->tenant,
                              .directory = b.resource->directory,
                              .id = b.resource->id,
                              .within = b.within,
                              .after = q->after};
    int counting = q->count_max && filtered;
    if (q->count_max && !filtered) {
        kind = count_all(&b, s, c, q, &seen);
    }
    while (!kind && inherited < 2 && (found <= q->limit || (counting && seen < q->count_max))) {
        const governance_member *rows;
        int row_count = 0;
        group.limit = filtered ? ROUND : q->limit + 1 - found;
        kind = !inherited ? governance_membership_direct(s, c, &group, &rows, &row_count)
               : b.within ? governance_membership_inherited(s, c, &group, &rows, &row_count)
                          : IDA_OK;
        if (kind) {
            return kind;
        }
        access_member *members = apr_palloc(c->pool, (apr_size_t)(row_count + 1) * sizeof *members);
        kind = row_count ? attribute_all(&b, s, c, q->tenant, rows, row_count, members) : IDA_OK;
        for (int i = 0; !kind && i < row_count; i++) {
            if (!filtered || (int)members[i].row.grant.source == q->source) {
                seen += counting;
                if (found <= q->limit) {
                    kept[found++] = members[i];
                }
            }
        }
        if (row_count < group.limit) {
            inherited++;
            group.after = 0;
        } else {
            group.after = rows[row_count - 1].number;
        }
    }
    *out = kept;
    *more = found > q->limit;
    *count = found > q->limit ? q->limit : found;
    *total = seen;
    return kind;
}
