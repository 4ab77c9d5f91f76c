/* When the records of a run are written. The records of its steps are collected and written, in
 * one transaction and in order, before any outside call, before any other write of the run, or
 * at its end. So no call depends on a record that is not on disk, and a crash loses at most what
 * the next run finds out again. */
#ifndef WORKER_RUN_NOTES_H
#define WORKER_RUN_NOTES_H

#include "worker/run/step.h"

/* Records the result of r->step; nothing if the step has written its own record. STEP_ON or
 * STEP_LOST. */
step_end run_note_step(run *r);
/* Writes what was noted; alike. */
step_end run_note_flush(run *r);
/* Writes what was noted and `write`, the end of the run, in one transaction. */
step_end run_note_end(run *r, run_write write, void *baton);

#endif
