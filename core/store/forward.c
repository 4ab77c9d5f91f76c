/* Owns the rows of audit.forwarded. Must not know where records are sent. */
#include "core/store/forward.h"

#include "core/store/rows.h"

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

STORE_FILL(fill, store_forward, forward, .tenant = row->tenant_id.text, .last = row->last.number,
           .first = row->first.number, .taken = row->taken.number,
           .sent = higher(row->first.number, row->taken.number))

ida_kind store_forward_due(store *s, ida_ctx *c, const char *after, int max,
                           const store_forward **list, int *count)
{
    return store_rows(s, c, STMT_forward_due, DB_ARGS(DB_T(after), DB_I(max)), fill, sizeof **list,
                      list, count);
}

static ida_kind get(store *s, ida_ctx *c, store_forward *f)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_forward_get, DB_ARGS(DB_T(f->tenant)), &r);
    if (!kind && r.rows) {
        fill(&r, 0, f);
    }
    return kind;
}

ida_kind store_forward_claim(store *audit, ida_ctx *c, const char *owner, store_forward *f,
                             int *claimed)
{
    int64_t now = ida_now(c->env);
    db_result r;
    ida_kind kind = store_write(
        audit, c, STMT_forward_claim,
        DB_ARGS(DB_T(f->tenant), DB_T(owner), DB_I(now), DB_I(now + STORE_FORWARD_LEASE_MS)), &r);
    *claimed = !kind && r.changes;
    return kind || !*claimed ? kind : get(audit, c, f);
}

ida_kind store_forward_page(store *s, ida_ctx *c, const store_forward *f, int max,
                            const audit_row **rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_audit_walk,
                               DB_ARGS(DB_T(f->tenant), DB_I(f->sent), DB_I(f->last), DB_I(max)),
                               &r);
    audit_row *all = apr_palloc(c->pool, sizeof *all * (apr_size_t)(kind ? 1 : r.rows + 1));
    for (int i = 0; !kind && i < r.rows; i++) {
        all[i] = store_audit_row(&r, i, f->tenant);
    }
    *rows = all;
    *count = kind ? 0 : r.rows;
    return kind;
}

ida_kind store_forward_taken(store *audit, ida_ctx *c, const char *owner, store_forward *f,
                             int64_t seq)
{
    int64_t now = ida_now(c->env);
    db_result r;
    ida_kind kind = store_write(audit, c, STMT_forward_taken,
                                DB_ARGS(DB_T(f->tenant), DB_T(owner), DB_I(f->taken), DB_I(seq),
                                        DB_I(now), DB_I(now + STORE_FORWARD_LEASE_MS)),
                                &r);
    if (kind || !r.changes) {
        return kind ? kind
                    : ida_fail(c, IDA_CONFLICT, "Another worker sends the records of %s.",
                               f->tenant);
    }
    f->taken = f->sent = seq;
    return IDA_OK;
}

ida_kind store_forward_backlog(store *s, ida_ctx *c, const char *tenant, store_backlog *out)
{
    db_result r;
    store_forward f = {.tenant = tenant};
    *out = (store_backlog){0};
    ida_kind kind = get(s, c, &f);
    if (kind || f.last <= f.sent) {
        return kind;
    }
    out->records = f.last - f.sent;
    kind = store_read(s, c, STMT_audit_first_at, DB_ARGS(DB_T(tenant), DB_I(f.sent)), &r);
    out->oldest = !kind && r.rows ? DB_ROW(number, &r, 0)->number.number : 0;
    return kind;
}
