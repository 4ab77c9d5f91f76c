/* Owns the deletion guard: how many entries one run may remove. Must not know how entries are
 * deleted. */
#include <apr_strings.h>

#include "core/cache/run.h"
#include "core/store/rows.h"

typedef struct stream {
    const char *name, *counter;
    db_statement named_count, unseen_count;
} stream;

static const stream streams[] = {
    {"user", "users", STMT_named_user_count, STMT_unseen_user_count},
    {"group", "groups", STMT_named_group_count, STMT_unseen_group_count},
};

static int64_t guard_limit(const cache_guard *guard, int64_t cached)
{
    if (guard && guard->count > 0) {
        return guard->count;
    }
    int64_t limit = cached * (guard && guard->percent > 0 ? guard->percent : 20) / 100;
    return limit < 20 ? 20 : limit < 500 ? limit : 500;
}

/* A changed permission or search base looks exactly like a mass deletion, so deletions of both
 * kinds are counted before anything is applied. */
ida_kind cache_guard_check(cache_sync *run, ida_ctx *c, const cache_guard *guard,
                           cache_summary *summary)
{
    const cache_at *at = &run->at;
    int64_t *const deleted[] = {&summary->deleted_users, &summary->deleted_groups};
    for (int i = 0; i < 2; i++) {
        const stream *st = &streams[i];
        int64_t cached, seen, limit;
        ida_ctx *b = cache_batch(run, c);
        ida_kind kind = store_number(
            at->s, b, run->complete[i] ? st->unseen_count : st->named_count,
            DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_I(at->started_at)),
            deleted[i]);
        if (!kind) {
            kind = store_number(
                at->s, b, STMT_counter_get,
                DB_ARGS(DB_T(at->tenant),
                        DB_T(apr_pstrcat(b->pool, st->counter, ".", at->directory, NULL))),
                &cached);
        }
        if (!kind) {
            kind = store_number(at->s, b, STMT_staged_seen,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                                        DB_T(st->name)),
                                &seen);
        }
        if (kind) {
            return cache_failed(c, b, kind);
        }
        limit = guard_limit(guard, cached);
        int none_left = i == 0 && cached > 0 && !seen && *deleted[i] >= cached;
        if ((guard && guard->accept) || summary->guard_stopped ||
            (*deleted[i] <= limit && !none_left)) {
            continue;
        }
        summary->guard_stopped = 1;
        summary->reason =
            none_left ? ida_printf(run->pool,
                                   "The directory shows no %s any more where the cache holds %lld. "
                                   "Nothing was changed; check the base, the filter and the rights "
                                   "of the bind identity, or run the sync with --accept-deletions.",
                                   st->counter, (long long)cached)
                      : ida_printf(run->pool,
                                   "%lld of %lld %s would be deleted, more than the %lld that the "
                                   "deletion guard allows in one round. Nothing was changed; check "
                                   "the directory, or run the sync with --accept-deletions.",
                                   (long long)*deleted[i], (long long)cached, st->counter,
                                   (long long)limit);
    }
    return IDA_OK;
}
