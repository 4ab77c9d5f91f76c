/* The request of an update, for its steps. */
#ifndef WORKER_RUN_UPDATE_H
#define WORKER_RUN_UPDATE_H

#include "core/model/payload.h"
#include "worker/run/step.h"

/* STEP_ON, or how the step ends, with the reason in its detail. */
step_end run_read_update(run *r, ida_update *update);

#endif
