/* IDs without order, as servers give them: the same for the same kind and number. */
#ifndef T_TOOL_SCATTERED_H
#define T_TOOL_SCATTERED_H

#include <apr_strings.h>
#include <stdint.h>

static const char *scattered_id(apr_pool_t *pool, const char *kind, int i)
{
    uint64_t x = ((uint64_t)i + (uint64_t)*kind * 1000003u) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 32;
    return apr_psprintf(pool, "%08x-%04x-4%03x-8%03x-%012" APR_UINT64_T_HEX_FMT,
                        (unsigned)(x >> 32), (unsigned)(x >> 16) & 0xffff, (unsigned)x & 0xfff,
                        (unsigned)(x >> 12) & 0xfff, x & 0xffffffffffffu);
}

#endif
