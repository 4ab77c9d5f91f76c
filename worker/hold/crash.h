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
/* What the death of the working process by `signal` at `now` (monotonic ms) says of directories.
 * A crash names the call of its thread. A signal that no thread could see (the kernel's kill when
 * memory is short) names no call: the directories in whose work the process was are suspects, each
 * of which the next process serves alone until one work of it has ended well, so that another such
 * death tells which it is. 1: the next process keeps away from the cause. For the process that
 * supervises it. */
int hold_crash_judge(crash_note *note, int signal, int64_t now);
/* Takes the place of the process before this one among the workers that are seen, and holds the
 * directory that it died in. 0: the store cannot be used; ask again. */
int hold_crash_settled(worker *w, store *main, apr_pool_t *pool);

/* This thread works for a directory: it runs a task of it, calls it, or works on what it answered.
 * Such works may lie within each other, the inner one counts. Waits for its turn where the
 * directory is a suspect. */
void hold_crash_call_begins(worker *w, const char *tenant, ida_directory_kind where);
void hold_crash_call_ends(void);
/* 1: work for the directory would wait for its turn; a task of it is better not begun. */
int hold_crash_waits(const char *tenant, ida_directory_kind where);

#endif
