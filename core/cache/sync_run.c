/* Owns a run: its number, the short transactions that empty its buffer into staging, the pages in
 * which staging is read again; and the state of syncs. Must not know what entries mean for the
 * cache. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/cache/cache.h"

#define FIRST_LITE_BYTES                                                                           \
    (8 * 1024 * 1024) /* in a first load: SQLite should write its pages few times, and nobody wait \
                         for long */
#define FIRST_PG_BYTES (3 * 1024 * 1024)
#define FIRST_GROWS 8   /* the writer need not wait for the first buffers to be as full */
#define RELIEF_EVERY 12 /* transactions of a first load */
#define EMPTY_SLICE 5000
#define COPIES_LOST                                                                              \
    3 /* transactions of a first load that found a row there: then no further one takes its rows \
         for new */
#define FIRST_PATIENCE                                                                             \
    12 /* times that the engine's patience may end: another first load may be making a large index \
        */

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
    state->run = db_int(&r, 0, 0);
    state->started_at = db_int(&r, 0, 1);
    state->completed_at = db_int(&r, 0, 2);
    state->full_at = db_int(&r, 0, 3);
    state->tokens = db_text(&r, 0, 4);
    state->binding = db_text(&r, 0, 5);
    state->error = db_text(&r, 0, 6);
    state->stopped = db_text(&r, 0, 7);
    state->sign_ins = (int)db_int(&r, 0, 8);
    return IDA_OK;
}

/* --- transactions of a run --- */

ida_ctx *cache_sync_batch(cache_sync *run, const ida_ctx *c)
{
    apr_pool_clear(run->batch_pool);
    return ida_ctx_make(c->env, run->batch_pool);
}

ida_kind cache_sync_failed(ida_ctx *c, const ida_ctx *batch, ida_kind kind)
{
    if (kind) {
        ida_fail(c, kind, "%s", batch->message ? batch->message : ida_kind_text(kind));
        c->retry_after = batch->retry_after;
    }
    return kind;
}

typedef struct phase {
    cache_sync *run;
    cache_step step;
    cache_cursor *from, to; /* a transaction that is repeated starts at `from` again */
    int more, tried;
    int superseded; /* by another run of this directory */
} phase;

static ida_kind phase_work(store *s, ida_ctx *c, void *baton)
{
    phase *p = baton;
    int64_t began = ida_monotonic(c->env), run = p->run->at.staged;
    (void)s;
    if (p->tried++) { /* numbers made in the transaction that was rolled back are none */
        cache_memory_clear(p->run->at.memory);
    }
    ida_kind kind = cache_enter(&p->run->at, c);
    if (!kind && p->run->at.run != run) {
        p->run->at.run = run;
        p->superseded = 1;
        kind = ida_fail(c, IDA_CONFLICT,
                        "Another sync of this directory (run %lld) began while run %lld was at "
                        "work; this one ends here.",
                        (long long)p->run->at.run, (long long)run);
    }
    p->to = *p->from;
    do {
        if (!kind) {
            p->more = 0;
            kind = p->step(p->run, c, &p->to, &p->more);
        }
    } while (!kind && p->more && ida_monotonic(c->env) - began < p->run->budget);
    return kind;
}

static int is_usable(const store *s)
{
    return s->db && !db_is_broken(s->db);
}

/* Between transactions, so that no commit has a large log to write back: that too holds the gate.
 * What cannot be done now is done later. In a first load the phases count their transactions for
 * it: each time waits for the disk. */
static void relieve(cache_sync *run, ida_ctx *c)
{
    if (is_usable(run->at.s)) {
        db_checkpoint(run->at.s->db, cache_sync_batch(run, c));
    }
}

ida_kind cache_sync_phase(cache_sync *run, ida_ctx *c, cache_step step, cache_cursor *cursor)
{
    phase p = {.run = run, .step = step, .from = cursor};
    ida_kind kind;
    int waited = 0;
    do {
        ida_ctx *batch = cache_sync_batch(run, c);
        kind = cache_sync_failed(c, batch, store_transaction(run->at.s, batch, phase_work, &p));
        if (kind == IDA_CONFLICT && run->at.copying && !p.superseded) {
            run->copies--; /* some row was there: the same once more, without */
            run->at.copying = 0;
            ida_ctx_clear(c);
            kind = IDA_OK;
            p.more = 1;
            continue;
        }
        run->at.copying = run->copies > 0;
        if (!kind) {
            *cursor = p.to;
            p.tried = 0;
        }
        if (kind == IDA_SERVICE_UNAVAILABLE && run->at.first && is_usable(run->at.s) &&
            waited++ < FIRST_PATIENCE) {
            ida_ctx_clear(c);
            kind = IDA_OK;
            p.more = 1;
            continue;
        }
        if (!kind && run->at.first && ++run->transactions % RELIEF_EVERY == 0) {
            relieve(run, c);
        }
    } while (!kind && p.more);
    if (kind) {
        cache_memory_clear(run->at.memory);
    }
    return kind;
}

typedef struct paging {
    const cache_pages *pages;
    db_result r;
} paging;

/* cursor->count is the next row of the page. */
static ida_kind step_page(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    const paging *p = cursor->baton;
    int from = (int)cursor->count,
        to = from + p->pages->chunk < p->r.rows ? from + p->pages->chunk : p->r.rows, again = 0;
    ida_kind kind = p->pages->apply(run, c, &p->r, from, to, &again);
    cursor->count = again ? from : to;
    *more = cursor->count < p->r.rows;
    return kind;
}

ida_kind cache_sync_pages(cache_sync *run, ida_ctx *c, const cache_pages *pages)
{
    const cache_at *at = &run->at;
    char id[CACHE_ID_MAX + 1] = "", sub[CACHE_KEY_MAX + 100] = "";
    ida_kind kind;
    paging p = {.pages = pages};
    do {
        apr_pool_clear(run->page_pool);
        ida_ctx *reading = ida_ctx_make(c->env, run->page_pool);
        db_arg args[] = {DB_T(at->tenant),  DB_T(at->directory), DB_I(at->staged),  DB_T(id),
                         DB_I(pages->rows), DB_T(sub),           DB_T(pages->which)};
        size_t count = pages->keys == 2 ? 6 : 5;
        if (pages->which) {
            args[count++] = (db_arg)DB_T(pages->which);
        }
        kind = cache_sync_failed(c, reading,
                                 store_read(at->s, reading, pages->read, args, count, &p.r));
        if (kind || !p.r.rows) {
            return kind;
        }
        apr_cpystrn(id, db_text(&p.r, p.r.rows - 1, 0), sizeof id);
        if (pages->keys == 2) {
            apr_cpystrn(sub, db_text(&p.r, p.r.rows - 1, 1), sizeof sub);
        }
        cache_cursor cursor = {.baton = &p};
        kind = cache_sync_phase(run, c, step_page, &cursor);
        if (!kind && !run->at.first) {
            relieve(run, c);
        }
    } while (!kind && p.r.rows == pages->rows);
    return kind;
}

/* --- the buffer --- */

void cache_buffer_clear(cache_buffer *b)
{
    apr_pool_t *pool = b->pool;
    apr_pool_clear(pool);
    *b = (cache_buffer){.pool = pool,
                        .index = apr_hash_make(pool),
                        .slices = apr_array_make(pool, 16, sizeof(cache_slice))};
}

int cache_buffer_empty(const cache_buffer *b)
{
    return !b->count && !b->slices->nelts;
}

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* What the cache holds already is noted, not carried along. */
static ida_kind skip_unchanged(cache_sync *run, ida_ctx *c, const cache_buffer *b,
                               const char *kind_name, db_statement digests)
{
    const cache_at *at = &run->at;
    const char **ids = apr_palloc(c->pool, (apr_size_t)(b->count + 1) * sizeof *ids);
    db_result r;
    int count = 0;
    for (const cache_sync_entry *e = b->head; e; e = e->next) {
        if (is(e->op, "put") && is(e->kind, kind_name) && *e->digest) {
            ids[count++] = e->id;
        }
    }
    ida_kind kind = count ? store_read(at->s, c, digests,
                                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory),
                                               DB_T(cache_list(c->pool, ids, count))),
                                       &r)
                          : IDA_OK;
    for (int row = 0; count && !kind && row < r.rows; row++) {
        cache_sync_entry *e = apr_hash_get(
            b->index, apr_pstrcat(c->pool, kind_name, "\1", db_text(&r, row, 0), "\1", NULL),
            APR_HASH_KEY_STRING);
        if (e && is(e->digest, db_text(&r, row, 1))) {
            e->op = "same";
            e->item = NULL;
        }
    }
    return kind;
}

/* Slices of lists that are in the cache, or that another list replaced, need not be staged. */
static int wanted(const cache_buffer *b, ida_ctx *c, const cache_sync_entry *e)
{
    if (!is(e->kind, "members")) {
        return 1;
    }
    const cache_sync_entry *list = apr_hash_get(b->index,
                                                apr_pstrcat(c->pool, "group\1", e->id, "\1", NULL),
                                                APR_HASH_KEY_STRING);
    return list && list->seq == e->seq && is(list->op, "put");
}

static ida_kind keep_managers(cache_sync *run, ida_ctx *c, const cache_buffer *b)
{
    const cache_at *at = &run->at;
    const char **ids = apr_palloc(c->pool, (apr_size_t)(b->count + 1) * sizeof *ids);
    apr_hash_t *staged = apr_hash_make(c->pool);
    db_result r;
    int count = 0;
    for (const cache_sync_entry *e = b->head; e; e = e->next) {
        if (e->untold) {
            ids[count++] = e->id;
        }
    }
    ida_kind kind = count ? store_read(at->s, c, STMT_told_before,
                                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory),
                                               DB_I(at->staged),
                                               DB_T(cache_list(c->pool, ids, count))),
                                       &r)
                          : IDA_OK;
    for (int row = 0; count && !kind && row < r.rows; row++) { /* those of the run come first */
        const char *id = db_text(&r, row, 0);
        cache_sync_entry *e = apr_hash_get(b->index, apr_pstrcat(c->pool, "user\1", id, "\1", NULL),
                                           APR_HASH_KEY_STRING);
        if (e && e->untold && !apr_hash_get(staged, id, APR_HASH_KEY_STRING)) {
            cache_sync_manager(b->pool, e, db_text(&r, row, 1), db_text(&r, row, 2));
        }
        apr_hash_set(staged, id, APR_HASH_KEY_STRING, "");
    }
    return kind;
}

ida_kind cache_sync_stage(cache_sync *run, ida_ctx *c, const cache_sync_entry *const *entries,
                          int count)
{
    enum { COLUMNS = 7 };
    cache_at *at = &run->at;
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged)};
    const char **values = apr_palloc(c->pool, (apr_size_t)(count + 1) * COLUMNS * sizeof *values);
    for (int i = 0; i < count; i++) {
        const cache_sync_entry *e = entries[i];
        const char *const row[COLUMNS] = {
            e->kind,   e->id,  e->sub, e->op, ida_printf(c->pool, "%lld", (long long)e->seq),
            e->digest, e->item};
        memcpy(values + COLUMNS * i, row, sizeof row);
    }
    return cache_bulk(at, c, STMT_staging_put, fixed, 3, values, COLUMNS, count, NULL);
}

static ida_kind into_staging(cache_sync *run, ida_ctx *c, const cache_buffer *b)
{
    ida_kind kind = keep_managers(run, c, b);
    if (!kind) {
        kind = skip_unchanged(run, c, b, "user", STMT_user_digests);
    }
    if (!kind) {
        kind = skip_unchanged(run, c, b, "group", STMT_group_digests);
    }
    const cache_sync_entry **entries = apr_palloc(c->pool,
                                                  (apr_size_t)(b->count + 1) * sizeof *entries);
    int count = 0;
    for (const cache_sync_entry *e = b->head; e; e = e->next) {
        if (wanted(b, c, e)) {
            entries[count++] = e;
        }
    }
    return kind ? kind : cache_sync_stage(run, c, entries, count);
}

static ida_kind analyze(store *s, ida_ctx *c, void *baton)
{
    const db_statement *statements = baton;
    ida_kind kind = store_read(s, c, STMT_analyze_lightly, DB_NONE, NULL);
    for (int i = 0; !kind && i < 2; i++) {
        kind = statements[i] ? store_read(s, c, statements[i], DB_NONE, NULL) : IDA_OK;
    }
    return kind;
}

ida_kind cache_sync_analyze(cache_sync *run, ida_ctx *c, db_statement statement, db_statement more)
{
    db_statement statements[] = {statement, more};
    store *s = run->at.s;
    if (s->db && !db_is_postgresql(s->db)) {
        return IDA_OK; /* it goes by the figures in the schema */
    }
    ida_ctx *batch = cache_sync_batch(run, c);
    return cache_sync_failed(c, batch, store_transaction(s, batch, analyze, statements));
}

static ida_kind step_write(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    (void)more;
    return into_staging(run, c, cursor->baton);
}

ida_kind cache_sync_write(cache_sync *run, ida_ctx *c, const cache_buffer *buffer)
{
    int first = run->at.first;
    ida_kind kind = run->bare && cache_load_needs_indexes(buffer) ? cache_indexes_back(run, c)
                                                                  : IDA_OK;
    kind = kind || !first ? kind : cache_load_numbers(run, c, buffer);
    kind = kind || !(buffer->behind_users || run->users_done) ? kind : cache_load_users_end(run, c);
    if (kind) {
        return kind;
    }
    if (buffer->told &
        ~run->told) { /* a table that was empty: figures of what it held once are worse than none */
        run->told |= buffer->told;
        run->analyze_at = 0;
    }
    cache_cursor cursor = {.baton = first ? (const void *)buffer->load : buffer};
    kind = cache_sync_phase(run, c, first ? cache_load_step : step_write, &cursor);
    if (!kind && !first) {
        relieve(run, c);
    }
    if (kind || !first || ++run->flushes < run->analyze_at) {
        return kind;
    }
    run->analyze_at = run->flushes * 4; /* tables that grow from nothing */
    return cache_sync_analyze(run, c, STMT_analyze_entries, STMT_analyze_members);
}

ida_kind cache_sync_flush(cache_sync *run, ida_ctx *c)
{
    if (cache_buffer_empty(run->buffer)) {
        return IDA_OK;
    }
    if (run->writer) {
        run->first_bytes = 2 * run->first_bytes < run->full_bytes ? 2 * run->first_bytes
                                                                  : run->full_bytes;
        return cache_writer_give(run, c);
    }
    ida_kind kind = cache_sync_write(run, c, run->buffer);
    if (!kind) {
        cache_buffer_clear(run->buffer);
    }
    return kind;
}

/* --- begin and end --- */

static ida_kind step_empty(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    (void)cursor;
    db_result r;
    const cache_at *at = &run->at;
    ida_kind kind = store_write(at->s, c, STMT_staging_empty,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(EMPTY_SLICE)),
                                &r);
    *more = !kind && r.changes == EMPTY_SLICE;
    return kind;
}

ida_kind cache_sync_empty(cache_sync *run, ida_ctx *c)
{
    cache_cursor cursor = {0};
    return cache_sync_phase(run, c, step_empty, &cursor);
}

ida_kind cache_sync_begin(cache_sync **out, store *s, ida_ctx *c, apr_pool_t *pool,
                          const char *tenant, ida_directory_kind directory, int full)
{
    cache_sync *run = apr_pcalloc(pool, sizeof *run);
    db_result r;
    *out = NULL;
    run->pool = pool;
    run->full = full;
    run->budget = CACHE_BUDGET_MS;
    run->complete[0] = run->complete[1] = full;
    run->at = (cache_at){.s = s,
                         .tenant = apr_pstrdup(pool, tenant),
                         .directory = ida_directory_name(directory),
                         .kind = directory,
                         .started_at = ida_now(c->env)};
    run->at.memory = cache_memory_make(pool);
    apr_pool_create(&run->batch_pool, pool);
    apr_pool_create(&run->page_pool, pool);
    apr_pool_create(&run->item_pool, pool);
    ida_kind kind = store_write(
        s, c, STMT_sync_state_begin,
        DB_ARGS(DB_T(tenant), DB_T(run->at.directory), DB_I(run->at.started_at)), &r);
    if (!kind && !r.rows) {
        kind = ida_fail(c, IDA_INTERNAL_ERROR,
                        "The store did not tell the number of the sync run it began.");
    }
    if (kind) {
        return kind;
    }
    run->at.staged = run->at.run = db_int(&r, 0, 0);
    kind = cache_sync_empty(run, c);
    if (!kind && full) {
        kind = store_read(s, c, STMT_directory_empty,
                          DB_ARGS(DB_T(tenant), DB_T(run->at.directory)), &r);
        if (!kind && r.rows) {
            run->at.first = 1;
            run->budget = CACHE_FIRST_BUDGET_MS;
            run->copies = db_copies(s->db) ? COPIES_LOST : 0;
            run->at.copying = run->copies > 0;
            run->full_bytes = db_is_postgresql(s->db) ? FIRST_PG_BYTES : FIRST_LITE_BYTES;
            run->first_bytes = run->full_bytes / FIRST_GROWS;
            kind = cache_writer_start(run, c);
            kind = kind ? kind : cache_indexes_aside(run, c);
            run->by_id = run->bare;
        }
    }
    if (!kind && !run->bare) {
        kind = cache_indexes_back(run, c);
    }
    if (!kind && !run->at.first) {
        run->buffer = apr_pcalloc(pool, sizeof *run->buffer);
        apr_pool_create(&run->buffer->pool, pool);
        cache_buffer_clear(run->buffer);
    }
    *out = kind ? NULL : run;
    return kind;
}

ida_kind cache_sync_abort(cache_sync *run, ida_ctx *c, const char *error)
{
    const cache_at *at = &run->at;
    if (run->at.first) {
        cache_writer_stop(run);
    } else {
        cache_buffer_clear(run->buffer);
    }
    cache_memory_clear(at->memory);
    ida_kind kind = store_write(
        at->s, c, STMT_sync_state_failed,
        DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(error)), NULL);
    kind = kind ? kind : cache_sync_empty(run, c);
    if (run->at.first) {
        store_disconnect(at->s);
    }
    return kind;
}
