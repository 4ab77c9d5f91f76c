/* Owns how values, tables and lines look in a terminal. Must not know operations. */
#include "core/face/text.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <ctype.h>
#include <string.h>
#include <wchar.h>

#include "core/base/json.h"
#include "core/base/text.h"

#define CELL_MAX 200 /* bytes of one table cell; the whole value is in the JSON */
#define COLUMNS_MAX 32
#define GAP 2
#define WRAPPED_MIN 16 /* columns that a wrapped text needs to be readable */

/* --- values --- */

static const char *cell(apr_pool_t *pool, const json_t *value, size_t max);

static const char *list_cell(apr_pool_t *pool, const json_t *list, size_t max)
{
    const char *text = "";
    const json_t *item;
    size_t i;
    json_array_foreach ((json_t *)list, i, item) {
        text = apr_pstrcat(pool, text, i ? ", " : "", cell(pool, item, max), NULL);
    }
    return text;
}

/* A time, which a table cell has no room for: "startedAt". */
static int is_moment(const char *name)
{
    size_t len = strlen(name);
    return len > 2 && strcmp(name + len - 2, "At") == 0;
}

/* For an object with an ID the name that people know it by, otherwise its members: "used 17,
 * limit 50". */
static const char *object_cell(apr_pool_t *pool, const json_t *object, size_t max)
{
    static const char *const handles[] = {"userPrincipalName", "name", "id"};
    const char *text = NULL, *name;
    json_t *value;
    for (size_t i = 0; json_object_get(object, "id") && i < sizeof handles / sizeof *handles; i++) {
        const char *handle = ida_json_string(object, handles[i]);
        if (handle && *handle) {
            return ida_clean(pool, handle, strlen(handle), max);
        }
    }
    json_object_foreach ((json_t *)object, name, value) {
        const char *inner = max && is_moment(name) ? "-" : cell(pool, value, max);
        if (strcmp(inner, "-") != 0) {
            text = apr_pstrcat(pool, text ? text : "", text ? ", " : "",
                               ida_clean(pool, name, strlen(name), max), " ", inner, NULL);
        }
    }
    return text ? ida_clean(pool, text, strlen(text), max) : "-";
}

/* "-" if there is no value. Removes control characters from directory text, which could harm a
 * terminal. */
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
    return json_array_size(value)    ? list_cell(pool, value, max)
           : json_object_size(value) ? object_cell(pool, value, max)
                                     : "-";
}

const char *ida_text_title(apr_pool_t *pool, const char *member)
{
    static const struct {
        const char *word, *written;
    } words[] = {{"id", "ID"}, {"ids", "IDs"}, {"utc", "UTC"}, {"api", "API"}, {"mcp", "MCP"}};
    char *out = apr_palloc(pool, 2 * strlen(member) + 1), *to = out, *word = out;
    if (strcmp(member, "userPrincipalName") == 0) {
        return "User";
    }
    for (const char *p = member;; p++) {
        if (!*p || isupper((unsigned char)*p)) { /* a word ends */
            *to = '\0';
            for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                if (strcmp(word, words[i].word) == 0) {
                    memcpy(word, words[i].written, strlen(word));
                }
            }
            if (!*p) {
                break;
            }
            *to++ = ' ';
            word = to;
        }
        *to++ = (char)tolower((unsigned char)*p);
    }
    out[0] = (char)toupper((unsigned char)out[0]);
    return out;
}

/* --- widths --- */

/* Bytes of the next character, and its columns on a terminal, as far as the locale knows. */
static size_t step(const char *p, int *columns)
{
    wchar_t wide;
    mbstate_t state = {0};
    size_t used = mbrtowc(&wide, p, strlen(p), &state);
    if (used == (size_t)-1 || used == (size_t)-2 || used == 0) {
        *columns = 1;
        return 1;
    }
    int one = wcwidth(wide);
    *columns = one > 0 ? one : 0;
    return used;
}

static int width_of(const char *text)
{
    int all = 0, one;
    while (*text) {
        text += step(text, &one);
        all += one;
    }
    return all;
}

/* Bytes of a text that fit into `room` columns, up to its last blank if there is one. */
static size_t fitting(const char *text, int room)
{
    size_t at = 0, blank = 0;
    int used = 0, one;
    while (text[at]) {
        size_t bytes = step(text + at, &one);
        if (used + one > room) {
            return blank ? blank : at ? at : bytes;
        }
        used += one;
        blank = text[at] == ' ' ? at : blank;
        at += bytes;
    }
    return at;
}

static void add(apr_array_header_t *pieces, const char *text)
{
    APR_ARRAY_PUSH(pieces, const char *) = text;
}

static void add_padded(apr_array_header_t *pieces, const char *text, int to)
{
    static const char blanks[] = "                                ";
    int rest = to - width_of(text);
    add(pieces, text);
    for (; rest > 0; rest -= (int)sizeof blanks - 1) {
        int few = rest < (int)sizeof blanks - 1 ? rest : (int)sizeof blanks - 1;
        add(pieces, blanks + sizeof blanks - 1 - few);
    }
}

/* --- tables --- */

typedef struct table {
    apr_pool_t *pool;
    apr_array_header_t *pieces;
    const ida_column *columns;
    int widths[COLUMNS_MAX], count;
    int room; /* columns of the last cell, which is wrapped; 0: not wrapped */
} table;

static int width_before(const table *t, int column)
{
    int all = 0;
    for (int i = 0; i < column; i++) {
        all += t->widths[i] + GAP;
    }
    return all;
}

static void fit(table *t, int width)
{
    while (t->count > 1 && width_before(t, t->count - 1) + t->widths[t->count - 1] > width &&
           width_before(t, t->count - 1) + WRAPPED_MIN > width) {
        t->count--;
    }
    int room = width - width_before(t, t->count - 1);
    t->room = t->widths[t->count - 1] > room && room > 0 ? room : 0;
}

static void add_row(table *t, const char *const *cells)
{
    int last = t->count - 1;
    const char *rest = cells[last];
    for (int i = 0; i < last; i++) {
        add_padded(t->pieces, cells[i], t->widths[i] + GAP);
    }
    while (t->room && width_of(rest) > t->room) {
        size_t bytes = fitting(rest, t->room);
        add(t->pieces, apr_pstrmemdup(t->pool, rest, bytes));
        add(t->pieces, "\n");
        add_padded(t->pieces, "", width_before(t, last));
        rest += bytes + strspn(rest + bytes, " ");
    }
    add(t->pieces, rest);
    add(t->pieces, "\n");
}

const char *ida_text_table(apr_pool_t *pool, const json_t *rows, const ida_column *columns,
                           int width)
{
    table t = {.pool = pool,
               .pieces = apr_array_make(pool, 1024, sizeof(const char *)),
               .columns = columns};
    const char *titles[COLUMNS_MAX], **cells;
    size_t i, row_count = json_array_size(rows);
    for (; t.count < COLUMNS_MAX && columns[t.count].title; t.count++) {
        titles[t.count] = columns[t.count].title;
        t.widths[t.count] = width_of(titles[t.count]);
    }
    int count = t.count;
    cells = apr_palloc(pool, (row_count * (size_t)count + 1) * sizeof *cells);
    for (i = 0; i < row_count; i++) {
        for (int k = 0; k < count; k++) {
            const char *text = cell(pool,
                                    json_object_get(json_array_get(rows, i), columns[k].member),
                                    CELL_MAX);
            int w = width_of(text);
            cells[i * (size_t)count + (size_t)k] = text;
            t.widths[k] = w > t.widths[k] ? w : t.widths[k];
        }
    }
    if (width) {
        fit(&t, width);
    }
    add_row(&t, titles);
    for (i = 0; i < row_count; i++) {
        add_row(&t, cells + i * (size_t)count);
    }
    return apr_array_pstrcat(pool, t.pieces, 0);
}

const char *ida_text_fields(apr_pool_t *pool, const json_t *object, const ida_column *columns)
{
    apr_array_header_t *pieces = apr_array_make(pool, 64, sizeof(const char *));
    int widest = 0;
    for (const ida_column *c = columns; c->title; c++) {
        int w = width_of(c->title);
        widest = w > widest ? w : widest;
    }
    for (const ida_column *c = columns; c->title; c++) {
        const json_t *value = json_object_get(object, c->member);
        if (value && !json_is_null(value)) {
            add_padded(pieces, c->title, widest + GAP);
            add(pieces, cell(pool, value, 0));
            add(pieces, "\n");
        }
    }
    return apr_array_pstrcat(pool, pieces, 0);
}
