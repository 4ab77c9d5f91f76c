/* API keys that end soon, said in the log before callers find out. */
#ifndef WORKER_EXPIRY_H
#define WORKER_EXPIRY_H

#include "worker/hold/worker.h"

/* A line for each key that works now and ends within 30 days. Meant for once a day. */
void expiry_say(worker *w, store *main, apr_pool_t *pool);

#endif
