/* What the index of terms (schema/sqlite/005-people-search.cache.sql,
 * schema/postgresql/007-person-index.cache.sql) is asked for. For core/cache alone. */
#ifndef CORE_CACHE_TERMS_H
#define CORE_CACHE_TERMS_H

#include "core/cache/people.h"

typedef struct cache_terms {
    const char *match; /* whom it finds may be wanted; NULL: the filter says nothing in terms */
    int whole;         /* 1: whom it finds is wanted */
    /* Else, where one span of days begins or ends within a day: those whom the days between find
     * are wanted, those of the days at its ends may be. NULL: not known so. */
    const char *inside, *edges;
} cache_terms;

cache_terms cache_terms_of(apr_pool_t *pool, int postgresql, const cache_people_filter *filter);

#endif
