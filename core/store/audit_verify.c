/* Owns the proof that the chain of a tenant's audit records is whole: record by record, a
 * portion at a time. Must not know who asked for it, or when. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
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

/* What this machine and the checkpoints say of the record that was found whole just now. */
static void compare_marks(store_chain_walk *w, ida_ctx *c)
{
    const audit_anchor *anchor = w->anchor;
    if (anchor && anchor->number == w->to && strcmp(anchor->hash, w->hash) != 0) {
        broken_at(w, c, w->to,
                  "is not the one that was verified on this machine: the chain was written anew, "
                  "or an older store was put back and went on");
    }
    for (; !w->broken && w->mark < w->mark_count && w->marks[w->mark].number <= w->to; w->mark++) {
        const store_chain_mark *mark = &w->marks[w->mark];
        if (mark->number == w->to && strcmp(mark->hash, w->hash) != 0) {
            broken_at(w, c, w->to,
                      ida_printf(c->pool,
                                 "is not the one that %s is over: it, or one since record %lld, "
                                 "was changed, taken out or put in, and the chain written anew "
                                 "from there",
                                 mark->what,
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
        if (w->each && !w->broken) {
            audit_row whole = store_audit_row(&r, i, work->tenant);
            w->each(w->baton, &whole);
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

/* Whether the chain ends where its row, proven under the key, and the checkpoints say. */
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
    if (w->anchor && w->anchor->number > w->head) {
        broken_at(w, c, w->head + 1,
                  ida_printf(c->pool,
                             "is missing: record %lld was verified on this machine, so %s, or an "
                             "older store was put back",
                             (long long)w->anchor->number,
                             r->rows ? "the newest records were cut off"
                                     : "the chain was deleted"));
    } else if (w->to > w->head) {
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
                             "is missing: %s is over record %lld, so the newest records were cut "
                             "off, or an older store was put back",
                             w->marks[w->mark].what, (long long)w->marks[w->mark].number));
    }
    return IDA_OK;
}

/* What retention recorded about the beginning: a chain that does not begin where its newest
 * record of retention says was changed. A chain whose beginning was removed before retention
 * kept such records is accepted as this machine first saw it. */
static ida_kind judge_retained(store *s, ida_ctx *c, const walk_work *work)
{
    store_chain_walk *w = work->walk;
    const int64_t seen = w->anchor ? w->anchor->foot : w->foot;
    db_result r;
    ida_kind kind = store_read(s, c, STMT_audit_retained,
                               DB_ARGS(DB_T(work->tenant), DB_T(audit_key(c->pool, work->tenant))),
                               &r);
    if (kind) {
        return kind;
    }
    const char *text = r.rows ? DB_ROW(audit_retained, &r, 0)->parameters.text : NULL;
    const json_t *said = text ? ida_json_load(c->pool, text) : NULL;
    const int64_t to = r.rows ? json_integer_value(json_object_get(said, "to")) : seen;
    if (w->foot < seen) {
        broken_at(w, c, w->foot + 1,
                  ida_printf(c->pool,
                             "was removed by retention, as this machine saw, like all up to record "
                             "%lld: an older store was put back",
                             (long long)seen));
    } else if (w->foot != to) {
        broken_at(w, c, w->foot + 1,
                  ida_printf(c->pool,
                             "is where the chain begins, and by %s it begins behind record %lld: "
                             "records were taken out, and not by retention",
                             r.rows ? "what retention recorded" : "what this machine saw",
                             (long long)to));
    }
    return IDA_OK;
}

/* The chain must begin where retention left it, proven under the key. */
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
    return kind || w->broken || !r->rows ? kind : judge_retained(s, c, work);
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

ida_kind store_audit_walk_all(store *s, ida_ctx *c, const char *tenant, store_chain_walk *w)
{
    int64_t count = 0;
    ida_kind kind;
    do {
        kind = store_audit_walk(s, c, tenant, AT_ONCE, w);
        count += w->walked;
    } while (!kind && w->more);
    w->walked = count;
    return kind;
}

ida_kind store_audit_verify(store *s, ida_ctx *c, const char *tenant, int64_t *broken_seq,
                            int64_t *count)
{
    store_chain_walk w = {.to = 0};
    ida_kind kind = store_audit_walk_all(s, c, tenant, &w);
    *count = w.walked;
    *broken_seq = w.broken;
    if (!kind && w.broken) {
        c->message = w.reason;
    }
    return kind;
}
