/* Owns the conversion of bytes to JSON values, and the creation of values. Must not know what
 * the members mean. */
#include "core/base/json.h"

#include <stdarg.h>
#include <string.h>

#include "core/base/text.h"
#include "core/base/time.h"

#define DEPTH_MAX 32
#define VALUES_MAX 100000 /* in one text: 6 MB of "{}," would take half a gigabyte when parsed */

static apr_status_t drop(void *value)
{
    json_decref(value);
    return APR_SUCCESS;
}

int ida_json_type(const char *content_type)
{
    static const char type[] = "application/json";
    if (!content_type || strncasecmp(content_type, type, sizeof type - 1) != 0) {
        return 0;
    }
    const char *after = content_type + sizeof type - 1;
    after += strspn(after, " \t");
    return *after == '\0' || *after == ';';
}

json_t *ida_json_keep(apr_pool_t *pool, json_t *value)
{
    if (value) {
        apr_pool_cleanup_register(pool, value, drop, apr_pool_cleanup_null);
    }
    return value;
}

/* Offset at which the text gets deeper than DEPTH_MAX or has more than VALUES_MAX values, or
 * len. Checked before the parser, which recurses for each level and allocates for each value. */
static size_t too_much_at(const char *bytes, size_t len, int *too_deep)
{
    int depth = 0, in_string = 0, values = 0;
    *too_deep = 0;
    for (size_t i = 0; i < len; i++) {
        char ch = bytes[i];
        if (in_string) {
            if (ch == '\\') {
                i++;
            } else if (ch == '"') {
                in_string = 0;
            }
        } else if (ch == '"') {
            in_string = 1;
        } else if (ch == '{' || ch == '[') {
            if (++depth > DEPTH_MAX || ++values > VALUES_MAX) {
                *too_deep = depth > DEPTH_MAX;
                return i;
            }
        } else if (ch == ',') {
            if (++values > VALUES_MAX) {
                return i;
            }
        } else if (ch == '}' || ch == ']') {
            depth--;
        }
    }
    return len;
}

static void position(const char *bytes, size_t at, int *line, int *column)
{
    *line = 1;
    *column = 1;
    for (size_t i = 0; i < at; i++) {
        if (bytes[i] == '\n') {
            ++*line;
            *column = 1;
        } else {
            ++*column;
        }
    }
}

static int is_blank(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!strchr(" \t\r\n", bytes[i]) || !bytes[i]) {
            return 0;
        }
    }
    return 1;
}

/* Names the format of a text that does not begin with a bracket, if its first bytes show it;
 * otherwise NULL. */
static const char *foreign(const char *bytes, size_t len)
{
    static const struct {
        const char *first;
        size_t len;
        const char *what;
    } starts[] = {
        {"\xEF\xBB\xBF", 3, "begins with a byte order mark, which must be left out"},
        {"\xFF\xFE", 2, "is UTF-16, but must be UTF-8"},
        {"\xFE\xFF", 2, "is UTF-16, but must be UTF-8"},
        {"\x1F\x8B", 2, "is compressed with gzip, but must be sent as it is"},
    };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (len >= starts[i].len && memcmp(bytes, starts[i].first, starts[i].len) == 0) {
            return starts[i].what;
        }
    }
    return NULL;
}

ida_kind ida_json_object(ida_ctx *c, const char *bytes, size_t len, json_t **object)
{
    *object = NULL;
    if (is_blank(bytes, len)) {
        return ida_fail(c, IDA_BAD_REQUEST, "The JSON text is empty; one JSON object is expected.");
    }
    const char *what = foreign(bytes, len);
    if (what) {
        return ida_fail(c, IDA_BAD_REQUEST, "The JSON text %s (line 1, column 1).", what);
    }
    int too_deep;
    size_t much = too_much_at(bytes, len, &too_deep);
    if (much < len && !too_deep) {
        return ida_fail(c, IDA_BAD_REQUEST, "The JSON text holds more than %d values.", VALUES_MAX);
    }
    if (much < len) {
        int line, column;
        position(bytes, much, &line, &column);
        return ida_fail(c, IDA_BAD_REQUEST,
                        "The JSON text is nested more than %d levels deep at line %d, column %d.",
                        DEPTH_MAX, line, column);
    }
    json_error_t error;
    json_t *value = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &error);
    if (!value && json_error_code(&error) == json_error_null_character) {
        return ida_fail(c, IDA_BAD_REQUEST,
                        "The JSON text holds \\u0000 at line %d, column %d, which is no character "
                        "of a text here.",
                        error.line, error.column);
    }
    size_t start = strspn(bytes, " \t\r\n");
    if (!value && bytes[start] != '{' && bytes[start] != '[') {
        int line, column;
        position(bytes, start, &line, &column);
        return ida_fail(
            c, IDA_BAD_REQUEST,
            "The JSON text must be one JSON object: { is expected at line %d, column %d.", line,
            column);
    }
    if (!value && json_error_code(&error) == json_error_invalid_utf8) {
        return ida_fail(c, IDA_BAD_REQUEST, "The JSON text is not UTF-8 at line %d, column %d: %s.",
                        error.line, error.column,
                        ida_clean(c->pool, error.text, strlen(error.text), 160));
    }
    if (!value) {
        /* Jansson may quote the text around the fault, and the sender controls those bytes. */
        return ida_fail(c, IDA_BAD_REQUEST, "The JSON text is malformed at line %d, column %d: %s.",
                        error.line, error.column,
                        ida_clean(c->pool, error.text, strlen(error.text), 160));
    }
    ida_json_keep(c->pool, value);
    if (!json_is_object(value)) {
        return ida_fail(c, IDA_BAD_REQUEST,
                        "The JSON text is an array; one JSON object is expected.");
    }
    *object = value;
    return IDA_OK;
}

json_t *ida_json_load(apr_pool_t *pool, const char *text)
{
    return text ? ida_json_keep(pool,
                                json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL))
                : NULL;
}

const char *ida_json_string(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

/* New reference. Directory text is not always UTF-8, and Jansson accepts nothing else. */
static json_t *string_of(const char *text)
{
    size_t len = strlen(text);
    if (ida_utf8_valid(text, len)) {
        return json_stringn_nocheck(text, len);
    }
    apr_pool_t *scratch;
    apr_pool_create(&scratch, NULL);
    json_t *value = json_string(ida_clean(scratch, text, len, 0));
    apr_pool_destroy(scratch);
    return value;
}

void ida_json_put(json_t *object, const char *member, const char *text)
{
    if (text) {
        json_object_set_new(object, member, string_of(text));
    }
}

void ida_json_put_or_null(json_t *object, const char *member, const char *text)
{
    json_object_set_new(object, member, text ? string_of(text) : json_null());
}

json_t *ida_json_texts(const char *member, ...)
{
    json_t *object = json_object();
    va_list args;
    va_start(args, member);
    for (; member; member = va_arg(args, const char *)) {
        ida_json_put_or_null(object, member, va_arg(args, const char *));
    }
    va_end(args);
    return object;
}

void ida_json_put_time(json_t *object, const char *member, int64_t at_ms)
{
    char text[IDA_UTC_SIZE];
    ida_json_put_or_null(object, member, ida_utc_write(text, at_ms) ? text : NULL);
}

ida_kind ida_because(ida_ctx *c, const char *reason, json_t *details)
{
    c->reason = reason;
    c->details = ida_json_keep(c->pool, details);
    return c->kind;
}
