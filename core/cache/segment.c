/* Owns the segments of PostgreSQL's index of terms: cuts the list when a first load ends, splits
 * segments that have grown, and fills them. Must not know what terms mean. */
#include "core/cache/rows.h"

#include "core/cache/rank.h"
#include "core/store/rows.h"

/* People in a segment. A common word makes a page read one segment's matches; a rare word costs
 * one lookup in each segment. */
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

/* Merges the index's list of pending entries, which every search would have to read. */
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

/* *cut: people after the new cuts must be indexed again. */
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
