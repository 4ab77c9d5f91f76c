/* The task key as administrators handle it: made by `schema upgrade`, rotated by hand. */
#ifndef WORKER_CTL_TASK_KEY_H
#define WORKER_CTL_TASK_KEY_H

#include <sys/types.h>

#include "worker/ctl/ctl.h"

/* *first: neither this machine nor the store has seen a task key. */
ida_kind ctl_task_key_is_first(ctl_call *ctl, int *first);
/* Makes the key when the store has none, and signs, that one time, the tasks from before. */
ida_kind ctl_task_key_make(ctl_call *ctl, uid_t owner, gid_t group);
int ctl_task_rotate_key(ctl_call *ctl);

#endif
