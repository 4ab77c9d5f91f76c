/* Owns reading the outcomes of the memberships that an offboarding found. Must not know the
 * callers. */
#include "core/queue/revoked.h"

#include <string.h>

#include "core/base/json.h"
#include "core/store/rows.h"

struct queue_revoked {
    db_result r;
};

ida_kind queue_revoked_load(store *s, ida_ctx *c, const char *tenant, const char *const *task_ids,
                            int count, const queue_revoked **out)
{
    queue_revoked *of = apr_pcalloc(c->pool, sizeof *of);
    json_t *ids = ida_json_keep(c->pool, json_array());
    for (int i = 0; i < count; i++) {
        json_array_append_new(ids, json_string(task_ids[i]));
    }
    *out = of;
    return count ? store_read(s, c, STMT_membership_ends,
                              DB_ARGS(DB_T(tenant), DB_T(ida_json_text(c->pool, ids))), &of->r)
                 : IDA_OK;
}

void queue_revoked_lists(ida_ctx *c, const queue_revoked *of, const char *task_id,
                         const char *directory, int position, json_t **revoked,
                         json_t **not_revoked)
{
    *revoked = ida_json_keep(c->pool, json_array());
    *not_revoked = ida_json_keep(c->pool, json_array());
    for (int i = 0; i < of->r.rows; i++) {
        const row_membership_end *row = DB_ROW(membership_end, &of->r, i);
        if (strcmp(row->task_id.text, task_id) != 0 ||
            (directory && strcmp(row->directory.text, directory) != 0) ||
            (position != QUEUE_REVOKED_ALL && row->position.number != position)) {
            continue;
        }
        int owned = strcmp(row->kind.text, "owned") == 0;
        json_t *one = ida_json_texts("id",
                                     row->group_id.text + (owned ? sizeof QUEUE_OWNED - 1 : 0),
                                     "name", row->group_name.text, "directory", row->directory.text,
                                     NULL);
        if (strcmp(row->kind.text, "group") != 0) {
            ida_json_put(one, "kind", row->kind.text);
        }
        if (!row->revoked_at.number) {
            ida_json_put(one, "reason", row->reason.text);
        }
        json_array_append_new(row->revoked_at.number ? *revoked : *not_revoked, one);
    }
}

STORE_FILL(owned_of, queue_owned, owned, row->user_id.text, row->upn.text, row->task_id.text,
           row->directory.text, row->group_id.text + sizeof QUEUE_OWNED - 1, row->group_name.text,
           row->retained.text)

ida_kind queue_owned_list(store *s, ida_ctx *c, const char *tenant, const char *accounts, int most,
                          const queue_owned **rows, int *count)
{
    return store_rows(s, c, STMT_owned, DB_ARGS(DB_T(tenant), DB_T(accounts), DB_I(most)), owned_of,
                      sizeof **rows, rows, count);
}
