/* Owns a run's way into staging: its number, its buffer, the short transactions that empty the buffer; and the state of syncs. Must not know
 * what staged items mean for the cache. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <string.h>

#include "core/store_cache.h"

#define BUFFER_ITEMS 500
#define BUFFER_BYTES (1024 * 1024)
#define SLICE_MEMBERS 1000
#define EMPTY_SLICE 2000

typedef struct sync_entry {
    const char *kind, *id, *sub, *op, *digest, *item;
    int64_t seq;
    struct sync_entry *next;
} sync_entry;

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
    int more;
} phase;

static ida_kind phase_work(store *s, ida_ctx *c, void *baton)
{
    phase *p = baton;
    int64_t began = ida_monotonic(c->env), run = p->run->at.staged;
    (void)s;
    ida_kind kind = cache_enter(&p->run->at, c);
    if (!kind && p->run->at.run != run) {
        p->run->at.run = run;
        kind = ida_fail(c, IDA_CONFLICT, "Another sync of this directory (run %lld) began while run %lld was at work; this one ends here.",
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

ida_kind sync_run_phase(sync_run *run, ida_ctx *c, sync_step step, sync_cursor *cursor)
{
    phase p = {.run = run, .step = step, .from = cursor};
    ida_kind kind;
    do {
        ida_ctx *batch = sync_run_batch(run, c);
        kind = sync_run_failed(c, batch, store_transaction(run->at.s, batch, phase_work, &p));
        if (!kind) {
            *cursor = p.to;
        }
    } while (!kind && p.more);
    return kind;
}

/* --- the buffer --- */

static void buffer_clear(sync_run *run)
{
    apr_pool_clear(run->buffer_pool);
    run->index = apr_hash_make(run->buffer_pool);
    run->first = run->last = NULL;
    run->buffered = 0;
    run->bytes = 0;
}

static ida_kind step_flush(sync_run *run, ida_ctx *c, sync_cursor *cursor, int *more)
{
    (void)more;
    const cache_at *at = &run->at;
    return store_write(at->s, c, STMT_staging_put,
                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T((const char *)cursor->baton)), NULL);
}

ida_kind sync_run_flush(sync_run *run, ida_ctx *c)
{
    if (!run->buffered) {
        return IDA_OK;
    }
    cache_text t;
    cache_text_begin(&t, run->buffer_pool, "[");
    for (const sync_entry *e = run->first; e; e = e->next) {
        const char *const strings[] = {e->kind, e->id, e->sub, e->op};
        cache_text_add(&t, e == run->first ? "[" : ",[");
        for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
            cache_text_string(&t, strings[i]);
            cache_text_add(&t, ",");
        }
        cache_text_add(&t, ida_printf(run->buffer_pool, "%lld,", (long long)e->seq));
        cache_text_string(&t, e->digest ? e->digest : "");
        cache_text_add(&t, ",");
        cache_text_add(&t, e->item ? e->item : "null");
        cache_text_add(&t, "]");
    }
    cache_text_add(&t, "]");
    sync_cursor cursor = {.baton = t.bytes};
    ida_kind kind = sync_run_phase(run, c, step_flush, &cursor);
    if (!kind) {
        buffer_clear(run);
    }
    return kind;
}

static int buffered(const sync_run *run, const char *kind, const char *id)
{
    return apr_hash_get(run->index, apr_pstrcat(run->buffer_pool, kind, "\1", id, "\1", NULL), APR_HASH_KEY_STRING) != NULL;
}

/* `id`, `sub`, `digest` and `item` are in the buffer's pool already. The last word for an entry holds, as in staging. */
static void stage(sync_run *run, const char *kind, const char *id, const char *sub, const char *op, int64_t seq, const char *digest, const char *item)
{
    const char *key = apr_pstrcat(run->buffer_pool, kind, "\1", id, "\1", sub, NULL);
    sync_entry *e = apr_hash_get(run->index, key, APR_HASH_KEY_STRING);
    if (!e) {
        e = apr_pcalloc(run->buffer_pool, sizeof *e);
        apr_hash_set(run->index, key, APR_HASH_KEY_STRING, e);
        *(run->last ? &run->last->next : &run->first) = e;
        run->last = e;
        run->buffered++;
    } else if (strcmp(op, "present") == 0 && strcmp(e->op, "put") == 0) {
        return;
    }
    run->bytes += strlen(key) + (item ? strlen(item) : 0);
    *e = (sync_entry){kind, id, sub, op, digest, item, seq, e->next};
}

static ida_kind flush_when_full(sync_run *run, ida_ctx *c)
{
    return run->buffered >= BUFFER_ITEMS || run->bytes >= BUFFER_BYTES ? sync_run_flush(run, c) : IDA_OK;
}

static ida_kind id_check(ida_ctx *c, const char *id)
{
    return cache_id_valid(id) ? IDA_OK : ida_fail(c, IDA_BAD_REQUEST, "The directory sent an entry without a usable ID (1 to %d bytes of UTF-8).", CACHE_ID_MAX);
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
    told.manager_untold = user->manager_untold ? (run->full ? CACHE_MANAGER_NOBODY : CACHE_MANAGER_KEPT) : 0;
    /* An earlier item of the run may have told the manager: the two meet in staging, where they are made one. */
    if (user->manager_untold && buffered(run, "user", user->id)) {
        kind = sync_run_flush(run, c);
    }
    if (kind) {
        return kind;
    }
    const char *item = cache_user_item(run->buffer_pool, &told);
    stage(run, "user", apr_pstrdup(run->buffer_pool, user->id), "", "put", ++run->seq, cache_digest(run->buffer_pool, item, strlen(item)), item);
    return flush_when_full(run, c);
}

/* Members each once, in slices of a JSON array; *digest over all of them. */
static ida_kind stage_list(sync_run *run, ida_ctx *c, const char *group_id, int64_t seq, const sync_member *members, int count, int *kept, const char **digest)
{
    apr_pool_t *list_pool;
    apr_pool_create(&list_pool, run->pool);
    apr_hash_t *seen = apr_hash_make(list_pool);
    const char **items = apr_palloc(list_pool, (apr_size_t)(count + 1) * sizeof *items);
    char chain[33] = "";
    ida_kind kind = IDA_OK;
    *kept = 0;
    for (int i = 0; i < count; i++) {
        const char *item = cache_member_item(list_pool, &members[i]);
        if (item && !apr_hash_get(seen, item, APR_HASH_KEY_STRING)) {
            apr_hash_set(seen, item, APR_HASH_KEY_STRING, item);
            items[(*kept)++] = item;
        }
    }
    for (int at = 0; at < *kept && !kind; at += SLICE_MEMBERS) {
        int size = *kept - at < SLICE_MEMBERS ? *kept - at : SLICE_MEMBERS;
        const char *slice = cache_list(run->buffer_pool, items + at, size);
        const char *linked = apr_pstrcat(list_pool, chain, slice, NULL);
        apr_cpystrn(chain, cache_digest(list_pool, linked, strlen(linked)), sizeof chain);
        stage(run, "members", apr_pstrdup(run->buffer_pool, group_id), ida_printf(run->buffer_pool, "%06d", at / SLICE_MEMBERS), "put", seq, NULL, slice);
        kind = flush_when_full(run, c);
    }
    *digest = apr_pstrdup(run->buffer_pool, chain);
    apr_pool_destroy(list_pool);
    return kind;
}

ida_kind sync_run_group(sync_run *run, ida_ctx *c, const sync_group *group, const sync_member *members, int count)
{
    /* Members that come apart are changes on top of an empty list, or of what there is: whenever they came. */
    int kept = members || run->full ? 0 : -1;
    const char *list = NULL;
    int64_t seq = members ? ++run->seq : 0;
    ida_kind kind = id_check(c, group->id);
    if (!kind && members) {
        kind = stage_list(run, c, group->id, seq, members, count, &kept, &list);
    }
    if (kind) {
        return kind;
    }
    const char *item = cache_group_item(run->buffer_pool, group, kept, list);
    stage(run, "group", apr_pstrdup(run->buffer_pool, group->id), "", "put", seq, cache_digest(run->buffer_pool, item, strlen(item)), item);
    return flush_when_full(run, c);
}

ida_kind sync_run_member(sync_run *run, ida_ctx *c, const char *group_id, const sync_member *member, int removed)
{
    ida_kind kind = id_check(c, group_id);
    const char *item = kind ? NULL : cache_member_item(run->buffer_pool, member);
    if (!item) {
        return kind; /* a member that cannot be named is none */
    }
    stage(run, "change", apr_pstrdup(run->buffer_pool, group_id), item, removed ? "remove" : "add", ++run->seq, NULL, NULL);
    return flush_when_full(run, c);
}

ida_kind sync_run_slice(sync_run *run, ida_ctx *c, const char *group_id, const sync_member *members, int count)
{
    ida_kind kind = IDA_OK;
    for (int i = 0; !kind && i < count; i++) {
        kind = sync_run_member(run, c, group_id, &members[i], 0);
    }
    return kind;
}

ida_kind sync_run_sign_ins(sync_run *run, ida_ctx *c, const char *user_id, const sync_sign_ins *times)
{
    ida_kind kind = id_check(c, user_id);
    if (!kind) {
        stage(run, "sign_ins", apr_pstrdup(run->buffer_pool, user_id), "", "put", ++run->seq, NULL,
              ida_printf(run->buffer_pool, "[%lld,%lld,%lld]", (long long)times->last, (long long)times->last_noninteractive,
                         (long long)times->last_success));
        kind = flush_when_full(run, c);
    }
    return kind;
}

ida_kind sync_run_returned(sync_run *run, ida_ctx *c, int64_t created_before, const char *after, int limit, const char ***ids, int *count)
{
    db_result r = {0};
    const cache_at *at = &run->at;
    ida_kind kind = sync_run_flush(run, c);
    if (!kind) {
        kind = store_read(at->s, c, STMT_staged_returned,
                          DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(after), DB_I(created_before), DB_I(limit)), &r);
    }
    *count = kind ? 0 : r.rows;
    *ids = apr_palloc(c->pool, (apr_size_t)(*count + 1) * sizeof **ids);
    for (int row = 0; row < *count; row++) {
        (*ids)[row] = db_text(&r, row, 0);
    }
    return kind;
}

static ida_kind stage_word(sync_run *run, ida_ctx *c, const char *kind_name, const char *id, const char *op)
{
    ida_kind kind = id_check(c, id);
    if (!kind) {
        stage(run, kind_of(kind_name), apr_pstrdup(run->buffer_pool, id), "", op, ++run->seq, NULL, NULL);
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
    ida_kind kind = store_write(at->s, c, STMT_staging_empty, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(EMPTY_SLICE)), &r);
    *more = !kind && r.changes == EMPTY_SLICE;
    return kind;
}

ida_kind sync_run_empty(sync_run *run, ida_ctx *c)
{
    sync_cursor cursor = {0};
    return sync_run_phase(run, c, step_empty, &cursor);
}

ida_kind sync_run_begin(sync_run **out, store *s, ida_ctx *c, apr_pool_t *pool, const char *tenant, ida_directory_kind directory, int full)
{
    sync_run *run = apr_pcalloc(pool, sizeof *run);
    db_result r;
    *out = NULL;
    run->pool = pool;
    run->full = full;
    run->budget = CACHE_BUDGET_MS;
    run->complete[0] = run->complete[1] = full;
    run->at = (cache_at){.s = s, .tenant = apr_pstrdup(pool, tenant), .directory = ida_directory_name(directory), .kind = directory,
                         .started_at = ida_now(c->env)};
    apr_pool_create(&run->buffer_pool, pool);
    apr_pool_create(&run->batch_pool, pool);
    buffer_clear(run);
    ida_kind kind = store_write(s, c, STMT_sync_state_begin, DB_ARGS(DB_T(tenant), DB_T(run->at.directory), DB_I(run->at.started_at)), &r);
    if (!kind && !r.rows) {
        kind = ida_fail(c, IDA_INTERNAL_ERROR, "The store did not tell the number of the sync run it began.");
    }
    if (kind) {
        return kind;
    }
    run->at.staged = run->at.run = db_int(&r, 0, 0);
    kind = sync_run_empty(run, c);
    *out = kind ? NULL : run;
    return kind;
}

ida_kind sync_run_abort(sync_run *run, ida_ctx *c, const char *error)
{
    const cache_at *at = &run->at;
    buffer_clear(run);
    ida_kind kind = store_write(at->s, c, STMT_sync_state_failed, DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged), DB_T(error)), NULL);
    return kind ? kind : sync_run_empty(run, c);
}
