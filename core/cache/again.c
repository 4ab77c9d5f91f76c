/* Owns the question who is to be looked at again although no directory tells of a change. Must not
 * know how directories are read.
 */
#include "core/cache/cache.h"
#include "core/store/rows.h"

static void id_of(const db_result *r, int i, void *out)
{
    *(const char **)out = DB_ROW(id, r, i)->id.text;
}

ida_kind cache_sync_again(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                          int64_t since, int64_t nowhere_since, int limit, cache_again_ids *out)
{
    const char *name = ida_directory_name(directory);
    const db_arg moved[] = {DB_T(tenant), DB_T(name), DB_I(since)},
                 some[] = {DB_T(tenant), DB_T(name), DB_I(nowhere_since), DB_I(limit)};
    db_result r;
    ida_kind kind = store_read(s, c, STMT_again_moved, moved, 3, &r);
    if (!kind && r.rows) {
        kind = store_write(s, c, STMT_again_touch_users, moved, 3, NULL);
        kind = kind ? kind : store_write(s, c, STMT_again_touch_groups, moved, 3, NULL);
    }
    kind = kind ? kind
                : store_rows(s, c, STMT_again_users, some, 4, id_of, sizeof(char *), &out->users,
                             &out->user_count);
    return kind ? kind
                : store_rows(s, c, STMT_again_groups, some, 4, id_of, sizeof(char *), &out->groups,
                             &out->group_count);
}
