/* Owns how a result is made to fit: at whole items by asking the operation for fewer, so that the
 * operation itself makes the cursor that goes on at the first item left out; then by shortening
 * long values inside one item. Must not know protocols nor subjects. */
#include "core/face/mcp_cut.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

#define ROUNDS 6        /* a list that changes under our hands may need more than two */
#define NOTE_ROOM 384   /* bytes for truncated and note */
#define CURSOR_ROOM 768 /* bytes for a nextCursor where there was null, each list */

static size_t size_of(const json_t *value)
{
    return json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
}

/* --- whole items --- */

static size_t longest(const json_t *pages)
{
    size_t i, most = 0;
    json_t *page;
    json_array_foreach (pages, i, page) {
        most = json_array_size(page) > most ? json_array_size(page) : most;
    }
    return most;
}

/* How many items of each list fit into `max` bytes together with what stands around them. */
static size_t fitting(const json_t *result, const json_t *pages, size_t max)
{
    size_t most = longest(pages),
           used = size_of(result) + NOTE_ROOM + json_array_size(pages) * CURSOR_ROOM, fit = most;
    for (; fit > 0 && used > max; fit--) { /* takes item `fit` out of every list that has one */
        size_t i;
        json_t *page;
        json_array_foreach (pages, i, page) {
            const json_t *item = json_array_get(page, fit - 1);
            used -= item ? size_of(item) + (fit > 1) : 0;
        }
    }
    return fit;
}

static ida_kind still_there(ida_call *call)
{
    if (!call->gone || !call->gone(call->gone_baton)) {
        return IDA_OK;
    }
    call->c->message_is_public = 1;
    ida_kind kind = ida_fail(call->c, IDA_SERVICE_UNAVAILABLE,
                             "The caller closed the connection; the work was stopped.");
    ida_operation_refusal(call, kind);
    return kind;
}

static ida_kind run_with_limit(ida_call *call, const json_t *given, size_t limit)
{
    json_t *arguments = ida_json_keep(call->c->pool, json_copy((json_t *)given));
    json_object_set_new(arguments, "limit", json_integer((json_int_t)limit));
    call->arguments = arguments;
    ida_kind kind = still_there(call);
    return kind ? kind : ida_operation_run(call);
}

static int several_lists(const json_t *pages)
{
    return json_array_size(pages) > 1;
}

/* --- inside of items --- */

typedef struct bounds {
    size_t text, entries; /* bytes of a text, entries of a list inside an item */
    const json_t *pages;  /* not to be made shorter: their cursors count their items */
    int around;           /* 1: only what stands around the pages */
} bounds;

static int is_page(const json_t *pages, const json_t *value)
{
    size_t i;
    json_t *page;
    json_array_foreach (pages, i, page) {
        if (page == value) {
            return 1;
        }
    }
    return 0;
}

/* Names by which something can be asked for again. */
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

static size_t size_of_items(const json_t *pages)
{
    size_t i, size = 0;
    json_t *page;
    json_array_foreach (pages, i, page) {
        size += size_of(page);
    }
    return size;
}

/* Harder from step to step, so that no more is lost than must be. 1 when something was shortened.
 */
static int shorten_to(ida_call *call, const json_t *pages, size_t max, int around)
{
    int done = 0;
    static const struct {
        size_t text, entries;
    } steps[] = {
        {1024, 400}, {512, 200}, {512, 100}, {256, 50}, {128, 25}, {128, 10}, {64, 4}, {64, 1},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps &&
                       size_of(call->result) - (around ? size_of_items(pages) : 0) > max;
         i++) {
        const bounds b = {steps[i].text, steps[i].entries, pages, around};
        shorten(call->c->pool, call->result, NULL, &b);
        done = 1;
    }
    return done;
}

/* --- together --- */

static const char *note_of(ida_call *call, const json_t *pages, size_t items, int shortened)
{
    const char *rest =
        several_lists(pages)
            ? "For more of one section, ask for that section alone with its nextCursor as cursor."
            : "Narrow the query, or pass nextCursor as cursor to go on at the first item left out.";
    const char *cut = items ? ida_printf(call->c->pool, "Cut to the first %zu item%s%s to fit. %s",
                                         items, items == 1 ? "" : "s",
                                         several_lists(pages) ? " of each section" : "", rest)
                            : "";
    return apr_pstrcat(call->c->pool, cut, *cut && shortened ? " " : "",
                       shortened ? "Long texts (marked \xe2\x80\xa6) and long lists inside of an "
                                   "item were shortened to fit."
                                 : "",
                       NULL);
}

/* A note of the operation's own stays in front. */
static void mark_cut(ida_call *call, const char *note)
{
    const char *own = ida_json_string(call->result, "note");
    json_object_set_new(call->result, "truncated", json_true());
    ida_json_put(call->result, "note",
                 own ? apr_pstrcat(call->c->pool, own, " ", note, NULL) : note);
}

ida_kind ida_mcp_run_cut(ida_call *call, size_t max, const char **text)
{
    const json_t *given = call->arguments, *pages = NULL;
    ida_kind kind = still_there(call);
    size_t items = 0;
    int shortened = 0;
    if (!kind) {
        kind = ida_operation_run(call);
    }
    for (int round = 0; !kind && size_of(call->result) + (items ? NOTE_ROOM : 0) > max; round++) {
        pages = ida_json_keep(call->c->pool, ida_operation_pages(call->operation, call->result));
        /* What stands around a list gets half of the room, else its pages would end up with one
         * item each. */
        shortened = json_array_size(pages) && shorten_to(call, pages, max / 2, 1);
        size_t most = longest(pages), fit = fitting(call->result, pages, max);
        if (most <= 1 || round == ROUNDS ||
            (shortened && size_of(call->result) + NOTE_ROOM <= max)) {
            break;
        }
        items = round == ROUNDS - 1 || fit == 0 ? 1 : fit < most ? fit : most - 1;
        shortened = 0;
        kind = run_with_limit(call, given, items);
    }
    if (kind) {
        return kind;
    }
    pages = ida_json_keep(call->c->pool, ida_operation_pages(call->operation, call->result));
    if (size_of(call->result) + (items ? NOTE_ROOM : 0) > max) {
        shortened |= shorten_to(call, pages, max - NOTE_ROOM, 0);
    }
    if (items || shortened) {
        mark_cut(call, note_of(call, pages, items, shortened));
    }
    *text = ida_json_text(call->c->pool, call->result);
    if (strlen(*text) > max) {
        kind = ida_fail(call->c, IDA_INTERNAL_ERROR, "a result of %zu bytes does not fit",
                        strlen(*text));
        ida_operation_refusal(call, kind);
    }
    return kind;
}
