/* Checkpoints to the webhook of idadmin.conf. */
#ifndef WORKER_CHECKPOINT_HOOK_H
#define WORKER_CHECKPOINT_HOOK_H

#include "worker/hold/threads.h"

/* Why checkpoints could never be sent as it is configured (in `pool`), or NULL. */
const char *checkpoint_hook_fault(apr_pool_t *pool, const worker_config *config);

/* The body of the thread that sends each checkpoint to the receiver within a second, those of a
 * tenant in the order of their numbers, each after the one before was accepted and recorded. A
 * crash in between repeats a call with the same webhook-id. */
void checkpoint_hook_thread(hold_thread *t);

#endif
