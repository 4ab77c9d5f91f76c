/* Stored numbers of people: lists without further filters need not count rows. */
#ifndef CORE_CACHE_PEOPLE_COUNT_H
#define CORE_CACHE_PEOPLE_COUNT_H

#include "core/cache/people.h"

/* Which people are counted. Each member is 0 or 1; -1: either. */
typedef struct cache_people_kind {
    int enabled, guest, managed; /* managed: the directory names a manager */
} cache_people_kind;

/* At most `most`. */
ida_kind cache_people_count_stored(store *s, ida_ctx *c, const char *tenant,
                                   const cache_people_kind *which, int64_t most, int64_t *total);

/* 1 when the stored numbers alone answer this filter. */
int cache_filter_has_count(const cache_people_filter *filter);

#endif
