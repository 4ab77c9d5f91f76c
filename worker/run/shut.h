/* How a leaver is kept from signing in. */
#ifndef WORKER_RUN_SHUT_H
#define WORKER_RUN_SHUT_H

#include "worker/run/step.h"

/* What keeps the account's owner out. */
typedef struct run_shutting {
    int renewed;            /* this call replaced the password, which may have lifted the lock */
    int has_password;       /* the password still has to be unknown: the lock alone may not hold */
    const char *refused;    /* why the password was not replaced; NULL: it was */
    const char *lock_alone; /* why the lock alone would not hold; NULL: not said */
} run_shutting;

/* Where the lock is only the effect of a policy: replaces the password by one that nobody knows,
 * unless an earlier call of this task did and the directory still shows that. A refusal for good is
 * no end: it stands in `how`. *gone: the directory has no such account. */
step_end run_shut_password(run *r, run_shutting *how, int *gone);

/* The password as above, then disabled, with the cache told. As run_call: `e` tells the answer to
 * the disabling. */
step_end run_shut(run *r, run_shutting *how, directory_error *e);

/* "", or what there is to say beside "disabled", for the step's detail. */
const char *run_shut_text(run *r, const run_shutting *how);
/* Ends the task as failed, without ending the run, when the password was refused. */
void run_shut_judge(run *r, const run_shutting *how);

#endif
