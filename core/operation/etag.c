/* Owns entity tags: how one is made, and whether a header names it. */
#include "core/operation/etag.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

#define TAG_LEN 32 /* hex digits of the SHA-256: enough that two states never have the same tag */

char *ida_etag(apr_pool_t *pool, const json_t *result, int one_state)
{
    json_t *told = json_copy((json_t *)result);
    if (!one_state) { /* without the times of the last reading, which change even if nothing else
                         does */
        json_object_del(told, "asOf");
        json_object_del(told, "signInsAsOf");
    }
    const char *text = ida_json_text(pool, told);
    json_decref(told);
    const char *hash = ida_sha256_hex(pool, text, strlen(text));
    return apr_psprintf(pool, "%s\"%.*s\"", one_state ? "" : "W/", TAG_LEN, hash);
}

/* Finds the text between the quotes of the tag at `at`; returns its length without "-gzip" or
 * "-br". */
static size_t opaque(const char *at, const char **begin)
{
    at += strncmp(at, "W/", 2) == 0 ? 2 : 0;
    if (*at != '"') {
        return 0;
    }
    *begin = ++at;
    size_t len = strcspn(at, "\"");
    const char *dash = memchr(at, '-', len);
    return dash ? (size_t)(dash - at) : len;
}

int ida_etag_named(const char *header, const char *tag)
{
    const char *wanted = "", *given;
    size_t wanted_len = opaque(tag, &wanted);
    while (header && *header) {
        header += strspn(header, " \t,");
        if (*header == '*') {
            return 1;
        }
        size_t len = opaque(header, &given);
        if (!len) {
            return 0;
        }
        if (len == wanted_len && memcmp(given, wanted, len) == 0) {
            return 1;
        }
        header = given + strcspn(given, "\"");
        header += *header == '"';
    }
    return 0;
}
