/* Owns the worker's write-through, one transaction for each. Must not know what a directory is. */
#include "core/cache/recheck.h"
#include "core/cache/rows.h"

typedef struct write_through {
    cache_at at;
    ida_kind (*work)(struct write_through *w, ida_ctx *c);
    const char *id, *other, *item;
    int64_t flag;
} write_through;

static ida_kind write_work(store *s, ida_ctx *c, void *baton)
{
    write_through *w = baton;
    w->at.s = s;
    ida_kind kind = cache_enter(&w->at, c);
    kind = kind ? kind : w->work(w, c);
    return kind ? kind : cache_leave(&w->at, c);
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

/* An entry that is not in the cache needs no correction: the next synchronisation brings it. */
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
    ida_kind kind = store_write(w->at.s, c, STMT_lost_forget,
                                DB_ARGS(DB_T(w->at.tenant), DB_T(w->at.directory), DB_T(w->id)),
                                NULL);
    return kind ? kind : cache_users_delete(&w->at, c, &w->id, 1);
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
    apr_hash_t *numbers;
    const char *const ids[] = {w->id, w->other};
    kind = cache_entries(&w->at, c, ids, 2, &numbers);
    if (!kind) {
        kind = store_write(at->s, c, STMT_member_written,
                           DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(w->id),
                                   DB_T(w->other), DB_I(w->flag), DB_I(at->written_at),
                                   DB_I(at->run)),
                           NULL);
    }
    kind = kind ? kind
                : store_write(at->s, c, STMT_lost_one,
                              DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_I(w->flag),
                                      DB_I(at->written_at), DB_T(w->id), DB_T(w->other)),
                              NULL);
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

/* --- a look at one object, which is no write --- */

static ida_kind work_seen(write_through *w, ida_ctx *c)
{
    w->at.written_at = 0;
    return cache_user_seen(&w->at, c, w->id, w->item);
}

ida_kind cache_tell_seen(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                         const cache_user *user)
{
    write_through w = {.work = work_seen, .id = user->id, .item = cache_user_item(c->pool, user)};
    return cache_id_valid(user->id) ? write_now(s, c, tenant, directory, &w) : IDA_OK;
}

static ida_kind work_member_seen(write_through *w, ida_ctx *c)
{
    w->at.written_at = 0;
    return cache_member_seen(&w->at, c, w->id, w->other, (int)w->flag);
}

ida_kind cache_tell_member_seen(store *s, ida_ctx *c, const char *tenant,
                                ida_directory_kind directory, const char *group_id,
                                const char *user_id, int is_member)
{
    write_through w = {
        .work = work_member_seen, .id = group_id, .other = user_id, .flag = is_member};
    return write_now(s, c, tenant, directory, &w);
}
