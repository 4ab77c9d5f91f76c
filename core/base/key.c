/* Owns the form of API keys: creation, recognition and masking. Must not know their owners. */
#include "core/base/key.h"

#include <apr_strings.h>
#include <openssl/crypto.h>
#include <string.h>

#include "core/base/text.h"

#define KEY_PREFIX "ida_"
#define PREFIX_LEN (sizeof KEY_PREFIX - 1)
#define RANDOM_DIGITS 30 /* log2(62^30) = 178.6 bits */
#define CHECK_DIGITS 6   /* 62^6 holds a CRC-32 */
#define KEY_LEN (PREFIX_LEN + RANDOM_DIGITS + CHECK_DIGITS)

static int is_digit(char ch) /* of base62 */
{
    return (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z');
}

/* CRC-32 (IEEE) by nibbles: finds every single mistyped or swapped pair of characters. No secret:
 * it follows from the key. */
static uint32_t crc32_of(const char *bytes, size_t len)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned char)bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc ^ 0xFFFFFFFF;
}

/* Without a pool: this runs for every request. */
static void check_digits(const char *bytes, size_t len, char out[CHECK_DIGITS])
{
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint32_t crc = crc32_of(bytes, len);
    for (size_t d = CHECK_DIGITS; d-- > 0;) {
        out[d] = alphabet[crc % 62];
        crc /= 62;
    }
}

char *ida_key_make(apr_pool_t *pool, const ida_env *env)
{
    unsigned char random[32];
    ida_random(env, random, sizeof random);
    /* The lowest 30 digits of a 256-bit number: even to one part in 2^77. */
    char *digits = ida_base62(pool, random, sizeof random, RANDOM_DIGITS);
    OPENSSL_cleanse(random, sizeof random);
    char *key = apr_palloc(pool, KEY_LEN + 1);
    memcpy(key, KEY_PREFIX, PREFIX_LEN);
    memcpy(key + PREFIX_LEN, digits, RANDOM_DIGITS);
    OPENSSL_cleanse(digits, RANDOM_DIGITS);
    check_digits(key, PREFIX_LEN + RANDOM_DIGITS, key + PREFIX_LEN + RANDOM_DIGITS);
    key[KEY_LEN] = '\0';
    return key;
}

/* The character at `text`, as it is or percent-encoded, and how many bytes it takes. */
static size_t read_character(const char *text, char *ch)
{
    int high = *text == '%' ? ida_hex_digit(text[1]) : -1,
        low = high < 0 ? -1 : ida_hex_digit(text[2]);
    *ch = low < 0 ? *text : (char)(high << 4 | low);
    return low < 0 ? 1 : 3;
}

/* Length of the key at the start of the text, 0 if there is none; *prefix: length of its part
 * that is not secret. Reads no byte after a terminator. */
static size_t key_at(const char *text, size_t *prefix)
{
    char key[KEY_LEN], check[CHECK_DIGITS];
    size_t at = 0;
    for (size_t i = 0; i < KEY_LEN; i++) {
        if (i == PREFIX_LEN) {
            *prefix = at;
        }
        at += read_character(text + at, &key[i]);
        if (i < PREFIX_LEN ? key[i] != KEY_PREFIX[i] : !is_digit(key[i])) {
            return 0;
        }
    }
    check_digits(key, PREFIX_LEN + RANDOM_DIGITS, check);
    int same = CRYPTO_memcmp(check, key + PREFIX_LEN + RANDOM_DIGITS, CHECK_DIGITS) == 0;
    OPENSSL_cleanse(key, sizeof key);
    return same ? at : 0;
}

int ida_key_well_formed(const char *key)
{
    size_t prefix;
    return key && strnlen(key, KEY_LEN + 1) == KEY_LEN &&
           key_at(key, &prefix); /* of KEY_LEN bytes no character can be encoded */
}

/* Where the first key begins, NULL when there is none. */
static const char *find_key(const char *text, size_t *prefix, size_t *len)
{
    for (const char *at = text ? strpbrk(text, "i%") : NULL; at; at = strpbrk(at + 1, "i%")) {
        if ((*len = key_at(at, prefix)) != 0) {
            return at;
        }
    }
    return NULL;
}

int ida_key_mask(char *text)
{
    size_t prefix, len;
    int found = 0;
    for (char *at; (at = (char *)find_key(text, &prefix, &len)) != NULL; text = at + len) {
        memset(at + prefix, '*', len - prefix);
        found = 1;
    }
    return found;
}

const char *ida_key_masked(apr_pool_t *pool, const char *text)
{
    size_t prefix, len;
    if (!find_key(text, &prefix, &len)) {
        return text;
    }
    char *copy = apr_pstrdup(pool, text);
    ida_key_mask(copy);
    return copy;
}
