/* Groups that a leaver owns: an owner can change a group without being a member of it. */
#ifndef WORKER_RUN_OWNED_H
#define WORKER_RUN_OWNED_H

#include "worker/run/step.h"

struct queue_membership;

/* Stores what the account had with the task. */
step_end run_keep_memberships(run *r, const struct queue_membership *rows, int count);

/* Records them with the task, each with who else owns it, and warns of them. `owned`: the same as
 * texts. Where the directory refuses the read, one row says that they were not looked at. */
step_end run_owned(run *r, apr_array_header_t *owned);

#endif
