/* Owns mutations of a JSON document: values take others' places, types change, members go, come and
 * are repeated. Must not know what a document means. */
#include <jansson.h>
#include <stdio.h>

#include "t/fuzz/mutate.h"

#define NODES_MAX 512
#define DEEP 40

typedef struct node {
    json_t *in, *value;
    const char *name; /* in an object */
    size_t index;     /* in an array */
} node;

typedef struct tree {
    node nodes[NODES_MAX];
    size_t count;
} tree;

static void collect(tree *t, json_t *in)
{
    const char *name;
    json_t *value;
    size_t i;
    if (json_is_object(in)) {
        json_object_foreach (in, name, value) {
            if (t->count < NODES_MAX) {
                t->nodes[t->count++] = (node){in, value, name, 0};
                collect(t, value);
            }
        }
    } else if (json_is_array(in)) {
        json_array_foreach (in, i, value) {
            if (t->count < NODES_MAX) {
                t->nodes[t->count++] = (node){in, value, NULL, i};
                collect(t, value);
            }
        }
    }
}

/* Numbers at the edges of types and rules, texts that are something else elsewhere. */
static json_t *telling(unsigned *series)
{
    static const json_int_t numbers[] = {
        0, 1, -1, 50, 1000, 10001, 2147483647, 2147483648, 9007199254740993, INT64_MAX, INT64_MIN};
    static const char *const texts[] = {"",
                                        " ",
                                        "null",
                                        "a@b.example",
                                        "2027-03-28",
                                        "2027-02-30",
                                        "02:30",
                                        "24:00",
                                        "2026-11-23T10:00:00Z",
                                        "%00%2e%2e/",
                                        "*)(uid=*",
                                        "\\2a",
                                        "a,b+c=\"d\"",
                                        "'; --",
                                        "o'|neil",
                                        "=1+1",
                                        "\u202e\u2066x",
                                        "A\u030a\u0327",
                                        "\U0001f469\u200d\U0001f4bb",
                                        "\u0130\u00df\ufb01",
                                        "\001\177\302\205",
                                        "\r\nX: y",
                                        "<script>",
                                        "00000000-0000-0000-0000-000000000000"};
    char digits[40];
    switch (fuzz_number(series, 9)) {
    case 0: return json_null();
    case 1: return json_boolean(fuzz_number(series, 2));
    case 2: return json_object();
    case 3: return json_array();
    case 4: return json_real(fuzz_number(series, 2) ? 1e308 : -0.5);
    case 5:
        snprintf(digits, sizeof digits, "%zu", fuzz_number(series, 100000));
        return json_string(digits);
    case 6: return json_integer(numbers[fuzz_number(series, sizeof numbers / sizeof *numbers)]);
    default: return json_string(texts[fuzz_number(series, sizeof texts / sizeof *texts)]);
    }
}

static json_t *deep(json_t *value, unsigned *series)
{
    size_t depth = 1 + fuzz_number(series, fuzz_number(series, 8) ? 3 : DEEP);
    json_t *outer = json_incref(value);
    while (depth--) {
        outer = fuzz_number(series, 2) ? json_pack("[o]", outer)
                                       : json_pack("{s:o}", "value", outer);
    }
    return outer;
}

/* Its bytes are changed as bytes; what is no UTF-8 then stays away. */
static json_t *other_text(const json_t *text, unsigned *series)
{
    char bytes[4096];
    size_t len = json_string_length(text);
    if (len > sizeof bytes / 2) {
        return json_stringn(json_string_value(text), len / 2);
    }
    memcpy(bytes, json_string_value(text), len);
    if (fuzz_number(series, 6) == 0) {
        while (len && len * 2 <= sizeof bytes) {
            memcpy(bytes + len, bytes, len);
            len *= 2;
        }
    } else {
        len = LLVMFuzzerMutate((uint8_t *)bytes, len, sizeof bytes);
    }
    json_t *changed = json_stringn(bytes, len);
    return changed ? changed : telling(series);
}

static void put(const node *at, json_t *value)
{
    if (json_is_object(at->in)) {
        json_object_set_new(at->in, at->name, value);
    } else {
        json_array_set_new(at->in, at->index, value);
    }
}

static void also(const node *at, const node *from, json_t *value)
{
    if (json_is_array(at->in)) {
        json_array_insert_new(at->in, at->index, value);
    } else {
        json_object_set_new(at->in, from->name ? from->name : "value", value);
    }
}

static void take(const node *at)
{
    if (json_is_object(at->in)) {
        json_object_del(at->in, at->name);
    } else {
        json_array_remove(at->in, at->index);
    }
}

/* Lists and objects a few times alone: repeats of repeats would grow without bounds. */
static void repeat(json_t *list, const json_t *value, size_t times)
{
    times = json_is_object(value) || json_is_array(value) ? times % 4 : times;
    while (times-- && json_array_size(list) < 20000) {
        json_array_append_new(list, json_deep_copy(value));
    }
}

static void change(const tree *t, unsigned *series)
{
    const node *at = &t->nodes[fuzz_number(series, t->count)],
               *from = &t->nodes[fuzz_number(series, t->count)];
    switch (fuzz_number(series, 8)) {
    case 0: take(at); break;
    case 1: put(at, json_deep_copy(from->value)); break;
    case 2: put(at, deep(at->value, series)); break;
    case 3: also(at, from, json_deep_copy(from->value)); break;
    case 4: also(at, from, telling(series)); break;
    case 5:
        if (json_is_array(at->in)) {
            repeat(at->in, at->value, 1 + fuzz_number(series, fuzz_number(series, 8) ? 4 : 2000));
            break;
        }
        /* fall through */
    case 6:
        if (json_is_string(at->value)) {
            put(at, other_text(at->value, series));
            break;
        }
        if (json_is_integer(at->value)) {
            put(at, json_integer(json_integer_value(at->value) ^
                                 (INT64_C(1) << fuzz_number(series, 63))));
            break;
        }
        /* fall through */
    default: put(at, telling(series)); break;
    }
}

size_t fuzz_json(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    json_t *root = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
    tree *t = malloc(sizeof *t);
    size_t rounds = 1 + fuzz_number(&seed, 3), len = 0;
    while (t && root && rounds--) {
        t->count = 0;
        collect(t, root);
        if (!t->count) {
            break;
        }
        change(t, &seed);
    }
    free(t);
    if (root) {
        len = json_dumpb(root, NULL, 0, JSON_COMPACT);
        len = len <= max ? json_dumpb(root, (char *)data, max, JSON_COMPACT) : 0;
    }
    json_decref(root);
    return len;
}
