/* The lists in a result, one page at a time. An operation adds rows until the page is full, and
 * gives the position of each row, after which the next page would begin: so a face with less
 * room can end a page earlier. */
#ifndef CORE_OPERATION_PAGE_H
#define CORE_OPERATION_PAGE_H

#include <apr_hash.h>
#include <apr_tables.h>

#include "core/base/cursor.h"
#include "core/operation/operation.h"

#define IDA_PAGE_DEFAULT 50
#define IDA_PAGE_MAX 200

#define IDA_PLACE_VALUES 4

/* Where an item stands in an order of the list's own; texts are borrowed until the answer is
 * made. */
typedef struct ida_position {
    const char *form; /* a letter for each value: s text, i number */
    union {
        const char *text;
        int64_t number;
    } values[IDA_PLACE_VALUES];
} ida_position;

typedef struct ida_page {
    json_t *items;
    const json_t *from; /* position of the item before the first one; NULL for the first page */
    apr_array_header_t *places; /* of each item: ida_position */
    int limit, more;            /* more: 1 if there are rows after the last item */
    int count;                  /* rows that were read for the page, at most one above the limit */
    int64_t total;              /* rows of the whole list, counted up to IDA_COUNT_MOST; negative:
                                   at least so many */
    int64_t as_of;              /* time of the rows: now, or what ida_page_as_of sets */
    apr_hash_t *known;          /* people by ID or UPN: ida_op_known_person */
    const json_t *named;        /* ida_op_known_approver */
    ida_call *call;
    const json_t *filters;
    const ida_position *rest; /* after which the list continues; NULL: after the last item */
    json_t *around;           /* the object that contains this page's nextCursor */
    unsigned char key[IDA_CURSOR_KEY_LEN];
    struct ida_page *next;
} ida_page;

/* Totals are exact up to this number: counting all rows of a long list is expensive and of
 * little use. */
#define IDA_COUNT_EXACT 10000
#define IDA_COUNT_MOST (IDA_COUNT_EXACT + 1) /* most rows that are counted for a total */

int ida_page_limit(const ida_call *call);

/* A page that begins at the argument `cursor`: page->from has a value for each letter of `form`
 * (s text, i number). `filters`: what its cursors are bound to besides tenant and operation;
 * NULL: every argument except the paging ones. Refuses foreign and altered cursors; *page is set
 * in any case. */
ida_kind ida_page_open(ida_call *call, const json_t *filters, const char *form, ida_page **page);
/* Whether the current row goes into this page; 0 if it belongs to the next one. */
int ida_page_takes(ida_page *page);
/* Whether row i of page->count exists and goes into this page. */
int ida_page_row(ida_page *page, int i);
/* The rows come from the cache: sets as_of to the time of its last synchronisation. */
ida_kind ida_page_as_of(ida_page *page, store *s);
/* Takes over the item. */
void ida_page_add(ida_page *page, json_t *item, ida_position place);
/* There may be rows after this position, which is after that of the last item: enough rows were
 * examined for one page, full or not. */
void ida_page_goes_on(ida_page *page, ida_position place);
/* Sets nextCursor in `around`, null at the end of the list, and adds the page to call->pages. */
ida_kind ida_page_end(ida_page *page, json_t *around);
/* Sets call->result to {items, totalCount, totalCountIsMinimum, nextCursor, asOf} and ends the
 * page.
 */
ida_kind ida_page_result(ida_page *page);

/* Keeps the first `count` items, fewer than there are, with a cursor that continues after them. */
void ida_page_cut(ida_page *page, size_t count);
/* Makes values of the items that were written as text (core/base/json_row.h). */
void ida_pages_load(const ida_call *call);
/* Items of all pages. */
int64_t ida_pages_count(const ida_call *call);

/* Values of the position that a cursor holds; "" and 0 if there is none. */
const char *ida_place_text(const json_t *place, int i);
int64_t ida_place_number(const json_t *place, int i);
/* A position with such values, in the order of `form` (s: const char *, i: int64_t), whatever
 * bytes the store holds. */
ida_position ida_place(const char *form, ...);

#endif
