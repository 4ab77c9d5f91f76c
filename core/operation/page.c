/* Owns the pages of lists and their cursors. Must not know what a list contains. */
#include "core/operation/page.h"

#include <apr_strings.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/json_row.h"
#include "core/base/text.h"
#include "core/cache/freshness.h"
#include "core/operation/op.h"

/* --- places --- */

ida_position ida_place(const char *form, ...)
{
    ida_position place = {.form = form};
    va_list args;
    va_start(args, form);
    for (int i = 0; form[i]; i++) {
        if (form[i] == 's') {
            place.values[i].text = va_arg(args, const char *);
        } else {
            place.values[i].number = va_arg(args, int64_t);
        }
    }
    va_end(args);
    return place;
}

/* A key of the store that is not UTF-8 (after a damaged restore) is a list with its hex text in
 * a position: a list that was begun must also be completed. */
static json_t *place_text(apr_pool_t *pool, const char *text)
{
    json_t *value = json_string(text);
    if (!value) {
        value = json_array();
        json_array_append_new(value, json_string(
                                         ida_hex(pool, (const unsigned char *)text, strlen(text))));
    }
    return value;
}

static const char *place_json(apr_pool_t *pool, const ida_position *place)
{
    json_t *values = ida_json_keep(pool, json_array());
    for (int i = 0; place->form[i]; i++) {
        json_array_append_new(values, place->form[i] == 's'
                                          ? place_text(pool, place->values[i].text)
                                          : json_integer(place->values[i].number));
    }
    return ida_json_text(pool, values);
}

/* Turns hex texts of a position back into bytes. */
static void restore_bytes(apr_pool_t *pool, json_t *values)
{
    size_t i, len;
    json_t *value;
    json_array_foreach (values, i, value) {
        const char *hex = json_string_value(json_array_get(value, 0));
        const unsigned char *bytes = hex ? ida_unhex(pool, hex, &len) : NULL;
        if (bytes) {
            json_array_set_new(values, i, json_stringn_nocheck((const char *)bytes, len));
        }
    }
}

const char *ida_place_text(const json_t *place, int i)
{
    return place ? json_string_value(json_array_get(place, (size_t)i)) : "";
}

int64_t ida_place_number(const json_t *place, int i)
{
    return json_integer_value(json_array_get(place, (size_t)i));
}

/* --- cursors --- */

/* Tenant, operation and the list's filters: `filters`, or NULL for every argument except the
 * paging ones. */
static const char *binding_of(const ida_call *call, const json_t *filters)
{
    json_t *own = NULL;
    if (!filters) {
        own = json_copy(call->arguments);
        json_object_del(own, "cursor");
        json_object_del(own, "limit");
    }
    const char *text = ida_json_sorted(call->c->pool, own ? own : filters);
    json_decref(own);
    return apr_pstrcat(call->c->pool, call->asked->principal->company, "\n",
                       call->asked->operation->name, "\n", text, NULL);
}

/* --- pages --- */

const ida_param ida_no_params[] = {{0}};
const ida_param ida_list_params[] = {IDA_LIST_PARAMS, {0}};

int ida_page_limit(const ida_call *call)
{
    const json_t *wanted = json_object_get(call->arguments, "limit");
    return wanted ? (int)json_integer_value(wanted) : IDA_PAGE_DEFAULT;
}

/* Reads the position from the cursor. */
static ida_kind begin(ida_page *page, const char *cursor, const char *form)
{
    ida_call *call = page->call;
    ida_ctx *c = call->c;
    char *text;
    ida_kind kind = store_cursor_key(call->store, c, page->key);
    kind = kind ? kind
                : ida_cursor_open(c, page->key, binding_of(call, page->filters), cursor, &text);
    if (kind) {
        return kind;
    }
    json_t *values = ida_json_load(c->pool, text);
    size_t count = strlen(form);
    restore_bytes(c->pool, values);
    int good = json_array_size(values) == count;
    for (size_t i = 0; good && i < count; i++) {
        const json_t *value = json_array_get(values, i);
        good = form[i] == 's' ? json_is_string(value) : json_is_integer(value);
    }
    if (!good) { /* our own cursor, but from another version of this program */
        return ida_fail(c, IDA_BAD_REQUEST,
                        "cursor: is too old for this list; start again without a cursor");
    }
    page->from = values;
    return IDA_OK;
}

ida_kind ida_page_open(ida_call *call, const json_t *filters, const char *form, ida_page **out)
{
    const char *cursor = ida_json_string(call->arguments, "cursor");
    ida_page *page = *out = apr_pcalloc(call->c->pool, sizeof *page);
    page->items = ida_json_keep(call->c->pool, json_array());
    page->places = apr_array_make(call->c->pool, IDA_PAGE_DEFAULT, sizeof(ida_position));
    page->known = apr_hash_make(call->c->pool);
    page->limit = ida_page_limit(call);
    page->as_of = ida_now(call->c->env);
    page->call = call;
    page->filters = filters;
    return cursor ? begin(page, cursor, form) : IDA_OK;
}

int ida_page_takes(ida_page *page)
{
    page->more = json_array_size(page->items) >= (size_t)page->limit;
    return !page->more;
}

int ida_page_row(ida_page *page, int i)
{
    return i < page->count && ida_page_takes(page);
}

ida_kind ida_page_as_of(ida_page *page, store *s)
{
    cache_freshness fresh;
    ida_kind kind = cache_freshness_get(s, page->call->c, page->call->asked->tenant, &fresh);
    page->as_of = kind ? 0 : fresh.as_of;
    return kind;
}

void ida_page_add(ida_page *page, json_t *item, ida_position place)
{
    json_array_append_new(page->items, item);
    APR_ARRAY_PUSH(page->places, ida_position) = place;
}

void ida_page_goes_on(ida_page *page, ida_position place)
{
    page->rest = apr_pmemdup(page->call->c->pool, &place, sizeof place);
    page->more = 1;
}

/* The next page begins after the last item, or after the last row that was examined. */
static void set_cursor(ida_page *page)
{
    apr_pool_t *pool = page->call->c->pool;
    json_object_set_new(page->around, "nextCursor", json_null());
    if (page->more) {
        size_t last = json_array_size(page->items) - 1;
        const ida_position *place = page->rest ? page->rest
                                               : &APR_ARRAY_IDX(page->places, last, ida_position);
        ida_json_put(page->around, "nextCursor",
                     ida_cursor_make(pool, page->key, binding_of(page->call, page->filters),
                                     place_json(pool, place)));
    }
}

ida_kind ida_page_end(ida_page *page, json_t *around)
{
    ida_call *call = page->call;
    ida_kind kind = store_cursor_key(call->store, call->c, page->key);
    page->around = around;
    if (!kind) {
        set_cursor(page);
        page->next = call->pages;
        call->pages = page;
    }
    return kind;
}

ida_kind ida_page_result(ida_page *page)
{
    int64_t total = page->total;
    json_t *result = page->call->result = ida_json_keep(page->call->c->pool, json_object());
    json_object_set(result, "items", page->items);
    int more = total < 0 || total > IDA_COUNT_EXACT;
    total = total < 0 ? -total : more ? IDA_COUNT_EXACT : total;
    json_object_set_new(result, "totalCount", json_integer(total));
    json_object_set_new(result, "totalCountIsMinimum", json_boolean(more));
    ida_kind kind = ida_page_end(page, result);
    ida_json_put_time(result, "asOf", page->as_of);
    return kind;
}

void ida_page_cut(ida_page *page, size_t count)
{
    while (json_array_size(page->items) > count) {
        json_array_remove(page->items, json_array_size(page->items) - 1);
        page->rest = NULL;
    }
    page->more = 1;
    set_cursor(page);
}

void ida_pages_load(const ida_call *call)
{
    for (const ida_page *page = call->pages; page; page = page->next) {
        ida_rows_load(page->items);
    }
}

int64_t ida_pages_count(const ida_call *call)
{
    int64_t count = 0;
    for (const ida_page *page = call->pages; page; page = page->next) {
        count += (int64_t)json_array_size(page->items);
    }
    return count;
}
