/* A rate "120/60s" as text and numbers; used by directives, keys and tenant documents alike. */
#ifndef CORE_BASE_RATE_H
#define CORE_BASE_RATE_H

#include <apr_pools.h>

typedef struct ida_rate {
    unsigned limit;    /* admissions; 0 = no limit of its own ("unset") */
    unsigned period_s; /* seconds */
    int off;           /* "off": explicitly unlimited */
} ida_rate;

/* "N/Ps", "N/Pm", "N/Ph" or "off"; N 1-1000000, P 1 s - 1 h. Returns NULL if valid, otherwise
 * the broken rule (static text). */
const char *ida_rate_parse(const char *text, ida_rate *rate);
/* The text that parses back, the period in seconds; NULL for a rate that is not set. */
char *ida_rate_text(apr_pool_t *pool, const ida_rate *rate);

#endif
