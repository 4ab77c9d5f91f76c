/* How a leaver is kept from signing in. */
#ifndef WORKER_RUN_SHUT_H
#define WORKER_RUN_SHUT_H

#include "worker/run/step.h"

/* What keeps the account's owner out. */
typedef struct run_shutting {
    int renewed;            /* this call replaced the password, which may have lifted the lock */
    int has_password;       /* 1: the password must still be replaced, because the lock alone may
                               have no effect */
    const char *refused;    /* why the password was not replaced; NULL: it was */
    const char *lock_alone; /* why the lock alone would have no effect; NULL: unknown */
} run_shutting;

/* If the lock depends on a policy: replaces the password by one that no person knows, unless an
 * earlier call of this task did so and the directory still shows it. A final refusal does not
 * end the step: it is reported in `how`. *gone: the directory has no such account. */
step_end run_shut_password(run *r, run_shutting *how, int *gone);

/* Replaces the password as above, then disables the account and updates the cache. As run_call:
 * `e` has the answer to the disabling. */
step_end run_shut(run *r, run_shutting *how, directory_error *e);

/* Text to add to "disabled" in the step's detail, or "". */
const char *run_shut_text(run *r, const run_shutting *how);
/* Ends the task as failed, without ending the run, when the password was refused. */
void run_shut_judge(run *r, const run_shutting *how);

#endif
