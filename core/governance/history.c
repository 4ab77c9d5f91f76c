/* Owns how memberships that were seen gone come into the record (access_end), which
 * core/governance/access.c compares with what was granted. Must not call a directory. */
#include "core/governance/history.h"

#include "core/base/json.h"
#include "core/cache/recheck.h"

#define BATCH 500

ida_kind governance_history_note(store *main, store *cache, ida_ctx *c, const char *tenant,
                                 ida_directory_kind directory)
{
    const cache_lost *lost;
    int count = BATCH;
    ida_kind kind = IDA_OK;
    while (!kind && count == BATCH) {
        kind = cache_lost_members(cache, c, tenant, directory, BATCH, &lost, &count);
        if (kind || !count) {
            return kind;
        }
        json_t *rows = ida_json_keep(c->pool, json_array());
        for (int i = 0; i < count; i++) {
            json_array_append_new(
                rows, json_pack("[s, s, o]", lost[i].user_id, lost[i].group_id,
                                json_string(ida_printf(c->pool, "%lld", (long long)lost[i].at))));
        }
        const char *text = ida_json_text(c->pool, rows);
        kind = store_write(main, c, STMT_access_end_put,
                           DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(directory)), DB_T(text)),
                           NULL);
        kind = kind ? kind : cache_lost_noted(cache, c, tenant, directory, text);
    }
    return kind;
}
