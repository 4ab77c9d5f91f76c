/* Owns the end of a run: the deletion guard, the order in which staging becomes cache, tokens with
 * the last batch. Must not know how a row is written. */
#include <apr_strings.h>
#include <string.h>

#include "core/cache/cache.h"

#define PAGE 2000
#define CHUNK 200
#define GONE_CHUNK 50
#define GONE_MEMBERS 5000
#define DROP_MEMBERS 2000
#define SLICES_PAGE 200 /* of at most 250 members */
#define SLICES_CHUNK 4
#define INDEX_EVERY                                                                                \
    2 /* buffers of a first load: what came in while one index was made is written before the next \
       */

/* --- guard --- */

typedef struct stream {
    const char *name, *counter;
    db_statement named_count, unseen_count, named, unseen;
} stream;

static const stream streams[] = {
    {"user", "users", STMT_named_user_count, STMT_unseen_user_count, STMT_named_user,
     STMT_unseen_user},
    {"group", "groups", STMT_named_group_count, STMT_unseen_group_count, STMT_named_group,
     STMT_unseen_group},
};

static ida_kind one_number(cache_sync *run, ida_ctx *c, db_statement statement, const db_arg *args,
                           size_t count, int64_t *number)
{
    db_result r;
    ida_kind kind = store_read(run->at.s, c, statement, args, count, &r);
    *number = kind ? 0 : db_int(&r, 0, 0);
    return kind;
}

static int64_t guard_limit(const cache_guard *guard, int64_t cached)
{
    if (guard && guard->count > 0) {
        return guard->count;
    }
    int64_t limit = cached * (guard && guard->percent > 0 ? guard->percent : 20) / 100;
    limit = limit < 500 ? limit : 500;
    return limit > 20 ? limit : 20;
}

/* A changed permission or base looks exactly like a mass deletion: both kinds are counted before
 * anything is applied. */
static ida_kind guard_check(cache_sync *run, ida_ctx *c, const cache_guard *guard,
                            cache_summary *summary)
{
    const cache_at *at = &run->at;
    int64_t *const deleted[] = {&summary->deleted_users, &summary->deleted_groups};
    for (int i = 0; i < 2; i++) {
        const stream *st = &streams[i];
        int64_t cached, seen, limit;
        ida_ctx *b = cache_sync_batch(run, c);
        ida_kind kind = one_number(run, b, run->complete[i] ? st->unseen_count : st->named_count,
                                   DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                                           DB_I(at->started_at)),
                                   deleted[i]);
        if (!kind) {
            kind = one_number(run, b, STMT_counter_get,
                              DB_ARGS(DB_T(at->tenant), DB_T(apr_pstrcat(b->pool, st->counter, ".",
                                                                         at->directory, NULL))),
                              &cached);
        }
        if (!kind) {
            kind = one_number(run, b, STMT_staged_seen,
                              DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                                      DB_T(st->name)),
                              &seen);
        }
        if (kind) {
            return cache_sync_failed(c, b, kind);
        }
        limit = guard_limit(guard, cached);
        int none_left = i == 0 && cached > 0 && !seen && *deleted[i] >= cached;
        if ((guard && guard->accept) || summary->guard_stopped ||
            (*deleted[i] <= limit && !none_left)) {
            continue;
        }
        summary->guard_stopped = 1;
        summary->reason = none_left
                              ? ida_printf(run->pool,
                                           "The directory shows no %s any more where the cache "
                                           "holds %lld. Nothing was changed; check the base, "
                                           "the filter and the rights of the bind identity, or run "
                                           "the sync with --accept-deletions.",
                                           st->counter, (long long)cached)
                              : ida_printf(run->pool,
                                           "%lld of %lld %s would be deleted, more than the %lld "
                                           "that the deletion guard allows in one round. "
                                           "Nothing was changed; check the directory, or run the "
                                           "sync with --accept-deletions.",
                                           (long long)*deleted[i], (long long)cached, st->counter,
                                           (long long)limit);
    }
    return IDA_OK;
}

static ida_kind guard_stop(cache_sync *run, ida_ctx *c, const cache_summary *summary)
{
    const cache_at *at = &run->at;
    ida_kind kind = store_write(at->s, c, STMT_sync_state_stopped,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                                        DB_T(summary->reason)),
                                NULL);
    if (!kind) {
        kind = cache_sync_empty(run, c);
    }
    return kind ? kind : ida_fail(c, IDA_CONFLICT, "%s", summary->reason);
}

/* --- pages of staging, chunk by chunk --- */

static const cache_sync_entry *const *entries_of(apr_pool_t *pool, const db_result *r, int from,
                                                 int to)
{
    const cache_sync_entry **list = apr_palloc(pool, (apr_size_t)(to - from + 1) * sizeof *list);
    cache_sync_entry *entries = apr_pcalloc(pool, (apr_size_t)(to - from + 1) * sizeof *entries);
    for (int row = from; row < to; row++) {
        entries[row - from] = (cache_sync_entry){.id = db_text(r, row, 0),
                                                 .op = db_text(r, row, 1),
                                                 .digest = db_text(r, row, 2),
                                                 .item = db_text(r, row, 3)};
        list[row - from] = &entries[row - from];
    }
    return list;
}

static ida_kind apply_users(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                            int *again)
{
    (void)again;
    return cache_users_put(&run->at, c, entries_of(c->pool, r, from, to), to - from);
}

static ida_kind apply_groups(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                             int *again)
{
    (void)again;
    return cache_groups_put(&run->at, c, entries_of(c->pool, r, from, to), to - from, NULL);
}

static ida_kind apply_users_gone(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                                 int *again)
{
    (void)again;
    return cache_gone(&run->at, c, 0, cache_column(c->pool, r, 0, from, to), to - from);
}

static ida_kind apply_groups_gone(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                                  int *again)
{
    const char **ids = cache_column(c->pool, r, 0, from, to);
    ida_kind kind = cache_members_drop(&run->at, c, cache_list(c->pool, ids, to - from), 1,
                                       GONE_MEMBERS, again);
    return kind || *again ? kind : cache_gone(&run->at, c, 1, ids, to - from);
}

static const char *ids_of(ida_ctx *c, const db_result *r, int from, int to)
{
    return cache_list(c->pool, cache_column(c->pool, r, 0, from, to), to - from);
}

/* Of the first two columns. */
static const char *const *pairs_of(apr_pool_t *pool, const db_result *r, int from, int to)
{
    const char **pairs = apr_palloc(pool, (apr_size_t)(to - from + 1) * 2 * sizeof *pairs);
    for (int row = from; row < to; row++) {
        pairs[2 * (row - from)] = db_text(r, row, 0);
        pairs[2 * (row - from) + 1] = db_text(r, row, 1);
    }
    return pairs;
}

static ida_kind apply_nowhere(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                              int *again)
{
    (void)again;
    return cache_links_cut(&run->at, c, ids_of(c, r, from, to));
}

static ida_kind resolve_users(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                              int *again)
{
    const char *ids = ids_of(c, r, from, to);
    (void)again;
    ida_kind kind = cache_users_resolve(&run->at, c, ids);
    return kind ? kind : cache_members_resolve(&run->at, c, ids);
}

static ida_kind resolve_groups(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                               int *again)
{
    (void)again;
    return cache_groups_resolve(&run->at, c, ids_of(c, r, from, to));
}

static ida_kind apply_sign_ins(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                               int *again)
{
    const char **rows = apr_palloc(c->pool, (apr_size_t)(to - from + 1) * 4 * sizeof *rows);
    (void)again;
    for (int row = from; row < to; row++) {
        const char **out = rows + 4 * (row - from);
        out[0] = db_text(r, row, 0);
        cache_item_read(c->pool, db_text(r, row, 1), out + 1, 3);
    }
    return cache_sign_ins(&run->at, c, rows, to - from);
}

static ida_kind apply_reports(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                              int *again)
{
    (void)again;
    return cache_managers_back(&run->at, c, pairs_of(c->pool, r, from, to), to - from);
}

static ida_kind begin_lists(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                            int *again)
{
    (void)again;
    return cache_lists_begin(&run->at, c, ids_of(c, r, from, to));
}

static ida_kind apply_slices(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                             int *again)
{
    int count = 0;
    (void)again;
    for (int row = from; row < to; row++) {
        count += cache_item_count(db_text(r, row, 2));
    }
    const char **pairs = apr_palloc(c->pool, (apr_size_t)(count + 1) * 2 * sizeof *pairs),
               **members = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *members);
    count = 0;
    for (int row = from; row < to; row++) {
        int some = cache_item_count(db_text(r, row, 2));
        cache_item_read(c->pool, db_text(r, row, 2), members, some);
        for (int i = 0; i < some; i++) {
            pairs[2 * count] = db_text(r, row, 0);
            pairs[2 * count++ + 1] = members[i];
        }
    }
    return cache_members_add(&run->at, c, pairs, count);
}

/* Rows come sorted by group: each group once, as a list. */
static const char *groups_of(apr_pool_t *pool, const db_result *r, int from, int to)
{
    const char **ids = apr_palloc(pool, (apr_size_t)(to - from + 1) * sizeof *ids);
    int count = 0;
    for (int row = from; row < to; row++) {
        const char *id = db_text(r, row, 0);
        if (!count || strcmp(ids[count - 1], id) != 0) {
            ids[count++] = id;
        }
    }
    return cache_list(pool, ids, count);
}

static ida_kind apply_changes(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                              int *again)
{
    cache_at *at = &run->at;
    db_result known;
    const char *groups = groups_of(c->pool, r, from, to), **pairs[2];
    apr_hash_t *cached = apr_hash_make(c->pool);
    int counts[2] = {0, 0};
    (void)again;
    ida_kind kind = store_read(at->s, c, STMT_group_known,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(groups)),
                               &known);
    for (int row = 0; !kind && row < known.rows; row++) {
        apr_hash_set(cached, db_text(&known, row, 0), APR_HASH_KEY_STRING, "");
    }
    pairs[0] = apr_palloc(c->pool, (apr_size_t)(to - from + 1) * 2 * sizeof **pairs);
    pairs[1] = apr_palloc(c->pool, (apr_size_t)(to - from + 1) * 2 * sizeof **pairs);
    for (int row = from; !kind && row < to; row++) {
        int removed = strcmp(db_text(r, row, 2), "remove") == 0;
        if (apr_hash_get(cached, db_text(r, row, 0), APR_HASH_KEY_STRING)) {
            pairs[removed][2 * counts[removed]] = db_text(r, row, 0);
            pairs[removed][2 * counts[removed]++ + 1] = db_text(r, row, 1);
        }
    }
    if (!kind && counts[1]) {
        kind = cache_members_remove(at, c, pairs[1], counts[1]);
    }
    if (!kind && counts[0]) {
        kind = cache_members_add(at, c, pairs[0], counts[0]);
    }
    if (!kind) {
        kind = cache_by_list(at, c, STMT_group_recount, groups);
    }
    return kind ? kind
                : cache_by_list(at, c, STMT_group_touch,
                                groups); /* the next whole list is taken in full */
}

static ida_kind finish_lists(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                             int *again)
{
    ida_kind kind = cache_members_drop(&run->at, c, ids_of(c, r, from, to), 0, DROP_MEMBERS, again);
    return kind || *again
               ? kind
               : cache_groups_finish(&run->at, c, pairs_of(c->pool, r, from, to), to - from);
}

static ida_kind drop_idle(cache_sync *run, ida_ctx *c, const db_result *r, int from, int to,
                          int *again)
{
    (void)again;
    return cache_by_list(&run->at, c, STMT_entry_drop, ids_of(c, r, from, to));
}

/* --- steps --- */

static ida_kind step_settle(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    (void)cursor;
    return cache_members_settle(&run->at, c, more);
}

static ida_kind step_late(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    const cache_at *at = &run->at;
    (void)cursor;
    (void)more;
    return store_write(at->s, c, STMT_staging_late,
                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                               DB_I(cache_horizon(at, c))),
                       NULL);
}

typedef struct ending {
    const char *tokens, *binding;
    int64_t full_at;
    int sign_ins;
} ending;

static ida_kind step_end(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    const ending *e = cursor->baton;
    const cache_at *at = &run->at;
    int64_t now = ida_now(c->env);
    (void)more;
    return store_write(at->s, c, STMT_sync_state_done,
                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                               DB_T(e->tokens), DB_I(now), DB_I(run->full ? now : 0),
                               DB_T(e->binding), DB_I(e->sign_ins != 0)),
                       NULL);
}

/* --- the order --- */

static const cache_pages sign_ins_pages = {STMT_staged_sign_ins, 1, PAGE, CHUNK, NULL,
                                           apply_sign_ins};

/* Users before groups before lists, so that DNs resolve at once; deletions before anything is
 * resolved, so that a DN used anew means its new owner; a crash at any point is repaired by the
 * same items again, since the tokens come last. What a list does not name goes when all that names
 * members has been applied: nobody is without a group in between. */
static ida_kind apply_all(cache_sync *run, ida_ctx *c)
{
    const char *whole = run->full ? "full" : "";
    const cache_pages phases[] = {
        {STMT_staged_users, 1, PAGE, CHUNK, NULL, apply_users},
        {run->complete[0] ? STMT_unseen_user : STMT_named_user, 1, PAGE, GONE_CHUNK, NULL,
         apply_users_gone},
        {STMT_staged_groups, 1, PAGE, CHUNK, NULL, apply_groups},
        {run->complete[1] ? STMT_unseen_group : STMT_named_group, 1, PAGE, GONE_CHUNK, NULL,
         apply_groups_gone},
        {STMT_named_nowhere, 1, PAGE, GONE_CHUNK, "user", apply_nowhere},
        {STMT_named_nowhere, 1, PAGE, GONE_CHUNK, "group", apply_nowhere},
        {STMT_staged_ids, 1, PAGE, CHUNK, "user", resolve_users},
        {STMT_staged_ids, 1, PAGE, CHUNK, "group", resolve_groups},
        sign_ins_pages,
        {STMT_staged_reports, 1, PAGE, CHUNK, NULL, apply_reports},
        {STMT_staged_lists, 1, PAGE, CHUNK, whole, begin_lists},
        {STMT_staged_slices, 2, SLICES_PAGE, SLICES_CHUNK, NULL, apply_slices},
        {STMT_staged_changes, 2, PAGE, CHUNK, NULL, apply_changes},
        {STMT_staged_lists, 1, PAGE, GONE_CHUNK, whole, finish_lists},
        {STMT_entry_idle, 1, PAGE, CHUNK, NULL,
         drop_idle}, /* of a full run: it looks at every number */
    };
    size_t count = sizeof phases / sizeof *phases - !run->full;
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < count; i++) {
        kind = cache_sync_pages(run, c, &phases[i]);
    }
    return kind;
}

static ida_kind summarize(cache_sync *run, ida_ctx *c, cache_summary *summary)
{
    const cache_at *at = &run->at;
    ida_ctx *b = cache_sync_batch(run, c);
    const struct {
        const char *name;
        int64_t *value;
    } counters[] = {{"users.", &summary->users}, {"groups.", &summary->groups}};
    ida_kind kind = one_number(run, b, STMT_unresolved_count,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory)),
                               &summary->unresolved);
    for (size_t i = 0; !kind && i < sizeof counters / sizeof *counters; i++) {
        kind = one_number(run, b, STMT_counter_get,
                          DB_ARGS(DB_T(at->tenant), DB_T(apr_pstrcat(b->pool, counters[i].name,
                                                                     at->directory, NULL))),
                          counters[i].value);
    }
    return cache_sync_failed(c, b, kind);
}

static ida_kind sign_ins_once(cache_sync *run, ida_ctx *c)
{
    ida_kind kind = run->users_done ? IDA_OK : cache_sync_pages(run, c, &sign_ins_pages);
    run->users_done = 1;
    return kind;
}

/* Sign-ins before the lists that are ordered by them. */
ida_kind cache_load_users_end(cache_sync *run, ida_ctx *c)
{
    ida_kind kind = sign_ins_once(run, c);
    return kind || run->flushes % INDEX_EVERY ? kind : cache_index_of_users_back(run, c);
}

/* Nothing but the write-throughs of others can have been there before: no guard, nothing that is
 * gone. */
static ida_kind commit_first(cache_sync *run, ida_ctx *c)
{
    ida_kind kind = sign_ins_once(run, c);
    kind = kind ? kind : cache_load_end(run, c);
    kind = kind ? kind
                : cache_indexes_back(
                      run, c); /* behind managers found late: those rows are written twice */
    return kind ? kind : cache_sync_analyze(run, c, STMT_analyze_entries, STMT_analyze_members);
}

static ida_kind commit_staged(cache_sync *run, ida_ctx *c, const cache_guard *guard,
                              cache_summary *summary)
{
    cache_cursor settle = {0}, late = {0};
    ida_kind kind = cache_sync_phase(run, c, step_late, &late);
    if (!kind) {
        kind = cache_sync_analyze(run, c, STMT_analyze_staging, 0);
    }
    if (!kind) {
        kind = guard_check(run, c, guard, summary);
    }
    if (!kind && summary->guard_stopped) {
        return guard_stop(run, c, summary);
    }
    if (!kind) {
        kind = cache_sync_phase(run, c, step_settle, &settle);
    }
    return kind ? kind : apply_all(run, c);
}

ida_kind cache_sync_commit(cache_sync *run, ida_ctx *c, const char *tokens, const char *binding,
                           const cache_guard *guard, int sign_ins, cache_summary *summary)
{
    const ending end = {.tokens = tokens ? tokens : "{}", .binding = binding, .sign_ins = sign_ins};
    cache_cursor last = {.baton = &end};
    *summary = (cache_summary){0};
    ida_kind kind = cache_sync_flush(run, c);
    if (!kind && run->writer) {
        kind = cache_writer_wait(run, c);
    }
    if (!kind) {
        kind = run->at.first ? commit_first(run, c) : commit_staged(run, c, guard, summary);
    }
    if (!kind) {
        kind = cache_sync_phase(run, c, step_end, &last);
    }
    cache_memory_clear(run->at.memory);
    if (!kind) {
        kind = summarize(run, c, summary);
    }
    if (!kind) {
        kind = cache_sync_empty(run, c);
    }
    if (run->at.first) {
        cache_writer_stop(run);
        store_disconnect(run->at.s);
    }
    return kind;
}
