/* The thread that checks directories when an administrator requests it in the console. */
#ifndef WORKER_DOCTOR_H
#define WORKER_DOCTOR_H

#include "worker/hold/threads.h"

void doctor_thread(hold_thread *t);

#endif
