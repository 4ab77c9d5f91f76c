/* The command table as a whole, for the command line and for what is made of it: manual page,
 * completion. */
#ifndef WORKER_CTL_COMMANDS_H
#define WORKER_CTL_COMMANDS_H

#include "worker/ctl/ctl.h"

/* All commands, by noun and verb. */
const ctl_command *const *ctl_commands(apr_pool_t *pool, int *count);

extern const argument_option ctl_common_options[]; /* of every command; ended by a NULL name */

#define CTL_EXIT_STATUS \
    "0 done, 1 refused or failed (one sentence on standard error), 2 wrong usage."

#endif
