/* What age takes away: keys of requests, tasks with their steps and runs, decided requests, audit
 * records. A little at a time, so that it never stands in anybody's way. */
#ifndef WORKER_RETENTION_H
#define WORKER_RETENTION_H

#include "worker/hold/worker.h"

#define RETENTION_STEP_MS 100 /* after this a step begins no further transaction */

typedef struct retention retention;

retention *retention_make(worker *w, apr_pool_t *pool);

/* Goes on where the step before stopped; 1: there is more to do at once, 0: the round is complete.
 * `main`: DB_REQUEST, `audit`: DB_INGEST. */
int retention_step(retention *t, store *main, store *audit, apr_pool_t *pool);

#endif
