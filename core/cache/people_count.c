/* Owns reading the stored numbers of people (people_count, maintained by triggers of the
 * schema). Must not know how people are found. */
#include "core/cache/people_count.h"

#include "core/store/rows.h"

ida_kind cache_people_count_stored(store *s, ida_ctx *c, const char *tenant,
                                   const cache_people_kind *which, int64_t most, int64_t *total)
{
    ida_kind kind = store_number(s, c, STMT_people_kept,
                                 DB_ARGS(DB_T(tenant), DB_I(which->enabled), DB_I(which->guest),
                                         DB_I(which->managed)),
                                 total);
    *total = !kind && *total > most ? most : *total;
    return kind;
}

int cache_filter_has_count(const cache_people_filter *f)
{
    return !f->words[0] && !f->department && !f->company && !f->job_title && !f->employee_id &&
           !f->license && !f->managers[0] && !f->group && !f->signed_in_from &&
           f->signed_in_before == INT64_MAX && f->created_from == INT64_MIN &&
           f->created_before == INT64_MAX && !f->active_before;
}
