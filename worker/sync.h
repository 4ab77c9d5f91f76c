/* When which directory is synced, and by whom: one sync a directory over all workers, threads of
 * its own. */
#ifndef WORKER_SYNC_H
#define WORKER_SYNC_H

#include "worker/run/session.h"

typedef struct sync_plan sync_plan;

sync_plan *sync_plan_make(worker *w, apr_pool_t *pool);

/* Brings the plan in line with the tenants and with what administrators asked for; for the
 * housekeeper, once a second. On failure c says why; what the plan knew stays. */
ida_kind sync_plan_refresh(sync_plan *plan, store *main, ida_ctx *c);

/* Starts the sync threads; sync_join waits for them at most until `until` (monotonic ms) and
 * returns how many are left. */
int sync_start(sync_plan *plan);
int sync_join(sync_plan *plan, int64_t until);

/* Syncs every directory once, due or not (--once); the number of those that failed. */
int sync_all(sync_plan *plan, store *main, store *cache, session_cache *sessions, apr_pool_t *pool);

#endif
