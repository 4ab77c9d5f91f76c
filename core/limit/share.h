/* A few places that requests of many companies share: no company has more than its part, and
 * waiters are served by company, not by arrival. For one process, any thread. */
#ifndef CORE_LIMIT_SHARE_H
#define CORE_LIMIT_SHARE_H

#include <apr_pools.h>

typedef struct share share;

typedef struct share_size {
    int places;     /* in all, at most SHARE_PLACES_MAX */
    int of_company; /* of them those that may be with one company */
} share_size;
#define SHARE_PLACES_MAX 64

share *share_make(apr_pool_t *pool, share_size size);
/* A place, from 0 on, or -1 when there was none within `wait_ms`. The one left last goes out
 * first. */
int share_take(share *s, const char *company, int wait_ms);
void share_leave(share *s, int place);
int share_waiting(share *s);

#endif
