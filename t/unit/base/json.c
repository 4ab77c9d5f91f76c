/* JSON at its limits: what is accepted, what is refused and which position the message gives; the
 * texts that are written, also of rows that are no values. */
#include "core/base/json.h"
#include "core/base/json_row.h"
#include "core/base/text.h"

#include "t/unit/setup.h"

static char *nested(int depth, char open, char close)
{
    /* {"a":[[...]]}: the object is level one. */
    char *text = apr_pcalloc(pool, (apr_size_t)depth * 2 + 16);
    char *p = text + sprintf(text, "{\"a\":");
    for (int i = 1; i < depth; i++) {
        *p++ = open;
    }
    for (int i = 1; i < depth; i++) {
        *p++ = close;
    }
    *p = '}';
    if (depth == 1) {
        strcpy(text, "{\"a\":1}");
    }
    return text;
}

static ida_kind parse(ida_ctx *c, const char *text, size_t len, json_t **out)
{
    char *copy = exact(text, len);
    ida_kind kind = ida_json_object(c, copy, len, out);
    free(copy);
    return kind;
}

static void refusals(void)
{
    static const struct {
        const char *text;
        size_t len;
        const char *says;
    } cases[] = {
        {"", 0, "empty"},
        {" \r\n\t", 4, "empty"},
        {"[]", 2, "one JSON object"},
        {"1", 1, "{ is expected at line 1, column 1"},
        {"\n \"x\"", 5, "{ is expected at line 2, column 2"},
        {"{", 1, "line 1"},
        {"{}x", 3, "line 1, column 3"},
        {"{}{}", 4, "line 1, column 3"},
        {"{\"a\":1,\"a\":2}", 13, "duplicate"},
        {"{\n\"a\":1,\n \"b\":}", 15, "line 3"},
        {"{\"a\":tru}", 9, "line 1"},
        {"{\"a\":01}", 8, "line 1"},
        {"{\"a\":9223372036854775808}", 25, "too big"},
        {"{\"a\":1e400}", 11, "overflow"},
        {"{\"a\":NaN}", 9, "line 1"},
        {"{\"a\":\"\\u0000\"}", 14, "u0000"},
        {"{\"\\u0000\":1}", 12, "u0000"},
        {"{\"a\":\"\xFF\"}", 9, "not UTF-8 at line 1"},
        {"{\"a\":\"\xED\xA0\x80\"}", 11, "line 1"},
        {"{\"a\":\"\\ud800\"}", 14, "line 1"},
        {"{\"a\":\"b\0c\"}", 11, "line 1"},
        {"{\"a\":\"b\nc\"}", 11, "line 1"},
        {"{\"a\":1,}", 8, "line 1"},
        {"{'a':1}", 7, "line 1"},
        {"\xEF\xBB\xBF{}", 5, "byte order mark"},
        {"\xFF\xFE{\0}\0", 6, "UTF-16"},
        {"\xFE\xFF\0{\0}", 6, "UTF-16"},
        {"\x1F\x8B\x08", 3, "gzip"},
        {"{\"a\":\"\\", 7, "line 1"},
        {"{}\0", 3, "line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ida_ctx *c = fresh();
        json_t *out = (json_t *)&cases;
        ok(parse(c, cases[i].text, cases[i].len, &out) == IDA_BAD_REQUEST && !out,
           "case %d is refused", (int)i);
        says(c, "and says why", cases[i].says, NULL);
    }
}

static void depth(void)
{
    json_t *out;
    for (int i = 0; i < 2; i++) {
        char open = i ? '{' : '[';
        ida_ctx *c = fresh();
        if (!i) {
            char *text = nested(32, open, ']');
            is_int(parse(c, text, strlen(text), &out), IDA_OK, "32 levels pass");
        }
        char *text = nested(33, open, i ? '}' : ']');
        is_int(parse(c, text, strlen(text), &out), IDA_BAD_REQUEST, "33 levels do not");
        says(c, "the message says how deep and where", "32 levels", "line 1, column 37", NULL);
    }
    char *bomb = apr_palloc(pool, 2000001);
    memset(bomb, '[', 2000000);
    is_int(parse(fresh(), bomb, 2000000, &out), IDA_BAD_REQUEST,
           "two million brackets are refused at once");
    static const char quoted[] = "{\"a\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"{{{{\"}";
    is_int(parse(fresh(), quoted, sizeof quoted - 1, &out), IDA_OK,
           "brackets inside a string do not count");
}

/* An object with an array of `count` numbers: count + 2 values by our rule of counting. */
static char *many(int count)
{
    char *text = apr_palloc(pool, (apr_size_t)count * 2 + 16), *to = stpcpy(text, "{\"a\":[1");
    for (int i = 1; i < count; i++) {
        to = stpcpy(to, ",1");
    }
    strcpy(to, "]}");
    return text;
}

static void count(void)
{
    json_t *out;
    ida_ctx *c = fresh();
    char *text = many(99999);
    is_int(parse(c, text, strlen(text), &out), IDA_OK, "a hundred thousand values pass");
    text = many(100000);
    is_int(parse(c, text, strlen(text), &out), IDA_BAD_REQUEST, "one more does not");
    says(c, "and says so", "more than 100000 values", NULL);
}

static void values(void)
{
    json_t *out;
    static const char text[] =
        " {\"b\":1,\"a\":[1.5,true,null,\"\xC3\xA5\"],\"n\":9223372036854775807} ";
    is_int(parse(fresh(), text, sizeof text - 1, &out), IDA_OK, "an object passes");
    is_str(ida_json_sorted(pool, out),
           "{\"a\":[1.5,true,null,\"\xC3\xA5\"],\"b\":1,\"n\":9223372036854775807}", "sorted text");
    ok(json_integer_value(json_object_get(out, "b")) == 1, "a member is read");
    is_str(ida_json_string(out, "b"), NULL, "a number is no string");
    is_str(ida_json_string(out, "zz"), NULL, "an absent member is no string");
    is_str(ida_json_text(pool, NULL), NULL, "text of nothing");
    json_t *made = ida_json_keep(pool, json_object());
    ida_json_put(made, "x", NULL);
    ida_json_put_or_null(made, "y", NULL);
    ida_json_put(made, "z", "\xFFz");
    ida_json_put_or_null(made, "w", "w");
    ida_json_put_time(made, "t", 1795253400000);
    ida_json_put_time(made, "u", 0);
    is_str(ida_json_sorted(pool, made),
           "{\"t\":\"2026-11-21T09:30:00Z\",\"u\":null,\"w\":\"w\",\"y\":null,\"z\":"
           "\"\xEF\xBF\xBDz\"}",
           "put leaves out, nulls, cleans and writes times");
    ok(ida_json_load(pool, "[1]") && ida_json_load(pool, "3") && !ida_json_load(pool, "{") &&
           !ida_json_load(pool, NULL),
       "load");
    ok(ida_json_keep(pool, NULL) == NULL, "keep takes NULL");
}

/* Texts longer than the writer's first buffer as well. */
static void texts(void)
{
    char all[256] = "";
    for (int ch = 1; ch < 0x80; ch++) {
        all[ch - 1] = (char)ch;
    }
    strcpy(all + 0x7F, "\xC3\xA5\xE2\x80\xA8\xF0\x9F\x98\x80");
    json_t *value = ida_json_keep(
        pool, json_pack("{s:s, s:{}, s:[], s:[s, [], {}, o, n, b, b], s:I, s:I, s:f, s:f}", "text",
                        all, "none", "empty", "list", "", json_pack("{s:s}", "a\"\n\x01 key", "x"),
                        1, 0, "least", (json_int_t)INT64_MIN, "most", (json_int_t)INT64_MAX, "real",
                        0.1, "whole", 1e300));
    char *jansson = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    ok(jansson != NULL, "Jansson writes the value");
    is_str(ida_json_text(pool, value), jansson, "the same text as Jansson's");
    free(jansson);
    for (size_t len = 2040; len < 2056; len++) {
        char *bytes = memset(apr_pcalloc(pool, len + 1), 'x', len);
        json_t *one = ida_json_keep(pool, json_string(bytes));
        const char *quoted = apr_pstrcat(pool, "\"", bytes, "\"", NULL);
        is_str(ida_json_text(pool, one), quoted, "a text as long as the buffer");
    }
    json_t *nul = ida_json_keep(pool, json_stringn("a\0b", 3));
    is_str(ida_json_text(pool, nul), "\"a\\u0000b\"", "a NUL inside of a text");
    char *exactly = exact("\"\\\x1f\t", 4), to[32];
    size_t len = ida_json_escaped_length(exactly, 4);
    ok(ida_json_escape(to, exactly, 4) == to + len && len == 12, "escaping takes what was counted");
    free(exactly);
}

/* Both texts of a value: the second is the first as the content of a JSON string. */
static void both(const json_t *value, const char *wanted, const char *name)
{
    ida_json_both texts;
    ida_json_both_texts(pool, value, &texts);
    is_str(texts.text, wanted, name);
    ok(texts.len == strlen(texts.text) && texts.quoted_len == strlen(texts.quoted),
       "%s: the lengths", name);
    json_t *back = ida_json_load(pool, apr_pstrcat(pool, "\"", texts.quoted, "\"", NULL));
    is_str(json_string_value(back), wanted, "its quoted text");
}

/* A written row beside values, and as one: members, bytes that are cleaned, and texts longer than
 * the buffers. */
static void rows(void)
{
    static const char *const texts[] = {"",
                                        "plain",
                                        "\"quoted\" and \\",
                                        "tab\tline\nend\x01",
                                        "\xC3\xA5 \xE2\x80\xAE\xE2\x80\x8B",
                                        "not UTF-8: \xC3\x28 \xFF",
                                        NULL};
    for (size_t long_text = 0; long_text < 4000; long_text += 331) {
        ida_json_row row;
        json_t *items = ida_json_keep(pool, json_array()), *tree = json_object(),
               *inner = json_object(), *list = json_array();
        char *many = memset(apr_pcalloc(pool, long_text + 1), 'x', long_text);
        ida_row_begin(&row, pool, 2048);
        for (int i = 0; i < 3; i++) {
            json_array_append_new(list, json_string(texts[i]));
        }
        ida_row_text(&row, IDA_ROW_NAME("absent"), NULL);
        ida_row_text(&row, IDA_ROW_NAME("text"), texts[3]);
        ida_json_put(tree, "text", ida_clean(pool, texts[3], strlen(texts[3]), 2048));
        ida_row_open(&row, IDA_ROW_NAME("inner"));
        ida_row_text_or_null(&row, IDA_ROW_NAME("none"), NULL);
        ida_row_text_or_null(&row, IDA_ROW_NAME("foreign"), texts[4]);
        ida_row_close(&row);
        ida_json_put_or_null(inner, "none", NULL);
        ida_json_put(inner, "foreign", ida_clean(pool, texts[4], strlen(texts[4]), 2048));
        json_object_set_new(tree, "inner", inner);
        ida_row_time(&row, IDA_ROW_NAME("never"), 0);
        ida_row_time(&row, IDA_ROW_NAME("at"), test_now_ms);
        ida_json_put_time(tree, "never", 0);
        ida_json_put_time(tree, "at", test_now_ms);
        ida_row_integer(&row, IDA_ROW_NAME("least"), INT64_MIN);
        json_object_set_new(tree, "least", json_integer(INT64_MIN));
        ida_row_texts(&row, IDA_ROW_NAME("list"), list);
        ida_row_texts(&row, IDA_ROW_NAME("lost"), NULL);
        json_object_set_new(tree, "list", list);
        ida_row_text(&row, IDA_ROW_NAME("bytes"), texts[5]);
        ida_row_text(&row, IDA_ROW_NAME("long"), many);
        ida_json_put(tree, "bytes", ida_clean(pool, texts[5], strlen(texts[5]), 2048));
        ida_json_put(tree, "long", ida_clean(pool, many, long_text, 2048));
        json_array_append_new(items, ida_row_end(&row));
        json_array_append_new(items, json_true());
        const char *wanted = apr_pstrcat(pool, "[", ida_json_text(pool, tree), ",true]", NULL);
        both(items, wanted, apr_psprintf(pool, "a row with a text of %zu bytes", long_text));
        is_int(ida_json_length(items), (long)strlen(wanted), "its length");
        ida_rows_load(items);
        ok(json_equal(json_array_get(items, 0), tree), "loaded, the row is the same value");
        json_decref(tree);
    }
    ida_json_row row;
    char *many = memset(apr_pcalloc(pool, 5001), 'x', 5000);
    ida_row_begin(&row, pool, 0);
    ida_row_text(&row, IDA_ROW_NAME("whole"), many);
    is_int(ida_json_length(ida_row_end(&row)), 5000 + 12, "without a limit a text is whole");
    ida_row_begin(&row, pool, 0);
    both(ida_row_end(&row), "{}", "a row without members");
}

int main(void)
{
    setup();
    rows();
    refusals();
    depth();
    count();
    values();
    texts();
    return done();
}
