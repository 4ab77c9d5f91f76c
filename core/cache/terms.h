/* Builds queries for the index of terms. For core/cache alone. */
#ifndef CORE_CACHE_TERMS_H
#define CORE_CACHE_TERMS_H

#include "core/cache/people.h"

typedef struct cache_terms {
    const char *match; /* matches may be wanted; NULL: the filter cannot be expressed in terms */
    int whole;         /* 1: all matches are wanted */
    /* Otherwise, if one range of dates begins or ends within a day: matches of `inside` are
     * wanted, matches of `edges` (the first and last day) must be checked. NULL: not applicable. */
    const char *inside, *edges;
} cache_terms;

cache_terms cache_terms_of(apr_pool_t *pool, int postgresql, const cache_people_filter *filter);

#endif
