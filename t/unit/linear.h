/* The cost of a judgement in processor time of this thread, with many values and with ten times as
 * many: a comparison that holds on a busy machine. */
#ifndef T_UNIT_LINEAR_H
#define T_UNIT_LINEAR_H

#include <time.h>

#include "t/unit/tap.h"

#define LINEAR_FEW 9000
#define LINEAR_MANY (10 * LINEAR_FEW) /* the parser takes 100,000 values */

static inline double linear_clock(void)
{
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* `judge` answers how long it took by linear_clock, without the making of its input. The best of
 * three; comparing each pair of values would cost a hundred times as much. */
static inline void linear(const char *name, double (*judge)(int values, void *baton), void *baton)
{
    double best[2];
    for (int large = 0; large < 2; large++) {
        for (int i = 0; i < 3; i++) {
            double took = judge(large ? LINEAR_MANY : LINEAR_FEW, baton);
            best[large] = i && best[large] < took ? best[large] : took;
        }
    }
    ok(best[1] < 25 * best[0], "%s: ten times the values cost %.1f times as much", name,
       best[1] / best[0]);
}

#endif
