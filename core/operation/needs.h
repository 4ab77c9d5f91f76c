/* What of a company needs a person, worst first: the one list behind the console's overview and the
 * numbers of its frame. */
#ifndef CORE_OPERATION_NEEDS_H
#define CORE_OPERATION_NEEDS_H

#include "core/operation/operation.h"

/* What needs are judged by, read once. Parts that the person has no right to see are left out. */
typedef struct ida_standing {
    json_t *directories;    /* ida_directories_json; borrowed */
    int workers;            /* that were seen lately */
    int64_t worker_seen_at; /* the last one, ms; 0: none ever */
    int64_t seats_used;
    int64_t to_decide, to_decide_since; /* open requests that this person may decide */
    json_t *to_decide_sample;           /* array of at most three */
} ida_standing;

ida_kind ida_standing_read(ida_call *call, store *s, ida_ctx *c, ida_standing *out);

/* Array of {kind, severity, count, since, sample}; in the context's pool. */
ida_kind ida_needs_json(ida_call *call, store *s, ida_ctx *c, const ida_standing *standing,
                        json_t **needs);

#endif
