/* Regular work besides tasks and synchronisations: heartbeats, takeovers, ingestion, alarms,
 * checkpoints, retention, zone changes. */
#ifndef WORKER_HOUSEKEEP_H
#define WORKER_HOUSEKEEP_H

#include "core/store/audit.h"
#include "worker/hold/takeover.h"
#include "worker/hold/threads.h"
#include "worker/sync.h"

typedef struct housekeeping housekeeping;

/* Starts the three threads (heartbeat, ingestion, housekeeping), or the heartbeat alone; NULL when
 * one cannot be started. */
housekeeping *housekeep_start(worker *w, takeover *watch, sync_plan *plan, apr_pool_t *pool,
                              int heartbeat_alone);
/* The heartbeat continues until every run has ended: call after the others were joined. Returns
 * threads left at `until`. */
int housekeep_join(housekeeping *h, int64_t until);

/* One pass of ingestion over outbox and spool, neither of which waits for the whole of the
 * other; 0 if all went well. `turns`: kept between passes; turns->more: another pass has work at
 * once. */
int housekeep_ingest(worker *w, store *main, store *audit, apr_pool_t *pool,
                     store_audit_turns *turns);

/* --- run by the threads of housekeeping, for worker/housekeep.c alone --- */

/* worker/doctor.c: checks directories when an administrator requests it in the console. */
void doctor_thread(hold_thread *t);
/* worker/verify.c: verifies the chains of audit records. */
void verify_thread(hold_thread *t);
/* worker/expiry.c: logs each valid API key that expires within 30 days, before callers are refused.
 * Meant to be called once a day. */
void expiry_say(worker *w, store *main, apr_pool_t *pool);

#endif
