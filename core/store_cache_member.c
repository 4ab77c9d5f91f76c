/* Owns memberships: members named by ID or DN, those that wait for their entry, those that go, what the worker wrote itself. Must not know how
 * a run is staged. */
#include <apr_strings.h>
#include <string.h>

#include "core/store_cache.h"

#define SETTLE 500

/* --- members that come --- */

/* Rows among `pairs` (group ID, DN key) that a statement did not settle take the place of all. */
static ida_kind by_dn(cache_at *at, ida_ctx *c, db_statement statement, const db_arg *fixed, size_t fixed_count, const char **pairs, int *count)
{
    unsigned char *done = apr_pcalloc(c->pool, (apr_size_t)*count + 1);
    ida_kind kind = cache_bulk(at, c, statement, fixed, fixed_count, pairs, 2, *count, done);
    int left = 0;
    for (int i = 0; i < *count; i++) {
        if (!done[i]) {
            pairs[2 * left] = pairs[2 * i];
            pairs[2 * left++ + 1] = pairs[2 * i + 1];
        }
    }
    *count = left;
    return kind;
}

ida_kind cache_members_add(cache_at *at, ida_ctx *c, const char *const *pairs, int count)
{
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_I(cache_horizon(at, c))};
    const char **ids = apr_palloc(c->pool, (apr_size_t)(count + 1) * 3 * sizeof *ids), **dns = apr_palloc(c->pool, (apr_size_t)(count + 1) * 2 * sizeof *dns);
    int id_count = 0, dn_count = 0;
    for (int i = 0; i < count; i++) {
        const char *group = pairs[2 * i], *item = pairs[2 * i + 1];
        if (*item == 'd') {
            dns[2 * dn_count] = group;
            dns[2 * dn_count++ + 1] = item + 1;
        } else {
            const char **row = ids + 3 * id_count++;
            row[0] = group;
            row[1] = item + 1;
            row[2] = *item == 'g' ? "group" : "user";
        }
    }
    ida_kind kind = id_count ? cache_bulk(at, c, STMT_member_by_id, fixed, 4, ids, 3, id_count, NULL) : IDA_OK;
    if (!kind && dn_count) {
        kind = by_dn(at, c, STMT_user_by_dn, fixed, 4, dns, &dn_count);
    }
    if (!kind && dn_count) {
        kind = by_dn(at, c, STMT_group_by_dn, fixed, 4, dns, &dn_count);
    }
    return kind || !dn_count ? kind : cache_bulk(at, c, STMT_member_waits, fixed, 2, dns, 2, dn_count, NULL);
}

static ida_kind appeared(cache_at *at, ida_ctx *c, const char *ids, db_statement waiting, db_statement insert, db_statement resolved)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_anybody_waits, DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), &r);
    if (!kind && r.rows) {
        kind = store_read(at->s, c, waiting, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(ids)), &r);
    }
    if (kind || !r.rows) {
        return kind;
    }
    kind = cache_by_list(at, c, insert, ids);
    if (!kind) {
        kind = cache_by_list(at, c, resolved, ids);
    }
    return kind ? kind : cache_by_list(at, c, STMT_group_recount, cache_list(c->pool, cache_column(c->pool, &r, 0, 0, r.rows), r.rows));
}

ida_kind cache_groups_resolve(cache_at *at, ida_ctx *c, const char *ids)
{
    return appeared(at, c, ids, STMT_waiting_for_group, STMT_appeared_group, STMT_resolved_group);
}

ida_kind cache_members_resolve(cache_at *at, ida_ctx *c, const char *ids)
{
    return appeared(at, c, ids, STMT_waiting_for_user, STMT_appeared_user, STMT_resolved_user);
}

/* --- members that go --- */

static ida_kind drop_pairs(cache_at *at, ida_ctx *c, const char *pairs)
{
    static const db_statement in_order[] = {STMT_pairs_agree, STMT_pairs_hold, STMT_pairs_drop};
    int64_t horizon = cache_horizon(at, c);
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < sizeof in_order / sizeof *in_order; i++) {
        kind = store_write(at->s, c, in_order[i], DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(pairs), DB_I(horizon)), NULL);
    }
    return kind;
}

/* DN key -> ID of a user, else of a group. */
static ida_kind owners_of(cache_at *at, ida_ctx *c, const char *const *keys, int count, apr_hash_t **owners)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_dn_owners, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(cache_list(c->pool, keys, count))), &r);
    *owners = apr_hash_make(c->pool);
    for (int row = 0; !kind && row < r.rows; row++) {
        if (!apr_hash_get(*owners, db_text(&r, row, 0), APR_HASH_KEY_STRING)) {
            apr_hash_set(*owners, db_text(&r, row, 0), APR_HASH_KEY_STRING, db_text(&r, row, 1));
        }
    }
    return kind;
}

ida_kind cache_members_remove(cache_at *at, ida_ctx *c, const char *const *pairs, int count)
{
    const char **gone = apr_palloc(c->pool, (apr_size_t)(count + 1) * 2 * sizeof *gone), **waiting = apr_palloc(c->pool, (apr_size_t)(count + 1) * 2 * sizeof *waiting),
               **keys = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *keys);
    apr_hash_t *owners = NULL;
    int gone_count = 0, waiting_count = 0;
    for (int i = 0; i < count; i++) {
        const char *item = pairs[2 * i + 1];
        if (*item == 'd') {
            waiting[2 * waiting_count] = pairs[2 * i];
            waiting[2 * waiting_count + 1] = keys[waiting_count] = item + 1;
            waiting_count++;
        }
    }
    ida_kind kind = waiting_count ? owners_of(at, c, keys, waiting_count, &owners) : IDA_OK;
    for (int i = 0; !kind && i < count; i++) {
        const char *item = pairs[2 * i + 1], *id = *item == 'd' ? apr_hash_get(owners, item + 1, APR_HASH_KEY_STRING) : item + 1;
        if (id) {
            gone[2 * gone_count] = pairs[2 * i];
            gone[2 * gone_count++ + 1] = id;
        }
    }
    if (!kind && gone_count) {
        kind = drop_pairs(at, c, cache_pairs(c->pool, gone, gone_count));
    }
    return kind || !waiting_count ? kind : cache_by_list(at, c, STMT_unresolved_pairs, cache_pairs(c->pool, waiting, waiting_count));
}

ida_kind cache_lists_begin(cache_at *at, ida_ctx *c, const char *ids)
{
    ida_kind kind = cache_by_list(at, c, STMT_list_agree, ids);
    return kind ? kind : cache_by_list(at, c, STMT_unresolved_of_groups, ids);
}

ida_kind cache_members_drop(cache_at *at, ida_ctx *c, const char *ids, int all, int slice, int *left)
{
    db_result r;
    ida_kind kind;
    if (all) {
        kind = store_write(at->s, c, STMT_membership_of_groups, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(ids), DB_I(slice)), &r);
    } else {
        const db_arg args[] = {DB_T(at->tenant), DB_T(at->directory), DB_T(ids), DB_I(at->staged), DB_I(cache_horizon(at, c)), DB_I(slice)};
        kind = store_write(at->s, c, STMT_unnamed_hold, args, 5, NULL);
        kind = kind ? kind : store_write(at->s, c, STMT_unnamed_drop, args, 6, &r);
    }
    *left = !kind && r.changes >= slice;
    return kind;
}

/* --- what the worker wrote --- */

ida_kind cache_members_settle(cache_at *at, ida_ctx *c, int *left)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_settle_pairs,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(cache_horizon(at, c)), DB_I(SETTLE)), &r);
    *left = !kind && r.rows == SETTLE;
    if (kind || !r.rows) {
        return kind;
    }
    const char **values = apr_palloc(c->pool, (apr_size_t)r.rows * 2 * sizeof *values);
    for (int row = 0; row < r.rows; row++) {
        values[2 * row] = db_text(&r, row, 0);
        values[2 * row + 1] = db_text(&r, row, 1);
    }
    const char *pairs = cache_pairs(c->pool, values, r.rows);
    kind = cache_by_list(at, c, STMT_settle_delete, pairs);
    if (!kind) {
        kind = cache_by_list(at, c, STMT_settle_keep, pairs);
    }
    return kind ? kind : cache_by_list(at, c, STMT_group_recount, cache_list(c->pool, cache_column(c->pool, &r, 0, 0, r.rows), r.rows));
}
