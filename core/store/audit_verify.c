/* Owns the proof that the chain of a tenant's audit records is whole: record by record, some at a
 * time. Must not know who wants to know, nor when. */
#include <apr_strings.h>
#include <string.h>

#include "core/store/audit.h"
#include "core/store/rows.h"

#define WALK_PAGE 1000
#define AT_ONCE 100000 /* records a snapshot, where all of them are wanted */

typedef struct walk_work {
    const char *tenant;
    int max;
    store_chain_walk start, *walk; /* start: to begin again from when the snapshot is repeated */
} walk_work;

static void broken_at(store_chain_walk *w, ida_ctx *c, int64_t seq, const char *how)
{
    w->broken = seq;
    w->reason = ida_printf(c->pool, "Record %lld %s.", (long long)seq, how);
}

static int same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* What is wrong with a row that should follow `previous` as number `seq`; NULL: nothing. */
static const char *fault_of(apr_pool_t *pool, const db_result *r, int i, const char *tenant,
                            int64_t seq, const char *previous)
{
    const row_audit *stored = DB_ROW(audit, r, i);
    audit_row row = store_audit_row(r, i, tenant);
    const char *personal = stored->personal_hash.text, *salt = stored->salt.text,
               *actor = row.record.actor;
    if (row.seq != seq) {
        return "is missing";
    }
    if (!same(audit_chain_hash(pool, previous, seq, &row.record, personal), stored->hash.text)) {
        return "does not fit the one before it: its time, category, outcome, identity or place was "
               "changed";
    }
    if (salt ? !same(audit_personal_hash(pool, salt, &row.record), personal)
             : actor || row.record.label || row.record.action || row.record.target ||
                   row.record.endpoint || row.record.parameters || row.record.detail ||
                   row.record.address) {
        return salt ? "was changed in its personal part"
                    : "counts as erased but has a personal part";
    }
    if (!same(audit_actor_key(pool, actor), stored->actor_key.text)) {
        return "was changed in the key of its actor";
    }
    return NULL;
}

/* The next page; 0 in *going when there is no further one. */
static ida_kind walk_page(store *s, ida_ctx *c, ida_ctx *page, const char *tenant, int room,
                          store_chain_walk *w)
{
    db_result r;
    ida_kind kind = store_read(s, page, STMT_audit_walk,
                               DB_ARGS(DB_T(tenant), DB_I(w->to), DB_I(w->head),
                                       DB_I(room < WALK_PAGE ? room : WALK_PAGE)),
                               &r);
    if (!kind && !r.rows) {
        broken_at(w, c, w->to + 1, "is missing");
    }
    for (int i = 0; !kind && !w->broken && i < r.rows; i++) {
        const char *how = fault_of(page->pool, &r, i, tenant, w->to + 1, w->hash);
        if (how) {
            broken_at(w, c, w->to + 1, how);
        } else {
            w->to++;
            w->walked++;
            apr_cpystrn(w->hash, DB_ROW(audit, &r, i)->hash.text, sizeof w->hash);
        }
    }
    return kind;
}

static ida_kind walk_some(store *s, ida_ctx *c, const walk_work *work, const char *head_hash)
{
    store_chain_walk *w = work->walk;
    ida_ctx page = *c; /* rows of one page at a time */
    ida_kind kind = IDA_OK;
    apr_pool_create(&page.pool, c->pool);
    while (!kind && !w->broken && w->to < w->head && w->walked < work->max) {
        apr_pool_clear(page.pool);
        kind = walk_page(s, c, &page, work->tenant, (int)(work->max - w->walked), w);
    }
    if (kind) {
        c->kind = kind;
        c->message = apr_pstrdup(c->pool, page.message);
        c->retry_after = page.retry_after;
    }
    apr_pool_destroy(page.pool);
    w->more = !kind && !w->broken && w->to < w->head;
    if (kind || w->broken || w->more) {
        return kind;
    }
    if (w->to > w->head) {
        broken_at(w, c, w->head + 1, "is missing");
    } else if (!same(w->hash, head_hash)) {
        broken_at(w, c, w->head, "is not the one that the chain ends with");
    }
    return IDA_OK;
}

static ida_kind walk(store *s, ida_ctx *c, void *baton)
{
    walk_work *work = baton;
    store_chain_walk *w = work->walk;
    db_result r;
    int64_t stray;
    *w = work->start;
    w->walked = w->broken = 0;
    w->more = 0;
    ida_kind kind = store_read(s, c, STMT_audit_chain_read, DB_ARGS(DB_T(work->tenant)), &r);
    if (kind) {
        return kind;
    }
    const row_chain *chain = DB_ROW(chain, &r, 0);
    const char *head_hash = r.rows ? chain->hash.text : audit_genesis;
    w->head = chain->seq.number;
    w->foot = chain->first_seq.number;
    if (!*w->hash || w->to < w->foot) { /* retention took what was verified before */
        w->to = w->foot;
        apr_cpystrn(w->hash, r.rows ? chain->first_hash.text : audit_genesis, sizeof w->hash);
    }
    kind = store_number(s, c, STMT_audit_before_first, DB_ARGS(DB_T(work->tenant), DB_I(w->foot)),
                        &stray);
    if (!kind && stray) {
        broken_at(w, c, w->foot > 0 ? w->foot : 1, "stands before the beginning of the chain");
        return IDA_OK;
    }
    kind = kind ? kind : walk_some(s, c, work, head_hash);
    if (kind || w->broken || w->more) {
        return kind;
    }
    kind = store_number(s, c, STMT_audit_beyond_head, DB_ARGS(DB_T(work->tenant), DB_I(w->head)),
                        &stray);
    if (!kind && stray) {
        broken_at(w, c, w->head + 1,
                  r.rows ? "stands behind the end of the chain"
                         : "has no chain: its head is missing");
    }
    return kind;
}

ida_kind store_audit_walk(store *s, ida_ctx *c, const char *tenant, int max, store_chain_walk *w)
{
    walk_work work = {.tenant = tenant, .max = max, .start = *w, .walk = w};
    return store_snapshot(s, c, walk, &work);
}

ida_kind store_audit_verify(store *s, ida_ctx *c, const char *tenant, int64_t *broken_seq,
                            int64_t *count)
{
    store_chain_walk w = {0};
    ida_kind kind;
    *count = 0;
    do {
        kind = store_audit_walk(s, c, tenant, AT_ONCE, &w);
        *count += w.walked;
    } while (!kind && w.more);
    *broken_seq = w.broken;
    if (!kind && w.broken) {
        c->message = w.reason;
    }
    return kind;
}
