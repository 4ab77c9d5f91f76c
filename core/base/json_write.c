/* Owns the compact text of JSON values, byte for byte as Jansson writes it. Jansson calls a
 * callback for each piece and looks for circles, which cost more time than building the result.
 * Must not know what the members mean. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/json_row.h"
#include "core/base/text.h"
#include "core/base/time.h"

/* Where `more` bytes can be written. */
static char *room_for(ida_json_writing *w, ida_json_bytes *b, size_t more)
{
    if (b->room - b->len < more) {
        b->room = (b->room + more) * 2;
        char *text = apr_palloc(w->pool, b->room);
        memcpy(text, b->text, b->len);
        b->text = text;
    }
    return b->text + b->len;
}

static void add(ida_json_writing *w, ida_json_bytes *b, const char *text, size_t len)
{
    // cppcheck-suppress uninitvar ; the callers' bytes are literals, which it loses in a macro
    memcpy(room_for(w, b, len), text, len);
    b->len += len;
}

static void escape(char *to, const char *text, size_t len, size_t escaped)
{
    if (escaped == len) {
        memcpy(to, text, len);
    } else {
        ida_json_escape(to, text, len);
    }
}

/* Bytes that are the same within a string: signs, digits, words. */
static void put(ida_json_writing *w, const char *text, size_t len)
{
    add(w, &w->plain, text, len);
    if (w->quoted.room) {
        add(w, &w->quoted, text, len);
    }
}

/* A string of `len` bytes that are `escaped` bytes between its quotes. */
static void put_measured(ida_json_writing *w, const char *text, size_t len, size_t escaped)
{
    char *once = room_for(w, &w->plain, escaped + 2);
    *once = '"';
    escape(once + 1, text, len, escaped);
    once[escaped + 1] = '"';
    w->plain.len += escaped + 2;
    if (w->quoted.room) {
        size_t twice = escaped == len ? len : ida_json_escaped_length(once + 1, escaped);
        char *to = room_for(w, &w->quoted, twice + 4);
        memcpy(to, "\\\"", 2);
        escape(to + 2, once + 1, escaped, twice);
        memcpy(to + 2 + twice, "\\\"", 2);
        w->quoted.len += twice + 4;
    }
}

static void put_quoted(ida_json_writing *w, const char *text, size_t len)
{
    put_measured(w, text, len, ida_json_escaped_length(text, len));
}

static void put_value(ida_json_writing *w, const json_t *value);

static void put_member(ida_json_writing *w, const char *name, const json_t *value)
{
    put_quoted(w, name, strlen(name));
    put(w, ":", 1);
    put_value(w, value);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_sorted(ida_json_writing *w, const json_t *object)
{
    size_t count = 0;
    const char **names = apr_palloc(w->pool, json_object_size(object) * sizeof *names), *name;
    json_t *value;
    json_object_foreach ((json_t *)object, name, value) {
        names[count++] = name;
    }
    qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++) {
        put(w, ",", i > 0);
        put_member(w, names[i], json_object_get(object, names[i]));
    }
}

static void put_object(ida_json_writing *w, const json_t *object)
{
    const char *name;
    json_t *value;
    size_t i = 0;
    put(w, "{", 1);
    if (w->sorted) {
        put_sorted(w, object);
    } else {
        json_object_foreach ((json_t *)object, name, value) {
            put(w, ",", i++ > 0);
            put_member(w, name, value);
        }
    }
    put(w, "}", 1);
}

static void put_array(ida_json_writing *w, const json_t *array)
{
    size_t i;
    json_t *value;
    put(w, "[", 1);
    json_array_foreach (array, i, value) {
        put(w, ",", i > 0);
        put_value(w, value);
    }
    put(w, "]", 1);
}

static void put_string(ida_json_writing *w, const json_t *value)
{
    put_quoted(w, json_string_value(value), json_string_length(value));
}

static void put_integer(ida_json_writing *w, const json_t *value)
{
    char digits[IDA_DIGITS_MAX];
    put(w, digits, (size_t)(ida_digits(digits, json_integer_value(value)) - digits));
}

/* Rare, and its shape a matter of taste: as Jansson does. */
static void put_real(ida_json_writing *w, const json_t *value)
{
    char text[64];
    put(w, text, json_dumpb(value, text, sizeof text, JSON_ENCODE_ANY));
}

static void put_word(ida_json_writing *w, const json_t *value)
{
    const char *word = json_is_null(value) ? "null" : json_is_true(value) ? "true" : "false";
    put(w, word, strlen(word));
}

/* A type that Jansson does not have. */
#define WRITTEN ((json_type)(JSON_NULL + 1))

typedef struct written {
    json_t json;
    ida_json_both texts;
} written;

static void put_written(ida_json_writing *w, const json_t *value)
{
    const ida_json_both *row = &((const written *)value)->texts;
    add(w, &w->plain, row->text, row->len);
    if (w->quoted.room) {
        add(w, &w->quoted, row->quoted, row->quoted_len);
    }
}

static void put_value(ida_json_writing *w, const json_t *value)
{
    static void (*const types[])(ida_json_writing * w, const json_t *value) = {
        [JSON_OBJECT] = put_object,   [JSON_ARRAY] = put_array, [JSON_STRING] = put_string,
        [JSON_INTEGER] = put_integer, [JSON_REAL] = put_real,   [JSON_TRUE] = put_word,
        [JSON_FALSE] = put_word,      [JSON_NULL] = put_word,   [WRITTEN] = put_written,
    };
    types[json_typeof(value)](w, value);
}

/* Ends the bytes with a NUL, in the pool; `buffer` is where they began. */
static char *kept(ida_json_writing *w, ida_json_bytes *b, const char *buffer)
{
    *room_for(w, b, 1) = '\0';
    return b->text == buffer ? apr_pmemdup(w->pool, buffer, b->len + 1) : b->text;
}

static char *write_all(apr_pool_t *pool, const json_t *value, int sorted)
{
    char most[2048]; /* nearly every text */
    ida_json_writing w = {.pool = pool, .plain = {most, 0, sizeof most}, .sorted = sorted};
    if (!value) {
        return NULL;
    }
    put_value(&w, value);
    return kept(&w, &w.plain, most);
}

char *ida_json_text(apr_pool_t *pool, const json_t *value)
{
    return write_all(pool, value, 0);
}

char *ida_json_sorted(apr_pool_t *pool, const json_t *value)
{
    return write_all(pool, value, 1);
}

void ida_json_both_texts(apr_pool_t *pool, const json_t *value, ida_json_both *out)
{
    char most[2048], quoted[3072];
    ida_json_writing w = {.pool = pool,
                          .plain = {most, 0, sizeof most},
                          .quoted = {quoted, 0, sizeof quoted}};
    put_value(&w, value);
    *out = (ida_json_both){.text = kept(&w, &w.plain, most),
                           .len = w.plain.len,
                           .quoted = kept(&w, &w.quoted, quoted),
                           .quoted_len = w.quoted.len};
}

size_t ida_json_length(const json_t *value)
{
    char most[2048];
    apr_pool_t *scratch;
    apr_pool_create(&scratch, NULL);
    ida_json_writing w = {.pool = scratch, .plain = {most, 0, sizeof most}};
    put_value(&w, value);
    apr_pool_destroy(scratch);
    return w.plain.len;
}

/* --- rows --- */

void ida_row_begin(ida_json_row *row, apr_pool_t *pool, size_t max)
{
    row->writing = (ida_json_writing){.pool = pool,
                                      .plain = {row->plain, 0, sizeof row->plain},
                                      .quoted = {row->quoted, 0, sizeof row->quoted}};
    row->max = max;
    put(&row->writing, "{", 1);
}

json_t *ida_row_end(ida_json_row *row)
{
    ida_json_writing *w = &row->writing;
    put(w, "}", 1);
    written *out = apr_palloc(w->pool, sizeof *out);
    out->json.type = WRITTEN;
    out->json.refcount = (size_t)-1; /* as true, false and null: never counted, never deleted */
    out->texts = (ida_json_both){.text = kept(w, &w->plain, row->plain),
                                 .len = w->plain.len,
                                 .quoted = kept(w, &w->quoted, row->quoted),
                                 .quoted_len = w->quoted.len};
    return &out->json;
}

static void put_name(ida_json_writing *w, ida_row_name name)
{
    put(w, ",", w->plain.text[w->plain.len - 1] != '{');
    add(w, &w->plain, name.plain, name.len + 3);
    add(w, &w->quoted, name.quoted, name.len + 5);
}

static void put_clean(ida_json_row *row, const char *text)
{
    ida_json_measure m = ida_json_measured(text);
    if ((row->max && m.len > row->max) || !m.plain) {
        text = ida_clean(row->writing.pool, text, m.len, row->max);
        m = ida_json_measured(text);
    }
    put_measured(&row->writing, text, m.len, m.escaped);
}

void ida_row_text(ida_json_row *row, ida_row_name name, const char *text)
{
    if (text) {
        put_name(&row->writing, name);
        put_clean(row, text);
    }
}

void ida_row_text_or_null(ida_json_row *row, ida_row_name name, const char *text)
{
    if (text) {
        ida_row_text(row, name, text);
    } else {
        put_name(&row->writing, name);
        put(&row->writing, "null", 4);
    }
}

void ida_row_time(ida_json_row *row, ida_row_name name, int64_t at_ms)
{
    char text[IDA_UTC_SIZE];
    ida_row_text_or_null(row, name, ida_utc_write(text, at_ms) ? text : NULL);
}

void ida_row_integer(ida_json_row *row, ida_row_name name, int64_t number)
{
    char digits[IDA_DIGITS_MAX];
    put_name(&row->writing, name);
    put(&row->writing, digits, (size_t)(ida_digits(digits, number) - digits));
}

void ida_row_texts(ida_json_row *row, ida_row_name name, const json_t *list)
{
    size_t i;
    const json_t *text;
    if (!list) {
        return;
    }
    put_name(&row->writing, name);
    put(&row->writing, "[", 1);
    json_array_foreach ((json_t *)list, i, text) {
        put(&row->writing, ",", i > 0);
        put_clean(row, json_string_value(text) ? json_string_value(text) : "");
    }
    put(&row->writing, "]", 1);
}

void ida_row_open(ida_json_row *row, ida_row_name name)
{
    put_name(&row->writing, name);
    put(&row->writing, "{", 1);
}

void ida_row_close(ida_json_row *row)
{
    put(&row->writing, "}", 1);
}

void ida_rows_load(json_t *array)
{
    size_t i;
    const json_t *item;
    json_array_foreach (array, i, item) {
        if (json_typeof(item) == WRITTEN) {
            const ida_json_both *row = &((const written *)item)->texts;
            json_array_set_new(array, i, json_loadb(row->text, row->len, 0, NULL));
        }
    }
}
