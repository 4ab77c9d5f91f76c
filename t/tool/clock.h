/* Seconds of the monotonic clock, for tools that measure. */
#ifndef T_TOOL_CLOCK_H
#define T_TOOL_CLOCK_H

#include <time.h>

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

#endif
