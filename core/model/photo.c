/* Owns the judging of photo bytes. They are hostile: every length is checked. Must not know
 * payloads. */
#include "core/model/photo.h"

#include <stdint.h>
#include <string.h>

#include "core/base/context.h"
#include "core/tenant/connector.h"

/* 1 if an EOI marker follows at or after `at`: within a scan 0xFF is always stuffed, so the
 * first FF D9 is the picture's end. Bytes after it (padding, previews and motion pictures that
 * phones append) are allowed. */
static int has_end(const unsigned char *b, size_t len, size_t at)
{
    for (; at + 2 <= len; at++) {
        if (b[at] == 0xFF && b[at + 1] == 0xD9) {
            return 1;
        }
    }
    return 0;
}

/* Checks the segments from SOI up to the scan (with a frame header before it), and EOI after it. */
static int is_jpeg(const unsigned char *b, size_t len)
{
    size_t at = 2;
    int frame = 0;
    if (len < 4 || b[0] != 0xFF || b[1] != 0xD8) {
        return 0;
    }
    while (at + 4 <= len) {
        if (b[at] != 0xFF) {
            return 0;
        }
        unsigned marker = b[at + 1];
        if (marker == 0xFF) {
            at++; /* fill byte */
            continue;
        }
        size_t segment = (size_t)b[at + 2] << 8 | b[at + 3];
        if (marker < 0xC0 || (marker >= 0xD0 && marker <= 0xD9) || segment < 2 ||
            segment > len - at - 2) {
            return 0;
        }
        if (marker == 0xDA) {
            return frame && has_end(b, len, at + 2 + segment);
        }
        /* Start of frame: C0-CF without the tables C4, C8, CC. */
        frame = frame || (marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC);
        at += 2 + segment;
    }
    return 0;
}

static uint32_t big32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Signature, IHDR first, at least one IDAT, IEND last; chunks fill the file. */
static int is_png(const unsigned char *b, size_t len)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    size_t at = sizeof signature;
    int data = 0;
    if (len < sizeof signature || memcmp(b, signature, sizeof signature) != 0) {
        return 0;
    }
    while (len - at >= 12) {
        uint32_t size = big32(b + at);
        const unsigned char *name = b + at + 4;
        if (size > len - at - 12) {
            return 0;
        }
        int header = memcmp(name, "IHDR", 4) == 0;
        if (header != (at == sizeof signature) ||
            (header && (size != 13 || !big32(name + 4) || !big32(name + 8)))) {
            return 0;
        }
        at += 12 + size;
        if (memcmp(name, "IEND", 4) == 0) {
            return data && at == len;
        }
        data = data || memcmp(name, "IDAT", 4) == 0;
    }
    return 0;
}

const char *ida_photo_type(const unsigned char *bytes, size_t len)
{
    return is_jpeg(bytes, len) ? "image/jpeg" : is_png(bytes, len) ? "image/png" : NULL;
}

const char *ida_photo_fault(apr_pool_t *pool, ida_directory_kind where, const unsigned char *bytes,
                            size_t len, const char **type)
{
    size_t limit = ida_connector_of(where)->photo_max;
    *type = NULL;
    if (len > limit) {
        return ida_printf(pool, "must be at most %zu bytes when decoded; this one has %zu", limit,
                          len);
    }
    const char *found = ida_photo_type(bytes, len);
    if (!found) {
        return "must be a whole JPEG or PNG file";
    }
    *type = found;
    return NULL;
}
