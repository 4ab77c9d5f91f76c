/* Taking back what was added to a count. */
#ifndef CORE_BASE_COUNT_H
#define CORE_BASE_COUNT_H

#include <stddef.h>
#include <stdlib.h>

/* Below zero a count would be huge and refuse whom it counts for ever. The process ends instead:
 * its standby or its parent goes on. */
static inline void ida_count_lower(size_t *count, size_t by)
{
    if (by > *count) {
        abort();
    }
    *count -= by;
}

#endif
