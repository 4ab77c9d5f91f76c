/* Owns the worker's write-through, each one transaction, and the emptying of a directory's cache.
 * Must not know what a directory is. */
#include <apr_strings.h>
#include <string.h>

#include "core/cache/cache.h"

typedef struct write_through {
    cache_at at;
    ida_kind (*work)(struct write_through *w, ida_ctx *c);
    const char *id, *other, *item;
    int64_t flag;
} write_through;

static ida_kind write_work(store *s, ida_ctx *c, void *baton)
{
    write_through *w = baton;
    (void)s;
    ida_kind kind = cache_enter(&w->at, c);
    return kind ? kind : w->work(w, c);
}

static ida_kind write_now(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                          write_through *w)
{
    w->at = (cache_at){.s = s,
                       .tenant = tenant,
                       .directory = ida_directory_name(directory),
                       .kind = directory,
                       .written_at = ida_now(c->env)};
    return store_transaction(s, c, write_work, w);
}

static ida_kind work_put(write_through *w, ida_ctx *c)
{
    cache_at *at = &w->at;
    const char *list = cache_list(c->pool, &w->id, 1);
    const cache_sync_entry entry = {.kind = "user",
                                    .id = w->id,
                                    .op = "put",
                                    .digest = "",
                                    .item = w->item},
                           *entries = &entry;
    ida_kind kind = cache_users_put(at, c, &entries, 1);
    if (!kind) {
        kind = cache_users_resolve(at, c, list);
    }
    return kind ? kind : cache_members_resolve(at, c, list);
}

ida_kind cache_tell_user(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         const cache_user *user)
{
    if (!cache_id_valid(user->id)) {
        return ida_fail(c, IDA_BAD_REQUEST,
                        "A user without a usable ID (1 to %d bytes of UTF-8) cannot be cached.",
                        CACHE_ID_MAX);
    }
    write_through w = {.work = work_put, .id = user->id, .item = cache_user_item(c->pool, user)};
    return write_now(s, c, tenant, directory, &w);
}

/* An entry the cache does not hold (yet) has nothing to keep right: the sync brings it as it is. */
static ida_kind unless_unknown(ida_ctx *c, ida_kind kind)
{
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        kind = IDA_OK;
    }
    return kind;
}

static ida_kind work_enabled(write_through *w, ida_ctx *c)
{
    return unless_unknown(c, cache_user_enabled(&w->at, c, w->id, (int)w->flag, w->other));
}

ida_kind cache_tell_enabled(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            const char *id, int enabled, const char *stamp)
{
    write_through w = {.work = work_enabled, .id = id, .other = stamp, .flag = enabled};
    return write_now(s, c, tenant, directory, &w);
}

static ida_kind work_manager(write_through *w, ida_ctx *c)
{
    const cache_at *at = &w->at;
    return store_write(at->s, c, STMT_user_set_manager,
                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(w->id), DB_T(w->other),
                               DB_I(at->written_at), DB_I(at->run)),
                       NULL);
}

ida_kind cache_tell_manager(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            const char *id, const char *manager_id)
{
    write_through w = {.work = work_manager, .id = id, .other = manager_id};
    return write_now(s, c, tenant, directory, &w);
}

static ida_kind work_gone(write_through *w, ida_ctx *c)
{
    return cache_users_delete(&w->at, c, &w->id, 1);
}

ida_kind cache_tell_gone(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         const char *id)
{
    write_through w = {.work = work_gone, .id = id};
    return write_now(s, c, tenant, directory, &w);
}

static ida_kind work_member(write_through *w, ida_ctx *c)
{
    db_result touched;
    const cache_at *at = &w->at;
    const char *group = cache_list(c->pool, &w->id, 1);
    ida_kind kind = store_write(at->s, c, STMT_group_touch,
                                DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(group)),
                                &touched);
    if (kind || !touched.changes) {
        return kind;
    }
    const char *const ids[] = {w->id, w->other};
    int64_t numbers[2];
    kind = cache_numbers(&w->at, c, ids, 2, numbers);
    if (!kind) {
        kind = store_write(at->s, c, STMT_member_written,
                           DB_ARGS(DB_I(numbers[0]), DB_I(numbers[1]), DB_I(w->flag),
                                   DB_I(at->written_at), DB_I(at->run)),
                           NULL);
    }
    return kind ? kind
                : store_write(at->s, c, STMT_group_recount,
                              DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(group)), NULL);
}

ida_kind cache_tell_member(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                           const char *group_id, const char *user_id, int removed)
{
    write_through w = {.work = work_member, .id = group_id, .other = user_id, .flag = removed != 0};
    return write_now(s, c, tenant, directory, &w);
}

/* --- reset --- */

#define RESET_ROWS 5000
#define RESET_ENTRIES 200

static ida_kind work_forget(write_through *w, ida_ctx *c)
{
    ida_kind kind = store_write(w->at.s, c, STMT_sync_state_reset,
                                DB_ARGS(DB_T(w->at.tenant), DB_T(w->at.directory)), NULL);
    return kind ? kind : cache_enter(&w->at, c);
}

/* SQLite empties a whole table by giving its pages back, without a look at rows and indexes: a
 * second in place of a minute. Another's rows cannot come in between, as the gate lets one writer
 * in; on PostgreSQL they could. */
static ida_kind work_alone(write_through *w, ida_ctx *c)
{
    static const char empty_all[] = "DELETE FROM cache.membership; DELETE FROM "
                                    "cache.unresolved_member; DELETE FROM cache.entry; "
                                    "DELETE FROM cache.address; DELETE FROM cache.directory_user; "
                                    "DELETE FROM cache.directory_group; DELETE FROM cache.counter";
    db_result r;
    if (db_is_postgresql(w->at.s->db)) {
        return IDA_OK;
    }
    ida_kind kind = store_read(w->at.s, c, STMT_reset_alone,
                               DB_ARGS(DB_T(w->at.tenant), DB_T(w->at.directory)), &r);
    return kind || !r.rows ? kind : db_script(w->at.s->db, c, empty_all);
}

static ida_kind step_rows(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    static const db_statement tables[] = {STMT_empty_unresolved_member, STMT_empty_address};
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

/* Memberships by the numbers of their groups, then the numbers. */
static ida_kind step_numbers(cache_sync *run, ida_ctx *c, cache_cursor *cursor, int *more)
{
    db_result r;
    int left = 0;
    cache_at *at = &run->at;
    (void)cursor;
    ida_kind kind = store_read(at->s, c, STMT_entry_some,
                               DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(RESET_ENTRIES)),
                               &r);
    if (kind || !r.rows) {
        *more = 0;
        return kind;
    }
    const char *list = cache_list(c->pool, cache_column(c->pool, &r, 0, 0, r.rows), r.rows);
    *more = 1;
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
    const char **ids = apr_palloc(c->pool, (apr_size_t)(r.rows + 1) * sizeof *ids);
    for (int row = 0; row < r.rows; row++) {
        ids[row] = db_text(&r, row, 0);
    }
    kind = kinds[cursor->count].delete(&run->at, c, ids, r.rows);
    if (!r.rows) {
        cursor->count++;
    }
    *more = cursor->count < 2;
    return kind;
}

ida_kind cache_reset(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory)
{
    /* The state first: a run at work finds that its number is gone, readers find that the directory
     * was never read. */
    write_through w = {.work = work_forget}, alone = {.work = work_alone};
    ida_kind kind = write_now(s, c, tenant, directory, &w);
    kind = kind ? kind : write_now(s, c, tenant, directory, &alone);
    if (kind) {
        return kind;
    }
    cache_sync run = {.at = w.at, .budget = CACHE_BUDGET_MS};
    cache_cursor rows = {0}, entries = {0}, numbers = {0};
    apr_pool_create(&run.pool, c->pool);
    apr_pool_create(&run.batch_pool, run.pool);
    run.at.staged = w.at.run;
    run.at.written_at = 0;
    kind = cache_sync_empty(&run, c);
    if (!kind) {
        kind = cache_sync_phase(&run, c, step_rows, &rows);
    }
    if (!kind) {
        kind = cache_sync_phase(&run, c, step_numbers, &numbers);
    }
    if (!kind) {
        kind = cache_sync_phase(&run, c, step_entries, &entries);
    }
    apr_pool_destroy(run.pool);
    return kind;
}
