/* When the words of a run are written. What it says of its steps is noted at first and written, in
 * one transaction and in order, before anything leaves for the outside, before any other write of
 * the run, or with its end: so no call is made on the strength of a word that is not on disk, and a
 * crash loses at most what the next run finds by looking. */
#ifndef WORKER_RUN_NOTES_H
#define WORKER_RUN_NOTES_H

#include "worker/run/step.h"

/* Notes what r->step says; nothing when the step wrote its own record. STEP_ON or STEP_LOST. */
step_end run_note_step(run *r);
/* Writes what was noted; alike. */
step_end run_note_flush(run *r);
/* Writes what was noted and `write`, the end of the run, in one transaction. */
step_end run_note_end(run *r, run_write write, void *baton);

#endif
