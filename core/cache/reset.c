/* Owns the emptying of a directory's cache, in slices that let other writers in between. Must
 * not know what rows mean. */
#include "core/cache/run.h"

#define RESET_ROWS 5000
#define RESET_ENTRIES 200

static ida_kind forget(store *s, ida_ctx *c, void *baton)
{
    cache_at *at = baton;
    at->s = s;
    ida_kind kind = store_write(s, c, STMT_sync_state_reset,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory)), NULL);
    return kind ? kind : cache_enter(at, c);
}

static ida_kind step_rows(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    static const db_statement tables[] = {STMT_empty_unresolved_member, STMT_empty_address,
                                          STMT_empty_shared_address};
    db_result r;
    const cache_at *at = &run->at;
    ida_kind kind = store_write(at->s, c, tables[cursor->count],
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(RESET_ROWS)),
                                &r);
    if (!kind && r.changes < RESET_ROWS) {
        cursor->count++;
    }
    *more = cursor->count < (int64_t)(sizeof tables / sizeof *tables);
    return kind;
}

/* Memberships by the numbers of their groups, then the numbers themselves. */
static ida_kind step_numbers(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    db_result r;
    int left = 0;
    cache_at *at = &run->at;
    ida_kind kind = store_read(at->s, c, STMT_entry_some,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(RESET_ENTRIES)),
                               &r);
    if (kind || !r.rows) {
        *more = 0;
        return kind;
    }
    const char *list = cache_list(c->pool, cache_column(c->pool, &r, DB_COLUMN(id, id), 0, r.rows),
                                  r.rows);
    *more = 1;
    cursor->count += r.rows;
    kind = cache_members_drop(at, c, list, 1, RESET_ROWS, &left);
    return kind || left ? kind : cache_by_list(at, c, STMT_entry_delete, list);
}

static ida_kind step_entries(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    static const struct {
        db_statement select;
        ida_kind (*delete)(cache_at *at, ida_ctx *c, const char *const *ids, int count);
    } kinds[] = {{STMT_reset_users, cache_users_delete}, {STMT_reset_groups, cache_groups_delete}};
    db_result r;
    const cache_at *at = &run->at;
    ida_kind kind = store_read(at->s, c, kinds[cursor->count].select,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(RESET_ENTRIES)),
                               &r);
    if (kind) {
        return kind;
    }
    kind = kinds[cursor->count].delete(&run->at, c,
                                       cache_column(c->pool, &r, DB_COLUMN(id, id), 0, r.rows),
                                       r.rows);
    if (!r.rows) {
        cursor->count++;
    }
    *more = cursor->count < 2;
    return kind;
}

ida_kind cache_reset(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory)
{
    static const cache_step order[] = {step_rows, step_numbers, step_entries};
    cache_at at = {.tenant = tenant, .directory = ida_directory_name(directory), .kind = directory};
    cache_sync run;
    apr_pool_t *pool;
    /* The state goes first: a run in progress then finds its number gone, and readers see a
     * directory that was never read. */
    ida_kind kind = store_transaction(s, c, forget, &at);
    if (kind) {
        return kind;
    }
    at.staged = at.run;
    apr_pool_create(&pool, c->pool);
    cache_run_make(&run, &at, pool);
    kind = cache_run_empty(&run, c);
    for (size_t i = 0; !kind && i < sizeof order / sizeof *order; i++) {
        cache_cursor cursor = {0};
        kind = cache_run_steps(&run, c, order[i], &cursor);
    }
    apr_pool_destroy(pool);
    return kind;
}
