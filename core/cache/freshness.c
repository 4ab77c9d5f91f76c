/* Owns how far synchronisations are, as readers see it. Must not know what a run does. */
#include "core/cache/freshness.h"

#include "core/store/rows.h"

ida_kind cache_sync_info_get(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                             cache_sync_info *info)
{
    const char *name = ida_directory_name(directory);
    const struct {
        const char *counter;
        int64_t *value;
    } counters[] = {{"users.", &info->users}, {"groups.", &info->groups}};
    db_result r;
    *info = (cache_sync_info){.sign_ins = 1};
    ida_kind kind = store_read(s, c, STMT_sync_state_get, DB_ARGS(DB_T(tenant), DB_T(name)), &r);
    if (!kind && r.rows) {
        const row_sync_state *row = DB_ROW(sync_state, &r, 0);
        info->started_at = row->started_at.number;
        info->completed_at = row->completed_at.number;
        info->full_at = row->full_at.number;
        info->error = row->error.text;
        info->stopped = row->stopped.text;
        info->sign_ins = (int)row->sign_ins.number;
    }
    for (size_t i = 0; !kind && i < sizeof counters / sizeof *counters; i++) {
        kind = store_number(s, c, STMT_counter_get,
                            DB_ARGS(DB_T(tenant),
                                    DB_T(ida_printf(c->pool, "%s%s", counters[i].counter, name))),
                            counters[i].value);
    }
    return kind;
}

ida_kind cache_is_synced(store *s, ida_ctx *c, const ida_tenant *tenant, int *synced)
{
    cache_freshness fresh;
    ida_kind kind = cache_freshness_get(s, c, tenant, &fresh);
    *synced = fresh.synced;
    return kind;
}

ida_kind cache_freshness_get(store *s, ida_ctx *c, const ida_tenant *tenant, cache_freshness *fresh)
{
    db_result r;
    int64_t completed[IDA_DIR_COUNT] = {0}, full_at[IDA_DIR_COUNT] = {0},
            read_at[IDA_DIR_COUNT] = {0};
    ida_kind kind = store_read(s, c, STMT_sync_states, DB_ARGS(DB_T(tenant->id)), &r);
    *fresh = (cache_freshness){.as_of = 0, .sign_ins = {1, 1}, .synced = !kind};
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_sync_time *row = DB_ROW(sync_time, &r, i);
        int d = ida_directory_parse(row->directory.text);
        if (d >= 0) {
            completed[d] = row->completed_at.number;
            fresh->sign_ins[d] = row->sign_ins.number != 0;
            full_at[d] = row->full_at.number;
            read_at[d] = row->sign_ins_at.number ? row->sign_ins_at.number : completed[d];
        }
    }
    int any = 0;
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        if (tenant->has_directory[d]) {
            fresh->as_of = any && fresh->as_of < completed[d] ? fresh->as_of : completed[d];
            any = 1;
            fresh->synced = fresh->synced && full_at[d];
            if (fresh->sign_ins[d] &&
                (!fresh->sign_ins_as_of || read_at[d] < fresh->sign_ins_as_of)) {
                fresh->sign_ins_as_of = read_at[d];
            }
        }
    }
    return kind;
}

ida_kind cache_sync_progress(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                             int64_t *users, int64_t *groups)
{
    db_result r;
    *users = *groups = 0;
    ida_kind kind = store_read(s, c, STMT_sync_progress,
                               DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory))), &r);
    if (!kind && r.rows) {
        const row_sync_progress *row = DB_ROW(sync_progress, &r, 0);
        *users = row->users.number;
        *groups = row->groups.number;
    }
    return kind;
}
