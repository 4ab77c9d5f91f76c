/* Owns how texts lie in a message: each as its length and its bytes with a NUL, which is not
 * counted; the length of an absent one is ABSENT. Must not know what they mean. */
#include "core/wire/wire.h"

#include <string.h>

#define ABSENT 0xFFFFFFFFu

size_t wire_size(const char *const *texts, int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        size += sizeof(uint32_t) + (texts[i] ? strlen(texts[i]) + 1 : 0);
    }
    return size;
}

void wire_put(char *to, const char *const *texts, int count)
{
    for (int i = 0; i < count; i++) {
        uint32_t len = texts[i] ? (uint32_t)strlen(texts[i]) : ABSENT;
        memcpy(to, &len, sizeof len);
        to += sizeof len;
        if (texts[i]) {
            memcpy(to, texts[i], (size_t)len + 1);
            to += (size_t)len + 1;
        }
    }
}

int wire_get(const char *from, size_t len, const char **texts, int count)
{
    for (int i = 0; i < count; i++) {
        uint32_t size;
        if (len < sizeof size) {
            return 0;
        }
        memcpy(&size, from, sizeof size);
        from += sizeof size;
        len -= sizeof size;
        texts[i] = NULL;
        if (size == ABSENT) {
            continue;
        }
        if (size >= len || memchr(from, '\0', (size_t)size + 1) != from + size) {
            return 0;
        }
        texts[i] = from;
        from += (size_t)size + 1;
        len -= (size_t)size + 1;
    }
    return len == 0;
}
