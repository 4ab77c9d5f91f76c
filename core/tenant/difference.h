/* What changes between two tenant documents, member by member. */
#ifndef CORE_TENANT_DIFFERENCE_H
#define CORE_TENANT_DIFFERENCE_H

#include <apr_pools.h>
#include <jansson.h>

/* [{member, before, after}], kept by the pool; a side that lacks the member has none. Objects are
 * compared member by member, other values as a whole. `every`: equal members are listed too. */
json_t *ida_tenant_difference(apr_pool_t *pool, json_t *before, json_t *after, int every);

#endif
