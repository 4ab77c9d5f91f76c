/* What lets somebody sign in beside the password (leaverAttributes of the tenant document): taken
 * from a leaver, kept with the task, and given back to somebody who is brought back. */
#ifndef WORKER_RUN_ATTRIBUTES_H
#define WORKER_RUN_ATTRIBUTES_H

#include "worker/run/step.h"

/* Takes them away. Their values are on disk before the first goes. `taken`: their names, none if
 * the account has none, or the directory does not keep such attributes. `refused`: with the reason;
 * this does not end the step. */
step_end run_attributes_take(run *r, apr_array_header_t *taken, apr_array_header_t *refused);

/* Gives back what the last offboarding took. `given`: names. A refusal is in `refused` alone. */
step_end run_attributes_give(run *r, apr_array_header_t *given, apr_array_header_t *refused);

#endif
