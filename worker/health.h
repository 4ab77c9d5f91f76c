/* What the workers tell each other of a directory: held with a reason, or answering again. */
#ifndef WORKER_HEALTH_H
#define WORKER_HEALTH_H

#include "worker/worker.h"

/* Holds the directory after a failure that concerns it as a whole; returns the reason for people, in `pool`. `known`: the caller
 * called although (a probe) or because (the watch) it was held. */
const char *health_hold(worker *w, store *main, apr_pool_t *pool, const char *tenant, ida_directory_kind where, int known,
                        const directory_error *e);

/* The directory answered. */
void health_answered(worker *w, store *main, apr_pool_t *pool, const char *tenant, ida_directory_kind where);

/* A directory call of the run thread `slot` begins and ends; 1 at its end when the watch held the directory because of it. */
void health_call_begins(worker *w, int slot, const char *tenant, ida_directory_kind where);
int health_call_ends(worker *w, int slot);
/* Calls that have been waiting for `after_ms` or longer (monotonic); those that a run waits for put a short hold on their
 * directory, so that no further task of it is claimed while other tenants go on. For the housekeeper. */
void health_watch_calls(worker *w, store *main, apr_pool_t *pool);
/* Run threads that are in a call for a while: as many reserve threads may work. */
int health_stuck(worker *w);

/* Raises the alarm of offboardings that wait for a held directory for 15 minutes. */
void health_alarms(worker *w, store *main, apr_pool_t *pool);

#endif
