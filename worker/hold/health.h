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

/* The run thread `slot` is busy with a task of this directory from here to there. */
void hold_run_begins(worker *w, int slot, const char *tenant, ida_directory_kind where);
void hold_run_ends(worker *w, int slot);
/* A directory call of the run thread `slot` begins and ends; at its end, until when the watch held
 * the directory because of it (0: it did not). */
void hold_call_begins(worker *w, int slot, const char *tenant, ida_directory_kind where);
int64_t hold_call_ends(worker *w, int slot);
/* Puts a short hold on each directory that leaves a call without an answer for long, so that no
 * further task of it is claimed. For the housekeeper. */
void hold_watch_calls(worker *w, store *main, apr_pool_t *pool);
/* What reserve thread number `reserve` (from 0) may work on, so that no directory, however slow or
 * full of work, keeps the others' tasks waiting. */
typedef enum hold_room {
    ROOM_NONE,  /* a thread is free: it is not needed */
    ROOM_FIRST, /* all threads are busy: tasks of directories that no thread is at */
    ROOM_OTHERS /* as many calls as this wait for slow answers: tasks of directories that answer */
} hold_room;
hold_room hold_room_of(worker *w, int threads, int reserve);
/* Non-zero: a task of this directory is not for a reserve thread that has `room`. */
int hold_crowded(worker *w, hold_room room, const char *tenant, ida_directory_kind where);

/* Raises the alarm of offboardings that wait for a held directory for 15 minutes. */
void hold_alarmed(worker *w, store *main, apr_pool_t *pool);

#endif
