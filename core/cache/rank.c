/* Owns the ranks of people: a number for each listed person that grows in the order of lists, so
 * that the index of terms returns matches in that order. Ranks are assigned with gaps; when a
 * gap is full, the people after it get new ranks. SQLite only: PostgreSQL's index keeps no order
 * (core/cache/segment.c). Must not know what terms mean. */
#include <string.h>

#include "core/cache/rank.h"
#include "core/store/rows.h"

#define SHELF_BITS 43 /* places of a tenant */
#define GAP 256
#define GAP_LEAST 16 /* ranks left free between people whose ranks are assigned again */
#define DEALT 1000   /* at once */
#define ANEW                                                                            \
    64 /* people whose ranks are assigned again after a full gap; four times as many if \
          ranks are dense */

/* People without a rank between two people who have one. */
typedef struct gap {
    int64_t from, to;          /* ranks on either side; 0: there is no person on that side */
    const char *name_key, *id; /* the person after the gap; NULL: none */
} gap;

ida_kind cache_ranks(store *s, ida_ctx *c, const char *tenant, int64_t *first, int64_t *end)
{
    int64_t number = 0;
    ida_kind kind = store_number(s, c, STMT_counter_get, DB_ARGS(DB_T(tenant), DB_T("shelf")),
                                 &number);
    *first = number << SHELF_BITS;
    *end = (number + 1) << SHELF_BITS;
    return kind;
}

/* Find the next person by rank, not by name: sorted by name, many people without a rank may come
 * first. */
static ida_kind gap_at(const cache_at *at, ida_ctx *c, const row_unplaced *who, int64_t first,
                       int64_t end, gap *g)
{
    db_result r;
    *g = (gap){0};
    ida_kind kind = store_read(
        at->s, c, STMT_place_before,
        DB_ARGS(DB_T(at->tenant), DB_T(who->name_key.text), DB_T(who->id.text)), &r);
    if (!kind && r.rows) {
        g->from = DB_ROW(placed, &r, 0)->place.number;
    }
    kind = kind ? kind
                : store_read(at->s, c, STMT_place_behind,
                             DB_ARGS(DB_I(g->from ? g->from : first - 1), DB_I(end)), &r);
    if (!kind && r.rows) {
        const row_placed *next = DB_ROW(placed, &r, 0);
        *g = (gap){g->from, next->place.number, next->name_key.text, next->id.text};
    }
    return kind;
}

static int stands_before(const row_unplaced *who, const gap *g)
{
    int order = g->to ? strcmp(who->name_key.text, g->name_key) : -1;
    return order ? order < 0 : strcmp(who->id.text, g->id) < 0;
}

/* Widens the gap: takes back the ranks of enough people after it, then assigns ranks to them and
 * to the waiting people together. */
static ida_kind widen(const cache_at *at, ida_ctx *c, const gap *g, int64_t end, int64_t waiting)
{
    int64_t to = 0;
    for (int64_t people = ANEW;; people *= 4) {
        db_result r;
        ida_kind kind = store_read(at->s, c, STMT_place_further,
                                   DB_ARGS(DB_I(g->to), DB_I(end), DB_I(people)), &r);
        if (kind) {
            return kind;
        }
        to = r.rows ? DB_ROW(number, &r, 0)->number.number : end;
        if (to == end || to - g->from >= GAP_LEAST * (waiting + people)) {
            break;
        }
    }
    return store_write(at->s, c, STMT_place_clear, DB_ARGS(DB_I(g->to), DB_I(to)), NULL);
}

/* Rank of the n-th of `count` people in a gap, n from 1. */
static int64_t place_of(const gap *g, int64_t first, int64_t n, int64_t count)
{
    return !g->to     ? (g->from ? g->from : first + (INT64_C(1) << (SHELF_BITS - 1))) + n * GAP
           : !g->from ? g->to - (count + 1 - n) * GAP
                      : g->from + (g->to - g->from) * n / (count + 1);
}

/* Rows from..to lie in one gap; `count`: all people in it. */
static ida_kind fill(const cache_at *at, ida_ctx *c, const db_result *r, int from, int to,
                     const gap *g, int64_t first, int64_t count)
{
    ida_kind kind = IDA_OK;
    for (int i = from; !kind && i < to; i++) {
        const row_unplaced *who = DB_ROW(unplaced, r, i);
        kind = store_write(at->s, c, STMT_place_put,
                           DB_ARGS(DB_T(at->tenant), DB_I(who->row.number),
                                   DB_I(place_of(g, first, i - from + 1, count))),
                           NULL);
    }
    return kind;
}

/* Counts the people of the gap who come after the last row that was read. */
static ida_kind count_rest(const cache_at *at, ida_ctx *c, const row_unplaced *last, const gap *g,
                           int64_t *rest)
{
    return store_number(at->s, c, STMT_place_missing_count,
                        DB_ARGS(DB_T(at->tenant), DB_T(last->name_key.text), DB_T(last->id.text),
                                DB_T(g->name_key), DB_T(g->id)),
                        rest);
}

static ida_kind deal_rows(const cache_at *at, ida_ctx *c, const db_result *r, int64_t first,
                          int64_t end)
{
    ida_kind kind = IDA_OK;
    for (int from = 0, to; !kind && from < r->rows; from = to) {
        gap g;
        int64_t rest = 0;
        kind = gap_at(at, c, DB_ROW(unplaced, r, from), first, end, &g);
        for (to = from; !kind && to < r->rows && stands_before(DB_ROW(unplaced, r, to), &g);) {
            to++;
        }
        if (!kind && to == r->rows && g.to) {
            kind = count_rest(at, c, DB_ROW(unplaced, r, to - 1), &g, &rest);
        }
        if (kind) {
            return kind;
        }
        int64_t waiting = to - from + rest;
        if (g.from && g.to && g.to - g.from <= waiting) {
            return widen(at, c, &g, end, waiting);
        }
        kind = fill(at, c, r, from, to, &g, first, waiting);
    }
    return kind;
}

static ida_kind places_deal(const cache_at *at, ida_ctx *c, int *more)
{
    db_result r = {0};
    int64_t first, end;
    *more = 0;
    ida_kind kind = store_read(at->s, c, STMT_place_missing, DB_ARGS(DB_T(at->tenant), DB_I(DEALT)),
                               &r);
    if (kind || !r.rows) {
        return kind;
    }
    *more = 1; /* one more round finds out that nothing is left */
    kind = store_write(at->s, c, STMT_place_shelf, DB_ARGS(DB_T(at->tenant)), NULL);
    kind = kind ? kind : cache_ranks(at->s, c, at->tenant, &first, &end);
    return kind ? kind : deal_rows(at, c, &r, first, end);
}

ida_kind cache_forget_words(store *s, ida_ctx *c)
{
    return store_is_postgresql(s) ? IDA_OK : store_write(s, c, STMT_terms_merge, DB_NONE, NULL);
}

static ida_kind terms_settle(const cache_at *at, ida_ctx *c)
{
    static const db_statement in_order[] = {STMT_terms_out, STMT_terms_in, STMT_terms_settled};
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_terms_stale, DB_NONE, &r);
    for (size_t i = 0; !kind && r.rows && i < sizeof in_order / sizeof *in_order; i++) {
        kind = store_write(at->s, c, in_order[i], DB_NONE, NULL);
    }
    return kind;
}

/* Pages of the index that a step merges. */
#define MERGED 500

ida_kind cache_index_merge(const cache_at *at, ida_ctx *c, int begins, int *more)
{
    db_result before, after;
    *more = 0;
    if (store_is_postgresql(at->s)) {
        return IDA_OK;
    }
    int64_t pays = 1;
    ida_kind kind = begins ? store_number(at->s, c, STMT_terms_merge_pays,
                                          DB_ARGS(DB_T(at->tenant)), &pays)
                           : IDA_OK;
    if (kind || !pays) {
        return kind;
    }
    kind = store_read(at->s, c, STMT_terms_parts, DB_NONE, &before);
    kind = kind ? kind
                : store_write(at->s, c, STMT_terms_merge_some,
                              DB_ARGS(DB_I(begins ? -MERGED : MERGED)), NULL);
    kind = kind ? kind : store_read(at->s, c, STMT_terms_parts, DB_NONE, &after);
    *more = !kind && strcmp(DB_ROW(terms_parts, &before, 0)->structure.text,
                            DB_ROW(terms_parts, &after, 0)->structure.text) != 0;
    return kind;
}

/* --- both engines --- */

ida_kind cache_index_deal(const cache_at *at, ida_ctx *c, int *more)
{
    return (store_is_postgresql(at->s) ? cache_segments_deal : places_deal)(at, c, more);
}

ida_kind cache_leave(const cache_at *at, ida_ctx *c)
{
    int64_t loading = 0;
    ida_kind kind = cache_loading_get(at, c, &loading);
    int more = !loading && !store_is_postgresql(at->s);
    while (!kind && more) {
        kind = places_deal(at, c, &more);
    }
    return kind                          ? kind
           : !store_is_postgresql(at->s) ? terms_settle(at, c)
           : loading                     ? IDA_OK
                                         : cache_segments_settle(at, c);
}
