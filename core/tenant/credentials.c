/* Owns the shapes of names and secrets, and how keys are compared. Must not know where they are
 * stored or in which header they come. */
#include "core/tenant/credentials.h"

#include <apr_escape.h>
#include <apr_strings.h>
#include <openssl/crypto.h>
#include <string.h>

#include "core/base/digest.h"

static int is_alnum(char ch)
{
    return (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z');
}

int ida_name_valid(const char *text)
{
    size_t len = 0;
    for (; text && text[len]; len++) {
        if (len == IDA_NAME_MAX ||
            (!is_alnum(text[len]) && text[len] != '.' && text[len] != '_' && text[len] != '-')) {
            return 0;
        }
    }
    return len > 0;
}

void ida_key_hash(const char *key, char out[IDA_KEY_HASH_LEN + 1])
{
    unsigned char digest[IDA_DIGEST_LEN];
    ida_sha256(key, strlen(key), digest);
    apr_escape_hex(out, digest, sizeof digest, 0, NULL);
}

int ida_key_hash_equal(const char *a, const char *b)
{
    static const char nobody[IDA_KEY_HASH_LEN + 1] = "";
    int known = b && strnlen(b, IDA_KEY_HASH_LEN) ==
                         IDA_KEY_HASH_LEN; /* a damaged row matches no hash */
    int same = CRYPTO_memcmp(a, known ? b : nobody, IDA_KEY_HASH_LEN) == 0;
    return same & known;
}

int ida_secret_split(apr_pool_t *pool, const char *secret, char **company, char **username,
                     char **key)
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
