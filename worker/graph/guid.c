/* Owns the making of GUIDs, and which one names a request to Graph. Must not know what is asked. */
#include <apr_lib.h>
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "core/base/correlation.h"
#include "core/base/text.h"
#include "worker/graph/client.h"

static const char *written(unsigned char b[16], int version, char out[GRAPH_GUID_SIZE])
{
    if (version) {
        b[6] = (unsigned char)((b[6] & 0x0f) | version << 4);
        b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    }
    snprintf(out, GRAPH_GUID_SIZE,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
    return out;
}

const char *graph_guid(const ida_env *env, char out[GRAPH_GUID_SIZE])
{
    unsigned char b[16];
    ida_random(env, b, sizeof b);
    return written(b, 4, out);
}

/* The 32 digits of a GUID or of a trace's ID, with dashes or without. */
static int take_digits(const char *id, unsigned char b[16])
{
    static const char digits[] = "0123456789abcdef";
    int count = 0;
    for (; *id; id++) {
        const char *at = strchr(digits, apr_tolower(*id));
        if (at ? count == 32 : *id != '-') {
            return 0;
        }
        if (at) {
            b[count / 2] = (unsigned char)(b[count / 2] << 4 | (at - digits));
            count++;
        }
    }
    return count == 32;
}

const char *graph_request_guid(const ida_env *env, apr_pool_t *pool, char out[GRAPH_GUID_SIZE])
{
    const char *id = ida_correlation_id(env);
    unsigned char b[16] = {0};
    if (!id) {
        return graph_guid(env, out);
    }
    if (take_digits(id, b)) {
        return written(b, 0, out);
    }
    const char *hex = ida_sha256_hex(pool, id, strlen(id));
    take_digits(apr_pstrmemdup(pool, hex, 32), b);
    return written(b, 8, out);
}
