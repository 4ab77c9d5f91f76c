/* Owns the proof that the chain of a tenant's audit records is whole: record by record, some at a
 * time. Must not know who wants to know, nor when. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/text.h"
#include "core/store/audit.h"
#include "core/store/chain_fault.h"
#include "core/store/chain_head.h"
#include "core/store/chain_key.h"
#include "core/store/rows.h"

#define WALK_PAGE 1000
#define AT_ONCE 100000 /* records a snapshot, where all of them are wanted */

typedef struct walk_work {
    const char *tenant;
    int max;
    store_chain_walk start, *walk; /* start: to begin again from when the snapshot is repeated */
    audit_keys keys;
    int64_t keyed_from, broken; /* broken: as the worker marked it */
} walk_work;

static const char behind_a_break[] =
    "was written behind an end that was not the one the worker had left: records before it were "
    "cut off or changed";

static void broken_at(store_chain_walk *w, ida_ctx *c, int64_t seq, const char *how)
{
    w->broken = seq;
    w->reason = ida_printf(c->pool, "Record %lld %s.", (long long)seq, how);
}

/* The checkpoints over the record that was found whole just now. */
static void compare_marks(store_chain_walk *w, ida_ctx *c)
{
    for (; !w->broken && w->mark < w->mark_count && w->marks[w->mark].number <= w->to; w->mark++) {
        const store_chain_mark *mark = &w->marks[w->mark];
        if (mark->number == w->to && strcmp(mark->hash, w->hash) != 0) {
            broken_at(w, c, w->to,
                      ida_printf(c->pool,
                                 "is not the one that the checkpoint of %s is over: it, or one "
                                 "since record %lld, was changed, taken out or put in, and the "
                                 "chain written anew from there",
                                 mark->when,
                                 (long long)(w->mark ? w->marks[w->mark - 1].number + 1
                                                     : w->foot + 1)));
        }
    }
}

static ida_kind walk_page(store *s, ida_ctx *c, ida_ctx *page, const walk_work *work, int room)
{
    store_chain_walk *w = work->walk;
    db_result r;
    ida_kind kind = store_read(s, page, STMT_audit_walk,
                               DB_ARGS(DB_T(work->tenant), DB_I(w->to), DB_I(w->head),
                                       DB_I(room < WALK_PAGE ? room : WALK_PAGE)),
                               &r);
    if (!kind && !r.rows) {
        broken_at(w, c, w->to + 1, "is missing: the newest records were cut off");
    }
    for (int i = 0; !kind && !w->broken && i < r.rows; i++) {
        const row_audit *row = DB_ROW(audit, &r, i);
        const store_chain_place place = {work->tenant,     w->hash,     w->to + 1,
                                         work->keyed_from, &work->keys, w->key};
        const char *how = w->to + 1 == work->broken ? behind_a_break
                                                    : store_chain_fault(page->pool, &r, i, &place),
                   *key = row->next_key.text;
        if (how) {
            broken_at(w, c, w->to + 1, how);
        } else {
            w->to++;
            w->walked++;
            apr_cpystrn(w->hash, row->hash.text, sizeof w->hash);
            apr_cpystrn(w->key,
                        key                ? key
                        : row->key_id.text ? row->key_id.text
                                           : "",
                        sizeof w->key);
            compare_marks(w, c);
        }
    }
    return kind;
}

static ida_kind walk_some(store *s, ida_ctx *c, const walk_work *work)
{
    store_chain_walk *w = work->walk;
    ida_ctx page = *c; /* rows of one page at a time */
    ida_kind kind = IDA_OK;
    apr_pool_create(&page.pool, c->pool);
    while (!kind && !w->broken && w->to < w->head && w->walked < work->max) {
        apr_pool_clear(page.pool);
        kind = walk_page(s, c, &page, work, (int)(work->max - w->walked));
    }
    if (kind) {
        c->kind = kind;
        c->message = apr_pstrdup(c->pool, page.message);
        c->retry_after = page.retry_after;
    }
    apr_pool_destroy(page.pool);
    w->more = !kind && !w->broken && w->to < w->head;
    return kind;
}

/* Whether the chain ends where its row says, by the word of the key, and where checkpoints say. */
static ida_kind judge_end(store *s, ida_ctx *c, const walk_work *work, const db_result *r)
{
    store_chain_walk *w = work->walk;
    audit_head is = store_chain_row(r, work->tenant);
    const char *id = r->rows ? DB_ROW(chain, r, 0)->key_id.text : NULL;
    const audit_secret *newest = audit_keys_newest(&work->keys),
                       *key = audit_keys_find(&work->keys, id);
    int64_t stray;
    ida_kind kind = store_number(s, c, STMT_audit_beyond_head,
                                 DB_ARGS(DB_T(work->tenant), DB_I(w->head)), &stray);
    if (kind) {
        return kind;
    }
    if (w->to > w->head) {
        broken_at(w, c, w->head + 1, "is missing: the newest records were cut off");
    } else if (strcmp(w->hash, is.hash) != 0) {
        broken_at(w, c, w->head, "is not the one that the chain ends with");
    } else if (stray) {
        broken_at(w, c, w->head + 1,
                  r->rows ? "stands behind the end of the chain"
                          : "has no chain: its head is missing");
    } else if (r->rows && (!key || (key != newest && !work->keys.is_new) ||
                           !store_chain_head_proven(c->pool, key, r, work->tenant))) {
        broken_at(w, c, w->head > 0 ? w->head : 1,
                  !id ? "ends a chain that is under no key: it was written anew, or put back from "
                        "before there were keys"
                  : key && key != newest
                      ? "ends a chain under a key that was rotated away: it was put back, or "
                        "written by somebody who has that key"
                      : "is not the end that the worker left: the newest records were cut off, or "
                        "where the chain ends, or since when it is under a key, was changed");
    } else if (is.broken) {
        broken_at(w, c, is.broken, behind_a_break);
    } else if (w->mark < w->mark_count) {
        broken_at(w, c, w->head + 1,
                  ida_printf(c->pool,
                             "is missing: the checkpoint of %s is over record %lld, so the newest "
                             "records were cut off, or an older store was put back",
                             w->marks[w->mark].when, (long long)w->marks[w->mark].number));
    }
    return IDA_OK;
}

/* The chain is to begin where retention left it, by the word of the key. */
static ida_kind judge_beginning(store *s, ida_ctx *c, const walk_work *work, const db_result *r)
{
    store_chain_walk *w = work->walk;
    const char *id = r->rows ? DB_ROW(chain, r, 0)->key_id.text : NULL;
    const audit_secret *key = audit_keys_find(&work->keys, id);
    int64_t stray;
    ida_kind kind = store_number(s, c, STMT_audit_before_first,
                                 DB_ARGS(DB_T(work->tenant), DB_I(w->foot)), &stray);
    if (!kind && stray) {
        broken_at(w, c, w->foot > 0 ? w->foot : 1, "stands before the beginning of the chain");
    } else if (!kind && key && !store_chain_foot_proven(c->pool, key, r, work->tenant)) {
        broken_at(w, c, w->foot + 1,
                  "is not where the worker let the chain begin: records before it were taken out, "
                  "and not by retention");
    }
    return kind;
}

static ida_kind walk(store *s, ida_ctx *c, void *baton)
{
    walk_work *work = baton;
    store_chain_walk *w = work->walk;
    db_result r;
    *w = work->start;
    w->walked = w->broken = 0;
    w->more = 0;
    ida_kind kind = store_read(s, c, STMT_audit_chain_read, DB_ARGS(DB_T(work->tenant)), &r);
    if (kind) {
        return kind;
    }
    audit_head is = store_chain_row(&r, work->tenant);
    w->head = is.seq;
    w->foot = is.first_seq;
    work->keyed_from = is.keyed_from ? is.keyed_from : INT64_MAX;
    if (!*w->hash || w->to < w->foot) { /* retention took what was verified before */
        w->to = w->foot;
        apr_cpystrn(w->hash, is.first_hash, sizeof w->hash);
        *w->key = '\0';
        compare_marks(w, c);
    }
    const audit_secret *key = r.rows
                                  ? audit_keys_find(&work->keys, DB_ROW(chain, &r, 0)->key_id.text)
                                  : NULL;
    work->broken = key && store_chain_head_proven(c->pool, key, &r, work->tenant) ? is.broken : 0;
    kind = w->broken ? IDA_OK : judge_beginning(s, c, work, &r);
    kind = kind || w->broken ? kind : walk_some(s, c, work);
    return kind || w->broken || w->more ? kind : judge_end(s, c, work, &r);
}

ida_kind store_audit_walk(store *s, ida_ctx *c, const char *tenant, int max, store_chain_walk *w)
{
    walk_work work = {.tenant = tenant, .max = max, .start = *w, .walk = w};
    ida_kind kind = store_audit_keys(s, c, &work.keys);
    kind = kind ? kind : store_snapshot(s, c, walk, &work);
    audit_keys_wipe(&work.keys);
    return kind;
}

ida_kind store_audit_verify_marks(store *s, ida_ctx *c, const char *tenant,
                                  const store_chain_mark *marks, int mark_count,
                                  int64_t *broken_seq, int64_t *count)
{
    store_chain_walk w = {.marks = marks, .mark_count = mark_count};
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

ida_kind store_audit_verify(store *s, ida_ctx *c, const char *tenant, int64_t *broken_seq,
                            int64_t *count)
{
    return store_audit_verify_marks(s, c, tenant, NULL, 0, broken_seq, count);
}
