/* Owns a run: its number, its buffer, the short transactions that empty the buffer into staging, the pages in which staging is
 * read again; and the state of syncs. Must not know what entries mean for the cache. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/store_cache.h"

#define BUFFER_ITEMS 2000
#define BUFFER_BYTES (2 * 1024 * 1024)
#define FIRST_LITE_BYTES                                                                                                         \
    (8 * 1024 * 1024) /* in a first load: SQLite should write its pages few times, and nobody wait for long */
#define FIRST_PG_BYTES (3 * 1024 * 1024)
#define FIRST_GROWS 8 /* the writer need not wait for the first buffers to be as full */
#define MEMBER_BYTES 110              /* of those, for a member of a slice: as users are, by the time that it takes */
#define RELIEF_EVERY 12               /* transactions of a first load */
#define SLICE_WEIGHT 3                /* rows a byte: members are short */
#define ENTRY_BYTES 300 /* of the buffer, for an entry besides its record */
#define SLICE_MEMBERS 250
#define NAMED_AT_ONCE 2000
#define EMPTY_SLICE 5000
#define COPIES_LOST 3 /* transactions of a first load that found a row there: then no further one takes its rows for new */
#define FIRST_PATIENCE 12 /* times that the engine's patience may end: another first load may be making a large index */

/* --- state --- */

ida_kind store_sync_state_get(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory, store_sync_state *state)
{
    db_result r;
    *state = (store_sync_state){.tokens = "{}", .sign_ins = 1};
    ida_kind kind = store_read(s, c, STMT_sync_state_get, DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory))), &r);
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

ida_ctx *sync_run_batch(sync_run *run, const ida_ctx *c)
{
    apr_pool_clear(run->batch_pool);
    return ida_ctx_make(c->env, run->batch_pool);
}

ida_kind sync_run_failed(ida_ctx *c, const ida_ctx *batch, ida_kind kind)
{
    if (kind) {
        ida_fail(c, kind, "%s", batch->message ? batch->message : ida_kind_text(kind));
        c->retry_after = batch->retry_after;
    }
    return kind;
}

typedef struct phase {
    sync_run *run;
    sync_step step;
    sync_cursor *from, to; /* a transaction that is repeated starts at `from` again */
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
                        "Another sync of this directory (run %lld) began while run %lld was at work; this one ends here.",
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

/* Between transactions, so that no commit has a large log to write back: that too holds the gate. What cannot be done now is done
 * later. In a first load the phases count their transactions for it: each time waits for the disk. */
static void relieve(sync_run *run, ida_ctx *c)
{
    if (is_usable(run->at.s)) {
        db_checkpoint(run->at.s->db, sync_run_batch(run, c));
    }
}

ida_kind sync_run_phase(sync_run *run, ida_ctx *c, sync_step step, sync_cursor *cursor)
{
    phase p = {.run = run, .step = step, .from = cursor};
    ida_kind kind;
    int waited = 0;
    do {
        ida_ctx *batch = sync_run_batch(run, c);
        kind = sync_run_failed(c, batch, store_transaction(run->at.s, batch, phase_work, &p));
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
        if (kind == IDA_SERVICE_UNAVAILABLE && run->at.first && is_usable(run->at.s) && waited++ < FIRST_PATIENCE) {
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
    const sync_pages *pages;
    db_result r;
} paging;

/* cursor->count is the next row of the page. */
static ida_kind step_page(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    const paging *p = cursor->baton;
    int from = (int)cursor->count, to = from + p->pages->chunk < p->r.rows ? from + p->pages->chunk : p->r.rows, again = 0;
    ida_kind kind = p->pages->apply(run, c, &p->r, from, to, &again);
    cursor->count = again ? from : to;
    *more = cursor->count < p->r.rows;
    return kind;
}

ida_kind sync_run_pages(sync_run *run, ida_ctx *c, const sync_pages *pages)
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
        kind = sync_run_failed(c, reading, store_read(at->s, reading, pages->read, args, count, &p.r));
        if (kind || !p.r.rows) {
            return kind;
        }
        apr_cpystrn(id, db_text(&p.r, p.r.rows - 1, 0), sizeof id);
        if (pages->keys == 2) {
            apr_cpystrn(sub, db_text(&p.r, p.r.rows - 1, 1), sizeof sub);
        }
        sync_cursor cursor = {.baton = &p};
        kind = sync_run_phase(run, c, step_page, &cursor);
        if (!kind && !run->at.first) {
            relieve(run, c);
        }
    } while (!kind && p.r.rows == pages->rows);
    return kind;
}

/* --- the buffer --- */

void sync_buffer_clear(sync_buffer *b)
{
    apr_pool_t *pool = b->pool;
    apr_pool_clear(pool);
    *b = (sync_buffer){.pool = pool, .index = apr_hash_make(pool), .slices = apr_array_make(pool, 16, sizeof(sync_slice))};
}

int sync_buffer_empty(const sync_buffer *b)
{
    return !b->count && !b->slices->nelts;
}

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* What the cache holds already is noted, not carried along. */
static ida_kind skip_unchanged(sync_run *run, ida_ctx *c, const sync_buffer *b, const char *kind_name, db_statement digests)
{
    const cache_at *at = &run->at;
    const char **ids = apr_palloc(c->pool, (apr_size_t)(b->count + 1) * sizeof *ids);
    db_result r;
    int count = 0;
    for (const sync_entry *e = b->head; e; e = e->next) {
        if (is(e->op, "put") && is(e->kind, kind_name) && *e->digest) {
            ids[count++] = e->id;
        }
    }
    ida_kind kind = count ? store_read(at->s, c, digests,
                                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(cache_list(c->pool, ids, count))), &r)
                          : IDA_OK;
    for (int row = 0; count && !kind && row < r.rows; row++) {
        sync_entry *e =
            apr_hash_get(b->index, apr_pstrcat(c->pool, kind_name, "\1", db_text(&r, row, 0), "\1", NULL), APR_HASH_KEY_STRING);
        if (e && is(e->digest, db_text(&r, row, 1))) {
            e->op = "same";
            e->item = NULL;
        }
    }
    return kind;
}

/* Slices of lists that are in the cache, or that another list replaced, need not be staged. */
static int wanted(const sync_buffer *b, ida_ctx *c, const sync_entry *e)
{
    if (!is(e->kind, "members")) {
        return 1;
    }
    const sync_entry *list = apr_hash_get(b->index, apr_pstrcat(c->pool, "group\1", e->id, "\1", NULL), APR_HASH_KEY_STRING);
    return list && list->seq == e->seq && is(list->op, "put");
}

/* What an earlier item said of the manager goes over to one that says nothing; of one found unchanged the cache knows it. */
static void take_manager(apr_pool_t *pool, sync_entry *e, const char *op, const char *earlier)
{
    const char *item[CACHE_USER_FIELDS], *before[CACHE_USER_FIELDS];
    cache_record_read(pool, e->item, item, CACHE_USER_FIELDS);
    cache_record_read(pool, earlier, before, CACHE_USER_FIELDS);
    if (is(op, "same")) {
        item[CACHE_USER_manager_untold] = ida_printf(pool, "%d", CACHE_MANAGER_KEPT);
    } else if (!before[CACHE_USER_manager_untold]) {
        item[CACHE_USER_manager_id] = before[CACHE_USER_manager_id];
        item[CACHE_USER_manager_untold] = NULL;
        e->untold = 0;
    } else {
        return;
    }
    e->item = cache_record(pool, item, CACHE_USER_FIELDS);
    e->digest = cache_digest(pool, e->item, strlen(e->item));
}

static ida_kind keep_managers(sync_run *run, ida_ctx *c, const sync_buffer *b)
{
    const cache_at *at = &run->at;
    const char **ids = apr_palloc(c->pool, (apr_size_t)(b->count + 1) * sizeof *ids);
    apr_hash_t *staged = apr_hash_make(c->pool);
    db_result r;
    int count = 0;
    for (const sync_entry *e = b->head; e; e = e->next) {
        if (e->untold) {
            ids[count++] = e->id;
        }
    }
    ida_kind kind =
        count
            ? store_read(at->s, c, STMT_told_before,
                         DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(cache_list(c->pool, ids, count))),
                         &r)
            : IDA_OK;
    for (int row = 0; count && !kind && row < r.rows; row++) { /* those of the run come first */
        const char *id = db_text(&r, row, 0);
        sync_entry *e = apr_hash_get(b->index, apr_pstrcat(c->pool, "user\1", id, "\1", NULL), APR_HASH_KEY_STRING);
        if (e && e->untold && !apr_hash_get(staged, id, APR_HASH_KEY_STRING)) {
            take_manager(b->pool, e, db_text(&r, row, 1), db_text(&r, row, 2));
        }
        apr_hash_set(staged, id, APR_HASH_KEY_STRING, "");
    }
    return kind;
}

ida_kind sync_run_stage(sync_run *run, ida_ctx *c, const sync_entry *const *entries, int count)
{
    enum { COLUMNS = 7 };
    cache_at *at = &run->at;
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged)};
    const char **values = apr_palloc(c->pool, (apr_size_t)(count + 1) * COLUMNS * sizeof *values);
    for (int i = 0; i < count; i++) {
        const sync_entry *e = entries[i];
        const char *const row[COLUMNS] = {e->kind,   e->id,  e->sub, e->op, ida_printf(c->pool, "%lld", (long long)e->seq),
                                          e->digest, e->item};
        memcpy(values + COLUMNS * i, row, sizeof row);
    }
    return cache_bulk(at, c, STMT_staging_put, fixed, 3, values, COLUMNS, count, NULL);
}

static ida_kind into_staging(sync_run *run, ida_ctx *c, const sync_buffer *b)
{
    ida_kind kind = keep_managers(run, c, b);
    if (!kind) {
        kind = skip_unchanged(run, c, b, "user", STMT_user_digests);
    }
    if (!kind) {
        kind = skip_unchanged(run, c, b, "group", STMT_group_digests);
    }
    const sync_entry **entries = apr_palloc(c->pool, (apr_size_t)(b->count + 1) * sizeof *entries);
    int count = 0;
    for (const sync_entry *e = b->head; e; e = e->next) {
        if (wanted(b, c, e)) {
            entries[count++] = e;
        }
    }
    return kind ? kind : sync_run_stage(run, c, entries, count);
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

ida_kind sync_run_analyze(sync_run *run, ida_ctx *c, db_statement statement, db_statement more)
{
    db_statement statements[] = {statement, more};
    store *s = run->at.s;
    if (s->db && !db_is_postgresql(s->db)) {
        return IDA_OK; /* it goes by the figures in the schema */
    }
    ida_ctx *batch = sync_run_batch(run, c);
    return sync_run_failed(c, batch, store_transaction(s, batch, analyze, statements));
}

static ida_kind step_write(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    (void)more;
    return into_staging(run, c, cursor->baton);
}

ida_kind sync_run_write(sync_run *run, ida_ctx *c, const sync_buffer *buffer)
{
    int first = run->at.first;
    ida_kind kind = run->bare && sync_load_needs_indexes(buffer) ? sync_indexes_back(run, c) : IDA_OK;
    kind = kind || !first ? kind : sync_load_numbers(run, c, buffer);
    kind = kind || !(buffer->behind_users || run->users_done) ? kind : sync_load_users_end(run, c);
    if (kind) {
        return kind;
    }
    if (buffer->told & ~run->told) { /* a table that was empty: figures of what it held once are worse than none */
        run->told |= buffer->told;
        run->analyze_at = 0;
    }
    sync_cursor cursor = {.baton = first ? (const void *)buffer->load : buffer};
    kind = sync_run_phase(run, c, first ? sync_load_step : step_write, &cursor);
    if (!kind && !first) {
        relieve(run, c);
    }
    if (kind || !first || ++run->flushes < run->analyze_at) {
        return kind;
    }
    run->analyze_at = run->flushes * 4; /* tables that grow from nothing */
    return sync_run_analyze(run, c, STMT_analyze_entries, STMT_analyze_members);
}

ida_kind sync_run_flush(sync_run *run, ida_ctx *c)
{
    if (sync_buffer_empty(run->buffer)) {
        return IDA_OK;
    }
    if (run->writer) {
        run->first_bytes = 2 * run->first_bytes < run->full_bytes ? 2 * run->first_bytes : run->full_bytes;
        return sync_writer_give(run, c);
    }
    ida_kind kind = sync_run_write(run, c, run->buffer);
    if (!kind) {
        sync_buffer_clear(run->buffer);
    }
    return kind;
}

/* The entry of this key, made without an op when there is none; `id` and `sub` are in the buffer's pool already. */
static sync_entry *entry_of(sync_buffer *b, const char *kind, const char *id, const char *sub)
{
    const char *key = apr_pstrcat(b->pool, kind, "\1", id, "\1", sub, NULL);
    sync_entry *e = apr_hash_get(b->index, key, APR_HASH_KEY_STRING);
    if (!e) {
        e = apr_pcalloc(b->pool, sizeof *e);
        *e = (sync_entry){.kind = kind, .id = id, .sub = sub};
        apr_hash_set(b->index, key, APR_HASH_KEY_STRING, e);
        *(b->last ? &b->last->next : &b->head) = e;
        b->last = e;
        b->count++;
    }
    b->bytes += ENTRY_BYTES + strlen(key);
    return e;
}

/* A further word for the entry; `digest` and `item` (of `item_len` bytes) are in the buffer's pool already. The last word holds,
 * as in staging; "present" says less than an entry, and a group told without members says nothing of the list before it. */
static void say(sync_run *run, sync_entry *e, const char *op, int64_t seq, const char *digest, const char *item, size_t item_len)
{
    if (is(op, "present") && e->op && !is(e->op, "delete")) {
        return;
    }
    run->buffer->bytes += item_len * (run->at.first && is(e->kind, "members") ? SLICE_WEIGHT : 1);
    e->op = op;
    e->digest = digest;
    e->item = item;
    e->untold = 0;
    e->seq = seq > 0 ? seq : e->seq;
}

static void stage(sync_run *run, const char *kind, const char *id, const char *sub, const char *op, int64_t seq,
                  const char *digest, const char *item)
{
    say(run, entry_of(run->buffer, kind, id, sub), op, seq, digest, item, item ? strlen(item) : 0);
}

static ida_kind flush_when_full(sync_run *run, ida_ctx *c)
{
    const sync_buffer *b = run->buffer;
    int full = run->at.first ? b->bytes >= run->first_bytes : b->count >= BUFFER_ITEMS || b->bytes >= BUFFER_BYTES;
    return full ? sync_run_flush(run, c) : IDA_OK;
}

static ida_kind id_check(ida_ctx *c, const char *id)
{
    return cache_id_valid(id)
               ? IDA_OK
               : ida_fail(c, IDA_BAD_REQUEST, "The directory sent an entry without a usable ID (1 to %d bytes of UTF-8).",
                          CACHE_ID_MAX);
}

static const char *kind_of(const char *kind)
{
    return strcmp(kind, "group") == 0 ? "group" : "user";
}

ida_kind sync_run_user(sync_run *run, ida_ctx *c, const sync_user *user)
{
    ida_kind kind = id_check(c, user->id);
    if (kind) {
        return kind;
    }
    sync_user told = *user;
    /* In a first load the cache's manager is what the run told. */
    told.manager_untold = !user->manager_untold ? 0 : run->full && !run->at.first ? CACHE_MANAGER_NOBODY : CACHE_MANAGER_KEPT;
    apr_pool_clear(run->item_pool);
    apr_pool_t *p = run->buffer->pool;
    const char *item = cache_user_item(run->item_pool, &told);
    size_t len = strlen(item);
    sync_entry *e = entry_of(run->buffer, "user", apr_pstrdup(p, user->id), "");
    const sync_entry before = *e;
    say(run, e, "put", ++run->seq, cache_digest(p, item, len), apr_pstrmemdup(p, item, len), len);
    e->untold = told.manager_untold != 0;
    if (e->untold && before.op && is(before.op, "put")) {
        take_manager(p, e, before.op, before.item);
    }
    return flush_when_full(run, c);
}

ida_kind sync_run_sign_ins(sync_run *run, ida_ctx *c, const char *user_id, const sync_sign_ins *times)
{
    ida_kind kind = id_check(c, user_id);
    if (!kind) {
        apr_pool_t *p = run->buffer->pool;
        const char *const record[] = {ida_printf(p, "%lld", (long long)times->last),
                                      ida_printf(p, "%lld", (long long)times->last_noninteractive),
                                      ida_printf(p, "%lld", (long long)times->last_success)};
        stage(run, "sign_ins", apr_pstrdup(p, user_id), "", "put", ++run->seq, "", cache_record(p, record, 3));
        kind = flush_when_full(run, c);
    }
    return kind;
}

/* The buffer that begins then tells the writer. */
ida_kind sync_run_users_told(sync_run *run, ida_ctx *c)
{
    ida_kind kind = run->at.first ? sync_run_flush(run, c) : IDA_OK;
    run->buffer->behind_users = !kind && run->at.first;
    return kind;
}

int64_t sync_run_number(const sync_run *run)
{
    return run->at.staged;
}

ida_kind sync_run_returned(sync_run *run, ida_ctx *c, int64_t settled, int64_t created_before, const char *after, int limit,
                           const char ***ids, int *count)
{
    enum { PAGE = 500 };
    const cache_at *at = &run->at;
    db_result r;
    ida_kind kind = sync_run_flush(run, c);
    *ids = apr_palloc(c->pool, (apr_size_t)(limit + 1) * sizeof **ids);
    *count = 0;
    do {
        kind = kind ? kind
                    : store_read(at->s, c, STMT_staged_returned,
                                 DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(after), DB_I(PAGE),
                                         DB_I(settled)),
                                 &r);
        for (int row = 0; !kind && row < r.rows && *count < limit; row++) {
            const char *told = db_text(&r, row, 1), *item[CACHE_USER_FIELDS];
            cache_record_read(c->pool, told ? told : "", item, CACHE_USER_FIELDS);
            int64_t created = !told                         ? db_int(&r, row, 2)
                              : item[CACHE_USER_created_at] ? strtoll(item[CACHE_USER_created_at], NULL, 10)
                                                            : 0;
            after = db_text(&r, row, 0);
            if (created < created_before) {
                (*ids)[(*count)++] = after;
            }
        }
    } while (!kind && r.rows == PAGE && *count < limit);
    return kind;
}

ida_kind sync_run_settled(sync_run *run, ida_ctx *c, const char *group_id, int64_t settled, int *yes)
{
    const cache_at *at = &run->at;
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_group_settled,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(group_id), DB_I(settled)), &r);
    *yes = !kind && r.rows > 0;
    return kind;
}

ida_kind sync_run_report(sync_run *run, ida_ctx *c, const char *user_id, const char *manager_id)
{
    ida_kind kind = id_check(c, user_id);
    if (!kind) {
        apr_pool_t *p = run->buffer->pool;
        stage(run, "report", apr_pstrdup(p, user_id), "", "put", ++run->seq, "", apr_pstrdup(p, manager_id));
        kind = flush_when_full(run, c);
    }
    return kind;
}

/* Members each once, in slices; the digest over all of them. */
static const char *stage_list(sync_run *run, const char *group_id, int64_t seq, const sync_member *members, int count)
{
    apr_pool_t *list_pool = run->item_pool;
    apr_pool_clear(list_pool);
    apr_hash_t *seen = apr_hash_make(list_pool);
    const char **items = apr_palloc(list_pool, (apr_size_t)(count + 1) * sizeof *items);
    char chain[33] = "";
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const char *item = cache_member_item(list_pool, &members[i]);
        if (item && !apr_hash_get(seen, item, APR_HASH_KEY_STRING)) {
            apr_hash_set(seen, item, APR_HASH_KEY_STRING, item);
            items[kept++] = item;
        }
    }
    for (int at = 0; at < kept; at += SLICE_MEMBERS) {
        const char *slice = cache_record(run->buffer->pool, items + at, kept - at < SLICE_MEMBERS ? kept - at : SLICE_MEMBERS);
        const char *linked = apr_pstrcat(list_pool, chain, slice, NULL);
        apr_cpystrn(chain, cache_digest(list_pool, linked, strlen(linked)), sizeof chain);
        stage(run, "members", group_id, ida_printf(run->buffer->pool, "%06d", at / SLICE_MEMBERS), "put", seq, "", slice);
    }
    const char *digest = apr_pstrdup(run->buffer->pool, chain);
    return digest;
}

/* The list and its group reach the buffer together: an unchanged one goes no further. Without members no digest tells whether all
 * is in. */
ida_kind sync_run_group(sync_run *run, ida_ctx *c, const sync_group *group, const sync_member *members, int count)
{
    ida_kind kind = id_check(c, group->id);
    if (kind) {
        return kind;
    }
    int64_t seq = members ? ++run->seq : 0;
    const char *id = apr_pstrdup(run->buffer->pool, group->id), *list = members ? stage_list(run, id, seq, members, count) : NULL;
    apr_pool_clear(run->item_pool);
    const char *item = apr_pstrdup(run->buffer->pool, cache_group_item(run->item_pool, group, list));
    stage(run, "group", id, "", "put", seq, members ? cache_digest(run->buffer->pool, item, strlen(item)) : "", item);
    return flush_when_full(run, c);
}

ida_kind sync_run_member(sync_run *run, ida_ctx *c, const char *group_id, const sync_member *member, int removed)
{
    ida_kind kind = id_check(c, group_id);
    if (!kind && run->buffer->slices->nelts) { /* those come behind changes when they are written */
        kind = sync_run_flush(run, c);
    }
    const char *item = kind ? NULL : cache_member_item(run->buffer->pool, member);
    if (!item) {
        return kind; /* a member that cannot be named is none */
    }
    stage(run, "change", apr_pstrdup(run->buffer->pool, group_id), item, removed ? "remove" : "add", ++run->seq, "", NULL);
    return flush_when_full(run, c);
}

/* In a first load there is nothing that a slice could contradict: no last word needs to be found for each member. */
static ida_kind name_members(sync_run *run, ida_ctx *c, const char *group_id, const sync_member *members, int count)
{
    ida_kind kind = id_check(c, group_id);
    sync_buffer *b = run->buffer;
    const char **items = apr_palloc(b->pool, (apr_size_t)(count + 1) * sizeof *items);
    sync_slice slice = {.items = items, .seq = ++run->seq};
    for (int i = 0; !kind && i < count; i++) {
        items[slice.count] = cache_member_item(b->pool, &members[i]);
        slice.count += items[slice.count] != NULL;
    }
    if (kind || !slice.count) {
        return kind;
    }
    slice.group_id = apr_pstrdup(b->pool, group_id);
    APR_ARRAY_PUSH(b->slices, sync_slice) = slice;
    b->bytes += (size_t)slice.count * MEMBER_BYTES;
    return flush_when_full(run, c);
}

ida_kind sync_run_slice(sync_run *run, ida_ctx *c, const char *group_id, const sync_member *members, int count)
{
    ida_kind kind = IDA_OK;
    int step = run->at.first ? NAMED_AT_ONCE : 1;
    for (int i = 0; !kind && i < count; i += step) {
        kind = run->at.first ? name_members(run, c, group_id, members + i, count - i < step ? count - i : step)
                             : sync_run_member(run, c, group_id, &members[i], 0);
    }
    return kind;
}

static ida_kind stage_word(sync_run *run, ida_ctx *c, const char *kind_name, const char *id, const char *op)
{
    ida_kind kind = id_check(c, id);
    if (!kind) {
        stage(run, kind_of(kind_name), apr_pstrdup(run->buffer->pool, id), "", op, ++run->seq, "", NULL);
        kind = flush_when_full(run, c);
    }
    return kind;
}

ida_kind sync_run_delete(sync_run *run, ida_ctx *c, const char *kind, const char *id)
{
    return stage_word(run, c, kind, id, "delete");
}

ida_kind sync_run_present(sync_run *run, ida_ctx *c, const char *kind, const char *id)
{
    return stage_word(run, c, kind, id, "present");
}

ida_kind sync_run_complete(sync_run *run, ida_ctx *c, const char *kind)
{
    (void)c;
    run->complete[strcmp(kind_of(kind), "group") == 0] = 1;
    return IDA_OK;
}

/* --- begin and end --- */

static ida_kind step_empty(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    (void)cursor;
    db_result r;
    const cache_at *at = &run->at;
    ida_kind kind =
        store_write(at->s, c, STMT_staging_empty, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(EMPTY_SLICE)), &r);
    *more = !kind && r.changes == EMPTY_SLICE;
    return kind;
}

ida_kind sync_run_empty(sync_run *run, ida_ctx *c)
{
    sync_cursor cursor = {0};
    return sync_run_phase(run, c, step_empty, &cursor);
}

ida_kind sync_run_begin(sync_run **out, store *s, ida_ctx *c, apr_pool_t *pool, const char *tenant, ida_directory_kind directory,
                        int full)
{
    sync_run *run = apr_pcalloc(pool, sizeof *run);
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
    ida_kind kind =
        store_write(s, c, STMT_sync_state_begin, DB_ARGS(DB_T(tenant), DB_T(run->at.directory), DB_I(run->at.started_at)), &r);
    if (!kind && !r.rows) {
        kind = ida_fail(c, IDA_INTERNAL_ERROR, "The store did not tell the number of the sync run it began.");
    }
    if (kind) {
        return kind;
    }
    run->at.staged = run->at.run = db_int(&r, 0, 0);
    kind = sync_run_empty(run, c);
    if (!kind && full) {
        kind = store_read(s, c, STMT_directory_empty, DB_ARGS(DB_T(tenant), DB_T(run->at.directory)), &r);
        if (!kind && r.rows) {
            run->at.first = 1;
            run->budget = CACHE_FIRST_BUDGET_MS;
            run->copies = db_copies(s->db) ? COPIES_LOST : 0;
            run->at.copying = run->copies > 0;
            run->full_bytes = db_is_postgresql(s->db) ? FIRST_PG_BYTES : FIRST_LITE_BYTES;
            run->first_bytes = run->full_bytes / FIRST_GROWS;
            kind = sync_writer_start(run, c);
            kind = kind ? kind : sync_indexes_aside(run, c);
            run->by_id = run->bare;
        }
    }
    if (!kind && !run->bare) {
        kind = sync_indexes_back(run, c);
    }
    if (!kind && !run->at.first) {
        run->buffer = apr_pcalloc(pool, sizeof *run->buffer);
        apr_pool_create(&run->buffer->pool, pool);
        sync_buffer_clear(run->buffer);
    }
    *out = kind ? NULL : run;
    return kind;
}

ida_kind sync_run_abort(sync_run *run, ida_ctx *c, const char *error)
{
    const cache_at *at = &run->at;
    if (run->at.first) {
        sync_writer_stop(run);
    } else {
        sync_buffer_clear(run->buffer);
    }
    cache_memory_clear(at->memory);
    ida_kind kind = store_write(at->s, c, STMT_sync_state_failed,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(error)), NULL);
    kind = kind ? kind : sync_run_empty(run, c);
    if (run->at.first) {
        store_disconnect(at->s);
    }
    return kind;
}
