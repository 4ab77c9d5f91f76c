/* Owns how a list looks as a file: CSV (RFC 4180) for spreadsheets, or a line of JSON for each
 * row. Must not know what the list contains. */
#include "core/face/export.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

#define BYTE_ORDER_MARK "\xEF\xBB\xBF" /* without it spreadsheets guess another encoding */

void ida_export_answer(ida_call *call, ida_rest_answer *answer)
{
    const ida_export *x = call->exported;
    apr_pool_t *pool = call->c->pool;
    answer->status = 200;
    answer->exported = call->exported;
    ida_answer_header(pool, answer, "Content-Disposition", /* the name contains only A-Z a-z 0-9
                                                              . _ - */
                      apr_pstrcat(pool, "attachment; filename=\"", x->name, "\"", NULL));
    if (x->checkpoint) {
        ida_answer_header(pool, answer, "X-IdAdmin-Checkpoint", x->checkpoint);
    }
    if (x->truncated) {
        ida_answer_header(pool, answer, "X-IdAdmin-Truncated", "true");
    }
}

const char *ida_export_type(const ida_export *x)
{
    return x->columns ? "text/csv; charset=utf-8; header=present" : "application/jsonl";
}

static const char *plain(apr_pool_t *pool, const json_t *value)
{
    const char *text = json_string_value(value);
    return !value || json_is_null(value) ? ""
           : text                        ? ida_clean(pool, text, strlen(text), 0)
           : json_is_integer(value) ? ida_printf(pool, "%lld", (long long)json_integer_value(value))
           : json_is_boolean(value) ? (json_is_true(value) ? "true" : "false")
                                    : ida_json_text(pool, value);
}

/* 1 if a spreadsheet would read a cell that begins like this as a formula: after blanks and
 * quotes a sign, in ASCII or full width, which East Asian settings treat alike. */
static int is_formula(const char *text)
{
    static const char *const signs[] = {
        "=", "+", "-", "@", "\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D", "\xEF\xBC\xA0"};
    text += strspn(text, " \"");
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (strncmp(text, signs[i], strlen(signs[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

/* A quoted cell. A spreadsheet set to another separator splits inside the quotes, so a formula
 * is disarmed (') not only at the beginning, but after each character that may separate. */
static const char *cell(apr_pool_t *pool, const json_t *value)
{
    const char *text = plain(pool, value);
    char *out = apr_palloc(pool, 2 * strlen(text) + 4), *to = out;
    *to++ = '"';
    if (is_formula(text)) {
        *to++ = '\'';
    }
    for (; *text; text++) {
        *to++ = *text;
        if (*text == '"') {
            *to++ = '"';
        } else if (strchr(",;|\t\r\n", *text) && is_formula(text + 1)) {
            *to++ = '\'';
        }
    }
    *to++ = '"';
    *to = '\0';
    return out;
}

static void add(apr_array_header_t *pieces, const char *text)
{
    APR_ARRAY_PUSH(pieces, const char *) = text;
}

char *ida_export_text(apr_pool_t *pool, const ida_export *x, int first)
{
    apr_array_header_t *pieces = apr_array_make(pool, 4096, sizeof(const char *));
    const json_t *row;
    size_t i;
    if (x->columns && first) {
        add(pieces, BYTE_ORDER_MARK);
        for (int n = 0; x->columns[n]; n++) {
            add(pieces, n ? "," : "");
            add(pieces, x->columns[n]);
        }
        add(pieces, "\r\n");
    }
    json_array_foreach ((json_t *)x->rows, i, row) {
        if (!x->columns) {
            add(pieces, ida_json_text(pool, row));
            add(pieces, "\n");
            continue;
        }
        for (int n = 0; x->columns[n]; n++) {
            add(pieces, n ? "," : "");
            add(pieces, cell(pool, json_object_get(row, x->columns[n])));
        }
        add(pieces, "\r\n");
    }
    return apr_array_pstrcat(pool, pieces, 0);
}
