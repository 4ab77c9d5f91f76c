/* Numbers of entries that a run has read or made, so that it asks the store once for each. For
 * core/cache alone. */
#ifndef CORE_CACHE_NUMBERS_H
#define CORE_CACHE_NUMBERS_H

#include <apr_pools.h>
#include <stdint.h>

typedef struct cache_numbers cache_numbers;

/* Its memory is freed with the pool. */
cache_numbers *cache_numbers_make(apr_pool_t *pool);
/* 0: the store must be asked. `n` may be NULL here and below: nothing is remembered. */
int64_t cache_numbers_get(const cache_numbers *n, const char *id);
/* Does nothing when the memory is full or the ID has no short form. */
void cache_numbers_keep(cache_numbers *n, const char *id, int64_t number);
/* For when a transaction that made numbers was undone, or numbers are dropped. */
void cache_numbers_forget(cache_numbers *n);

#endif
