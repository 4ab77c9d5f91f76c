/* Ranks of people in the order of lists, and the index of their terms. For core/cache alone. */
#ifndef CORE_CACHE_RANK_H
#define CORE_CACHE_RANK_H

#include "core/cache/rows.h"

/* The tenant's ranks: first <= place < end. */
ida_kind cache_ranks(store *s, ida_ctx *c, const char *tenant, int64_t *first, int64_t *end);

/* Indexes some of the people that a first load has brought; *more: there may be others. */
ida_kind cache_index_deal(const cache_at *at, ida_ctx *c, int *more);
/* Merges some of the parts in which a load wrote the index, each of which a search would ask;
 * *more: there may be others. `begins`: the first call of all. */
ida_kind cache_index_merge(const cache_at *at, ida_ctx *c, int begins, int *more);

/* A first load leaves the index unchanged until its end and then builds it at once; lists are
 * not served before that. */
enum { CACHE_NOT_LOADING, CACHE_LOADING, CACHE_DEALING };
ida_kind cache_loading(const cache_at *at, ida_ctx *c, int state);
ida_kind cache_loading_get(const cache_at *at, ida_ctx *c, int64_t *state);

#endif
