/* For targets whose functions take terminated text, or answer with a kind. */
#ifndef T_FUZZ_FUZZ_COPY_H
#define T_FUZZ_FUZZ_COPY_H

#include "t/fuzz/fuzz.h"

/* The input up to its first NUL, in memory that ends with the terminator; the caller frees it. */
__attribute__((unused)) static char *fuzz_text(const uint8_t *data, size_t size)
{
    size_t len = size ? strnlen((const char *)data, size) : 0;
    char *copy = malloc(len + 1);
    FUZZ_HOLDS(copy);
    if (len) {
        memcpy(copy, data, len);
    }
    copy[len] = '\0';
    return copy;
}

/* The next line with its end, as a network library hands it over: not terminated, in memory of its
 * exact size that the caller frees; NULL when nothing is left. */
__attribute__((unused)) static char *fuzz_line(const uint8_t **data, size_t *size, size_t *len)
{
    const uint8_t *end = *size ? memchr(*data, '\n', *size) : NULL;
    *len = end ? (size_t)(end - *data) + 1 : *size;
    if (!*len) {
        return NULL;
    }
    char *line = malloc(*len);
    FUZZ_HOLDS(line);
    memcpy(line, *data, *len);
    *data += *len;
    *size -= *len;
    return line;
}

/* Every refusal must leave a message for people. */
__attribute__((unused)) static void fuzz_told(const ida_ctx *c, ida_kind kind)
{
    FUZZ_HOLDS(kind == IDA_OK || (c->kind == kind && c->message && *c->message));
}

#endif
