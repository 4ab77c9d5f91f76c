/* Owns how answers look: one JSON document, or tables and lines for people. Must not know any
 * command. */
#include "worker/ctl/ctl.h"

#include <apr_strings.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "core/base/json.h"
#include "core/base/text.h"

#define CELL_MAX 200 /* bytes of one table cell; the whole value is in --json */

int ctl_json(ctl_call *ctl, const json_t *document)
{
    if (!ctl->json) {
        return 0;
    }
    char *text = json_dumps(document, JSON_INDENT(2) | JSON_ENCODE_ANY);
    if (text) {
        puts(text);
        free(text);
    }
    return 1;
}

void ctl_say(ctl_call *ctl, const char *format, ...)
{
    if (ctl->json) {
        return;
    }
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* What a value looks like in a cell; "-" when there is none. Directory text is made harmless for
 * terminals. */
static const char *cell(apr_pool_t *pool, const json_t *value, size_t max)
{
    if (json_is_string(value) && json_string_length(value)) {
        return ida_clean(pool, json_string_value(value), json_string_length(value), max);
    }
    if (json_is_integer(value)) {
        return ida_printf(pool, "%lld", (long long)json_integer_value(value));
    }
    if (json_is_boolean(value)) {
        return json_is_true(value) ? "yes" : "no";
    }
    if (json_array_size(value)) {
        const char *list = "";
        size_t i;
        json_t *item;
        json_array_foreach (value, i, item) {
            list = apr_pstrcat(pool, list, i ? ", " : "", cell(pool, item, max), NULL);
        }
        return list;
    }
    return json_object_size(value) ? ida_json_text(pool, value) : "-";
}

/* Columns on a terminal, as far as the locale can tell; else characters. */
static int width(const char *text)
{
    int columns = 0;
    for (const char *p = text; *p;) {
        wchar_t wide;
        mbstate_t state = {0};
        size_t used = mbrtowc(&wide, p, strlen(p), &state);
        if (used == (size_t)-1 || used == (size_t)-2 || used == 0) {
            used = 1;
            wide = L'?';
        }
        int one = wcwidth(wide);
        columns += one > 0 ? one : 0;
        p += used;
    }
    return columns;
}

static void put_padded(const char *text, int to)
{
    fputs(text, stdout);
    for (int i = width(text); i < to; i++) {
        putchar(' ');
    }
}

void ctl_table(ctl_call *ctl, const json_t *rows, const ctl_column *columns, const char *none)
{
    if (json_array_size(rows) == 0) {
        ctl_say(ctl, "%s", none);
        return;
    }
    int widths[16] = {0}, count = 0;
    for (; count < 16 && columns[count].title; count++) {
        widths[count] = width(columns[count].title);
    }
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row) {
        for (int k = 0; k < count; k++) {
            int w = width(cell(ctl->pool, json_object_get(row, columns[k].member), CELL_MAX));
            widths[k] = w > widths[k] ? w : widths[k];
        }
    }
    for (int k = 0; k < count; k++) {
        put_padded(columns[k].title, k + 1 < count ? widths[k] + 2 : 0);
    }
    putchar('\n');
    json_array_foreach (rows, i, row) {
        for (int k = 0; k < count; k++) {
            put_padded(cell(ctl->pool, json_object_get(row, columns[k].member), CELL_MAX),
                       k + 1 < count ? widths[k] + 2 : 0);
        }
        putchar('\n');
    }
}

void ctl_fields(ctl_call *ctl, const json_t *object, const ctl_column *columns)
{
    int widest = 0;
    for (int k = 0; columns[k].title; k++) {
        int w = width(columns[k].title);
        widest = w > widest ? w : widest;
    }
    for (int k = 0; columns[k].title; k++) {
        json_t *value = json_object_get(object, columns[k].member);
        if (value && !json_is_null(value)) {
            put_padded(columns[k].title, widest + 2);
            puts(cell(ctl->pool, value, 0));
        }
    }
}

void ctl_cut(ctl_call *ctl, int count, int64_t total, const char *last)
{
    fprintf(ctl->json ? stderr : stdout, "%s%d of %lld; --before %s goes on.\n",
            ctl->json ? "idadminctl: " : "", count, (long long)total, last);
}
