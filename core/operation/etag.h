/* Entity tags (RFC 9110, 8.8.3) of results. */
#ifndef CORE_OPERATION_ETAG_H
#define CORE_OPERATION_ETAG_H

#include <apr_pools.h>
#include <jansson.h>

/* Of one thing's state: strong, over all of it. Else weak, without the instant of the answer
 * (`asOf`), so that nothing new has nothing new to say. */
char *ida_etag(apr_pool_t *pool, const json_t *result, int one_state);

/* 1 when a header If-None-Match or If-Match (NULL: none) names the tag. "*" names any. What
 * mod_deflate puts behind a tag does not count. */
int ida_etag_named(const char *header, const char *tag);

#endif
