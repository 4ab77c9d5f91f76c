/* Owns the shape of lists and the binding of their cursors. Knows no subject. */
#include <apr_strings.h>

#include "core/cursor.h"
#include "core/json.h"
#include "core/op.h"

static const char *binding_of(ida_call *call)
{
    json_t *filters = json_copy(call->arguments);
    json_object_del(filters, "cursor");
    json_object_del(filters, "limit");
    const char *text = ida_json_sorted(call->c->pool, filters);
    json_decref(filters);
    return apr_pstrcat(call->c->pool, call->principal->company, "\n", call->operation->name, "\n", text, NULL);
}

ida_kind ida_op_cursor(ida_call *call, const char **position, int *limit)
{
    const json_t *wanted = json_object_get(call->arguments, "limit");
    const char *cursor = ida_json_string(call->arguments, "cursor");
    *limit = wanted ? (int)json_integer_value(wanted) : IDA_PAGE_DEFAULT;
    *position = NULL;
    if (!cursor) {
        return IDA_OK;
    }
    unsigned char key[IDA_CURSOR_KEY_LEN];
    char *found = NULL;
    ida_kind kind = store_cursor_key(call->store, call->c, key);
    if (!kind) {
        kind = ida_cursor_open(call->c, key, binding_of(call), cursor, &found);
    }
    *position = found;
    return kind;
}

ida_kind ida_op_page(ida_call *call, json_t *items, int64_t total, const char *next_position, int64_t as_of)
{
    json_t *page = ida_json_keep(call->c->pool, json_object());
    json_object_set_new(page, "items", items);
    json_object_set_new(page, "totalCount", json_integer(total));
    const char *cursor = NULL;
    if (next_position) {
        unsigned char key[IDA_CURSOR_KEY_LEN];
        ida_kind kind = store_cursor_key(call->store, call->c, key);
        if (kind) {
            return kind;
        }
        cursor = ida_cursor_make(call->c->pool, key, binding_of(call), next_position);
    }
    ida_json_put_or_null(page, "nextCursor", cursor);
    ida_json_put_time(page, "asOf", as_of);
    call->result = page;
    return IDA_OK;
}
