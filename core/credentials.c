/* Owns the shapes of names, keys and secrets. Must not know where they are stored or in which header they come. */
#include "core/credentials.h"

#include <apr_strings.h>
#include <openssl/crypto.h>
#include <string.h>

#include "core/digest.h"
#include "core/text.h"

#define KEY_PREFIX "ida_"
#define PREFIX_LEN (sizeof KEY_PREFIX - 1)
#define RANDOM_DIGITS 30 /* log2(62^30) = 178.6 bits */
#define CHECK_DIGITS 6   /* 62^6 holds a CRC-32 */
#define KEY_LEN (PREFIX_LEN + RANDOM_DIGITS + CHECK_DIGITS)

static int is_alnum(char ch)
{
    return (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z');
}

int ida_name_valid(const char *text)
{
    size_t len = 0;
    for (; text && text[len]; len++) {
        if (len == IDA_NAME_MAX || (!is_alnum(text[len]) && text[len] != '.' && text[len] != '_' && text[len] != '-')) {
            return 0;
        }
    }
    return len > 0;
}

/* CRC-32 (IEEE) by nibbles: finds every single mistyped or swapped pair of characters. No secret: it follows from the key. */
static uint32_t crc32_of(const char *bytes, size_t len)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
        0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
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

int ida_key_well_formed(const char *key)
{
    if (!key || strnlen(key, KEY_LEN + 1) != KEY_LEN || memcmp(key, KEY_PREFIX, PREFIX_LEN) != 0) {
        return 0;
    }
    for (const char *p = key + PREFIX_LEN; *p; p++) {
        if (!is_alnum(*p)) {
            return 0;
        }
    }
    char check[CHECK_DIGITS];
    check_digits(key, PREFIX_LEN + RANDOM_DIGITS, check);
    return CRYPTO_memcmp(check, key + PREFIX_LEN + RANDOM_DIGITS, CHECK_DIGITS) == 0;
}

void ida_key_hash(const char *key, char out[IDA_KEY_HASH_LEN + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[IDA_DIGEST_LEN];
    ida_sha256(key, strlen(key), digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[IDA_KEY_HASH_LEN] = '\0';
}

int ida_key_hash_equal(const char *a, const char *b)
{
    static const char nobody[IDA_KEY_HASH_LEN + 1] = "";
    int known = b && strnlen(b, IDA_KEY_HASH_LEN) == IDA_KEY_HASH_LEN; /* a damaged row is nobody's hash */
    int same = CRYPTO_memcmp(a, known ? b : nobody, IDA_KEY_HASH_LEN) == 0;
    return same & known;
}

int ida_secret_split(apr_pool_t *pool, const char *secret, char **company, char **username, char **key)
{
    const char *first = secret ? strchr(secret, ':') : NULL;
    const char *second = first ? strchr(first + 1, ':') : NULL;
    if (!second || strchr(second + 1, ':') || !second[1]) {
        return 0;
    }
    *company = apr_pstrmemdup(pool, secret, (apr_size_t)(first - secret));
    *username = apr_pstrmemdup(pool, first + 1, (apr_size_t)(second - first - 1));
    if (!ida_name_valid(*company) || !ida_name_valid(*username)) {
        return 0;
    }
    *key = apr_pstrdup(pool, second + 1);
    return 1;
}
