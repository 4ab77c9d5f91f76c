/* Owns the small encodings of bytes, times and IDs as text. Must not know Unicode or meanings. */
#include "core/base/text.h"

#include <apr_escape.h>
#include <apr_strings.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "core/base/context.h"
#include "core/base/digest.h"

char *ida_ascii_small(apr_pool_t *pool, const char *text)
{
    char *small = text ? apr_pstrdup(pool, text) : NULL;
    for (char *p = small; p && *p; p++) {
        *p |= *p >= 'A' && *p <= 'Z' ? 0x20 : 0;
    }
    return small;
}

char *ida_digits(char *to, int64_t number)
{
    char reversed[IDA_DIGITS_MAX];
    int count = 0;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        reversed[count++] = (char)('0' + rest % 10);
    } while (rest /= 10);
    if (number < 0) {
        *to++ = '-';
    }
    while (count) {
        *to++ = reversed[--count];
    }
    return to;
}

char *ida_hex(apr_pool_t *pool, const unsigned char *bytes, size_t len)
{
    return (char *)apr_pescape_hex(pool, bytes, len, 0);
}

char *ida_hex_byte(char *to, unsigned char byte)
{
    static const char digits[] = "0123456789ABCDEF";
    *to++ = digits[byte >> 4];
    *to++ = digits[byte & 15];
    return to;
}

char *ida_percent_byte(char *to, char ch, const char *kept)
{
    static const char unreserved[] = "-._~";
    if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
        strchr(unreserved, ch) || strchr(kept, ch)) {
        *to++ = ch;
        return to;
    }
    *to++ = '%';
    return ida_hex_byte(to, (unsigned char)ch);
}

char *ida_percent(apr_pool_t *pool, const char *text, const char *kept)
{
    char *out = apr_palloc(pool, 3 * strlen(text) + 1), *to = out;
    for (; *text; text++) {
        to = ida_percent_byte(to, *text, kept);
    }
    *to = '\0';
    return out;
}

int ida_hex_digit(char ch)
{
    if (ch >= '0' && ch <= '9') {
        return ch - '0';
    }
    int lower = ch | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

unsigned char *ida_unhex(apr_pool_t *pool, const char *hex, size_t *len)
{
    return strlen(hex) % 2 ? NULL : (unsigned char *)apr_punescape_hex(pool, hex, 0, len);
}

char *ida_base62(apr_pool_t *pool, const unsigned char *bytes, size_t len, size_t digits)
{
#define TIME_DIGITS 10 /* of an ID */

    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    unsigned char *number = apr_pmemdup(pool, bytes, len);
    char *out = apr_palloc(pool, digits + 1);
    for (size_t d = digits; d-- > 0;) {
        unsigned rest = 0;
        for (size_t i = 0; i < len; i++) {
            unsigned value = rest << 8 | number[i];
            number[i] = (unsigned char)(value / 62);
            rest = value % 62;
        }
        out[d] = alphabet[rest];
    }
    OPENSSL_cleanse(number, len); /* keys are made here */
    out[digits] = '\0';
    return out;
}

char *ida_base64_encode(apr_pool_t *pool, const unsigned char *bytes, size_t len)
{
    char *out = apr_palloc(pool, (len + 2) / 3 * 4 + 1);
    EVP_EncodeBlock((unsigned char *)out, bytes, (int)len);
    out[(len + 2) / 3 * 4] = '\0';
    return out;
}

/* The decoded bytes must encode to the same text again: that refuses blanks, and bits that
 * belong to no byte. */
unsigned char *ida_base64_decode(apr_pool_t *pool, const char *text, size_t text_len, size_t *len)
{
    unsigned char *out = apr_palloc(pool, text_len / 4 * 3 + 1);
    if (text_len % 4 || EVP_DecodeBlock(out, (const unsigned char *)text, (int)text_len) < 0) {
        return NULL;
    }
    *len = text_len / 4 * 3;
    for (size_t i = text_len; i > 0 && text_len - i < 2 && text[i - 1] == '='; i--) {
        --*len;
    }
    return memcmp(ida_base64_encode(pool, out, *len), text, text_len) == 0 ? out : NULL;
}

char *ida_sha256_hex(apr_pool_t *pool, const void *bytes, size_t len)
{
    unsigned char digest[IDA_DIGEST_LEN];
    ida_sha256(bytes, len, digest);
    return ida_hex(pool, digest, sizeof digest);
}

#define AHEAD_MS 1000
static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* Not before `least` (ms), and behind the IDs that this thread has made, also those that had to be
 * ahead of the clock. */
static char *id_from(apr_pool_t *pool, const ida_env *env, int64_t least)
{
    static _Thread_local unsigned char last[16];
    unsigned char bytes[16], *random = bytes + 6;
    int64_t now = ida_now(env), before = 0;
    for (int i = 0; i < 6; i++) {
        before = before << 8 | last[i];
    }
    now = before > now && before - now <= AHEAD_MS ? before : now;
    now = least > now ? least : now;
    for (int i = 0; i < 6; i++) {
        bytes[i] = (unsigned char)(now >> (40 - 8 * i));
    }
    ida_random(env, random, sizeof bytes - 6);
    if (memcmp(bytes, last, 6) == 0 && memcmp(bytes, last, sizeof bytes) <= 0) {
        memcpy(random, last + 6, 6); /* the last ID plus one in its first 6 random bytes; 4
                                        random bytes follow */
        for (int i = 5; i >= 0 && ++random[i] == 0; i--) {}
    }
    memcpy(last, bytes, sizeof last);
    /* 26 digits are 130 bits: the first digit carries three bits only. */
    char *out = apr_palloc(pool, 27);
    for (int d = 0; d < 26; d++) {
        int bit = d * 5 - 2, value = 0;
        for (int b = bit; b < bit + 5; b++) {
            value = value << 1 | (b >= 0 ? bytes[b / 8] >> (7 - b % 8) & 1 : 0);
        }
        out[d] = alphabet[value];
    }
    out[26] = '\0';
    return out;
}

char *ida_new_id(apr_pool_t *pool, const ida_env *env)
{
    return id_from(pool, env, 0);
}

char *ida_new_id_after(apr_pool_t *pool, const ida_env *env, const char *other)
{
    char *id = ida_new_id(pool, env);
    int behind = !other || strlen(other) != strlen(id) || strcmp(id, other) > 0;
    return behind ? id : id_from(pool, env, ida_id_time(other) + 1);
}

int64_t ida_id_time(const char *id)
{
    int64_t at = 0;
    for (int d = 0; d < TIME_DIGITS; d++) { /* 3 and 9 times 5 bits */
        const char *digit = id[d] ? strchr(alphabet, id[d]) : NULL;
        if (!digit) {
            return -1;
        }
        at = at << 5 | (digit - alphabet);
    }
    return at;
}
