/* Directories that tasks are about to need are connected to before the minute comes. */
#ifndef WORKER_RUN_WARM_H
#define WORKER_RUN_WARM_H

#include "worker/run/run.h"

/* How long before the due instant: enough for a slow handshake, less than a server keeps an idle
 * connection. */
#define WARM_AHEAD_MS 3000

/* Opens this thread's sessions with the directories of tasks due until `until`, by a harmless look.
 * At most as many threads do so as there are tasks, or may be at one directory at a time; 1: this
 * one was among them. What fails is left to the task, except a refused account or a wrong setting:
 * that is held at once, so that nothing hammers it. */
int run_warm_up(runner *rn, apr_pool_t *pool, int64_t until);

#endif
