/* The command table as a whole, for the command line and for what is made of it: manual page,
 * completion. */
#ifndef WORKER_CTL_COMMANDS_H
#define WORKER_CTL_COMMANDS_H

#include "worker/ctl/ctl.h"

/* All commands, by noun and verb. */
const ctl_command *const *ctl_commands(apr_pool_t *pool, int *count);

extern const ctl_option ctl_common_options[]; /* of every command; ended by a NULL name */

#define CTL_EXIT_STATUS \
    "0 done, 1 refused or failed (one sentence on standard error), 2 wrong usage."

/* 1: the option takes a word; 0: it is a switch. */
int ctl_takes_value(const ctl_option *option);

#endif
