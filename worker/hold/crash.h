/* What of a working process outlives its crash: who it was, which directories its threads were in a
 * call of, and whose call it died in. Lies in memory that is shared with the process that
 * supervises it (worker/supervise.h). */
#ifndef WORKER_HOLD_CRASH_H
#define WORKER_HOLD_CRASH_H

#include "worker/hold/worker.h"

/* Before the first fork; NULL: no memory. */
crash_note *hold_crash_note_make(void);

/* The working process has begun: what the note says of the one before it becomes `w`'s (who is
 * gone, which directory is to be held), and from now on it is this one's. */
void hold_crash_begins(worker *w, crash_note *note);
/* 1: the process that died did so in a directory's call. For the process that supervises it. */
int hold_crash_has_culprit(const crash_note *note);
/* Takes the place of the process before this one among the workers that are seen, and holds the
 * directory that it died in. 0: the store cannot be used; ask again. */
int hold_crash_settled(worker *w, store *main, apr_pool_t *pool);

/* This thread works for a directory: it runs a task of it, calls it, or works on what it answered.
 * Such works may lie within each other, the inner one counts. */
void hold_crash_call_begins(worker *w, const char *tenant, ida_directory_kind where);
void hold_crash_call_ends(void);

#endif
