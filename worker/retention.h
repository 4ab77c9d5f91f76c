/* Data that is removed after its time: idempotency keys, tasks with their steps and runs,
 * decided requests, audit records. It is removed in small portions, so that other work is not
 * delayed. */
#ifndef WORKER_RETENTION_H
#define WORKER_RETENTION_H

#include "worker/hold/worker.h"

#define RETENTION_STEP_MS 100   /* after this a step begins no further transaction */
#define RETENTION_MORE_MS 200   /* between two steps of a round: the other duties have their turn */
#define RETENTION_AWAY_MS 60000 /* after a round in which the store was away or busy */

typedef struct retention retention;

retention *retention_make(worker *w, apr_pool_t *pool);

/* Continues where the step before stopped. Returns after how many ms it wants to be called again;
 * 0: the round is complete, the next one may come at its own time. `main`: DB_REQUEST, `audit`:
 * DB_INGEST. */
int64_t retention_step(retention *t, store *main, store *audit, apr_pool_t *pool);

#endif
