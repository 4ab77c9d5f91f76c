/* The threads that claim and run tasks. */
#ifndef WORKER_LOOP_H
#define WORKER_LOOP_H

#include "worker/hold/takeover.h"
#include "worker/run/run.h"

/* A pool of run threads, twice as many as `threads`: so many of them may work on one directory
 * at a time, and the others remain for other directories (worker/hold/slot.h). */
typedef struct loop loop;

/* Number of call slots the loop needs in w->calls. */
int loop_slots(const worker *w);

/* Starts the threads. `drain`: each ends when nothing is due. NULL when no thread could be started.
 */
loop *loop_start(worker *w, takeover *watch, apr_pool_t *pool, int drain);
/* Waits until all have ended, at most to `until` (monotonic ms; 0: without end). Returns the number
 * of threads still running. */
int loop_join(loop *l, int64_t until);
/* Tasks run so far. */
int64_t loop_runs(loop *l);
/* 1 when the store was away at the last look. */
int loop_store_away(loop *l);

#endif
