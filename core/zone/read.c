/* Owns the reading of TZif data (RFC 9636). The bytes may be damaged: every count is checked
 * against what is there. Must not know paths. */
#include <string.h>

#include "core/zone/data.h"

#define HEADER_LEN 44
#define OFFSET_MAX (26 * 3600) /* RFC 9636: between -24:59:59 and 25:59:59 */

typedef struct header {
    uint32_t utc_flags, standard_flags, leaps, times, types, chars;
    int version;
} header;

static uint32_t big32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t big64(const unsigned char *p)
{
    return (int64_t)((uint64_t)big32(p) << 32 | big32(p + 4));
}

static int read_header(const unsigned char *bytes, size_t len, header *h)
{
    if (len < HEADER_LEN || memcmp(bytes, "TZif", 4) != 0) {
        return 0;
    }
    h->version = bytes[4];
    h->utc_flags = big32(bytes + 20);
    h->standard_flags = big32(bytes + 24);
    h->leaps = big32(bytes + 28);
    h->times = big32(bytes + 32);
    h->types = big32(bytes + 36);
    h->chars = big32(bytes + 40);
    return 1;
}

/* Size of the data block after a header; 64 bits are enough for any sum of the six counts. */
static uint64_t block_len(const header *h, unsigned time_size)
{
    return (uint64_t)h->times * (time_size + 1) + (uint64_t)h->types * 6 + h->chars +
           (uint64_t)h->leaps * (time_size + 4) + h->standard_flags + h->utc_flags;
}

static const char *read_block(apr_pool_t *pool, const unsigned char *block, const header *h,
                              zone_info *zone)
{
    const unsigned char *indexes = block + (size_t)h->times * 8;
    const unsigned char *types = indexes + h->times;
    int64_t *at = apr_palloc(pool, ((apr_size_t)h->times + 1) * sizeof *at);
    int32_t *after = apr_palloc(pool, ((apr_size_t)h->times + 1) * sizeof *after);
    for (uint32_t i = 0; i < h->types; i++) {
        int32_t offset = (int32_t)big32(types + (size_t)i * 6);
        if (offset <= -OFFSET_MAX || offset >= OFFSET_MAX) {
            return "an offset from UTC is out of range";
        }
    }
    for (uint32_t i = 0; i < h->times; i++) {
        at[i] = big64(block + (size_t)i * 8);
        if (i && at[i] <= at[i - 1]) {
            return "its transitions are out of order";
        }
        if (indexes[i] >= h->types) {
            return "a transition names a type that is not there";
        }
        after[i] = (int32_t)big32(types + (size_t)indexes[i] * 6);
    }
    zone->count = (int)h->times;
    zone->at = at;
    zone->after = after;
    zone->before = (int32_t)big32(types);
    return NULL;
}

static const char *read_footer(const unsigned char *footer, size_t len, zone_info *zone)
{
    const unsigned char *end = len && footer[0] == '\n' ? memchr(footer + 1, '\n', len - 1) : NULL;
    if (!end) {
        return "its footer is missing";
    }
    size_t rule_len = (size_t)(end - footer) - 1;
    if (rule_len) {
        if (!zone_rule_parse((const char *)footer + 1, rule_len, &zone->rule)) {
            return "its footer is no time zone rule";
        }
        zone->has_rule = 1;
    }
    return NULL;
}

int zone_parse(apr_pool_t *pool, const unsigned char *bytes, size_t len, zone_info **zone,
               const char **why)
{
    header h;
    if (len < 4 || memcmp(bytes, "TZif", 4) != 0) {
        *why = "not a time zone file";
        return 0;
    }
    if (!read_header(bytes, len, &h)) {
        *why = "it is cut off";
        return 0;
    }
    if (h.version < '2') {
        *why = "it is of version 1, which ends in 2038";
        return 0;
    }
    /* The first block has 32-bit times for old readers; the real one follows with a header of
     * its own. */
    uint64_t skip = HEADER_LEN + block_len(&h, 4);
    if (skip > len || !read_header(bytes + skip, len - (size_t)skip, &h)) {
        *why = "it is cut off";
        return 0;
    }
    const unsigned char *block = bytes + skip + HEADER_LEN;
    size_t left = len - (size_t)skip - HEADER_LEN;
    uint64_t block_size = block_len(&h, 8);
    if (block_size > left) {
        *why = "it is cut off";
        return 0;
    }
    if (!h.types || h.types > 256) {
        *why = "it has no types, or too many";
        return 0;
    }
    if (h.leaps) {
        *why = "not a zone of civil time: it counts leap seconds";
        return 0;
    }
    zone_info *made = apr_pcalloc(pool, sizeof *made);
    *why = read_block(pool, block, &h, made);
    if (!*why) {
        *why = read_footer(block + block_size, left - (size_t)block_size, made);
    }
    *zone = made;
    return !*why;
}
