/* Checkpoints to the webhook of idadmin.conf. */
#ifndef WORKER_CHECKPOINT_HOOK_H
#define WORKER_CHECKPOINT_HOOK_H

#include "worker/hold/threads.h"

/* Why checkpoints could never be sent as it is configured (in `pool`), or NULL. */
const char *checkpoint_hook_fault(apr_pool_t *pool, const worker_config *config);

/* The body of the thread that tells the receiver of each checkpoint within a second, those of a
 * tenant by their numbers, the next one only when the one before was taken and that is on record.
 * A crash between both repeats a call, under the same webhook-id. */
void checkpoint_hook_thread(hold_thread *t);

#endif
