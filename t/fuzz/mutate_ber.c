/* Owns mutations of BER (X.690, definite lengths): elements go, are repeated, take other tags and
 * contents, and lengths lie. What is around a changed element gets its right length. Must not know
 * LDAP. */
#include "t/fuzz/mutate.h"

#define DEPTH_MAX 24

typedef struct element {
    uint8_t tag;
    const uint8_t *bytes; /* tag and all */
    const uint8_t *content;
    size_t len;   /* of the content */
    size_t whole; /* with tag and length */
} element;

typedef struct rewriting {
    uint8_t *out;
    size_t len, max;
    size_t chosen, seen; /* elements are numbered in their order */
    unsigned series;
} rewriting;

/* What begins at `bytes`; 0: no element. Tags of one byte are all that LDAP has. */
static int element_at(const uint8_t *bytes, size_t size, element *e)
{
    size_t header = 2, len;
    if (size < 2) {
        return 0;
    }
    len = bytes[1];
    if (len > 0x80) {
        size_t digits = len & 0x7f;
        len = 0;
        if (digits > 4 || size < 2 + digits) {
            return 0;
        }
        for (size_t i = 0; i < digits; i++) {
            len = len << 8 | bytes[2 + i];
        }
        header += digits;
    } else if (len == 0x80) {
        return 0;
    }
    if (len > size - header) {
        return 0;
    }
    *e = (element){bytes[0], bytes, bytes + header, len, header + len};
    return 1;
}

/* Whether all of it is elements: a constructed one, or a control's value in an octet string. */
static int is_series(const uint8_t *bytes, size_t size)
{
    element e;
    size_t at = 0;
    while (at < size && element_at(bytes + at, size - at, &e)) {
        at += e.whole;
    }
    return size && at == size;
}

static int holds_elements(const element *e)
{
    return ((e->tag & 0x20) || (e->len > 1 && e->content[0] == 0x30)) &&
           is_series(e->content, e->len);
}

static size_t count(const uint8_t *bytes, size_t size, int depth)
{
    element e;
    size_t found = 0;
    for (size_t at = 0; at < size && element_at(bytes + at, size - at, &e); at += e.whole) {
        found += 1 +
                 (depth < DEPTH_MAX && holds_elements(&e) ? count(e.content, e.len, depth + 1) : 0);
    }
    return found;
}

static void put(rewriting *r, const uint8_t *bytes, size_t size)
{
    if (size && size <= r->max - r->len) {
        memmove(r->out + r->len, bytes, size);
        r->len += size;
    }
}

static void put_header(rewriting *r, uint8_t tag, size_t len)
{
    uint8_t header[6] = {
        tag, 0x84, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len};
    if (len < 0x80) {
        header[1] = (uint8_t)len;
    }
    put(r, header, len < 0x80 ? 2 : 6);
}

static void put_content(rewriting *r, const element *e, const uint8_t *content, size_t len)
{
    put_header(r, e->tag, len);
    put(r, content, len);
}

static void put_other_bytes(rewriting *r, const element *e)
{
    uint8_t bytes[2048];
    size_t len = e->len < sizeof bytes / 2 ? e->len : sizeof bytes / 2;
    memcpy(bytes, e->content, len);
    put_content(r, e, bytes, LLVMFuzzerMutate(bytes, len, sizeof bytes));
}

static void put_long(rewriting *r, const element *e)
{
    uint8_t bytes[8192];
    size_t len = fuzz_number(&r->series, sizeof bytes);
    memset(bytes, e->len ? e->content[0] : 'A', len);
    put_content(r, e, bytes, len);
}

static void put_wrong_length(rewriting *r, const element *e)
{
    static const uint8_t lengths[][6] = {{1, 0x80},
                                         {1, 0x00},
                                         {1, 0x7f},
                                         {2, 0x81, 0x00},
                                         {5, 0x84, 0x7f, 0xff, 0xff, 0xff},
                                         {5, 0x84, 0xff, 0xff, 0xff, 0xff},
                                         {3, 0x82, 0x00, 0x01}};
    const uint8_t *length = lengths[fuzz_number(&r->series, sizeof lengths / sizeof *lengths)];
    put(r, &e->tag, 1);
    put(r, length + 1, length[0]);
    put(r, e->content, e->len);
}

static void put_other_tag(rewriting *r, const element *e)
{
    static const uint8_t tags[] = {0x01, 0x02, 0x04, 0x05, 0x0a, 0x30, 0x31, 0x64, 0x65, 0x73, 0x78,
                                   0x79, 0x80, 0x81, 0x82, 0xa0, 0xa1, 0xa2, 0xa3, 0x8a, 0x8b};
    put_header(r, tags[fuzz_number(&r->series, sizeof tags)], e->len);
    put(r, e->content, e->len);
}

static void put_twice(rewriting *r, const element *e)
{
    size_t times = 1 + fuzz_number(&r->series, fuzz_number(&r->series, 8) ? 3 : 400);
    for (size_t i = 0; i <= times; i++) {
        put(r, e->bytes, e->whole);
    }
}

static void put_empty(rewriting *r, const element *e)
{
    put_header(r, e->tag, 0);
}

static void put_wrapped(rewriting *r, const element *e)
{
    put_header(r, 0x30, e->whole);
    put(r, e->bytes, e->whole);
}

static void put_nothing(rewriting *r, const element *e)
{
    (void)r;
    (void)e;
}

static void (*const changes[])(rewriting *,
                               const element *) = {put_other_bytes,  put_other_bytes, put_long,
                                                   put_wrong_length, put_other_tag,   put_twice,
                                                   put_empty,        put_wrapped,     put_nothing};

static void rewrite(rewriting *r, const uint8_t *bytes, size_t size, int depth)
{
    element e;
    size_t at = 0;
    for (; at < size && element_at(bytes + at, size - at, &e); at += e.whole) {
        if (r->seen++ == r->chosen) {
            changes[fuzz_number(&r->series, sizeof changes / sizeof *changes)](r, &e);
        } else if (depth < DEPTH_MAX && holds_elements(&e) && r->seen <= r->chosen) {
            rewriting inner = *r;
            inner.out = malloc(r->max);
            inner.len = 0;
            if (!inner.out) {
                return;
            }
            rewrite(&inner, e.content, e.len, depth + 1);
            put_content(r, &e, inner.out, inner.len);
            r->seen = inner.seen;
            r->series = inner.series;
            free(inner.out);
        } else {
            put(r, e.bytes, e.whole);
        }
    }
    put(r, bytes + at, size - at);
}

size_t fuzz_ber(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    rewriting r = {.out = malloc(max), .max = max, .series = seed};
    size_t elements = count(data, size, 0);
    if (!elements || !r.out) {
        free(r.out);
        return 0;
    }
    r.chosen = fuzz_number(&r.series, elements);
    rewrite(&r, data, size, 0);
    memcpy(data, r.out, r.len);
    free(r.out);
    return r.len;
}
