/* Owns the writing of JSON values as compact text. Must not know what the members mean.
 *
 * Every answer and every audit record passes here. Jansson's own writer formats a pointer and fills
 * a hash table for each object and array it enters, to find circles, which values of ours never
 * have; that costs more than the text. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"

/* Bytes that a byte takes between the quotes of a string. */
static size_t escaped_size(unsigned char ch)
{
    if (ch >= 0x20) {
        return ch == '"' || ch == '\\' ? 2 : 1;
    }
    return ch && strchr("\b\f\n\r\t", ch) ? 2 : 6;
}

size_t ida_json_escaped_length(const char *text, size_t len)
{
    size_t size = 0;
    for (size_t i = 0; i < len; i++) {
        size += escaped_size((unsigned char)text[i]);
    }
    return size;
}

static char *escape_byte(char *to, unsigned char ch)
{
    static const char hex[] = "0123456789ABCDEF", from[] = "\b\f\n\r\t", letters[] = "bfnrt";
    const char *named = ch ? strchr(from, ch) : NULL;
    *to++ = '\\';
    if (ch >= 0x20 || named) {
        *to++ = named ? letters[named - from] : (char)ch;
        return to;
    }
    memcpy(to, "u00", 3);
    to[3] = hex[ch >> 4];
    to[4] = hex[ch & 15];
    return to + 5;
}

char *ida_json_escape(char *to, const char *text, size_t len)
{
    size_t plain = 0; /* where the bytes begin that go over as they are */
    for (size_t i = 0; i < len; i++) {
        if (escaped_size((unsigned char)text[i]) > 1) {
            memcpy(to, text + plain, i - plain);
            to = escape_byte(to + (i - plain), (unsigned char)text[i]);
            plain = i + 1;
        }
    }
    memcpy(to, text + plain, len - plain);
    return to + (len - plain);
}

/* --- values: a walk that counts, then the same walk writing --- */

/* With `to` NULL nothing is written; `size` grows by what was or would be. */
typedef struct writer {
    char *to;
    size_t size;
} writer;

static void put(writer *w, const char *bytes, size_t len)
{
    if (w->to) {
        memcpy(w->to, bytes, len);
        w->to += len;
    }
    w->size += len;
}

static void put_string(writer *w, const char *text, size_t len)
{
    put(w, "\"", 1);
    if (w->to) {
        w->to = ida_json_escape(w->to, text, len);
    } else {
        w->size += ida_json_escaped_length(text, len);
    }
    put(w, "\"", 1);
}

static void put_number(writer *w, const json_t *value)
{
    char digits[64];
    size_t len = json_dumpb(value, digits, sizeof digits, JSON_ENCODE_ANY);
    put(w, digits, len <= sizeof digits ? len : 0);
}

static void put_value(writer *w, const json_t *value);

static void put_object(writer *w, json_t *object)
{
    int more = 0;
    put(w, "{", 1);
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const char *name = json_object_iter_key(at);
        put(w, ",", (size_t)more);
        more = 1;
        put_string(w, name, strlen(name));
        put(w, ":", 1);
        put_value(w, json_object_iter_value(at));
    }
    put(w, "}", 1);
}

static void put_array(writer *w, const json_t *array)
{
    size_t i;
    json_t *item;
    put(w, "[", 1);
    json_array_foreach (array, i, item) {
        put(w, ",", i > 0);
        put_value(w, item);
    }
    put(w, "]", 1);
}

static void put_value(writer *w, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: put_object(w, (json_t *)value); break;
    case JSON_ARRAY: put_array(w, value); break;
    case JSON_STRING: put_string(w, json_string_value(value), json_string_length(value)); break;
    case JSON_TRUE: put(w, "true", 4); break;
    case JSON_FALSE: put(w, "false", 5); break;
    case JSON_NULL: put(w, "null", 4); break;
    default: put_number(w, value);
    }
}

char *ida_json_text_within(apr_pool_t *pool, const char *before, const json_t *value,
                           const char *after)
{
    size_t before_len = strlen(before), after_len = strlen(after);
    writer count = {NULL, 0};
    put_value(&count, value);
    char *text = apr_palloc(pool, before_len + count.size + after_len + 1);
    memcpy(text, before, before_len);
    writer w = {text + before_len, 0};
    put_value(&w, value);
    memcpy(w.to, after, after_len + 1);
    return text;
}

char *ida_json_text(apr_pool_t *pool, const json_t *value)
{
    return value ? ida_json_text_within(pool, "", value, "") : NULL;
}
