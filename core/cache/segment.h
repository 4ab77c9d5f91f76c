/* Keeps PostgreSQL's index of terms up to date with the cache. For core/cache alone. */
#ifndef CORE_CACHE_SEGMENT_H
#define CORE_CACHE_SEGMENT_H

#include "core/cache/rows.h"

/* Indexes some of the people that a first load has brought; *more: there may be others. */
ida_kind cache_segments_deal(const cache_at *at, ida_ctx *c, int *more);

/* Updates the index with the changes of this transaction. */
ida_kind cache_segments_settle(const cache_at *at, ida_ctx *c);

#endif
