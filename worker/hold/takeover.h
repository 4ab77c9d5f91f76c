/* Running tasks whose holder may be dead: watched by this process's own monotonic clock, and
 * taken over when their heartbeat has not changed for a whole lease. */
#ifndef WORKER_HOLD_TAKEOVER_H
#define WORKER_HOLD_TAKEOVER_H

#include "core/queue/claim.h"
#include "worker/hold/worker.h"

typedef struct takeover takeover;

takeover *hold_takeover_make(worker *w, apr_pool_t *pool);

/* Checks the running tasks; for the housekeeper, once a second. */
void hold_takeover_watch(takeover *t, store *main, apr_pool_t *pool);

/* Takes one ripe task; IDA_NOT_FOUND when there is none. For run threads. */
ida_kind hold_takeover_next(takeover *t, store *main, ida_ctx *c, ida_task **task);

#endif
