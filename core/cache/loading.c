/* Owns the mark that a first load is in progress, during which neither engine's index is
 * updated. Must not know indexes. */
#include "core/cache/rank.h"
#include "core/store/rows.h"

#define LOADING "loading"

ida_kind cache_loading(const cache_at *at, ida_ctx *c, int state)
{
    return store_write(at->s, c, STMT_counter_set,
                       DB_ARGS(DB_T(at->tenant), DB_T(LOADING), DB_I(state)), NULL);
}

ida_kind cache_loading_get(const cache_at *at, ida_ctx *c, int64_t *state)
{
    return store_number(at->s, c, STMT_counter_get, DB_ARGS(DB_T(at->tenant), DB_T(LOADING)),
                        state);
}
