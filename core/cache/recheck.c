/* Owns the list of objects to read again after a run: contradicted write-throughs and removed
 * memberships. Must not know what a directory is. */
#include "core/cache/recheck.h"

#include "core/store/rows.h"

STORE_FILL(recheck_of, cache_recheck, recheck, row->user_id.text, row->group_id.text,
           row->written_at.number)

ida_kind cache_rechecks(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                        int limit, const cache_recheck **rows, int *count)
{
    return store_rows(s, c, STMT_rechecks,
                      DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_I(limit)),
                      recheck_of, sizeof **rows, rows, count);
}

STORE_FILL(lost_of, cache_lost, lost_member, row->group_id.text, row->user_id.text, row->at.number)

ida_kind cache_lost_members(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                            int limit, const cache_lost **rows, int *count)
{
    return store_rows(s, c, STMT_lost_list,
                      DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_I(limit)),
                      lost_of, sizeof **rows, rows, count);
}

ida_kind cache_lost_noted(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                          const char *rows)
{
    return store_write(s, c, STMT_lost_done,
                       DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_T(rows)),
                       NULL);
}
