/* Data that is removed after its time: idempotency keys, tasks with their steps and runs,
 * decided requests, audit records. It is removed in small portions, so that other work is not
 * delayed. */
#ifndef WORKER_RETENTION_H
#define WORKER_RETENTION_H

#include "worker/hold/worker.h"

#define RETENTION_STEP_MS 100 /* after this a step begins no further transaction */

typedef struct retention retention;

retention *retention_make(worker *w, apr_pool_t *pool);

/* Continues where the step before stopped; 1: there is more to do at once, 0: the round is
 * complete. `main`: DB_REQUEST, `audit`: DB_INGEST. */
int retention_step(retention *t, store *main, store *audit, apr_pool_t *pool);

#endif
