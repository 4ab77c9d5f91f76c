/* Owns GUIDs, SIDs, file times and passwords as Active Directory writes them. Must not know
 * connections or entries. */
#include "worker/ldap/wire/ad.h"

#include <apr_strings.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unicode/utf8.h>

#include "core/base/text.h"
#include "worker/ldap/wire/escape.h"

#define GUID_LEN 16
#define SID_HEAD 8 /* revision, count, authority */
#define EPOCH_1601_MS INT64_C(11644473600000)

/* Position of each byte of the text form in the value. Its own inverse. */
static const unsigned char guid_order[GUID_LEN] = {3, 2, 1,  0,  5,  4,  7,  6,
                                                   8, 9, 10, 11, 12, 13, 14, 15};

static void reorder(const unsigned char *from, unsigned char *to)
{
    for (int i = 0; i < GUID_LEN; i++) {
        to[i] = from[guid_order[i]];
    }
}

char *ld_guid_text(apr_pool_t *pool, const void *bytes, size_t len)
{
    unsigned char ordered[GUID_LEN];
    if (len != GUID_LEN) {
        return NULL;
    }
    reorder(bytes, ordered);
    return ld_uuid_text(pool, ordered, GUID_LEN);
}

unsigned char *ld_guid_bytes(apr_pool_t *pool, const char *uuid)
{
    char *text = ld_uuid_canonical(pool, uuid), *to = text;
    if (!text) {
        return NULL;
    }
    for (const char *from = text; *from; from++) {
        if (*from != '-') {
            *to++ = *from;
        }
    }
    *to = '\0';
    size_t len = 0;
    unsigned char *ordered = ida_unhex(pool, text, &len), *out = apr_palloc(pool, GUID_LEN);
    if (!ordered || len != GUID_LEN) {
        return NULL;
    }
    reorder(ordered, out);
    return out;
}

int64_t ld_filetime(const char *text)
{
    char *end = NULL;
    errno = 0;
    long long value = text ? strtoll(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || value <= 0 || value == INT64_MAX) {
        return 0;
    }
    int64_t ms = value / 10000 - EPOCH_1601_MS;
    return ms > 0 ? ms : 0;
}

static int sid_valid(const struct berval *sid)
{
    const unsigned char *bytes = (const unsigned char *)sid->bv_val;
    return bytes && sid->bv_len >= SID_HEAD + 4 && sid->bv_len == SID_HEAD + 4 * (size_t)bytes[1];
}

int64_t ld_sid_rid(const struct berval *sid)
{
    if (!sid || !sid_valid(sid)) {
        return -1;
    }
    const unsigned char *last = (const unsigned char *)sid->bv_val + sid->bv_len - 4;
    return (int64_t)last[0] | (int64_t)last[1] << 8 | (int64_t)last[2] << 16 |
           (int64_t)last[3] << 24;
}

struct berval ld_sid_with(apr_pool_t *pool, const struct berval *sid, uint32_t rid)
{
    if (!sid || !sid_valid(sid)) {
        return (struct berval){0};
    }
    unsigned char *bytes = apr_pmemdup(pool, sid->bv_val, sid->bv_len),
                  *last = bytes + sid->bv_len - 4;
    for (int i = 0; i < 4; i++) {
        last[i] = (unsigned char)(rid >> 8 * i);
    }
    return (struct berval){.bv_val = (char *)bytes, .bv_len = sid->bv_len};
}

const char *ld_extended_dn(apr_pool_t *pool, const char *text, const char **guid)
{
    *guid = NULL;
    while (*text == '<') {
        const char *end = strstr(text, ">;");
        if (!end) {
            break;
        }
        if (strncasecmp(text, "<GUID=", 6) == 0) {
            *guid = ld_uuid_canonical(pool,
                                      apr_pstrmemdup(pool, text + 6, (apr_size_t)(end - text - 6)));
        }
        text = end + 2;
    }
    return text;
}

static unsigned char *unit(unsigned char *to, unsigned value)
{
    *to++ = (unsigned char)value;
    *to++ = (unsigned char)(value >> 8);
    return to;
}

struct berval ld_unicode_password(apr_pool_t *pool, const char *password)
{
    int32_t len = (int32_t)strlen(password), at = 0;
    if (!ida_utf8_valid(password, (size_t)len)) {
        return (struct berval){0};
    }
    unsigned char *out = apr_palloc(pool, 2 * (apr_size_t)len + 4), *to = unit(out, '"');
    while (at < len) {
        UChar32 c;
        U8_NEXT(password, at, len, c);
        if (c > 0xffff) {
            to = unit(to, U16_LEAD(c));
            to = unit(to, U16_TRAIL(c));
        } else {
            to = unit(to, (unsigned)c);
        }
    }
    to = unit(to, '"');
    return (struct berval){.bv_val = (char *)out, .bv_len = (ber_len_t)(to - out)};
}
