/* Entity tags (RFC 9110, 8.8.3) of results. */
#ifndef CORE_OPERATION_ETAG_H
#define CORE_OPERATION_ETAG_H

#include <apr_pools.h>
#include <jansson.h>

/* `one_state`: strong, over all of one object's state. Otherwise weak and without the time of
 * the answer (`asOf`), so that it does not change while the data does not. */
char *ida_etag(apr_pool_t *pool, const json_t *result, int one_state);

/* 1 if a header If-None-Match or If-Match (NULL: none) names the tag. "*" names any. A suffix
 * that mod_deflate adds to a tag is ignored. */
int ida_etag_named(const char *header, const char *tag);

#endif
