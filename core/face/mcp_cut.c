/* Owns how a result is made to fit: its pages end earlier, at whole items, with cursors that
 * continue at the first omitted item; then long values inside one item are shortened. Must not
 * know protocols, nor what results contain. */
#include "core/face/mcp_cut.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/operation/page.h"

#define NOTE_ROOM 384   /* bytes for truncated and note */
#define CURSOR_ROOM 768 /* bytes for a nextCursor in place of null, for each page */

/* --- whole items --- */

static size_t longest(const ida_page *pages)
{
    size_t most = 0;
    for (; pages; pages = pages->next) {
        most = json_array_size(pages->items) > most ? json_array_size(pages->items) : most;
    }
    return most;
}

/* How many items of each page fit into `max` bytes together with the JSON around them, at least
 * one. */
static size_t fitting(const ida_call *call, size_t max)
{
    size_t fit = longest(call->pages), used = ida_json_length(call->result) + NOTE_ROOM;
    for (const ida_page *page = call->pages; page; page = page->next) {
        used += CURSOR_ROOM;
    }
    for (; fit > 1 && used > max; fit--) { /* takes item `fit` out of every page that has one */
        for (const ida_page *page = call->pages; page; page = page->next) {
            const json_t *item = json_array_get(page->items, fit - 1);
            used -= item ? ida_json_length(item) + 1 : 0;
        }
    }
    return fit;
}

static void cut_pages(ida_call *call, size_t count)
{
    for (ida_page *page = call->pages; page; page = page->next) {
        if (json_array_size(page->items) > count) {
            ida_page_cut(page, count);
        }
    }
    call->count = ida_pages_count(call);
}

/* --- inside of items --- */

typedef struct bounds {
    size_t text, entries;  /* bytes of a text, entries of a list inside an item */
    const ida_page *pages; /* lists that are not shortened, because their cursors count their
                              items */
    int around;            /* 1: only the members around the pages */
} bounds;

static int is_page(const ida_page *pages, const json_t *value)
{
    while (pages && pages->items != value) {
        pages = pages->next;
    }
    return pages != NULL;
}

/* Names of members whose values identify something in later calls. */
static int is_identifier(const char *name)
{
    return name && (strcmp(name, "id") == 0 || strcmp(name, "nextCursor") == 0);
}

static void shorten(apr_pool_t *pool, json_t *value, const char *name, const bounds *b)
{
    const char *member;
    json_t *inner;
    size_t i;
    if (b->around && is_page(b->pages, value)) {
        return;
    }
    if (json_is_string(value) && json_string_length(value) > b->text && !is_identifier(name)) {
        json_string_set(value, ida_clean(pool, json_string_value(value), json_string_length(value),
                                         b->text));
    }
    while (json_array_size(value) > b->entries && !is_page(b->pages, value)) {
        json_array_remove(value, json_array_size(value) - 1);
    }
    json_object_foreach (value, member, inner) {
        shorten(pool, inner, member, b);
    }
    json_array_foreach (value, i, inner) {
        shorten(pool, inner, NULL, b);
    }
}

static size_t size_of_items(const ida_page *pages)
{
    size_t size = 0;
    for (; pages; pages = pages->next) {
        size += ida_json_length(pages->items);
    }
    return size;
}

/* Shortens more with each step, so that no more is lost than necessary. 1 if something was
 * shortened. */
static int shorten_to(ida_call *call, size_t max, int around)
{
    static const struct {
        size_t text, entries;
    } steps[] = {
        {1024, 400}, {512, 200}, {512, 100}, {256, 50}, {128, 25}, {128, 10}, {64, 4}, {64, 1},
    };
    size_t apart = around ? size_of_items(call->pages) : 0, i = 0;
    for (; i < sizeof steps / sizeof *steps && ida_json_length(call->result) - apart > max; i++) {
        const bounds b = {steps[i].text, steps[i].entries, call->pages, around};
        shorten(call->c->pool, call->result, NULL, &b);
    }
    return i > 0;
}

/* --- together --- */

static const char *note_of(ida_call *call, size_t items, int shortened)
{
    int several = call->pages && call->pages->next;
    const char *rest =
        several
            ? "For more of one section, ask for that section alone with its nextCursor as cursor."
            : "Narrow the query, or pass nextCursor as cursor to continue at the first item left "
              "out.";
    const char *cut = items ? ida_printf(call->c->pool, "Cut to the first %s%s to fit. %s",
                                         ida_count(call->c->pool, (int64_t)items, "item", "items"),
                                         several ? " of each section" : "", rest)
                            : "";
    return apr_pstrcat(call->c->pool, cut, *cut && shortened ? " " : "",
                       shortened ? "Long texts (marked \xe2\x80\xa6) and long lists inside an item "
                                   "were shortened to fit."
                                 : "",
                       NULL);
}

/* The operation's own note comes first. */
static void mark_cut(ida_call *call, const char *note)
{
    const char *own = ida_json_string(call->result, "note");
    json_object_set_new(call->result, "truncated", json_true());
    ida_json_put(call->result, "note",
                 own ? apr_pstrcat(call->c->pool, own, " ", note, NULL) : note);
}

/* The members around a list get half of the room, so that pages do not end with one item each. */
static void cut(ida_call *call, size_t max)
{
    int shortened = call->pages && shorten_to(call, max / 2, 1);
    size_t room = max - NOTE_ROOM, items = 0;
    if (ida_json_length(call->result) > room && longest(call->pages) > 1) {
        items = fitting(call, max);
        cut_pages(call, items);
    }
    if (ida_json_length(call->result) > room) {
        ida_pages_load(call);
        shortened |= shorten_to(call, room, 0);
    }
    mark_cut(call, note_of(call, items, shortened));
}

/* The record of a call that ran reports the outcome: the count of the items left, or the
 * failure. */
ida_kind ida_mcp_run_cut(ida_call *call, size_t max, ida_json_both *texts)
{
    ida_kind kind = ida_unless_gone(call->c);
    if (kind) {
        ida_operation_record(call, kind);
        return kind;
    }
    kind = ida_operation_run(call);
    if (kind) {
        return kind;
    }
    ida_json_both_texts(call->c->pool, call->result, texts); /* nearly every result fits at once */
    if (texts->len > max) {
        cut(call, max);
        ida_operation_record(call, IDA_OK);
        ida_json_both_texts(call->c->pool, call->result, texts);
    }
    if (texts->len > max) {
        kind = ida_fail(call->c, IDA_INTERNAL_ERROR, "a result of %zu bytes does not fit",
                        texts->len);
        ida_operation_record(call, kind);
    }
    return kind;
}
