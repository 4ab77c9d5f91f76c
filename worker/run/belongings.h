/* What a leaver has beside memberships. The attributes with which an account can sign in without
 * its password (leaverAttributes of the tenant document) are removed, stored with the task, and
 * restored with the account. Groups that the account owns are named, because an owner can change a
 * group without being a member of it. */
#ifndef WORKER_RUN_BELONGINGS_H
#define WORKER_RUN_BELONGINGS_H

#include "worker/run/step.h"

struct queue_membership;

/* Takes the attributes away. Their values are on disk before the first goes. `taken`: their names,
 * none if the account has none, or the directory does not keep such attributes. `refused`: with the
 * reason; this does not end the step. */
step_end run_attributes_take(run *r, apr_array_header_t *taken, apr_array_header_t *refused);
/* Gives back what the last offboarding took. `given`: names. A refusal is in `refused` alone. */
step_end run_attributes_give(run *r, apr_array_header_t *given, apr_array_header_t *refused);

/* Stores what the account had with the task. */
step_end run_keep_memberships(run *r, const struct queue_membership *rows, int count);
/* Names the owned groups as warnings and in `owned`, each with who else owns it, and stores them.
 * Where the directory refuses the read, one row says that they were not looked at. */
step_end run_owned(run *r, apr_array_header_t *owned);

#endif
