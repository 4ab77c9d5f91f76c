/* API keys that expire soon, logged before callers are refused. */
#ifndef WORKER_EXPIRY_H
#define WORKER_EXPIRY_H

#include "worker/hold/worker.h"

/* Logs each valid key that expires within 30 days. Meant to be called once a day. */
void expiry_say(worker *w, store *main, apr_pool_t *pool);

#endif
