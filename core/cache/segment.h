/* PostgreSQL's index of terms follows the cache. For core/cache alone. */
#ifndef CORE_CACHE_SEGMENT_H
#define CORE_CACHE_SEGMENT_H

#include "core/cache/rows.h"

/* Some of those whom a first load has brought; *more: there may be others. */
ida_kind cache_segments_deal(const cache_at *at, ida_ctx *c, int *more);

/* The index follows what changed in this transaction. */
ida_kind cache_segments_settle(const cache_at *at, ida_ctx *c);

#endif
