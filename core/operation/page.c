/* Owns the shape of lists and the binding of their cursors. Knows no subject. */
#include <apr_strings.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/cursor.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/operation/op.h"

/* Tenant, operation and what the list is a list of: `filters`, or NULL for every argument but the
 * paging ones. */
static const char *binding_of(ida_call *call, const json_t *filters)
{
    json_t *own = NULL;
    if (!filters) {
        own = json_copy(call->arguments);
        json_object_del(own, "cursor");
        json_object_del(own, "limit");
    }
    const char *text = ida_json_sorted(call->c->pool, own ? own : filters);
    json_decref(own);
    return apr_pstrcat(call->c->pool, call->principal->company, "\n", call->operation->name, "\n",
                       text, NULL);
}

int ida_op_limit(const ida_call *call)
{
    const json_t *wanted = json_object_get(call->arguments, "limit");
    return wanted ? (int)json_integer_value(wanted) : IDA_PAGE_DEFAULT;
}

static ida_kind open_cursor(ida_call *call, const json_t *filters, const char **position)
{
    const char *cursor = ida_json_string(call->arguments, "cursor");
    unsigned char key[IDA_CURSOR_KEY_LEN];
    char *found = NULL;
    ida_kind kind = IDA_OK;
    if (cursor) {
        kind = store_cursor_key(call->store, call->c, key);
        if (!kind) {
            kind = ida_cursor_open(call->c, key, binding_of(call, filters), cursor, &found);
        }
    }
    *position = found;
    return kind;
}

static ida_kind make_cursor(ida_call *call, const json_t *filters, const char *position,
                            const char **cursor)
{
    unsigned char key[IDA_CURSOR_KEY_LEN];
    ida_kind kind = store_cursor_key(call->store, call->c, key);
    *cursor = kind ? NULL
                   : ida_cursor_make(call->c->pool, key, binding_of(call, filters), position);
    return kind;
}

ida_kind ida_op_cursor(ida_call *call, const char **position, int *limit)
{
    *limit = ida_op_limit(call);
    return open_cursor(call, NULL, position);
}

/* A key of the store that is not UTF-8 (a file restored badly) stands in a position as a list of
 * its hex text: a list that began must end, too. */
static json_t *place_text(const char *text)
{
    json_t *value = json_string(text);
    if (!value) {
        apr_pool_t *scratch;
        apr_pool_create(&scratch, NULL);
        value = json_array();
        json_array_append_new(value, json_string(ida_hex(scratch, (const unsigned char *)text,
                                                         strlen(text))));
        apr_pool_destroy(scratch);
    }
    return value;
}

json_t *ida_op_place(const char *form, ...)
{
    json_t *values = json_array();
    va_list args;
    va_start(args, form);
    for (; *form; form++) {
        json_array_append_new(values, *form == 's' ? place_text(va_arg(args, const char *))
                                                   : json_integer(va_arg(args, int64_t)));
    }
    va_end(args);
    return values;
}

/* Hex texts of a position back into their bytes. */
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

ida_kind ida_op_position(ida_call *call, const json_t *filters, const char *form, json_t **position)
{
    const char *text;
    ida_kind kind = open_cursor(call, filters, &text);
    *position = NULL;
    if (kind || !text) {
        return kind;
    }
    json_t *values = ida_json_load(call->c->pool, text);
    size_t count = strlen(form);
    restore_bytes(call->c->pool, values);
    int good = json_array_size(values) == count;
    for (size_t i = 0; good && i < count; i++) {
        const json_t *value = json_array_get(values, i);
        good = form[i] == 's' ? json_is_string(value) : json_is_integer(value);
    }
    if (!good) { /* ours, but of another version of this program */
        return ida_fail(call->c, IDA_BAD_REQUEST,
                        "cursor: is too old for this list; start again without a cursor");
    }
    *position = values;
    return IDA_OK;
}

const char *ida_op_text_at(const json_t *position, int i)
{
    return position ? json_string_value(json_array_get(position, (size_t)i)) : "";
}

int64_t ida_op_number_at(const json_t *position, int i)
{
    return position ? json_integer_value(json_array_get(position, (size_t)i)) : 0;
}

ida_kind ida_op_next(ida_call *call, const json_t *filters, json_t *position, const char **cursor)
{
    *cursor = NULL;
    if (!position) {
        return IDA_OK;
    }
    const char *text = ida_json_text(call->c->pool, ida_json_keep(call->c->pool, position));
    return make_cursor(call, filters, text, cursor);
}

static json_t *page_of(json_t *items, int64_t total, const char *cursor, int64_t as_of)
{
    json_t *page = json_object();
    json_object_set_new(page, "items", items);
    json_object_set_new(page, "totalCount", json_integer(total));
    ida_json_put_or_null(page, "nextCursor", cursor);
    ida_json_put_time(page, "asOf", as_of);
    return page;
}

ida_kind ida_op_page(ida_call *call, json_t *items, int64_t total, const char *next_position,
                     int64_t as_of)
{
    const char *cursor = NULL;
    ida_json_keep(call->c->pool, items);
    ida_kind kind = next_position ? make_cursor(call, NULL, next_position, &cursor) : IDA_OK;
    if (!kind) {
        call->result = ida_json_keep(call->c->pool,
                                     page_of(json_incref(items), total, cursor, as_of));
    }
    return kind;
}

ida_kind ida_op_list(ida_call *call, json_t *items, int64_t total, json_t *next, int64_t as_of)
{
    const char *cursor;
    ida_json_keep(call->c->pool, items);
    ida_kind kind = ida_op_next(call, NULL, next, &cursor);
    if (!kind) {
        call->result = ida_json_keep(call->c->pool,
                                     page_of(json_incref(items), total, cursor, as_of));
    }
    return kind;
}
