/* Why a worker takes no work. One that has another seal key than the store's would hold directories
 * that other workers serve; one that knows another schema would write by old rules. */
#ifndef WORKER_HOLD_IDLE_H
#define WORKER_HOLD_IDLE_H

#include "worker/hold/worker.h"

/* Compares this worker's key with the one that sealed last, and its schema with the store's. At the
 * start, then for the keeper, and when a claim has met another schema. */
void hold_idle_look(worker *w, store *main, apr_pool_t *pool);
/* Why this worker takes no work; NULL: it does. A constant. */
const char *hold_idle_reason(const worker *w);

#endif
