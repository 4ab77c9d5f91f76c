/* Counters of this process for its metrics. Any thread, any time. */
#ifndef WORKER_BASE_COUNTS_H
#define WORKER_BASE_COUNTS_H

#include "core/base/metrics.h"

/* The rows are in counts.c: name, meaning, names of the labels. */
typedef enum count_row {
    COUNT_CALLS,     /* directory, class */
    COUNT_THROTTLED, /* directory */
    COUNT_STEPS,     /* step, outcome */
    COUNT_RUNS,      /* type, end */
    COUNT_SYNCS,     /* directory, result */
    COUNT_LEASES,    /* kind */
    COUNT_ROWS
} count_row;

/* One more. The values of the labels are words of a table of ours, never a text from outside: they
 * are few, and are not copied. `two`: NULL where the row has one label. */
void count_one(count_row row, const char *one, const char *two);

/* All of them, as families. */
void counts_put(ida_metrics *m);

#endif
