/* What idadmin-worker takes on its command line beside the settings of idadmin.conf, and its help:
 * the rows that its manual page is made of. */
#ifndef WORKER_OPTIONS_H
#define WORKER_OPTIONS_H

#include "worker/base/arguments.h"

extern const argument_option worker_own_options[];

#define WORKER_ABOUT                                                                         \
    "Carries out the queue of mod_idadmin in the tenants' directories, keeps the directory " \
    "cache fresh and ingests audit records. Runs in the foreground; logs to standard error."
#define WORKER_SIGNALS                                                                        \
    "TERM and INT finish the step in hand, give tasks back and exit 0 within the stop time. " \
    "HUP reads the configuration again (all but store, threads and the audit's keys)."
#define WORKER_EXIT_STATUS "0 done, 1 failed, 2 wrong usage."

void worker_help(void);

#endif
