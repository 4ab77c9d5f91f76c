/* Owns the segments of PostgreSQL's index of terms (schema/postgresql/007-person-index.cache.sql):
 * cut when a first load ends, cut again where they have grown, and filled. Must not know what terms
 * say.
 */
#include "core/cache/segment.h"

#include "core/cache/place.h"
#include "core/store/rows.h"

/* Of a segment: what a word of everybody collects for one page, against one look for each segment
 * where a word is of nobody. */
#define PEOPLE 4096

static ida_kind in_order(const cache_at *at, ida_ctx *c, const db_statement *statements,
                         size_t count)
{
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < count; i++) {
        kind = store_write(at->s, c, statements[i], DB_ARGS(DB_T(at->tenant)), NULL);
    }
    return kind;
}
#define IN_ORDER(at, c, list) in_order(at, c, list, sizeof(list) / sizeof *(list))

/* What was put in waits in a list of the index, which every search would read. */
static ida_kind sort_in(const cache_at *at, ida_ctx *c)
{
    db_result r;
    return store_read(at->s, c, STMT_index_sort, DB_NONE, &r);
}

ida_kind cache_segments_deal(const cache_at *at, ida_ctx *c, int *more)
{
    static const db_statement drop[] = {STMT_index_drop, STMT_segments_drop, STMT_index_settled};
    db_result r = {0};
    int64_t loading = 0;
    *more = 0;
    ida_kind kind = cache_loading_get(at, c, &loading);
    if (kind || !loading) {
        return kind;
    }
    *more = 1;
    if (loading == CACHE_LOADING) {
        kind = IN_ORDER(at, c, drop);
        kind = kind ? kind
                    : store_write(at->s, c, STMT_segments_cut,
                                  DB_ARGS(DB_T(at->tenant), DB_I(PEOPLE)), NULL);
        return kind ? kind : cache_loading(at, c, CACHE_DEALING);
    }
    kind = store_write(at->s, c, STMT_segment_fill, DB_ARGS(DB_T(at->tenant)), &r);
    *more = !kind && r.changes > 0;
    return kind ? kind : sort_in(at, c);
}

/* *cut: those behind the cuts are to be put in anew. */
static ida_kind cut_full(const cache_at *at, ida_ctx *c, int *cut)
{
    db_result r;
    ida_kind kind = store_read(at->s, c, STMT_segments_full,
                               DB_ARGS(DB_T(at->tenant), DB_I(2 * PEOPLE)), &r);
    *cut = !kind && r.rows > 0;
    for (int i = 0; !kind && i < r.rows; i++) {
        kind = store_write(at->s, c, STMT_segment_cut,
                           DB_ARGS(DB_T(at->tenant), DB_I(DB_ROW(number, &r, i)->number.number),
                                   DB_I(PEOPLE)),
                           NULL);
    }
    return kind;
}

ida_kind cache_segments_settle(const cache_at *at, ida_ctx *c)
{
    static const db_statement put[] = {STMT_segment_first, STMT_index_out, STMT_index_in,
                                       STMT_index_settled};
    db_result r = {0};
    int cut = 1;
    ida_kind kind = store_read(at->s, c, STMT_index_stale, DB_ARGS(DB_T(at->tenant)), &r);
    if (kind || !r.rows) {
        return kind;
    }
    while (!kind && cut) {
        kind = IN_ORDER(at, c, put);
        kind = kind ? kind : cut_full(at, c, &cut);
    }
    return kind ? kind : sort_in(at, c);
}
