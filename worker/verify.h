/* The thread that verifies the chains of audit records. */
#ifndef WORKER_VERIFY_H
#define WORKER_VERIFY_H

#include "worker/hold/threads.h"

void verify_thread(hold_thread *t);

#endif
