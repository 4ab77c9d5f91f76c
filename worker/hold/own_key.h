/* Whether this worker has the seal key of the store. One that has another takes no work, instead of
 * holding directories that other workers serve. */
#ifndef WORKER_HOLD_OWN_KEY_H
#define WORKER_HOLD_OWN_KEY_H

#include "worker/hold/worker.h"

/* Compares this worker's key with the one that sealed last. At the start, then for the keeper. */
void hold_own_key_look(worker *w, store *main, apr_pool_t *pool);
/* Why this worker takes no work; NULL: it does. A constant. */
const char *hold_own_key_fault(const worker *w);

#endif
