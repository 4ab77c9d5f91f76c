/* Owns what the audit keeps of a task's row, so that a change by hand is found. Must not know who
 * compares it. */
#include "core/queue/mark.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/model/payload.h"
#include "core/model/task.h"
#include "core/store/audit.h"
#include "core/store/rows.h"

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In an order of its own, because engines sort texts differently. */
static ida_kind memberships(store *s, ida_ctx *c, const char *tenant, const char *id, uint64_t *out)
{
    db_result r;
    apr_array_header_t *all = apr_array_make(c->pool, 16, sizeof(char *));
    ida_kind kind = store_read(s, c, STMT_membership_mark, DB_ARGS(DB_T(tenant), DB_T(id)), &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_membership_mark *m = DB_ROW(membership_mark, &r, i);
        json_t *one = json_pack("[s, s, s, s, I, s?, I, s?]", m->directory.text, m->group_id.text,
                                m->group_name.text, m->kind.text, (json_int_t)m->position.number,
                                m->retained.text, (json_int_t)m->revoked_at.number,
                                m->refused.text);
        APR_ARRAY_PUSH(all, const char *) = ida_json_text(c->pool, ida_json_keep(c->pool, one));
    }
    qsort(all->elts, (size_t)all->nelts, sizeof(char *), by_text);
    *out = audit_mark_digest(apr_array_pstrcat(c->pool, all, '\n'));
    return kind;
}

ida_kind queue_mark_read(store *s, ida_ctx *c, const char *tenant, const char *from, int after,
                         audit_mark *out)
{
    db_result r;
    *out = (audit_mark){.has = QUEUE_MARK_MADE};
    ida_kind kind = store_read(s, c, STMT_task_mark, DB_ARGS(DB_T(tenant), DB_T(from), DB_I(after)),
                               &r);
    if (kind || !r.rows) {
        return kind;
    }
    const row_task_mark *t = DB_ROW(task_mark, &r, 0);
    const char *text = t->payload.text ? t->payload.text : "";
    json_t *payload = ida_json_load(c->pool, text);
    if (json_is_object(payload)) { /* the worker removes the photo after use */
        json_object_del(payload, "profilePhoto");
        json_object_del(payload, IDA_PHOTO_LEFT);
        text = ida_json_text(c->pool, payload);
    }
    /* Nothing of this service makes a task claimable before it is due. */
    int early = strcmp(t->state.text, ida_task_state_text(IDA_QUEUED)) == 0 &&
                t->next_at.number < t->due_at.number;
    out->name = t->id.text;
    out->parts[AUDIT_MARK_DUE] = audit_mark_digest(
        ida_printf(c->pool, "%lld %lld %s %s %s %d", (long long)t->due_at.number,
                   (long long)t->wall_fixed.number, t->wall_date.text, t->wall_time.text,
                   t->zone.text, early));
    out->parts[AUDIT_MARK_PAYLOAD] = audit_mark_digest(
        apr_pstrcat(c->pool, t->type.text, "\n", t->directory.text, "\n",
                    t->object_id.text ? t->object_id.text : "", "\n", text, NULL));
    return memberships(s, c, tenant, out->name, &out->parts[AUDIT_MARK_MEMBERSHIPS]);
}

typedef struct marking {
    const char *tenant, *id;
    unsigned parts;
    uint64_t before;
} marking;

static ida_kind put(store *s, ida_ctx *c, void *baton)
{
    const marking *m = baton;
    audit_mark row;
    ida_kind kind = queue_mark_read(s, c, m->tenant, m->id, 0, &row);
    if (kind || !row.name || strcmp(row.name, m->id) != 0 ||
        row.parts[AUDIT_MARK_MEMBERSHIPS] == m->before) {
        return kind;
    }
    row.has = m->parts | (m->before ? 1u << AUDIT_MARK_BEFORE : 0);
    row.made = m->parts == QUEUE_MARK_MADE;
    row.parts[AUDIT_MARK_BEFORE] = m->before;
    return store_mark(s, c, m->tenant, &row);
}

ida_kind queue_mark(store *s, ida_ctx *c, const char *tenant, const char *id, unsigned parts,
                    uint64_t before)
{
    marking m = {tenant, id, parts, before};
    return store_transaction(s, c, put, &m);
}
