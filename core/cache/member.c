/* Owns memberships: members named by ID or DN, members that wait for their entry, removals, and
 * the worker's own writes. Must not know how a run is staged. */
#include <stdlib.h>
#include <string.h>

#include "core/cache/rows.h"
#include "core/tenant/connector.h"

#define SETTLE 500
#define OWNERS 2000 /* DNs looked up at once */

/* Where a write shows at once, any run that began after it is newer. */
static int64_t horizon_of(const cache_at *at, const ida_ctx *c)
{
    return ida_connector_of(at->kind)->shows_writes ? ida_now(c->env) : cache_horizon(at, c);
}

/* --- members that come --- */

/* Resolves DN keys (each once) to IDs of users and groups. A key that both have belongs to the
 * user. */
static ida_kind dn_owners(cache_at *at, ida_ctx *c, const char *const *keys, int count,
                          apr_hash_t *users, apr_hash_t *groups)
{
    ida_kind kind = IDA_OK;
    for (int i = 0; !kind && i < count; i += OWNERS) {
        db_result r;
        int some = count - i < OWNERS ? count - i : OWNERS;
        kind = store_read(at->s, c, STMT_dn_owners,
                          DB_ARGS(DB_T(at->tenant), DB_T(at->directory),
                                  DB_T(cache_list(c->pool, keys + i, some))),
                          &r);
        for (int row = 0; !kind && row < r.rows; row++) {
            const row_dn_owner *owner = DB_ROW(dn_owner, &r, row);
            apr_hash_set(owner->is_group.number ? groups : users, owner->dn_key.text,
                         APR_HASH_KEY_STRING, owner->id.text);
        }
    }
    return kind;
}

typedef struct numbered {
    const db_value *group, *member; /* numbers */
    const char *nested;
} numbered;

static int by_numbers(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    int64_t left = x->group->number, right = y->group->number;
    if (left == right) {
        left = x->member->number;
        right = y->member->number;
    }
    return left == right ? strcmp(x->nested, y->nested) : left < right ? -1 : 1;
}

/* Memberships named by this run: rows of group, member, and "1" when the member is a group. They
 * are written in the order of their key, each once. */
static ida_kind put(cache_at *at, ida_ctx *c, int64_t run, const char *const *rows, int count)
{
    apr_size_t room = (apr_size_t)(count + 1);
    const char **texts = apr_palloc(c->pool, room * 3 * sizeof *texts);
    numbered *pairs = apr_palloc(c->pool, room * sizeof *pairs);
    apr_hash_t *numbers;
    for (int i = 0; i < count; i++) {
        texts[2 * i] = rows[3 * i];
        texts[2 * i + 1] = rows[3 * i + 1];
    }
    ida_kind kind = cache_entries(at, c, texts, 2 * count, &numbers);
    if (kind) {
        return kind;
    }
    for (int i = 0; i < count; i++) {
        pairs[i] = (numbered){apr_hash_get(numbers, rows[3 * i], APR_HASH_KEY_STRING),
                              apr_hash_get(numbers, rows[3 * i + 1], APR_HASH_KEY_STRING),
                              rows[3 * i + 2]};
    }
    qsort(pairs, (size_t)count, sizeof *pairs, by_numbers);
    int some = 0;
    for (int i = 0; i < count; i++) {
        const numbered *p = &pairs[i];
        if (!i || p->group != p[-1].group || p->member != p[-1].member) {
            texts[3 * some] = p->group->text;
            texts[3 * some + 1] = p->member->text;
            texts[3 * some++ + 2] = p->nested;
        }
    }
    const db_arg fixed[] = {DB_T(at->tenant), DB_I(run), DB_I(horizon_of(at, c))};
    return cache_bulk(at, c, STMT_members_put, fixed, 3, texts, 3, some);
}

ida_kind cache_members_add(cache_at *at, ida_ctx *c, const char *const *pairs, int count)
{
    apr_size_t room = (apr_size_t)(count + 1) * sizeof(char *);
    const char **rows = apr_palloc(c->pool, 3 * room), **waiting = apr_palloc(c->pool, 2 * room),
               **keys = apr_palloc(c->pool, room);
    apr_hash_t *users = apr_hash_make(c->pool), *groups = apr_hash_make(c->pool);
    int known = 0, key_count = 0, waiting_count = 0;
    for (int i = 0; i < count; i++) {
        const char *item = pairs[2 * i + 1];
        if (*item == 'd' && !apr_hash_get(users, item + 1, APR_HASH_KEY_STRING)) {
            apr_hash_set(users, item + 1, APR_HASH_KEY_STRING, "");
            keys[key_count++] = item + 1;
        }
    }
    apr_hash_clear(users);
    ida_kind kind = dn_owners(at, c, keys, key_count, users, groups);
    for (int i = 0; !kind && i < count; i++) {
        const char *group = pairs[2 * i], *item = pairs[2 * i + 1],
                   *user = *item == 'd' ? apr_hash_get(users, item + 1, APR_HASH_KEY_STRING) : NULL;
        const char *id = *item != 'd' ? item + 1
                         : user       ? user
                                      : apr_hash_get(groups, item + 1, APR_HASH_KEY_STRING);
        if (id) {
            rows[3 * known] = group;
            rows[3 * known + 1] = id;
            rows[3 * known++ + 2] = *item == 'g' || (*item == 'd' && !user) ? "1" : "0";
        } else {
            waiting[2 * waiting_count] = group;
            waiting[2 * waiting_count++ + 1] = item + 1;
        }
    }
    if (!kind && known) {
        kind = put(at, c, at->staged, rows, known);
    }
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory)};
    return kind || !waiting_count
               ? kind
               : cache_bulk(at, c, STMT_member_waits, fixed, 2, waiting, 2, waiting_count);
}

/* A list named these entries before they arrived, perhaps in an earlier run. */
static ida_kind appeared(cache_at *at, ida_ctx *c, const char *ids, int is_group)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_anybody_waits,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), &r);
    if (!kind && r.rows) {
        kind = store_read(at->s, c, is_group ? STMT_waiting_for_group : STMT_waiting_for_user,
                          DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(ids)), &r);
    }
    if (kind || !r.rows) {
        return kind;
    }
    const char **rows = apr_palloc(c->pool, (apr_size_t)r.rows * 3 * sizeof *rows);
    for (int row = 0; row < r.rows; row++) {
        const row_pair *pair = DB_ROW(pair, &r, row);
        rows[3 * row] = pair->group_id.text;
        rows[3 * row + 1] = pair->member_id.text;
        rows[3 * row + 2] = is_group ? "1" : "0";
    }
    kind = put(at, c, 0, rows, r.rows);
    if (!kind) {
        kind = cache_by_list(at, c, is_group ? STMT_resolved_group : STMT_resolved_user, ids);
    }
    /* The group named this DN some time ago and may have changed since without a report: read it
     * again. */
    const char *list = cache_list(c->pool,
                                  cache_column(c->pool, &r, DB_COLUMN(pair, group_id), 0, r.rows),
                                  r.rows);
    kind = kind ? kind : cache_by_list(at, c, STMT_group_touch, list);
    return kind ? kind : cache_by_list(at, c, STMT_group_recount, list);
}

ida_kind cache_groups_resolve(cache_at *at, ida_ctx *c, const char *ids)
{
    return appeared(at, c, ids, 1);
}

ida_kind cache_members_resolve(cache_at *at, ida_ctx *c, const char *ids)
{
    return appeared(at, c, ids, 0);
}

/* --- members that go --- */

/* Records people whose membership was removed: their grants of it have ended. */
static ida_kind note_lost(cache_at *at, ida_ctx *c, const db_result *dropped)
{
    const char **numbers = apr_palloc(c->pool,
                                      (apr_size_t)(dropped->rows + 1) * 2 * sizeof *numbers);
    int count = 0;
    for (int row = 0; row < dropped->rows; row++) {
        const row_dropped *one = DB_ROW(dropped, dropped, row);
        if (!one->nested.number && !one->removed.number) {
            numbers[2 * count] = one->group_no.text;
            numbers[2 * count++ + 1] = one->member_no.text;
        }
    }
    return count ? store_write(at->s, c, STMT_lost_numbers,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory),
                                       DB_T(cache_rows(c->pool, numbers, 2, count)),
                                       DB_I(at->started_at ? at->started_at : ida_now(c->env))),
                               NULL)
                 : IDA_OK;
}

static ida_kind drop_pairs(cache_at *at, ida_ctx *c, const char *pairs)
{
    static const db_statement in_order[] = {STMT_pairs_agree, STMT_pairs_shown, STMT_pairs_hold,
                                            STMT_pairs_drop};
    int64_t horizon = horizon_of(at, c);
    db_result r = {0};
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < sizeof in_order / sizeof *in_order; i++) {
        kind = store_write(at->s, c, in_order[i],
                           DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                                   DB_T(pairs), DB_I(horizon)),
                           &r);
    }
    return kind ? kind : note_lost(at, c, &r);
}

ida_kind cache_members_remove(cache_at *at, ida_ctx *c, const char *const *pairs, int count)
{
    const char **gone = apr_palloc(c->pool, (apr_size_t)(count + 1) * 2 * sizeof *gone),
               **waiting = apr_palloc(c->pool, (apr_size_t)(count + 1) * 2 * sizeof *waiting),
               **keys = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *keys);
    apr_hash_t *users = apr_hash_make(c->pool), *groups = apr_hash_make(c->pool);
    int gone_count = 0, waiting_count = 0;
    for (int i = 0; i < count; i++) {
        const char *item = pairs[2 * i + 1];
        if (*item == 'd') {
            waiting[2 * waiting_count] = pairs[2 * i];
            waiting[2 * waiting_count + 1] = keys[waiting_count] = item + 1;
            waiting_count++;
        }
    }
    ida_kind kind = dn_owners(at, c, keys, waiting_count, users, groups);
    for (int i = 0; !kind && i < count; i++) {
        const char *item = pairs[2 * i + 1],
                   *id = *item == 'd' ? apr_hash_get(users, item + 1, APR_HASH_KEY_STRING)
                                      : item + 1;
        id = id ? id : apr_hash_get(groups, item + 1, APR_HASH_KEY_STRING);
        if (id) {
            gone[2 * gone_count] = pairs[2 * i];
            gone[2 * gone_count++ + 1] = id;
        }
    }
    if (!kind && gone_count) {
        kind = drop_pairs(at, c, cache_rows(c->pool, gone, 2, gone_count));
    }
    return kind || !waiting_count ? kind
                                  : cache_by_list(at, c, STMT_unresolved_pairs,
                                                  cache_rows(c->pool, waiting, 2, waiting_count));
}

ida_kind cache_lists_begin(cache_at *at, ida_ctx *c, const char *ids)
{
    ida_kind kind = cache_by_list(at, c, STMT_list_agree, ids);
    return kind ? kind : cache_by_list(at, c, STMT_unresolved_of_groups, ids);
}

ida_kind cache_members_drop(cache_at *at, ida_ctx *c, const char *ids, int all, int slice,
                            int *left)
{
    db_result r;
    ida_kind kind;
    if (all) {
        kind = store_write(at->s, c, STMT_membership_of_groups,
                           DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(ids), DB_I(slice)),
                           &r);
    } else {
        const db_arg args[] = {DB_T(at->tenant), DB_T(at->directory),     DB_T(ids),
                               DB_I(at->staged), DB_I(horizon_of(at, c)), DB_I(slice)};
        kind = store_write(at->s, c, STMT_unnamed_shown, DB_FIRST(args, 4), NULL);
        kind = kind ? kind : store_write(at->s, c, STMT_unnamed_hold, DB_FIRST(args, 5), NULL);
        kind = kind ? kind : store_write(at->s, c, STMT_unnamed_drop, DB_FIRST(args, 6), &r);
        kind = kind ? kind : note_lost(at, c, &r);
    }
    *left = !kind && (all ? r.changes : r.rows) >= slice;
    return kind;
}

/* --- what the worker wrote --- */

/* Applies the directory's last report of these pairs. */
static ida_kind settle(cache_at *at, ida_ctx *c, const char *pairs)
{
    db_result r;
    ida_kind kind = store_write(at->s, c, STMT_settle_delete,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(pairs)), &r);
    kind = kind ? kind : note_lost(at, c, &r);
    return kind ? kind : cache_by_list(at, c, STMT_settle_keep, pairs);
}

ida_kind cache_member_seen(cache_at *at, ida_ctx *c, const char *group_id, const char *user_id,
                           int is_member)
{
    db_result r;
    const char *const pair[] = {group_id, user_id};
    const char *pairs = cache_rows(c->pool, pair, 2, 1);
    ida_kind kind = store_write(
        at->s, c, STMT_member_agrees,
        DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(pairs), DB_I(is_member != 0)), &r);
    if (kind || r.changes) {
        return kind;
    }
    kind = store_read(at->s, c, STMT_member_contradicted,
                      DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(pairs)), &r);
    if (kind || !r.rows) { /* written again since the read */
        return kind;
    }
    kind = settle(at, c, pairs);
    return kind ? kind
                : cache_by_list(at, c, STMT_group_recount, cache_list(c->pool, &group_id, 1));
}

ida_kind cache_members_settle(cache_at *at, ida_ctx *c, int *left)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_settle_pairs,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory),
                                       DB_I(cache_horizon(at, c)), DB_I(SETTLE), DB_I(at->staged)),
                               &r);
    *left = !kind && r.rows == SETTLE;
    if (kind || !r.rows) {
        return kind;
    }
    const char *pairs = cache_rows(c->pool,
                                   cache_pairs(c->pool, &r, DB_COLUMN(pair, group_id),
                                               DB_COLUMN(pair, member_id), 0, r.rows),
                                   2, r.rows);
    kind = settle(at, c, pairs);
    return kind ? kind
                : cache_by_list(at, c, STMT_group_recount,
                                cache_list(c->pool,
                                           cache_column(c->pool, &r, DB_COLUMN(pair, group_id), 0,
                                                        r.rows),
                                           r.rows));
}
