/* Places of people in the order of lists, and the index of their terms. For core/cache alone. */
#ifndef CORE_CACHE_PLACE_H
#define CORE_CACHE_PLACE_H

#include "core/cache/rows.h"

/* The tenant's places: first <= place < end. */
ida_kind cache_shelf(store *s, ida_ctx *c, const char *tenant, int64_t *first, int64_t *end);

/* Places for some of those who have none; *more: there may be others. */
ida_kind cache_places_deal(const cache_at *at, ida_ctx *c, int *more);

/* Notes that a first load is at work, or that it has dealt its places. */
ida_kind cache_loading(const cache_at *at, ida_ctx *c, int yes);

/* The index follows what changed in this transaction. */
ida_kind cache_terms_settle(const cache_at *at, ida_ctx *c);

#endif
