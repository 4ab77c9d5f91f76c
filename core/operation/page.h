/* The lists in a result, a page at a time. An operation adds rows until the page takes no more and
 * says of each row its place, from which the page after it would go on: so a page can also be ended
 * earlier, where a face has less room. */
#ifndef CORE_OPERATION_PAGE_H
#define CORE_OPERATION_PAGE_H

#include "core/base/cursor.h"
#include "core/operation/operation.h"

#define IDA_PAGE_DEFAULT 50
#define IDA_PAGE_MAX 200

typedef struct ida_page {
    json_t *items;
    const json_t *from; /* place of the item before the first one; NULL at the first page */
    json_t *places;     /* of each item, as ida_place makes them */
    int limit, more;    /* more: 1 when there are rows behind the last item */
    ida_call *call;
    const json_t *filters;
    json_t *rest;   /* place behind which the list goes on; NULL: behind the last item */
    json_t *around; /* the object whose nextCursor is this page's */
    unsigned char key[IDA_CURSOR_KEY_LEN];
    struct ida_page *next;
} ida_page;

/* Up to here totals are exact: counting all of a long list is dear and tells nothing. */
#define IDA_COUNT_EXACT 10000
#define IDA_COUNT_MOST (IDA_COUNT_EXACT + 1) /* what to count at most for a total */

int ida_page_limit(const ida_call *call);

/* A page that begins where the argument `cursor` says: page->from has a value for each letter of
 * `form` (s text, i number). `filters`: what its cursors are bound to beside tenant and operation;
 * NULL: every argument but the paging ones. Refuses foreign and altered cursors; *page is set in
 * any case. */
ida_kind ida_page_open(ida_call *call, const json_t *filters, const char *form, ida_page **page);
/* Whether the row at hand goes into this page; 0 when it is for the next one. */
int ida_page_takes(ida_page *page);
/* Takes over both. */
void ida_page_add(ida_page *page, json_t *item, json_t *place);
/* There may be rows behind this place, which is behind that of the last item: enough was looked at
 * for a page, full or not. Takes the place over. */
void ida_page_goes_on(ida_page *page, json_t *place);
/* Sets nextCursor in `around`, null at the end of the list, and puts the page among call->pages. */
ida_kind ida_page_end(ida_page *page, json_t *around);
/* Sets call->result to {items, totalCount, totalCountIsMinimum, nextCursor, asOf} and ends the
 * page.
 */
ida_kind ida_page_result(ida_page *page, int64_t total, int64_t as_of);

/* Keeps the first `count` items, fewer than there are, with the cursor that goes on behind them. */
void ida_page_cut(ida_page *page, size_t count);
/* Items of all pages. */
int64_t ida_pages_count(const ida_call *call);

/* --- places: values in an order of the list's own --- */

/* Values of a place; "" and 0 of none. */
const char *ida_place_text(const json_t *place, int i);
int64_t ida_place_number(const json_t *place, int i);
/* A place of such values, in the order of `form` (s: const char *, i: int64_t), whatever bytes the
 * store holds. Never NULL. */
json_t *ida_place(const char *form, ...);

#endif
