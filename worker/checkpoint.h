/* Checkpoints of the audit chains: made, and sent away from the machine. */
#ifndef WORKER_CHECKPOINT_H
#define WORKER_CHECKPOINT_H

#include "core/store/store.h"
#include "worker/base/config.h"

/* Makes a checkpoint for each tenant with new records whose newest is not later than `before`
 * (ms). If a chain cannot be signed, that is logged (IDA0420, once an hour) and the others
 * continue. */
ida_kind checkpoint_make_all(store *audit, ida_ctx *c, int64_t before, const worker_config *config);
/* Whatever has not left yet: to the file and the system's log that the configuration names. What
 * was written is marked afterwards, so that a crash repeats a line and loses none. */
ida_kind checkpoint_send(store *audit, ida_ctx *c, const worker_config *config);

#endif
