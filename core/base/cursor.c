/* Owns page cursors as opaque text. Must not know what a position means. */
#include "core/base/cursor.h"

#include <apr_strings.h>
#include <openssl/crypto.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/text.h"

#define MAC_LEN 16
#define CURSOR_MAX 8192 /* characters; the service never makes longer ones */

static void mac_of(const unsigned char *key, const char *binding, const void *position, size_t len,
                   unsigned char mac[IDA_DIGEST_LEN])
{
    const ida_bytes parts[] = {{"cursor", 6}, {binding, strlen(binding)}, {position, len}};
    ida_hmac_sha256(key, IDA_CURSOR_KEY_LEN, parts, 3, mac);
}

/* base64url without padding, and back to the alphabet of ida_base64_decode; NULL when a character
 * has no place there. */
static char *to_url(char *text)
{
    for (char *p = text; *p; p++) {
        *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
    }
    text[strcspn(text, "=")] = '\0';
    return text;
}

static unsigned char *from_url(apr_pool_t *pool, const char *cursor, size_t *len)
{
    size_t given = strnlen(cursor, CURSOR_MAX + 1);
    if (given > CURSOR_MAX) {
        return NULL;
    }
    char *text = apr_pstrcat(pool, cursor, "===", NULL);
    for (char *p = text; p < text + given; p++) {
        if (*p == '+' || *p == '/' || *p == '=') {
            return NULL; /* one text for one cursor */
        }
        *p = *p == '-' ? '+' : *p == '_' ? '/' : *p;
    }
    return ida_base64_decode(pool, text, (given + 3) / 4 * 4, len);
}

char *ida_cursor_make(apr_pool_t *pool, const unsigned char key[IDA_CURSOR_KEY_LEN],
                      const char *binding, const char *position)
{
    size_t len = strlen(position);
    unsigned char mac[IDA_DIGEST_LEN];
    mac_of(key, binding, position, len, mac);
    unsigned char *bytes = apr_palloc(pool, len + MAC_LEN);
    memcpy(bytes, position, len);
    memcpy(bytes + len, mac, MAC_LEN);
    return to_url(ida_base64_encode(pool, bytes, len + MAC_LEN));
}

ida_kind ida_cursor_open(ida_ctx *c, const unsigned char key[IDA_CURSOR_KEY_LEN],
                         const char *binding, const char *cursor, char **position)
{
    *position = NULL;
    size_t len = 0;
    const unsigned char *bytes = from_url(c->pool, cursor, &len);
    if (bytes && len >= MAC_LEN) {
        unsigned char mac[IDA_DIGEST_LEN];
        mac_of(key, binding, bytes, len - MAC_LEN, mac);
        if (CRYPTO_memcmp(mac, bytes + len - MAC_LEN, MAC_LEN) == 0) {
            *position = apr_pstrmemdup(c->pool, (const char *)bytes, len - MAC_LEN);
            return IDA_OK;
        }
    }
    return ida_fail(
        c, IDA_BAD_REQUEST,
        "cursor: is not a cursor of this list with these filters; start again without a cursor");
}
