/* Owns how staged groups, lists of members and single members become rows of the cache. Must not know runs' tokens or networks. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/store_cache.h"

#define LISTS_SCAN 500     /* groups looked at in one read */
#define LISTS_MEMBERS 4000 /* members in one transaction; a larger group goes slice by slice */
#define SLICE_MEMBERS 1000 /* as staged */
#define OUTCASTS 2000
#define CHANGES 1000
#define SETTLE 500

static ida_kind by_list(cache_at *at, ida_ctx *c, db_statement statement, const char *list)
{
    return store_write(at->s, c, statement, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(list)), NULL);
}

/* Texts of one column as a JSON list. */
static const char *column_list(apr_pool_t *pool, const db_result *r, int column)
{
    const char **items = apr_palloc(pool, (apr_size_t)(r->rows + 1) * sizeof *items);
    for (int row = 0; row < r->rows; row++) {
        items[row] = db_text(r, row, column);
    }
    return cache_list(pool, items, r->rows);
}

/* [group, other] of the rows where the other is known, and of one type of member where `type` is given (its column is 2). */
static const char *pair_list(apr_pool_t *pool, const db_result *r, int other, const char *type)
{
    cache_text t;
    cache_text_begin(&t, pool, "[");
    for (int row = 0; row < r->rows; row++) {
        const char *pair[] = {db_text(r, row, 0), db_text(r, row, other)};
        if (!pair[1] || (type && strcmp(db_text(r, row, 2), type) != 0)) {
            continue;
        }
        if (t.len > 1) {
            cache_text_add(&t, ",");
        }
        cache_text_add(&t, cache_list(pool, pair, 2));
    }
    cache_text_add(&t, "]");
    return t.bytes;
}

/* --- groups --- */

ida_kind cache_groups_apply(cache_at *at, ida_ctx *c, const char *after, int limit, const char **last)
{
    db_result r;
    int64_t born = 0;
    int count = 0;
    *last = NULL;
    ida_kind kind = store_read(at->s, c, STMT_staged_groups,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(after), DB_I(limit)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    const char **ids = apr_palloc(c->pool, (apr_size_t)r.rows * sizeof *ids);
    for (int row = 0; row < r.rows; row++) {
        int exists = db_int(&r, row, 2) != 0;
        *last = db_text(&r, row, 0);
        if (!exists || strcmp(db_text(&r, row, 1), db_text(&r, row, 3)) != 0) {
            ids[count++] = *last;
            born += !exists;
        }
    }
    if (!count) {
        return IDA_OK;
    }
    kind = store_write(at->s, c, STMT_group_put, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(cache_list(c->pool, ids, count)),
                                                         DB_I(at->run)), NULL);
    return kind ? kind : cache_count(at, c, "groups", born);
}

ida_kind cache_groups_empty(cache_at *at, ida_ctx *c, const char *ids, int slice, int *left)
{
    db_result r;
    ida_kind kind = store_write(at->s, c, STMT_membership_of_groups, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(ids), DB_I(slice)), &r);
    *left = !kind && r.changes == slice;
    return kind ? kind : by_list(at, c, STMT_group_recount, ids);
}

ida_kind cache_groups_delete(cache_at *at, ida_ctx *c, const char *const *ids, int count)
{
    static const db_statement in_order[] = {STMT_group_lose, STMT_membership_of_members, STMT_unresolved_of_groups, STMT_group_delete};
    db_result r;
    const char *list = cache_list(c->pool, ids, count);
    ida_kind kind = count ? store_read(at->s, c, STMT_group_known, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(list)), &r) : IDA_OK;
    if (kind || !count || !r.rows) {
        return kind;
    }
    for (size_t i = 0; !kind && i < sizeof in_order / sizeof *in_order; i++) {
        kind = by_list(at, c, in_order[i], list);
    }
    return kind ? kind : cache_count(at, c, "groups", -r.rows);
}

/* --- members that waited for an entry --- */

static ida_kind appeared(cache_at *at, ida_ctx *c, const char *ids, db_statement waiting, db_statement insert, db_statement resolved)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, waiting, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(ids)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    kind = store_write(at->s, c, insert, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(ids), DB_I(at->run)), NULL);
    if (!kind) {
        kind = by_list(at, c, resolved, ids);
    }
    return kind ? kind : by_list(at, c, STMT_group_recount, column_list(c->pool, &r, 0));
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

ida_kind cache_pairs_drop(cache_at *at, ida_ctx *c, const char *pairs)
{
    static const db_statement in_order[] = {STMT_pairs_agree, STMT_pairs_hold, STMT_pairs_drop};
    int64_t horizon = cache_horizon(at, c);
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < sizeof in_order / sizeof *in_order; i++) {
        kind = store_write(at->s, c, in_order[i],
                           DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(pairs), DB_I(horizon)), NULL);
    }
    return kind;
}

ida_kind cache_members_settle(cache_at *at, ida_ctx *c, int *left)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_settle_pairs,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(cache_horizon(at, c)), DB_I(SETTLE)), &r);
    *left = !kind && r.rows == SETTLE;
    if (kind || !r.rows) {
        return kind;
    }
    const char *pairs = pair_list(c->pool, &r, 1, NULL);
    kind = by_list(at, c, STMT_settle_delete, pairs);
    if (!kind) {
        kind = by_list(at, c, STMT_settle_keep, pairs);
    }
    return kind ? kind : by_list(at, c, STMT_group_recount, column_list(c->pool, &r, 0));
}

/* --- lists --- */

/* A batch: whole groups together, or one large group slice by slice. */
typedef struct list_batch {
    const char *ids;
    int64_t members, slices; /* slices 0: all in one transaction */
} list_batch;

static ida_kind step_drop(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    (void)more;
    return cache_pairs_drop(&run->at, c, cursor->baton);
}

/* Removes who is a member in the cache and not in the lists. Reading is outside of the writing transaction. */
static ida_kind drop_outcasts(sync_run *run, ida_ctx *c, apr_pool_t *pool, const list_batch *batch)
{
    const cache_at *at = &run->at;
    char group[CACHE_ID_MAX + 1] = "", member[CACHE_ID_MAX + 1] = "";
    apr_pool_t *page_pool;
    apr_pool_create(&page_pool, pool);
    for (;;) {
        db_result r;
        apr_pool_clear(page_pool);
        ida_ctx *reading = ida_ctx_make(c->env, page_pool);
        ida_kind kind = store_read(at->s, reading, STMT_list_outcasts,
                                   DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(batch->ids), DB_T(""), DB_T("~"), DB_T(group),
                                           DB_T(member), DB_I(OUTCASTS)), &r);
        if (kind) {
            return sync_run_failed(c, reading, kind);
        }
        if (!r.rows) {
            return IDA_OK;
        }
        sync_cursor cursor = {.baton = pair_list(page_pool, &r, 1, NULL)};
        kind = sync_run_phase(run, c, step_drop, &cursor);
        if (kind || r.rows < OUTCASTS) {
            return kind;
        }
        apr_cpystrn(group, db_text(&r, r.rows - 1, 0), sizeof group);
        apr_cpystrn(member, db_text(&r, r.rows - 1, 1), sizeof member);
    }
}

static ida_kind list_into(cache_at *at, ida_ctx *c, const char *ids, const char *from, const char *to, int64_t members)
{
    db_result r;
    int64_t horizon = cache_horizon(at, c);
    ida_kind kind = store_write(at->s, c, STMT_list_users,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(ids), DB_T(from), DB_T(to), DB_I(horizon)), &r);
    if (kind || r.changes >= members) {
        return kind; /* each became a user's membership: no group, nobody unknown among them */
    }
    kind = store_write(at->s, c, STMT_list_groups,
                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(ids), DB_T(from), DB_T(to), DB_I(horizon)), NULL);
    return kind ? kind : store_write(at->s, c, STMT_list_unresolved,
                                     DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(ids), DB_T(from), DB_T(to)), NULL);
}

/* cursor->count is the slice. */
static ida_kind step_list(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    cache_at *at = &run->at;
    const list_batch *batch = cursor->baton;
    const char *from = "", *to = "~";
    int64_t members = batch->members;
    ida_kind kind = IDA_OK;
    if (batch->slices) {
        int64_t before = cursor->count * SLICE_MEMBERS;
        members = members - before < SLICE_MEMBERS ? members - before : SLICE_MEMBERS;
        from = to = ida_printf(c->pool, "%06lld", (long long)cursor->count);
    }
    if (cursor->count == 0) {
        kind = by_list(at, c, STMT_list_agree, batch->ids);
        if (!kind) {
            kind = by_list(at, c, STMT_unresolved_of_groups, batch->ids);
        }
    }
    if (!kind && members > 0) {
        kind = list_into(at, c, batch->ids, from, to, members);
    }
    if (!kind) {
        kind = by_list(at, c, STMT_group_recount, batch->ids);
    }
    *more = ++cursor->count < batch->slices;
    return kind || *more ? kind
                         : store_write(at->s, c, STMT_group_finish,
                                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(batch->ids)), NULL);
}

static ida_kind apply_batch(sync_run *run, ida_ctx *c, apr_pool_t *pool, const list_batch *batch, int had_members)
{
    sync_cursor cursor = {.baton = batch};
    ida_kind kind = had_members ? drop_outcasts(run, c, pool, batch) : IDA_OK;
    return kind ? kind : sync_run_phase(run, c, step_list, &cursor);
}

ida_kind cache_lists_apply(sync_run *run, ida_ctx *c)
{
    const cache_at *at = &run->at;
    char after[CACHE_ID_MAX + 1] = "";
    apr_pool_t *scan_pool;
    apr_pool_create(&scan_pool, run->pool);
    ida_kind kind;
    db_result r;
    do {
        apr_pool_clear(scan_pool);
        ida_ctx *reading = ida_ctx_make(c->env, scan_pool);
        kind = sync_run_failed(c, reading, store_read(at->s, reading, STMT_staged_lists,
                                                      DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(after), DB_I(LISTS_SCAN)), &r));
        const char **ids = apr_palloc(scan_pool, LISTS_SCAN * sizeof *ids);
        for (int row = 0; !kind && row < r.rows;) {
            list_batch batch = {0};
            int count = 0, had_members = 0;
            do {
                const char *members = db_text(&r, row, 1);
                batch.members += members ? atoll(members) : 0;
                had_members |= db_int(&r, row, 2) > 0;
                ids[count++] = db_text(&r, row++, 0);
            } while (row < r.rows && batch.members + atoll(db_text(&r, row, 1) ? db_text(&r, row, 1) : "0") <= LISTS_MEMBERS);
            batch.ids = cache_list(scan_pool, ids, count);
            batch.slices = batch.members > LISTS_MEMBERS ? (batch.members + SLICE_MEMBERS - 1) / SLICE_MEMBERS : 0;
            kind = apply_batch(run, c, scan_pool, &batch, had_members);
        }
        if (!kind && r.rows) {
            apr_cpystrn(after, db_text(&r, r.rows - 1, 0), sizeof after);
        }
    } while (!kind && r.rows == LISTS_SCAN);
    apr_pool_destroy(scan_pool);
    return kind;
}

/* --- single changes --- */

/* Groups of these changes, each once, as a JSON list. */
static const char *groups_of(apr_pool_t *pool, const db_result *r)
{
    const char **ids = apr_palloc(pool, (apr_size_t)(r->rows + 1) * sizeof *ids);
    int count = 0;
    for (int row = 0; row < r->rows; row++) { /* sorted by group */
        const char *id = db_text(r, row, 0);
        if (!count || strcmp(ids[count - 1], id) != 0) {
            ids[count++] = id;
        }
    }
    return cache_list(pool, ids, count);
}

static ida_kind step_changes(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    static const db_statement adding[] = {STMT_change_users, STMT_change_groups};
    cache_at *at = &run->at;
    db_result r, removed;
    ida_kind kind = store_read(at->s, c, STMT_staged_changes,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(cursor->id), DB_T(cursor->sub), DB_I(CHANGES)), &r);
    *more = !kind && r.rows == CHANGES;
    if (kind || !r.rows) {
        return kind;
    }
    const char *to_id = db_text(&r, r.rows - 1, 0), *to_sub = db_text(&r, r.rows - 1, 1);
    db_arg args[] = {DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(cursor->id), DB_T(cursor->sub), DB_T(to_id), DB_T(to_sub), DB_T("remove"),
                     DB_I(cache_horizon(at, c))};
    kind = store_read(at->s, c, STMT_change_removed, args, 8, &removed);
    if (!kind && removed.rows) {
        kind = cache_pairs_drop(at, c, pair_list(c->pool, &removed, 1, NULL));
        if (!kind) {
            kind = by_list(at, c, STMT_unresolved_pairs, pair_list(c->pool, &removed, 3, "d"));
        }
    }
    args[7] = (db_arg)DB_T("add");
    for (size_t i = 0; !kind && i < sizeof adding / sizeof *adding; i++) {
        kind = store_write(at->s, c, adding[i], args, 9, NULL);
    }
    if (!kind) {
        kind = store_write(at->s, c, STMT_change_unresolved, args, 8, NULL);
    }
    const char *groups = groups_of(c->pool, &r);
    if (!kind) {
        kind = by_list(at, c, STMT_group_recount, groups);
    }
    if (!kind) {
        kind = by_list(at, c, STMT_group_touch, groups); /* the next whole list is taken in full */
    }
    apr_cpystrn(cursor->id, to_id, sizeof cursor->id);
    apr_cpystrn(cursor->sub, to_sub, sizeof cursor->sub);
    return kind;
}

ida_kind cache_changes_apply(sync_run *run, ida_ctx *c)
{
    sync_cursor cursor = {0};
    return sync_run_phase(run, c, step_changes, &cursor);
}
