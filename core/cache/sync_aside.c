/* Owns the indexes that a first load does without: while the cache holds nothing of anybody else,
 * what readers search by is laid aside and made in one go behind the rows, which takes a fraction
 * of the time of growing it row by row. Which ones, the store keeps (cache.index_aside): whoever
 * begins a run that needs them, or ends a load, makes them again, so a load killed at any instant
 * leaves nothing behind but work. Must not know what a run loads. */
#include "core/cache/cache.h"

static ida_kind lay_aside(store *s, ida_ctx *c, void *baton)
{
    cache_sync *run = baton;
    const cache_at *at = &run->at;
    db_result r;
    run->bare = 0;
    ida_kind kind = store_write(s, c, STMT_cache_lock, DB_ARGS(DB_T(at->tenant)), NULL);
    kind = kind ? kind
                : store_read(s, c, STMT_index_free, DB_ARGS(DB_T(at->tenant), DB_T(at->directory)),
                             &r);
    if (kind || !r.rows) {
        return kind;
    }
    run->bare = 1;
    run->budget = CACHE_BARE_BUDGET_MS;
    kind = store_read(s, c, STMT_index_aside, DB_NONE, &r);
    if (kind || r.rows) { /* another first load laid them aside */
        return kind;
    }
    kind = store_write(s, c, STMT_index_keep, DB_NONE, NULL);
    kind = kind ? kind : store_read(s, c, STMT_index_aside, DB_NONE, &r);
    for (int row = 0; !kind && row < r.rows; row++) {
        kind = db_script(s->db, c,
                         ida_printf(c->pool, "DROP INDEX IF EXISTS cache.%s", db_text(&r, row, 0)));
    }
    return kind;
}

static ida_kind take_back(store *s, ida_ctx *c, void *baton)
{
    const char *name = baton;
    db_result r;
    ida_kind kind = store_write(s, c, STMT_index_back, DB_ARGS(DB_T(name)), &r);
    if (kind || !r.rows) { /* somebody else was faster */
        return kind;
    }
    const char *table = db_text(&r, 0, 0), *definition = db_text(&r, 0, 1),
               *figures = db_text(&r, 0, 2);
    kind = db_script(s->db, c, definition);
    if (!kind && figures) {
        kind = store_write(s, c, STMT_index_figures,
                           DB_ARGS(DB_T(table), DB_T(name), DB_T(figures)), NULL);
        kind = kind ? kind
                    : db_script(s->db, c,
                                "ANALYZE cache.sqlite_schema"); /* this connection too reads them */
    }
    return kind;
}

/* SQLite sorts in files, since in memory that takes what the index takes; a second thread of it
 * costs more than it brings. */
static ida_kind settings(store *s, ida_ctx *c, const char *sql)
{
    return db_is_postgresql(s->db) ? IDA_OK : db_script(s->db, c, sql);
}

/* Whoever reads for long may keep the store from it: then they stay. */
ida_kind cache_indexes_aside(cache_sync *run, ida_ctx *c)
{
    ida_ctx *b = cache_sync_batch(run, c);
    store *s = run->at.s;
    ida_kind kind = store_transaction(s, b, lay_aside, run);
    if (kind && run->bare) {
        run->bare = 0;
        run->budget = CACHE_FIRST_BUDGET_MS;
    }
    if (kind == IDA_SERVICE_UNAVAILABLE && s->db && !db_is_broken(s->db)) {
        ida_log(c->env, IDA_LOG_INFO, NULL,
                "the first load of tenant %s keeps the cache's indexes and takes longer: %s",
                run->at.tenant, b->message ? b->message : "");
        return IDA_OK;
    }
    return cache_sync_failed(c, b, kind);
}

/* Those that `names` lists. */
static ida_kind make_again(cache_sync *run, ida_ctx *c, db_statement names)
{
    apr_pool_t *pool;
    db_result r;
    apr_pool_create(&pool, c->pool);
    ida_ctx *own = ida_ctx_make(c->env, pool);
    store *s = run->at.s;
    ida_kind kind = store_read(s, own, names, DB_NONE, &r);
    if (!kind && r.rows) {
        kind = settings(s, own, "PRAGMA temp_store = FILE");
        for (int row = 0; !kind && row < r.rows; row++) {
            ida_ctx *b = cache_sync_batch(run, c);
            kind = cache_sync_failed(
                own, b, store_transaction(s, b, take_back, (void *)db_text(&r, row, 0)));
        }
        ida_kind after = settings(s, own, "PRAGMA temp_store = MEMORY");
        kind = kind ? kind : after;
    }
    kind = cache_sync_failed(c, own, kind);
    apr_pool_destroy(pool);
    return kind;
}

ida_kind cache_indexes_back(cache_sync *run, ida_ctx *c)
{
    if (run->bare) {
        run->bare = 0;
        run->budget = CACHE_FIRST_BUDGET_MS;
    }
    return make_again(run, c, STMT_index_aside);
}

ida_kind cache_index_of_users_back(cache_sync *run, ida_ctx *c)
{
    return run->bare ? make_again(run, c, STMT_index_aside_of_users) : IDA_OK;
}
