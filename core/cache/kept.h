/* Stored numbers of people: lists without further filters need not count rows. */
#ifndef CORE_CACHE_KEPT_H
#define CORE_CACHE_KEPT_H

#include "core/cache/people.h"

/* Which people are counted. Each member is 0 or 1; -1: either. */
typedef struct cache_kind_of_people {
    int enabled, guest, managed; /* managed: the directory names a manager */
} cache_kind_of_people;

/* At most `most`. */
ida_kind cache_people_kept(store *s, ida_ctx *c, const char *tenant,
                           const cache_kind_of_people *which, int64_t most, int64_t *total);

/* 1 when the stored numbers alone answer this filter. */
int cache_filter_is_kept(const cache_people_filter *filter);

#endif
