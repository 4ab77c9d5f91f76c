/* Owns the question whether a DN has changed: the meaning of links by DN may change with it
 * although no link was reported. Must not know how directories are read. */
#include "core/cache/cache.h"

ida_kind cache_sync_dn_changed(store *s, ida_ctx *c, const char *tenant,
                               ida_directory_kind directory, int64_t since, int *moved)
{
    const db_args args = DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_I(since));
    db_result r;
    ida_kind kind = store_read(s, c, STMT_moved, args, &r);
    *moved = !kind && r.rows > 0;
    if (*moved) {
        kind = store_write(s, c, STMT_moved_touch_users, args, NULL);
        kind = kind ? kind : store_write(s, c, STMT_moved_touch_groups, args, NULL);
    }
    return kind;
}
