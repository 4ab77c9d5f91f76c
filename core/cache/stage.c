/* Owns the way from a run's buffer into staging: drops what the cache holds already and keeps
 * what earlier items reported of managers. Must not know how staging is applied. */
#include <apr_strings.h>
#include <string.h>

#include "core/cache/run.h"

void cache_buffer_clear(cache_buffer *b)
{
    apr_pool_t *pool = b->pool;
    apr_pool_clear(pool);
    *b = (cache_buffer){.pool = pool, .index = apr_hash_make(pool)};
}

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

void cache_keep_manager(apr_pool_t *pool, cache_sync_entry *e, const char *op, const char *earlier)
{
    const char *item[CACHE_USER_FIELDS], *before[CACHE_USER_FIELDS];
    cache_item_read(pool, e->item, item, CACHE_USER_FIELDS);
    cache_item_read(pool, earlier, before, CACHE_USER_FIELDS);
    if (strcmp(op, "same") == 0) {
        item[CACHE_USER_manager_untold] = ida_printf(pool, "%d", CACHE_MANAGER_KEPT);
    } else if (!before[CACHE_USER_manager_untold]) {
        item[CACHE_USER_manager_id] = before[CACHE_USER_manager_id];
        item[CACHE_USER_manager_untold] = NULL;
        e->untold = 0;
    } else {
        return;
    }
    e->item = cache_item(pool, item, CACHE_USER_FIELDS);
    e->digest = cache_digest(pool, e->item, strlen(e->item));
}

/* Marks items that the cache holds already instead of staging them. */
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
        const row_digest *known = DB_ROW(digest, &r, row);
        cache_sync_entry *e = apr_hash_get(
            b->index, apr_pstrcat(c->pool, kind_name, "\1", known->id.text, "\1", NULL),
            APR_HASH_KEY_STRING);
        if (e && is(e->digest, known->digest.text)) {
            e->op = "same";
            e->item = NULL;
        }
    }
    return kind;
}

/* Members need not be staged if the cache holds the same list, or if they arrived before the
 * group's last whole list or its deletion. */
static int wanted(const cache_buffer *b, ida_ctx *c, const cache_sync_entry *e)
{
    if (!is(e->kind, "member")) {
        return 1;
    }
    const cache_sync_entry *group = apr_hash_get(b->index,
                                                 apr_pstrcat(c->pool, "group\1", e->id, "\1", NULL),
                                                 APR_HASH_KEY_STRING);
    return !group || is(group->op, "present") || group->seq < e->seq ||
           (group->seq == e->seq && is(group->op, "put"));
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
    for (int row = 0; count && !kind && row < r.rows; row++) { /* rows of the present run come
                                                                  first */
        const row_told *told = DB_ROW(told, &r, row);
        const char *id = told->id.text;
        cache_sync_entry *e = apr_hash_get(b->index, apr_pstrcat(c->pool, "user\1", id, "\1", NULL),
                                           APR_HASH_KEY_STRING);
        if (e && e->untold && !apr_hash_get(staged, id, APR_HASH_KEY_STRING)) {
            cache_keep_manager(b->pool, e, told->op.text, told->item.text);
        }
        apr_hash_set(staged, id, APR_HASH_KEY_STRING, "");
    }
    return kind;
}

/* The key by which lists are sorted. */
static const char *sort_of(ida_ctx *c, const cache_sync_entry *e)
{
    const char *fields[CACHE_USER_name_key + 1];
    if (!is(e->kind, "user") || !e->item) {
        return "";
    }
    cache_item_read(c->pool, e->item, fields, CACHE_USER_name_key + 1);
    return fields[CACHE_USER_name_key] ? fields[CACHE_USER_name_key] : "";
}

static ida_kind into_staging(cache_sync *run, ida_ctx *c, const cache_buffer *b)
{
    enum { COLUMNS = 8 };
    cache_at *at = &run->at;
    const char **rows = apr_palloc(c->pool, (apr_size_t)(b->count + 1) * COLUMNS * sizeof *rows);
    int count = 0;
    int64_t users = 0, groups = 0;
    ida_kind kind = keep_managers(run, c, b);
    kind = kind ? kind : skip_unchanged(run, c, b, "user", STMT_user_digests);
    kind = kind ? kind : skip_unchanged(run, c, b, "group", STMT_group_digests);
    for (const cache_sync_entry *e = b->head; e && !kind; e = e->next) {
        const char *const row[COLUMNS] = {
            e->kind,   e->id,   e->sub,       e->op, ida_printf(c->pool, "%lld", (long long)e->seq),
            e->digest, e->item, sort_of(c, e)};
        if (wanted(b, c, e)) {
            memcpy(rows + COLUMNS * count++, row, sizeof row);
            users += is(e->kind, "user") && !is(e->op, "delete");
            groups += is(e->kind, "group") && !is(e->op, "delete");
        }
    }
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged)};
    kind = kind ? kind : cache_bulk(at, c, STMT_staging_put, fixed, 3, rows, COLUMNS, count);
    return kind ? kind
                : store_write(at->s, c, STMT_sync_state_staged,
                              DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(at->staged),
                                      DB_I(users), DB_I(groups)),
                              NULL);
}

static ida_kind step_stage(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    *more = 0;
    return into_staging(run, c, cursor->baton);
}

ida_kind cache_run_flush(cache_sync *run, ida_ctx *c)
{
    cache_cursor cursor = {.baton = &run->buffer};
    ida_kind kind = run->buffer.count ? cache_run_steps(run, c, step_stage, &cursor) : IDA_OK;
    if (!kind) {
        cache_buffer_clear(&run->buffer);
    }
    return kind;
}
