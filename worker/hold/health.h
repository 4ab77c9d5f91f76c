/* What the workers tell each other of a directory: held with a reason, or answering again. */
#ifndef WORKER_HOLD_HEALTH_H
#define WORKER_HOLD_HEALTH_H

#include "core/store/directory.h"
#include "worker/hold/worker.h"

/* What was true when the call that failed began. Calls that are on their way together when a
 * directory falls silent are one failure, not as many as there are threads: who finds that a
 * failure was counted after it began has nothing to add. */
typedef struct hold_known {
    int held;      /* it was held, and this is the probe */
    int64_t until; /* until when: the hold that an answer ends. One that somebody set since stands,
                      as that one was told */
    int64_t failures; /* counted until then */
    int watched;      /* the watch held it because of this call, which counts no failure */
} hold_known;
/* Of a task that was claimed a moment ago, as probe or not (ida_task.probe_until). */
hold_known hold_known_of(const store_directory *state, int64_t probe_until);
/* Of whoever asks a directory without a claim: while it is held this is its probe, and others stay
 * away meanwhile. */
hold_known hold_probe(worker *w, store *main, apr_pool_t *pool, const store_directory *state);

/* Holds the directory after a failure that concerns it as a whole; returns the reason for people,
 * in `pool`. */
const char *hold_put(worker *w, store *main, apr_pool_t *pool, const char *tenant,
                     ida_directory_kind where, hold_known known, const directory_error *e);

/* The directory answered: the hold that is known ends. */
void hold_answered(worker *w, store *main, apr_pool_t *pool, const char *tenant,
                   ida_directory_kind where, hold_known known);

/* Raises the alarm of offboardings that wait for a held directory for 15 minutes. */
void hold_alarmed(worker *w, store *main, apr_pool_t *pool);

#endif
