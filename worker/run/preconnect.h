/* Connects to directories that tasks are about to need before their minute comes. */
#ifndef WORKER_RUN_PRECONNECT_H
#define WORKER_RUN_PRECONNECT_H

#include "worker/run/run.h"

/* How long before the due instant: enough for a slow handshake, less than a server keeps an idle
 * connection. */
#define WARM_AHEAD_MS 3000

/* Opens this thread's sessions with the directories of tasks due until `until`, by a harmless
 * read. As many threads do so as there are tasks, at most as many as one directory may have at a
 * time; 1: this thread was among them. Failures are left to the task, except a refused account
 * or a wrong setting: that puts the directory on hold at once, so that repeated attempts do not
 * lock the account. */
int run_preconnect(runner *rn, apr_pool_t *pool, int64_t until);

#endif
