/* How long to wait, and what a failure means for task and directory. Pure: numbers in, numbers out.
 */
#ifndef WORKER_HOLD_RULES_H
#define WORKER_HOLD_RULES_H

#include "worker/directory/directory.h"

#define TRIES_MAX 12

typedef enum verdict {
    VERDICT_GOOD,   /* done, already, or an answer of its own (not found) */
    VERDICT_HOLD,   /* the directory as a whole: held; the task waits, not counted */
    VERDICT_AGAIN,  /* this task: try again, counted; failed after TRIES_MAX */
    VERDICT_LAG,    /* this task: what it did is not visible yet; waits a little, not counted */
    VERDICT_UNSURE, /* as AGAIN, but `attention` after TRIES_MAX: it is unknown whether the call
                       took effect */
    VERDICT_NEVER   /* permanent: the step has failed */
} verdict;

verdict hold_verdict_of(directory_class class);

/* 1: one repetition on a new connection is worth its time before the verdict counts. */
int hold_verdict_repeats(directory_class class);

/* Wait before try number tries + 1: 2 s doubling to 5 min, +- 20 % by `random`. */
int64_t hold_backoff_ms(int64_t tries, uint32_t random);

/* Wait before an event that was not taken `tries` times before is sent again: 5 s doubling to an
 * hour, +- 20 % by `random`. */
int64_t hold_event_ms(int64_t tries, uint32_t random);

/* Wait for an object that is not visible `age` ms after it was written: 1 s, 2 s, 4 s ... 30 s, +-
 * 20 % by `random`. As long as it took so far, so that nothing has to be counted. */
int64_t hold_lag_ms(int64_t age, uint32_t random);

/* Time until the next probe of a directory on hold; `failures` probes failed before. Long for
 * refused credentials, which may lock the service account on-premises, and for configuration,
 * which waits for an administrator. The cloud may refuse a token once, or a replica may not know
 * a new secret yet: two quick attempts first. */
int64_t hold_ms(ida_directory_kind where, directory_class class, int64_t failures,
                int retry_after_s, uint32_t random);

/* 1 if the failure needs an administrator: send an alarm at once. */
int hold_alarms(directory_class class);

#endif
