/* Owns the end of a run: the deletion guard, the order in which staging becomes cache, tokens with the last batch. Must not know how a row is
 * written. */
#include <apr_strings.h>
#include <string.h>

#include "core/store_cache.h"

#define USERS_AT_ONCE 500
#define GROUPS_AT_ONCE 200
#define GONE_AT_ONCE 100
#define MEMBERS_SLICE 5000

/* --- guard --- */

typedef struct stream {
    const char *name, *counter;
    db_statement named_count, unseen_count, named, unseen;
} stream;

static const stream streams[] = {
    {"user", "users", STMT_named_user_count, STMT_unseen_user_count, STMT_named_user, STMT_unseen_user},
    {"group", "groups", STMT_named_group_count, STMT_unseen_group_count, STMT_named_group, STMT_unseen_group},
};

static ida_kind one_number(sync_run *run, ida_ctx *c, db_statement statement, const db_arg *args, size_t count, int64_t *number)
{
    db_result r;
    ida_kind kind = store_read(run->at.s, c, statement, args, count, &r);
    *number = kind ? 0 : db_int(&r, 0, 0);
    return kind;
}

static int64_t guard_limit(const sync_guard *guard, int64_t cached)
{
    if (guard && guard->count > 0) {
        return guard->count;
    }
    int64_t limit = cached * (guard && guard->percent > 0 ? guard->percent : 20) / 100;
    limit = limit < 500 ? limit : 500;
    return limit > 20 ? limit : 20;
}

/* A changed permission or base looks exactly like a mass deletion: both kinds are counted before anything is applied. */
static ida_kind guard_check(sync_run *run, ida_ctx *c, const sync_guard *guard, sync_summary *summary)
{
    const cache_at *at = &run->at;
    int64_t *const deleted[] = {&summary->deleted_users, &summary->deleted_groups};
    for (int i = 0; i < 2; i++) {
        const stream *st = &streams[i];
        int64_t cached, seen, limit;
        ida_ctx *b = sync_run_batch(run, c);
        ida_kind kind = one_number(run, b, run->complete[i] ? st->unseen_count : st->named_count,
                                   DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_I(at->started_at)), deleted[i]);
        if (!kind) {
            kind = one_number(run, b, STMT_counter_get, DB_ARGS(DB_T(at->tenant), DB_T(apr_pstrcat(b->pool, st->counter, ".", at->directory, NULL))), &cached);
        }
        if (!kind) {
            kind = one_number(run, b, STMT_staged_seen, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(st->name)), &seen);
        }
        if (kind) {
            return sync_run_failed(c, b, kind);
        }
        limit = guard_limit(guard, cached);
        if (i == 0 && cached == 0 && run->full) {
            run->budget = CACHE_FIRST_BUDGET_MS;
        }
        int none_left = i == 0 && cached > 0 && !seen && *deleted[i] >= cached;
        if ((guard && guard->accept) || summary->guard_stopped || (*deleted[i] <= limit && !none_left)) {
            continue;
        }
        summary->guard_stopped = 1;
        summary->reason = none_left ? ida_printf(run->pool, "The directory shows no %s any more where the cache holds %lld. Nothing was changed; check the base, "
                                                            "the filter and the rights of the bind identity, or run the sync with --accept-deletions.",
                                                 st->counter, (long long)cached)
                                    : ida_printf(run->pool, "%lld of %lld %s would be deleted, more than the %lld that the deletion guard allows in one round. "
                                                            "Nothing was changed; check the directory, or run the sync with --accept-deletions.",
                                                 (long long)*deleted[i], (long long)cached, st->counter, (long long)limit);
    }
    return IDA_OK;
}

static ida_kind guard_stop(sync_run *run, ida_ctx *c, const sync_summary *summary)
{
    const cache_at *at = &run->at;
    ida_kind kind = store_write(at->s, c, STMT_sync_state_stopped,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(summary->reason)), NULL);
    if (!kind) {
        kind = sync_run_empty(run, c);
    }
    return kind ? kind : ida_fail(c, IDA_CONFLICT, "%s", summary->reason);
}

/* --- steps --- */

typedef struct applying {
    ida_kind (*apply)(cache_at *at, ida_ctx *c, const char *after, int limit, const char **last);
    int limit;
} applying;

static ida_kind step_apply(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    const applying *a = cursor->baton;
    const char *last;
    ida_kind kind = a->apply(&run->at, c, cursor->id, a->limit, &last);
    if (!kind && last) {
        apr_cpystrn(cursor->id, last, sizeof cursor->id);
        *more = 1;
    }
    return kind;
}

static ida_kind step_gone(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    db_result r;
    cache_at *at = &run->at;
    int which = (int)cursor->count, count = 0, left = 0;
    ida_kind kind = store_read(at->s, c, run->complete[which] ? streams[which].unseen : streams[which].named,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_I(at->started_at), DB_T(cursor->id), DB_I(GONE_AT_ONCE)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    const char **ids = apr_palloc(c->pool, (apr_size_t)r.rows * sizeof *ids);
    for (int row = 0; !kind && row < r.rows; row++) {
        const char *id = db_text(&r, row, 0);
        if (!db_int(&r, row, 1)) {
            ids[count++] = id;
        } else if (which == 0) { /* written through meanwhile: the next run deletes it unless it sees it */
            kind = store_write(at->s, c, STMT_user_hold, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(id), DB_T("")), NULL);
        }
    }
    *more = 1;
    if (!kind && which == 1 && count) {
        kind = cache_groups_empty(at, c, cache_list(c->pool, ids, count), MEMBERS_SLICE, &left);
    }
    if (kind || left) {
        return kind; /* the same groups again */
    }
    apr_cpystrn(cursor->id, db_text(&r, r.rows - 1, 0), sizeof cursor->id);
    return which == 0 ? cache_users_delete(at, c, ids, count) : cache_groups_delete(at, c, ids, count);
}

static ida_kind step_resolve(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    db_result r;
    cache_at *at = &run->at;
    int which = (int)cursor->count;
    ida_kind kind = store_read(at->s, c, STMT_staged_ids,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(cursor->id), DB_I(USERS_AT_ONCE),
                                       DB_T(streams[which].name)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    const char **ids = apr_palloc(c->pool, (apr_size_t)r.rows * sizeof *ids);
    for (int row = 0; row < r.rows; row++) {
        ids[row] = db_text(&r, row, 0);
    }
    const char *list = cache_list(c->pool, ids, r.rows);
    apr_cpystrn(cursor->id, ids[r.rows - 1], sizeof cursor->id);
    *more = 1;
    if (which == 1) {
        return cache_groups_resolve(at, c, list);
    }
    kind = cache_users_resolve(at, c, list);
    return kind ? kind : cache_members_resolve(at, c, list);
}

static ida_kind step_sign_ins(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    db_result r;
    cache_at *at = &run->at;
    ida_kind kind = store_read(at->s, c, STMT_staged_sign_ins,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(cursor->id), DB_I(USERS_AT_ONCE)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    const char **ids = apr_palloc(c->pool, (apr_size_t)r.rows * sizeof *ids);
    int count = 0;
    for (int row = 0; row < r.rows; row++) {
        if (db_int(&r, row, 1)) {
            ids[count++] = db_text(&r, row, 0);
        }
    }
    apr_cpystrn(cursor->id, db_text(&r, r.rows - 1, 0), sizeof cursor->id);
    *more = 1;
    return count ? store_write(at->s, c, STMT_user_sign_ins,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(cache_list(c->pool, ids, count))), NULL)
                 : IDA_OK;
}

static ida_kind step_settle(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    (void)cursor;
    return cache_members_settle(&run->at, c, more);
}

static ida_kind step_late(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    const cache_at *at = &run->at;
    (void)cursor;
    (void)more;
    ida_kind kind = store_write(at->s, c, STMT_staging_late_manager, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged)), NULL);
    return kind ? kind : store_write(at->s, c, STMT_staging_late, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_I(cache_horizon(at, c))), NULL);
}

typedef struct ending {
    const char *tokens, *binding;
    int64_t full_at;
    int sign_ins;
} ending;

static ida_kind step_end(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    const ending *e = cursor->baton;
    const cache_at *at = &run->at;
    int64_t now = ida_now(c->env);
    (void)more;
    return store_write(at->s, c, STMT_sync_state_done,
                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(e->tokens), DB_I(now), DB_I(run->full ? now : 0),
                               DB_T(e->binding), DB_I(e->sign_ins != 0)), NULL);
}

/* --- the order --- */

static ida_kind analyze(sync_run *run, ida_ctx *c, db_statement statement)
{
    ida_ctx *b = sync_run_batch(run, c);
    return sync_run_failed(c, b, store_read(run->at.s, b, statement, DB_NONE, NULL));
}

/* Users before groups before lists, so that DNs resolve at once; deletions before anything is resolved, so that a DN used anew means its new
 * owner; a crash at any point is repaired by the same items again, since the tokens come last. */
static ida_kind apply_all(sync_run *run, ida_ctx *c, const ending *end)
{
    static const applying users = {cache_users_apply, USERS_AT_ONCE}, groups = {cache_groups_apply, GROUPS_AT_ONCE};
    const struct {
        sync_step step;
        sync_cursor cursor;
    } phases[] = {
        {step_apply, {.baton = &users}},  {step_gone, {.count = 0}},    {step_apply, {.baton = &groups}},
        {step_gone, {.count = 1}},        {step_resolve, {.count = 0}}, {step_resolve, {.count = 1}},
        {step_sign_ins, {.count = 0}},
    };
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        sync_cursor cursor = phases[i].cursor;
        ida_kind kind = sync_run_phase(run, c, phases[i].step, &cursor);
        if (!kind && run->full && phases[i].step == step_apply) {
            kind = analyze(run, c, STMT_analyze_entries);
        }
        if (kind) {
            return kind;
        }
    }
    ida_kind kind = cache_lists_apply(run, c);
    if (!kind && run->full) {
        kind = analyze(run, c, STMT_analyze_members);
    }
    if (!kind) {
        kind = cache_changes_apply(run, c);
    }
    sync_cursor last = {.baton = end};
    return kind ? kind : sync_run_phase(run, c, step_end, &last);
}

static ida_kind summarize(sync_run *run, ida_ctx *c, sync_summary *summary)
{
    const cache_at *at = &run->at;
    ida_ctx *b = sync_run_batch(run, c);
    const struct {
        const char *name;
        int64_t *value;
    } counters[] = {{"users.", &summary->users}, {"groups.", &summary->groups}};
    ida_kind kind = one_number(run, b, STMT_unresolved_count, DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), &summary->unresolved);
    for (size_t i = 0; !kind && i < sizeof counters / sizeof *counters; i++) {
        kind = one_number(run, b, STMT_counter_get, DB_ARGS(DB_T(at->tenant), DB_T(apr_pstrcat(b->pool, counters[i].name, at->directory, NULL))),
                          counters[i].value);
    }
    return sync_run_failed(c, b, kind);
}

ida_kind sync_run_commit(sync_run *run, ida_ctx *c, const char *tokens, const char *binding, const sync_guard *guard, int sign_ins, sync_summary *summary)
{
    const ending end = {.tokens = tokens ? tokens : "{}", .binding = binding, .sign_ins = sign_ins};
    sync_cursor settle = {0}, late = {0};
    *summary = (sync_summary){0};
    ida_kind kind = sync_run_flush(run, c);
    if (!kind) {
        kind = sync_run_phase(run, c, step_late, &late);
    }
    if (!kind) {
        kind = analyze(run, c, STMT_analyze_staging);
    }
    if (!kind) {
        kind = guard_check(run, c, guard, summary);
    }
    if (!kind && summary->guard_stopped) {
        return guard_stop(run, c, summary);
    }
    if (!kind) {
        kind = sync_run_phase(run, c, step_settle, &settle);
    }
    if (!kind) {
        kind = apply_all(run, c, &end);
    }
    if (!kind) {
        kind = summarize(run, c, summary);
    }
    return kind ? kind : sync_run_empty(run, c);
}
