/* What workers share about a directory: on hold with a reason, or answering again. */
#ifndef WORKER_HOLD_HEALTH_H
#define WORKER_HOLD_HEALTH_H

#include "core/store/directory.h"
#include "worker/hold/worker.h"

/* The state when the failed call began. Simultaneous calls count as one failure when a directory
 * stops answering, not as many as there are threads: if a failure was counted after this call
 * began, it adds nothing. */
typedef struct hold_known {
    int held;         /* it was held, and this is the probe */
    int64_t until;    /* end of the hold that an answer ends; a hold set since then stays, because
                         its reason is newer */
    int64_t failures; /* counted until then */
    int watched;      /* the watch held it because of this call, which counts no failure */
    int64_t begun;    /* the call (ms UTC): a file that has changed since then may be one that it
                         has not seen; 0: unknown, only files that change from now on count */
} hold_known;
/* Of a task that was claimed a moment ago, as probe or not (ida_task.probe_until). */
hold_known hold_known_of(const store_directory *state, int64_t probe_until);
/* For calls without a claim: while the directory is on hold, this call becomes its probe and
 * keeps others away meanwhile. */
hold_known hold_probe(worker *w, store *main, apr_pool_t *pool, const store_directory *state);

/* Puts the directory on hold after a failure that concerns it as a whole; returns the reason for
 * people, in `pool`. */
const char *hold_put(worker *w, store *main, apr_pool_t *pool, const char *tenant,
                     ida_directory_kind where, hold_known known, const directory_error *e);

/* The directory answered: ends the known hold. */
void hold_answered(worker *w, store *main, apr_pool_t *pool, const char *tenant,
                   ida_directory_kind where, hold_known known);

/* Raises the alarm of offboardings that wait for a held directory for 15 minutes. */
void hold_alarmed(worker *w, store *main, apr_pool_t *pool);

#endif
