/* Owns the batching of rows for the engine: lists and rows as JSON, rows one by one or as
 * arrays. Must not know what the rows mean. */
#include <string.h>

#include "core/cache/rows.h"

#define ARGUMENTS_MAX 64
#define ROWS_AT_ONCE 2000 /* of one statement with arrays */

/* --- text being built --- */

typedef struct text {
    apr_pool_t *pool;
    char *bytes;
    size_t len, room;
} text;

static void text_begin(text *t, apr_pool_t *pool, size_t room)
{
    *t = (text){.pool = pool, .room = room, .bytes = apr_palloc(pool, room)};
}

static char *reserve(text *t, size_t more)
{
    if (t->len + more > t->room) {
        size_t room = (t->len + more) * 2;
        char *bytes = apr_palloc(t->pool, room);
        memcpy(bytes, t->bytes, t->len);
        t->bytes = bytes;
        t->room = room;
    }
    return t->bytes + t->len;
}

static void add(text *t, char byte)
{
    *reserve(t, 1) = byte;
    t->len++;
}

/* Appends a quoted string of valid UTF-8; `json`: control characters are escaped as well. */
static void add_string(text *t, const char *value, int json)
{
    static const char hex[] = "0123456789abcdef";
    char *out = reserve(t, strlen(value) * 6 + 2), *p = out;
    *p++ = '"';
    for (; *value; value++) {
        unsigned char ch = (unsigned char)*value;
        if (json && ch < 0x20) {
            memcpy(p, "\\u00", 4);
            p[4] = hex[ch >> 4];
            p[5] = hex[ch & 15];
            p += 6;
            continue;
        }
        if (ch == '"' || ch == '\\') {
            *p++ = '\\';
        }
        *p++ = (char)ch;
    }
    *p++ = '"';
    t->len += (size_t)(p - out);
}

const char *cache_list(apr_pool_t *pool, const char *const *items, int count)
{
    text t;
    text_begin(&t, pool, 64 + (size_t)count * 48);
    add(&t, '[');
    for (int i = 0; i < count; i++) {
        if (i) {
            add(&t, ',');
        }
        add_string(&t, items[i], 1);
    }
    add(&t, ']');
    add(&t, '\0');
    return t.bytes;
}

const char *cache_rows(apr_pool_t *pool, const char *const *values, int columns, int rows)
{
    text t;
    text_begin(&t, pool, 64 + (size_t)rows * (size_t)columns * 48);
    add(&t, '[');
    for (int row = 0; row < rows; row++) {
        for (int i = 0; i < columns; i++) {
            add(&t, i || row ? ',' : ' ');
            if (!i) {
                add(&t, '[');
            }
            add_string(&t, *values++, 1);
        }
        add(&t, ']');
    }
    add(&t, ']');
    add(&t, '\0');
    return t.bytes;
}

/* Text form of a PostgreSQL array: every `columns`-th of the values. */
static const char *array_of(apr_pool_t *pool, const char *const *values, int columns, int rows)
{
    text t;
    text_begin(&t, pool, 64 + (size_t)rows * 40);
    add(&t, '{');
    for (int row = 0; row < rows; row++, values += columns) {
        if (row) {
            add(&t, ',');
        }
        if (*values) {
            add_string(&t, *values, 0);
        } else {
            memcpy(reserve(&t, 4), "NULL", 4);
            t.len += 4;
        }
    }
    add(&t, '}');
    add(&t, '\0');
    return t.bytes;
}

/* --- statements --- */

static ida_kind row_by_row(cache_at *at, ida_ctx *c, db_statement statement, db_arg *args,
                           size_t fixed, const char *const *values, int columns, int rows)
{
    ida_kind kind = IDA_OK;
    for (int row = 0; !kind && row < rows; row++, values += columns) {
        for (int i = 0; i < columns; i++) {
            args[fixed + (size_t)i] = (db_arg)DB_T(values[i]);
        }
        kind = store_write(at->s, c, statement, DB_FIRST(args, fixed + (size_t)columns), NULL);
    }
    return kind;
}

static ida_kind by_arrays(cache_at *at, ida_ctx *c, db_statement statement, db_arg *args,
                          size_t fixed, const char *const *values, int columns, int rows)
{
    apr_pool_t *pool;
    ida_kind kind = IDA_OK;
    apr_pool_create(&pool, c->pool);
    for (int row = 0; !kind && row < rows; row += ROWS_AT_ONCE) {
        int some = rows - row < ROWS_AT_ONCE ? rows - row : ROWS_AT_ONCE;
        const char *const *first = values + (apr_size_t)row * (apr_size_t)columns;
        apr_pool_clear(pool);
        for (int i = 0; i < columns; i++) {
            args[fixed + (size_t)i] = (db_arg)DB_T(array_of(pool, first + i, columns, some));
        }
        kind = store_write(at->s, c, statement, DB_FIRST(args, fixed + (size_t)columns), NULL);
    }
    apr_pool_destroy(pool);
    return kind;
}

ida_kind cache_bulk(cache_at *at, ida_ctx *c, db_statement statement, const db_arg *fixed,
                    size_t fixed_count, const char *const *values, int columns, int rows)
{
    db_arg args[ARGUMENTS_MAX];
    if (fixed_count + (size_t)columns > ARGUMENTS_MAX) {
        return ida_fail(c, IDA_INTERNAL_ERROR, "The statement %s has too many arguments.",
                        db_statements[statement].name);
    }
    memcpy(args, fixed, fixed_count * sizeof *args);
    return (store_is_postgresql(at->s) ? by_arrays : row_by_row)(at, c, statement, args,
                                                                 fixed_count, values, columns,
                                                                 rows);
}

ida_kind cache_by_list(cache_at *at, ida_ctx *c, db_statement statement, const char *list)
{
    return store_write(at->s, c, statement,
                       DB_ARGS(DB_T(at->tenant), DB_T(at->directory), DB_T(list)), NULL);
}

const char **cache_column(apr_pool_t *pool, const db_result *r, int column, int from, int to)
{
    const char **items = apr_palloc(pool, (apr_size_t)(to - from + 1) * sizeof *items);
    for (int row = from; row < to; row++) {
        items[row - from] = db_text(r, row, column);
    }
    return items;
}

const char **cache_pairs(apr_pool_t *pool, const db_result *r, int first, int second, int from,
                         int to)
{
    const char **values = apr_palloc(pool, (apr_size_t)(to - from + 1) * 2 * sizeof *values);
    for (int row = from; row < to; row++) {
        values[2 * (row - from)] = db_text(r, row, first);
        values[2 * (row - from) + 1] = db_text(r, row, second);
    }
    return values;
}
