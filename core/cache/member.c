/* Owns memberships: members named by ID or DN, those that wait for their entry, those that go, what
 * the worker wrote itself. Must not know how a run is staged. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/cache/cache.h"

#define SETTLE 500
#define OWNERS 2000 /* DNs looked up at once */

/* --- members that come --- */

ida_kind cache_dn_owners(cache_at *at, ida_ctx *c, const char *const *keys, int count,
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
            apr_hash_set(db_int(&r, row, 2) ? groups : users, db_text(&r, row, 0),
                         APR_HASH_KEY_STRING, db_text(&r, row, 1));
        }
    }
    return kind;
}

/* A membership: group, member, whether that is a group. */
enum { GROUP, MEMBER, NESTED, NUMBERS };

static int by_numbers(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    int order = 0;
    for (int i = 0; i < NUMBERS && !order; i++) {
        order = (x[i] > y[i]) - (x[i] < y[i]);
    }
    return order;
}

/* Sorted, so that neighbours in the table are written together; each once. */
static int in_order(int64_t *rows, int count)
{
    int kept = 0;
    qsort(rows, (size_t)count, NUMBERS * sizeof *rows, by_numbers);
    for (int i = 0; i < count; i++) {
        const int64_t *row = rows + NUMBERS * i, *before = rows + NUMBERS * (kept - 1);
        if (!kept || before[GROUP] != row[GROUP] || before[MEMBER] != row[MEMBER]) {
            memmove(rows + NUMBERS * kept++, row, NUMBERS * sizeof *rows);
        }
    }
    return kept;
}

static ida_kind put_each(cache_at *at, ida_ctx *c, int64_t run, const int64_t *rows, int count)
{
    ida_kind kind = IDA_OK;
    int64_t horizon = cache_horizon(at, c);
    for (int i = 0; !kind && i < count; i++, rows += NUMBERS) {
        kind = store_write(at->s, c, STMT_member_put,
                           DB_ARGS(DB_I(run), DB_I(horizon), DB_I(rows[GROUP]), DB_I(rows[MEMBER]),
                                   DB_I(rows[NESTED])),
                           NULL);
    }
    return kind;
}

/* Of as many as one statement names. */
static ida_kind put_block(cache_at *at, ida_ctx *c, int64_t run, const int64_t *rows, db_result *r)
{
    db_arg args[3 + CACHE_MEMBERS_BLOCK] = {DB_I(run), DB_I(rows[GROUP]), DB_I(rows[NESTED])};
    for (int i = 0; i < CACHE_MEMBERS_BLOCK; i++) {
        args[3 + i] = (db_arg)DB_I(rows[NUMBERS * i + MEMBER]);
    }
    return store_write(at->s, c, STMT_members_block, args, sizeof args / sizeof *args, r);
}

static ida_kind put_list(cache_at *at, ida_ctx *c, int64_t run, const int64_t *rows, int count,
                         db_result *r)
{
    char *list = apr_palloc(c->pool, (apr_size_t)count * 21 + 3), *p = list;
    for (int i = 0; i < count; i++) {
        char digits[20];
        int n = 0;
        *p++ = i ? ',' : '[';
        for (int64_t left = rows[NUMBERS * i + MEMBER]; left || !n; left /= 10) {
            digits[n++] = (char)('0' + left % 10);
        }
        while (n) {
            *p++ = digits[--n];
        }
    }
    strcpy(p, "]");
    return store_write(at->s, c, STMT_members_new,
                       DB_ARGS(DB_I(run), DB_I(rows[GROUP]), DB_I(rows[NESTED]), DB_T(list)), r);
}

/* Those of one group and kind, sorted: together, and one by one when some were there. Their group
 * counts them, if it is there. */
static ida_kind put_together(cache_at *at, ida_ctx *c, int64_t run, const int64_t *rows, int count)
{
    ida_kind kind = IDA_OK;
    db_result r;
    for (int from = 0, some; !kind && from < count; from += some) {
        const int64_t *first = rows + NUMBERS * from;
        int block = count - from >= CACHE_MEMBERS_BLOCK;
        some = block ? CACHE_MEMBERS_BLOCK : count - from;
        kind = block ? put_block(at, c, run, first, &r) : put_list(at, c, run, first, some, &r);
        if (!kind && r.changes != some) {
            at->uncounted = 1;
            kind = put_each(at, c, run, first, some);
        }
    }
    kind = kind ? kind
                : store_write(at->s, c, STMT_group_grew, DB_ARGS(DB_I(rows[GROUP]), DB_I(count)),
                              &r);
    at->uncounted |= !kind && !r.changes;
    return kind;
}

static ida_kind put_groups(cache_at *at, ida_ctx *c, int64_t run, int64_t *rows, int count)
{
    ida_kind kind = IDA_OK;
    for (int from = 0, to; !kind && from < count; from = to) {
        int64_t *first = rows + NUMBERS * from;
        for (to = from + 1; to < count && rows[NUMBERS * to + GROUP] == first[GROUP] &&
                            rows[NUMBERS * to + NESTED] == first[NESTED];
             to++) {}
        kind = put_together(at, c, run, first, in_order(first, to - from));
    }
    return kind;
}

static ida_kind put_new(cache_at *at, ida_ctx *c, int64_t run, const int64_t *rows, int count)
{
    const db_arg fixed[] = {DB_I(run)};
    const char **texts = apr_palloc(c->pool, (apr_size_t)(count + 1) * NUMBERS * sizeof *texts);
    for (int i = 0; i < count * NUMBERS; i++) {
        texts[i] = i >= NUMBERS && rows[i] == rows[i - NUMBERS]
                       ? texts[i - NUMBERS] /* of the same group, above all */
                       : ida_printf(c->pool, "%lld", (long long)rows[i]);
    }
    return cache_copy(at, c, STMT_members_copy, fixed, 1, texts, NUMBERS, count);
}

static ida_kind put(cache_at *at, ida_ctx *c, int64_t run, int64_t *rows, int count)
{
    int lite = !db_is_postgresql(at->s->db);
    at->uncounted |= !(lite && at->first);
    if (at->copying) {
        return put_new(at, c, run, rows, in_order(rows, count));
    }
    if (lite) {
        return at->first ? put_groups(at, c, run, rows, count)
                         : put_each(at, c, run, rows, in_order(rows, count));
    }
    const db_arg fixed[] = {DB_I(run), DB_I(cache_horizon(at, c))};
    return cache_bulk_numbers(at, c, STMT_members_put, fixed, 2, rows, NUMBERS,
                              in_order(rows, count));
}

/* Become memberships named by the run given. */
static ida_kind add_by_id(cache_at *at, ida_ctx *c, int64_t run, const char *const *groups,
                          const char *const *members, const unsigned char *nested, int count)
{
    apr_size_t room = (apr_size_t)(count + 1) * sizeof(int64_t);
    int64_t *of_groups = apr_palloc(c->pool, room), *of_members = apr_palloc(c->pool, room),
            *rows = apr_palloc(c->pool, NUMBERS * room);
    ida_kind kind = cache_numbers(at, c, groups, count, of_groups);
    if (!kind) {
        kind = cache_numbers(at, c, members, count, of_members);
    }
    for (int i = 0; !kind && i < count; i++) {
        rows[NUMBERS * i + GROUP] = of_groups[i];
        rows[NUMBERS * i + MEMBER] = of_members[i];
        rows[NUMBERS * i + NESTED] = nested[i];
    }
    return kind ? kind : put(at, c, run, rows, count);
}

ida_kind cache_members_add(cache_at *at, ida_ctx *c, const char *const *pairs, int count)
{
    apr_size_t room = (apr_size_t)(count + 1) * sizeof(char *);
    const char **groups = apr_palloc(c->pool, room), **members = apr_palloc(c->pool, room),
               **waiting = apr_palloc(c->pool, 2 * room), **keys = apr_palloc(c->pool, room);
    unsigned char *nested = apr_palloc(c->pool, (apr_size_t)count + 1);
    apr_hash_t *users = apr_hash_make(c->pool), *owners = apr_hash_make(c->pool);
    int known = 0, key_count = 0, waiting_count = 0;
    for (int i = 0; i < count; i++) {
        const char *item = pairs[2 * i + 1];
        if (*item == 'd' && !apr_hash_get(users, item + 1, APR_HASH_KEY_STRING)) {
            apr_hash_set(users, item + 1, APR_HASH_KEY_STRING, "");
            keys[key_count++] = item + 1;
        }
    }
    apr_hash_clear(users);
    ida_kind kind = cache_dn_owners(at, c, keys, key_count, users, owners);
    for (int i = 0; !kind && i < count; i++) {
        const char *group = pairs[2 * i], *item = pairs[2 * i + 1],
                   *user = *item == 'd' ? apr_hash_get(users, item + 1, APR_HASH_KEY_STRING) : NULL;
        const char *id = *item != 'd' ? item + 1
                         : user       ? user
                                      : apr_hash_get(owners, item + 1, APR_HASH_KEY_STRING);
        if (id) {
            groups[known] = group;
            members[known] = id;
            nested[known++] = *item == 'g' || (*item == 'd' && !user);
        } else {
            waiting[2 * waiting_count] = group;
            waiting[2 * waiting_count++ + 1] = item + 1;
        }
    }
    if (!kind && known) {
        kind = add_by_id(at, c, at->staged, groups, members, nested, known);
    }
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory)};
    return kind || !waiting_count
               ? kind
               : cache_bulk(at, c, STMT_member_waits, fixed, 2, waiting, 2, waiting_count, NULL);
}

/* They were named before they were told, perhaps in a run before this one. */
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
    const char **groups = cache_column(c->pool, &r, 0, 0, r.rows);
    unsigned char *nested = apr_palloc(c->pool, (apr_size_t)r.rows);
    memset(nested, is_group, (apr_size_t)r.rows);
    kind = add_by_id(at, c, 0, groups, cache_column(c->pool, &r, 1, 0, r.rows), nested, r.rows);
    if (!kind) {
        kind = cache_by_list(at, c, is_group ? STMT_resolved_group : STMT_resolved_user, ids);
    }
    /* The group named that DN long ago and may have been changed in silence since: it is to be
     * looked at again. */
    const char *list = cache_list(c->pool, groups, r.rows);
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

static ida_kind drop_pairs(cache_at *at, ida_ctx *c, const char *pairs)
{
    static const db_statement in_order[] = {STMT_pairs_agree, STMT_pairs_hold, STMT_pairs_drop};
    int64_t horizon = cache_horizon(at, c);
    ida_kind kind = IDA_OK;
    at->uncounted = 1;
    for (size_t i = 0; !kind && i < sizeof in_order / sizeof *in_order; i++) {
        kind = store_write(at->s, c, in_order[i],
                           DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                                   DB_T(pairs), DB_I(horizon)),
                           NULL);
    }
    return kind;
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
    ida_kind kind = cache_dn_owners(at, c, keys, waiting_count, users, groups);
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
        kind = drop_pairs(at, c, cache_pairs(c->pool, gone, gone_count));
    }
    return kind || !waiting_count ? kind
                                  : cache_by_list(at, c, STMT_unresolved_pairs,
                                                  cache_pairs(c->pool, waiting, waiting_count));
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
    at->uncounted = 1;
    if (all) {
        kind = store_write(at->s, c, STMT_membership_of_groups,
                           DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(ids), DB_I(slice)),
                           &r);
    } else {
        const db_arg args[] = {DB_T(at->tenant), DB_T(at->directory),        DB_T(ids),
                               DB_I(at->staged), DB_I(cache_horizon(at, c)), DB_I(slice)};
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
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory),
                                       DB_I(cache_horizon(at, c)), DB_I(SETTLE)),
                               &r);
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
    return kind ? kind
                : cache_by_list(at, c, STMT_group_recount,
                                cache_list(c->pool, cache_column(c->pool, &r, 0, 0, r.rows),
                                           r.rows));
}
