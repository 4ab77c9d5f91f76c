/* Pages of a cloud directory: what another reader of JSON takes, ours takes with the same texts; a
 * page that was opened is read without a fault; no byte behind its end is looked at. */
#include <jansson.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "t/fuzz/fuzz.h"
#include "worker/graph/fetch.h"

/* In a block of exactly this size, with the NUL that the reader wants. */
static char *ended(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size + 1);
    memcpy(bytes, data, size);
    bytes[size] = '\0';
    return bytes;
}

static int depth(const json_t *value)
{
    int deepest = 0;
    size_t i;
    const char *name;
    json_t *inner;
    json_array_foreach ((json_t *)value, i, inner) {
        int own = depth(inner);
        deepest = own > deepest ? own : deepest;
    }
    json_object_foreach ((json_t *)value, name, inner) {
        int own = depth(inner);
        deepest = own > deepest ? own : deepest;
    }
    return deepest + 1;
}

/* 1 when the value read here is `want`, as far as texts, names and counts tell. */
static int same(graph_reader *r, const json_t *want)
{
    if (json_is_string(want)) {
        const char *text = graph_read_text(r);
        return text && strlen(text) == r->len && strcmp(text, json_string_value(want)) == 0;
    }
    if (json_is_array(want)) {
        size_t count = 0;
        for (int more = graph_array_begin(r); more; more = graph_array_next(r)) {
            if (!same(r, json_array_get(want, count++))) {
                return 0;
            }
        }
        return count == json_array_size(want);
    }
    if (json_is_object(want)) {
        size_t count = 0;
        const char *name;
        for (int more = graph_object_begin(r, &name); more; more = graph_object_next(r, &name)) {
            const json_t *value = json_object_get(want, name);
            count++;
            if (!value || !same(r, value)) {
                return 0;
            }
        }
        return count == json_object_size(want);
    }
    graph_skip(r);
    return 1;
}

static void against_another(const uint8_t *data, size_t size)
{
    graph_reader r;
    json_t *other = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
                               NULL);
    char *bytes = ended(data, size);
    if (other && depth(other) <= 60) {
        graph_reader_begin(&r, bytes);
        graph_skip(&r);
        FUZZ_HOLDS(graph_reader_end(&r));
        graph_reader_begin(&r, bytes);
        FUZZ_HOLDS(same(&r, other) && graph_reader_end(&r));
    }
    json_decref(other);
    free(bytes);
}

static void as_page(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    graph_page page = {.pool = c->pool};
    graph_reader r;
    const char *next, *name;
    char *bytes = ended(data, size);
    if (graph_page_open(&page, bytes, &next)) {
        FUZZ_HOLDS(page.last == !next && !(next && page.delta));
        graph_reader_begin(&r, page.items);
        for (int more = graph_array_begin(&r); more; more = graph_array_next(&r)) {
            for (int inner = graph_object_begin(&r, &name); inner;
                 inner = graph_object_next(&r, &name)) {
                FUZZ_HOLDS(strlen(name) == r.len);
                graph_read_text(&r);
            }
        }
        FUZZ_HOLDS(!r.fault);
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!memchr(data, '\0',
                size)) { /* the fetch lets none through; the other reader leaps over some */
        against_another(data, size);
        as_page(data, size);
    }
    return 0;
}
