/* Owns a run: its number, its beginning and its end. Must not know what entries mean for the
 * cache. */
#include <apr_strings.h>

#include "core/cache/rank.h"
#include "core/cache/run.h"
#include "core/store/rows.h"

#define EMPTY_SLICE 5000

/* --- state --- */

ida_kind cache_sync_state_get(store *s, ida_ctx *c, const char *tenant,
                              ida_directory_kind directory, cache_sync_state *state)
{
    db_result r;
    *state = (cache_sync_state){.tokens = "{}", .sign_ins = 1};
    ida_kind kind = store_read(s, c, STMT_sync_state_get,
                               DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory))), &r);
    if (kind || !r.rows) {
        return kind;
    }
    const row_sync_state *row = DB_ROW(sync_state, &r, 0);
    state->run = row->run.number;
    state->started_at = row->started_at.number;
    state->completed_at = row->completed_at.number;
    state->full_at = row->full_at.number;
    state->tokens = row->tokens.text;
    state->binding = row->binding.text;
    state->error = row->error.text;
    state->stopped = row->stopped.text;
    state->sign_ins = (int)row->sign_ins.number;
    return IDA_OK;
}

/* --- transactions --- */

static ida_kind step_empty(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    db_result r;
    int64_t emptied = 0;
    const cache_at *at = &run->at;
    ida_kind kind = cursor->count
                        ? IDA_OK
                        : store_number(at->s, c, STMT_staging_truncate,
                                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), &emptied);
    *more = 0;
    if (kind || emptied) {
        return kind;
    }
    kind = store_write(at->s, c, STMT_staging_empty,
                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(EMPTY_SLICE)), &r);
    *more = !kind && r.changes == EMPTY_SLICE;
    cursor->count += *more;
    return kind;
}

ida_kind cache_run_empty(cache_sync *run, ida_ctx *c)
{
    cache_cursor cursor = {0};
    ida_kind kind = store_empty_staging(run->at.s, c);
    return kind || !store_is_postgresql(run->at.s) ? kind
                                                   : cache_run_steps(run, c, step_empty, &cursor);
}

void cache_run_make(cache_sync *run, const cache_at *at, apr_pool_t *pool)
{
    *run = (cache_sync){.at = *at, .pool = pool, .connection = store_connection(at->s)};
    apr_pool_create(&run->batch_pool, pool);
    apr_pool_create(&run->page_pool, pool);
    apr_pool_create(&run->item_pool, pool);
    apr_pool_create(&run->buffer.pool, pool);
    cache_buffer_clear(&run->buffer);
}

static ida_kind begin(cache_sync *run, ida_ctx *c)
{
    cache_at *at = &run->at;
    db_result r;
    ida_kind kind = store_write(
        at->s, c, STMT_sync_state_begin,
        DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->started_at)), &r);
    if (kind) {
        return kind;
    }
    at->staged = at->run = DB_ROW(sync_run, &r, 0)->run.number;
    run->connection = store_connection(at->s);
    kind = store_run_begins(at->s, c);
    kind = kind ? kind : cache_run_empty(run, c);
    kind = kind ? kind
                : store_read(at->s, c, STMT_directory_empty,
                             DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), &r);
    at->first = !kind && r.rows > 0;
    return kind || !at->first ? kind : cache_loading(at, c, CACHE_LOADING);
}

ida_kind cache_sync_begin(cache_sync **out, store *s, ida_ctx *c, apr_pool_t *pool,
                          const char *tenant, ida_directory_kind directory, int full)
{
    cache_sync *run = apr_palloc(pool, sizeof *run);
    const cache_at at = {.s = s,
                         .tenant = apr_pstrdup(pool, tenant),
                         .directory = ida_directory_name(directory),
                         .kind = directory,
                         .started_at = ida_now(c->env),
                         .numbers = cache_numbers_make(pool)};
    cache_run_make(run, &at, pool);
    run->full = run->complete[0] = run->complete[1] = full;
    ida_kind kind = begin(run, c);
    *out = kind ? NULL : run;
    return kind;
}

int64_t cache_sync_number(const cache_sync *run)
{
    return run->at.staged;
}

ida_kind cache_sync_abort(cache_sync *run, ida_ctx *c, const char *error)
{
    const cache_at *at = &run->at;
    cache_buffer_clear(&run->buffer);
    ida_kind kind = store_write(
        at->s, c, STMT_sync_state_failed,
        DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(error)), NULL);
    kind = kind ? kind : cache_run_empty(run, c);
    return kind ? kind : store_run_ends(at->s, c);
}
