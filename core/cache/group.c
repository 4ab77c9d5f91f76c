/* Owns the conversion of staged groups into rows of the cache, and the removal of entries that
 * the directory no longer has. Must not know members, tokens or networks. */
#include <string.h>

#include "core/cache/rows.h"

#define ENTRIES 10000 /* IDs looked up at once */

/* Reads the numbers of these IDs, or makes them. */
static ida_kind add_numbers(cache_at *at, ida_ctx *c, db_statement statement,
                            const char *const *ids, int count, apr_hash_t *numbers)
{
    ida_kind kind = IDA_OK;
    for (int i = 0; !kind && i < count; i += ENTRIES) {
        db_result r;
        int some = count - i < ENTRIES ? count - i : ENTRIES;
        const char *list = cache_list(c->pool, ids + i, some);
        const db_arg args[] = {DB_T(at->tenant), DB_T(at->directory), DB_T(list)};
        kind = (statement == STMT_entry_make ? store_write : store_read)(at->s, c, statement,
                                                                         DB_FIRST(args, 3), &r);
        for (int row = 0; !kind && row < r.rows; row++) {
            const row_entry_number *one = DB_ROW(entry_number, &r, row);
            apr_hash_set(numbers, one->id.text, APR_HASH_KEY_STRING, &one->no);
            cache_numbers_keep(at->numbers, one->id.text, one->no.number);
        }
    }
    return kind;
}

/* NULL: the store must be asked. */
static const db_value *remembered(const cache_at *at, ida_ctx *c, const char *id)
{
    int64_t number = cache_numbers_get(at->numbers, id);
    if (!number) {
        return NULL;
    }
    db_value *value = apr_palloc(c->pool, sizeof *value);
    *value = (db_value){ida_printf(c->pool, "%lld", (long long)number), number};
    return value;
}

ida_kind cache_entries(cache_at *at, ida_ctx *c, const char *const *ids, int count,
                       apr_hash_t **numbers)
{
    static const db_value none = {0};
    const char **each = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *each);
    int some = 0, missing = 0;
    *numbers = apr_hash_make(c->pool);
    for (int i = 0; i < count; i++) {
        if (!apr_hash_get(*numbers, ids[i], APR_HASH_KEY_STRING)) {
            const db_value *known = remembered(at, c, ids[i]);
            apr_hash_set(*numbers, ids[i], APR_HASH_KEY_STRING, known ? known : &none);
            each[some] = ids[i];
            some += !known;
        }
    }
    ida_kind kind = some ? add_numbers(at, c, STMT_entry_numbers, each, some, *numbers) : IDA_OK;
    for (int i = 0; i < some; i++) {
        if (apr_hash_get(*numbers, each[i], APR_HASH_KEY_STRING) == &none) {
            each[missing++] = each[i];
        }
    }
    return kind || !missing ? kind : add_numbers(at, c, STMT_entry_make, each, missing, *numbers);
}

ida_kind cache_groups_put(cache_at *at, ida_ctx *c, const cache_sync_entry *const *entries,
                          int count)
{
    enum { ROW = CACHE_GROUP_BOUND + 2 };
    db_result known;
    apr_hash_t *numbers;
    const char **ids = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *ids),
               **rows = apr_palloc(c->pool, (apr_size_t)(count + 1) * ROW * sizeof *rows),
               *run = ida_printf(c->pool, "%lld", (long long)at->run);
    for (int i = 0; i < count; i++) {
        const char *item[CACHE_GROUP_FIELDS], **out = rows + ROW * i;
        cache_item_read(c->pool, entries[i]->item, item, CACHE_GROUP_FIELDS);
        ids[i] = out[0] = entries[i]->id;
        memcpy(out + 1, item, CACHE_GROUP_BOUND * sizeof *out);
        out[ROW - 1] = run;
    }
    ida_kind kind = store_read(at->s, c, STMT_group_known,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory),
                                       DB_T(cache_list(c->pool, ids, count))),
                               &known);
    kind = kind ? kind : cache_entries(at, c, ids, count, &numbers);
    if (kind) {
        return kind;
    }
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory), DB_I(at->first)};
    kind = cache_bulk(at, c, STMT_group_put, fixed, 3, rows, ROW, count);
    return kind ? kind : cache_count(at, c, "groups", count - known.rows);
}

ida_kind cache_groups_finish(cache_at *at, ida_ctx *c, const char *const *pairs, int count)
{
    const db_arg fixed[] = {DB_T(at->tenant), DB_T(at->directory)};
    return cache_bulk(at, c, STMT_group_finish, fixed, 2, pairs, 2, count);
}

ida_kind cache_groups_delete(cache_at *at, ida_ctx *c, const char *const *ids, int count)
{
    static const db_statement in_order[] = {STMT_group_lose, STMT_membership_of_members,
                                            STMT_unresolved_of_groups, STMT_group_delete};
    db_result r;
    const char *list = cache_list(c->pool, ids, count);
    ida_kind kind = count
                        ? store_read(at->s, c, STMT_group_known,
                                     DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(list)), &r)
                        : IDA_OK;
    if (kind || !count || !r.rows) {
        return kind;
    }
    for (size_t i = 0; !kind && i < sizeof in_order / sizeof *in_order; i++) {
        kind = cache_by_list(at, c, in_order[i], list);
    }
    return kind ? kind : cache_count(at, c, "groups", -r.rows);
}

ida_kind cache_gone(cache_at *at, ida_ctx *c, int is_group, const char *const *ids, int count)
{
    const db_statement written = is_group ? STMT_group_gone : STMT_user_gone;
    const char *list = cache_list(c->pool, ids, count);
    db_result r;
    /* Written through meanwhile: the next run deletes it unless that run sees it. */
    ida_kind kind = is_group ? IDA_OK
                             : store_read(at->s, c, written,
                                          DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(list),
                                                  DB_I(at->staged), DB_I(at->started_at), DB_I(1)),
                                          &r);
    for (int row = 0; !is_group && !kind && row < r.rows; row++) {
        kind = store_write(at->s, c, STMT_user_hold,
                           DB_ARGS(DB_T(at->tenant), DB_T(at->directory),
                                   DB_T(DB_ROW(id, &r, row)->id.text), DB_T("")),
                           NULL);
    }
    if (!kind) {
        kind = store_read(at->s, c, written,
                          DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(list),
                                  DB_I(at->staged), DB_I(at->started_at), DB_I(0)),
                          &r);
    }
    if (kind || !r.rows) {
        return kind;
    }
    const char **gone = cache_column(c->pool, &r, DB_COLUMN(id, id), 0, r.rows);
    return (is_group ? cache_groups_delete : cache_users_delete)(at, c, gone, r.rows);
}
