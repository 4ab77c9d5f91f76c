/* The process that supervises the working one and restarts it after a crash, later each time. */
#ifndef WORKER_SUPERVISE_H
#define WORKER_SUPERVISE_H

#include <signal.h>

#include "core/base/context.h"

typedef struct supervised {
    int (*work)(void *baton);
    /* 1: the cause of the death is known and the next process keeps away from it, so that its start
     * is not put off for long. */
    int (*is_explained)(void *baton, int signal);
} supervised;

/* Runs `work` in a process of its own, as often as it dies of a signal; TERM, INT and HUP, which
 * must be blocked, are passed on. Only before there are threads. Returns the exit status. */
int supervise(const ida_env *env, const sigset_t *signals, const supervised *child, void *baton);

#endif
