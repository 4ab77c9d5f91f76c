/* Owns the end of a run: applies staging to the cache in a fixed order and saves the sync tokens
 * with the last transaction. Must not know how a row is written. */
#include <apr_strings.h>
#include <string.h>
#include <time.h>

#include "core/cache/rank.h"
#include "core/cache/run.h"
#include "core/store/rows.h"

#define PAGE 2000
#define CHUNK 500
#define GONE_CHUNK 50
#define GONE_MEMBERS 5000
#define DROP_MEMBERS 2000
#define SLICES 200 /* of at most 250 members */
#define SLICES_CHUNK 8
#define TURN_NAP_MS 100
#define TURN_TRIES 10
#define ALWAYS STMT_COUNT

/* --- chunks of a page, inside a transaction --- */

static const char *ids_of(ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_list(c->pool, cache_column(c->pool, r, CACHE_PAGE_ID, from, to), to - from);
}

static const cache_sync_entry *const *entries_of(apr_pool_t *pool, const db_result *r, int from,
                                                 int to)
{
    const cache_sync_entry **list = apr_palloc(pool, (apr_size_t)(to - from + 1) * sizeof *list);
    cache_sync_entry *entries = apr_pcalloc(pool, (apr_size_t)(to - from + 1) * sizeof *entries);
    for (int row = from; row < to; row++) {
        const row_staged *staged = DB_ROW(staged, r, row);
        entries[row - from] = (cache_sync_entry){.id = staged->id.text,
                                                 .op = staged->op.text,
                                                 .digest = staged->digest.text,
                                                 .item = staged->item.text};
        list[row - from] = &entries[row - from];
    }
    return list;
}

static ida_kind apply_users(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_users_put(&run->at, c, entries_of(c->pool, r, from, to), to - from);
}

static ida_kind apply_groups(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_groups_put(&run->at, c, entries_of(c->pool, r, from, to), to - from);
}

static ida_kind apply_users_gone(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_gone(&run->at, c, 0, cache_column(c->pool, r, CACHE_PAGE_ID, from, to), to - from);
}

static ida_kind apply_groups_gone(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_gone(&run->at, c, 1, cache_column(c->pool, r, CACHE_PAGE_ID, from, to), to - from);
}

static ida_kind drop_members(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                             int *more)
{
    return cache_members_drop(&run->at, c, ids_of(c, r, from, to), 1, GONE_MEMBERS, more);
}

static ida_kind apply_nowhere(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_links_cut(&run->at, c, ids_of(c, r, from, to));
}

static ida_kind find_managers(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_by_list(&run->at, c, STMT_manager_of_these, ids_of(c, r, from, to));
}

static ida_kind find_reports(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_by_list(&run->at, c, STMT_manager_is_these, ids_of(c, r, from, to));
}

static ida_kind resolve_users(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_members_resolve(&run->at, c, ids_of(c, r, from, to));
}

static ida_kind resolve_groups(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_groups_resolve(&run->at, c, ids_of(c, r, from, to));
}

static ida_kind apply_sign_ins(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    const char **rows = apr_palloc(c->pool, (apr_size_t)(to - from + 1) * 4 * sizeof *rows);
    for (int row = from; row < to; row++) {
        const row_staged_item *staged = DB_ROW(staged_item, r, row);
        const char **out = rows + 4 * (row - from);
        out[0] = staged->id.text;
        cache_item_read(c->pool, staged->item.text, out + 1, 3);
    }
    return cache_sign_ins(&run->at, c, rows, to - from);
}

static ida_kind apply_reports(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_managers_back(&run->at, c,
                               cache_pairs(c->pool, r, DB_COLUMN(staged_item, id),
                                           DB_COLUMN(staged_item, item), from, to),
                               to - from);
}

static ida_kind begin_lists(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_lists_begin(&run->at, c, ids_of(c, r, from, to));
}

static ida_kind drop_unnamed(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                             int *more)
{
    return cache_members_drop(&run->at, c, ids_of(c, r, from, to), 0, DROP_MEMBERS, more);
}

static ida_kind finish_lists(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_groups_finish(&run->at, c,
                               cache_pairs(c->pool, r, DB_COLUMN(digest, id),
                                           DB_COLUMN(digest, digest), from, to),
                               to - from);
}

static ida_kind drop_idle(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    cache_numbers_forget(run->at.numbers);
    return cache_by_list(&run->at, c, STMT_entry_drop, ids_of(c, r, from, to));
}

/* --- members --- */

/* Pairs of group and member of the slices from..to, without groups that the cache does not hold. */
static const char **pairs_of(ida_ctx *c, const db_result *r, int from, int to, apr_hash_t *known,
                             int *count)
{
    int room = 1;
    for (int row = from; row < to; row++) {
        room += cache_item_count(DB_ROW(staged_members, r, row)->item.text);
    }
    const char **pairs = apr_palloc(c->pool, (apr_size_t)room * 2 * sizeof *pairs),
               **items = apr_palloc(c->pool, (apr_size_t)room * sizeof *items);
    *count = 0;
    for (int row = from; row < to; row++) {
        const row_staged_members *slice = DB_ROW(staged_members, r, row);
        const char *group = slice->id.text, *record = slice->item.text;
        int some = apr_hash_get(known, group, APR_HASH_KEY_STRING) ? cache_item_count(record) : 0;
        cache_item_read(c->pool, record, items, some);
        for (int i = 0; i < some; i++) {
            pairs[2 * *count] = group;
            pairs[2 * (*count)++ + 1] = items[i];
        }
    }
    return pairs;
}

static ida_kind known_groups(const cache_at *at, ida_ctx *c, const char *ids, apr_hash_t **known)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_group_known,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(ids)), &r);
    *known = apr_hash_make(c->pool);
    for (int row = 0; !kind && row < r.rows; row++) {
        apr_hash_set(*known, DB_ROW(id, &r, row)->id.text, APR_HASH_KEY_STRING, "");
    }
    return kind;
}

/* Marks groups whose members were added or removed one by one: their stored digest no longer
 * covers the list, so the next whole list is applied in full. */
static ida_kind changed(cache_at *at, ida_ctx *c, const db_result *r, int from, int to)
{
    const char **ids = apr_palloc(c->pool, (apr_size_t)(to - from + 1) * sizeof *ids);
    int count = 0;
    for (int row = from; row < to; row++) { /* they come sorted */
        const row_staged_members *slice = DB_ROW(staged_members, r, row);
        if (!slice->whole.number && (!count || strcmp(ids[count - 1], slice->id.text) != 0)) {
            ids[count++] = slice->id.text;
        }
    }
    if (!count) {
        return IDA_OK;
    }
    const char *list = cache_list(c->pool, ids, count);
    ida_kind kind = cache_by_list(at, c, STMT_group_recount, list);
    return kind ? kind : cache_by_list(at, c, STMT_group_touch, list);
}

static const char *op_of(const db_result *r, int row)
{
    return DB_ROW(staged_members, r, row)->op.text;
}

/* Applies additions and removals in the order in which they arrived. Consecutive items of one
 * kind are applied together. */
static ida_kind apply_members(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to)
{
    cache_at *at = &run->at;
    apr_hash_t *known;
    ida_kind kind = known_groups(at, c, ids_of(c, r, from, to), &known);
    for (int row = from, next; !kind && row < to; row = next) {
        const char *op = op_of(r, row);
        int count;
        for (next = row + 1; next < to && strcmp(op_of(r, next), op) == 0; next++) {}
        const char **pairs = pairs_of(c, r, row, next, known, &count);
        if (count) {
            kind = (strcmp(op, "remove") == 0 ? cache_members_remove
                                              : cache_members_add)(at, c, pairs, count);
        }
    }
    return kind ? kind : changed(at, c, r, from, to);
}

/* --- the order --- */

typedef struct analysis {
    db_statement statement;
    int64_t done;
} analysis;

static ida_kind analyze_in_turn(store *s, ida_ctx *c, void *baton)
{
    analysis *a = baton;
    ida_kind kind = store_number(s, c, STMT_analyze_turn, DB_NONE, &a->done);
    return kind || !a->done ? kind : store_read(s, c, a->statement, DB_NONE, NULL);
}

/* Runs in a transaction, which is repeated if PostgreSQL ended it to resolve a deadlock (for
 * example with a change of rights on the same tables). All companies share these tables: if
 * another run is analyzing them, this one waits for a while without holding a lock and then
 * continues without statistics. */
static ida_kind analyze(cache_sync *run, ida_ctx *c, db_statement statement)
{
    ida_ctx *b = cache_batch(run, c);
    analysis a = {statement, 0};
    if (!store_is_postgresql(run->at.s)) {
        return IDA_OK; /* SQLite follows its indexes */
    }
    ida_kind kind = store_transaction(run->at.s, b, analyze_in_turn, &a);
    for (int tries = 0; !kind && !a.done && tries < TURN_TRIES; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = TURN_NAP_MS * 1000000L}, NULL);
        kind = store_transaction(run->at.s, b, analyze_in_turn, &a);
    }
    return cache_failed(c, b, kind);
}

typedef struct phase {
    cache_pages pages;
    db_statement when; /* skip the phase when this statement (tenant, directory) finds no row */
} phase;

static ida_kind run_phase(cache_sync *run, ida_ctx *c, const phase *p)
{
    const cache_at *at = &run->at;
    ida_ctx *b = cache_batch(run, c);
    db_result r = {.rows = 1};
    ida_kind kind = p->when == ALWAYS
                        ? IDA_OK
                        : store_read(at->s, b, p->when,
                                     DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), &r);
    if (kind || !r.rows) {
        return cache_failed(c, b, kind);
    }
    return cache_run_pages(run, c, &p->pages);
}

/* Users come before groups and groups before member lists, so that DNs resolve at once.
 * Deletions come before resolution, so that a reused DN resolves to its new owner. A crash at
 * any point is repaired by applying the same items again, because the tokens are saved last.
 * Members that a list no longer names are removed after everything that adds members, so that no
 * person loses a group in between. */
static ida_kind apply_all(cache_sync *run, ida_ctx *c)
{
    const char *whole = run->full ? "full" : "";
    const int unseen = !run->at.first; /* in a first load nothing was there that could be gone */
    const db_statement users_gone = run->complete[0] && unseen ? STMT_unseen_user : STMT_named_user,
                       groups_gone = run->complete[1] && unseen ? STMT_unseen_group
                                                                : STMT_named_group;
    const phase phases[] = {
        {{STMT_staged_users, cache_by_sort, PAGE, CHUNK, NULL, apply_users, NULL}, ALWAYS},
        {{users_gone, cache_by_id, PAGE, GONE_CHUNK, NULL, apply_users_gone, NULL}, ALWAYS},
        {{STMT_staged_groups, cache_by_id, PAGE, CHUNK, NULL, apply_groups, NULL}, ALWAYS},
        {{groups_gone, cache_by_id, PAGE, GONE_CHUNK, NULL, apply_groups_gone, drop_members},
         ALWAYS},
        {{STMT_named_nowhere, cache_by_id, PAGE, GONE_CHUNK, "user", apply_nowhere, NULL}, ALWAYS},
        {{STMT_named_nowhere, cache_by_id, PAGE, GONE_CHUNK, "group", apply_nowhere, NULL}, ALWAYS},
        {{STMT_staged_ids, cache_by_id, PAGE, CHUNK, "user", find_managers, NULL},
         STMT_manager_waiting},
        {{STMT_staged_ids, cache_by_id, PAGE, CHUNK, "user", find_reports, NULL},
         STMT_manager_waiting},
        {{STMT_staged_ids, cache_by_id, PAGE, CHUNK, "user", resolve_users, NULL},
         STMT_anybody_waits},
        {{STMT_staged_ids, cache_by_id, PAGE, CHUNK, "group", resolve_groups, NULL},
         STMT_anybody_waits},
        {{STMT_staged_sign_ins, cache_by_id, PAGE, CHUNK, NULL, apply_sign_ins, NULL}, ALWAYS},
        {{STMT_staged_reports, cache_by_id, PAGE, CHUNK, NULL, apply_reports, NULL}, ALWAYS},
        {{STMT_staged_lists, cache_by_id, PAGE, CHUNK, whole, begin_lists, NULL}, ALWAYS},
        {{STMT_staged_members, cache_by_sub, SLICES, SLICES_CHUNK, whole, apply_members, NULL},
         ALWAYS},
        {{STMT_staged_lists, cache_by_id, PAGE, GONE_CHUNK, whole, finish_lists, drop_unnamed},
         ALWAYS},
        {{STMT_entry_idle, cache_by_id, PAGE, CHUNK, NULL, drop_idle, NULL},
         ALWAYS}, /* checks every entry number */
    };
    size_t count = sizeof phases / sizeof *phases - !(run->full && unseen);
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < count; i++) {
        kind = run_phase(run, c, &phases[i]);
        if (!kind && run->full && phases[i].pages.apply == apply_groups) {
            kind = analyze(run, c, STMT_analyze_entries);
        }
    }
    return kind || !run->full ? kind : analyze(run, c, STMT_analyze_members);
}

/* --- before and after --- */

static ida_kind step_settle(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    ida_kind kind = cache_members_settle(&run->at, c, more);
    cursor->count += *more;
    return kind;
}

static ida_kind step_late(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    db_result r;
    const cache_at *at = &run->at;
    ida_kind kind = store_write(at->s, c, STMT_staging_late,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                                        DB_I(cache_horizon(at, c))),
                                &r);
    cursor->count = r.changes;
    *more = 0;
    return kind;
}

static ida_kind step_merge(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    return cache_index_merge(&run->at, c, !cursor->count++, more);
}

static ida_kind step_deal(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    cursor->count++;
    return cache_index_deal(&run->at, c, more);
}

typedef struct ending {
    const char *tokens, *binding;
    int sign_ins;
} ending;

static ida_kind step_end(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    const ending *e = cursor->baton;
    const cache_at *at = &run->at;
    int64_t now = ida_now(c->env);
    *more = 0;
    ida_kind kind = cache_loading(at, c, CACHE_NOT_LOADING);
    return kind ? kind
                : store_write(at->s, c, STMT_sync_state_done,
                              DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                                      DB_T(e->tokens), DB_I(now), DB_I(run->full ? now : 0),
                                      DB_T(e->binding), DB_I(e->sign_ins != 0),
                                      DB_I(run->sign_ins_at)),
                              NULL);
}

void cache_sync_sign_ins_at(cache_sync *run, int64_t at)
{
    run->sign_ins_at = at;
}

static ida_kind guard_stop(cache_sync *run, ida_ctx *c, const cache_summary *summary)
{
    const cache_at *at = &run->at;
    ida_kind kind = store_write(at->s, c, STMT_sync_state_stopped,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                                        DB_T(summary->reason)),
                                NULL);
    if (!kind) {
        kind = cache_run_empty(run, c);
    }
    return kind ? kind : ida_fail(c, IDA_CONFLICT, "%s", summary->reason);
}

static ida_kind summarize(cache_sync *run, ida_ctx *c, cache_summary *summary)
{
    const cache_at *at = &run->at;
    ida_ctx *b = cache_batch(run, c);
    const struct {
        const char *name;
        int64_t *value;
    } counters[] = {{"users.", &summary->users}, {"groups.", &summary->groups}};
    ida_kind kind = store_number(at->s, b, STMT_unresolved_count,
                                 DB_ARGS(DB_T(at->tenant), DB_T(at->directory)),
                                 &summary->unresolved);
    for (size_t i = 0; !kind && i < sizeof counters / sizeof *counters; i++) {
        kind = store_number(at->s, b, STMT_counter_get,
                            DB_ARGS(DB_T(at->tenant), DB_T(apr_pstrcat(b->pool, counters[i].name,
                                                                       at->directory, NULL))),
                            counters[i].value);
    }
    return cache_failed(c, b, kind);
}

static ida_kind commit(cache_sync *run, ida_ctx *c, const ending *end, const cache_guard *guard,
                       cache_summary *summary)
{
    cache_cursor settle = {0}, late = {0}, deal = {0}, merge = {0}, last = {.baton = end};
    ida_kind kind = cache_run_flush(run, c);
    kind = kind ? kind : cache_run_steps(run, c, step_late, &late);
    kind = kind ? kind : analyze(run, c, STMT_analyze_staging);
    if (kind) {
        return kind;
    }
    kind = cache_guard_check(run, c, guard, summary);
    if (kind || summary->guard_stopped) {
        return kind ? kind : guard_stop(run, c, summary);
    }
    kind = cache_run_steps(run, c, step_settle, &settle);
    kind = kind ? kind : apply_all(run, c);
    kind = kind ? kind : cache_run_steps(run, c, step_deal, &deal);
    if (!kind && run->at.first) {
        kind = cache_run_steps(run, c, step_merge, &merge);
    }
    if (kind) {
        return kind;
    }
    kind = cache_run_steps(run, c, step_end, &last);
    kind = kind ? kind : summarize(run, c, summary);
    return kind ? kind : cache_run_empty(run, c);
}

ida_kind cache_sync_commit(cache_sync *run, ida_ctx *c, const char *tokens, const char *binding,
                           const cache_guard *guard, int sign_ins, cache_summary *summary)
{
    const ending end = {.tokens = tokens ? tokens : "{}", .binding = binding, .sign_ins = sign_ins};
    *summary = (cache_summary){0};
    ida_kind kind = commit(run, c, &end, guard, summary);
    ida_ctx *b = cache_batch(run, c);
    ida_kind after = store_run_ends(run->at.s, b); /* also when it failed */
    return kind ? kind : cache_failed(c, b, after);
}
