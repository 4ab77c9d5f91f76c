/* The threads that send events to receivers (`notifications` of tenant documents). They run no
 * tasks, so that no task waits for a receiver. */
#ifndef WORKER_NOTIFY_H
#define WORKER_NOTIFY_H

#include "worker/hold/threads.h"

typedef struct notifier notifier;

/* NULL when no thread could be started. */
notifier *notify_start(worker *w, apr_pool_t *pool);
/* Waits until all have ended, at most to `until` (monotonic ms). Returns the number of threads
 * still running. */
int notify_join(notifier *n, int64_t until);

/* For a worker that runs once: sends to every receiver all events that can be sent now. */
void notify_once(worker *w, store *main, apr_pool_t *pool);

#endif
