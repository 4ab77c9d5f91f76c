/* Traces of a working process that survive its crash: its identity, the directories that its
 * threads were calling, and the call in which it died. They are in memory shared with the
 * supervising process (worker/supervise.h). */
#ifndef WORKER_HOLD_CRASH_H
#define WORKER_HOLD_CRASH_H

#include "worker/hold/worker.h"

/* Before the first fork; NULL: no memory. */
crash_note *hold_crash_note_make(void);

/* The working process has begun: the traces of its predecessor are copied to `w` (which worker
 * is gone, which directory to hold), and from now on the note belongs to this process. */
void hold_crash_begins(worker *w, crash_note *note);
/* Judges the death of the working process by `signal` at `now` (monotonic ms). A crash names the
 * call of its thread. A signal that no thread could see (the kernel's kill when memory is short)
 * names none: the directories in use become suspects, which the next process serves one at a time
 * until a piece of the work of each has ended well; one that was in use at two deaths is served
 * while no other directory is in use at all. The one that a further death finds alone is the cause.
 * 1: the next process avoids the cause. For the supervising process. */
int hold_crash_judge(crash_note *note, int signal, int64_t now);
/* Replaces the previous process among the registered workers and holds the directory in which it
 * died. 0: the store cannot be used; call again. */
int hold_crash_settled(worker *w, store *main, apr_pool_t *pool);

/* This thread works for a directory: it runs a task of it, calls it, or works on what it answered.
 * Such works may lie within each other, the inner one counts. Waits for its turn where the
 * directory is a suspect, and while one that must be alone is served. */
void hold_crash_call_begins(worker *w, const char *tenant, ida_directory_kind where);
void hold_crash_call_ends(void);
/* 1: work for the directory would wait; a task of it is better not begun. */
int hold_crash_waits(worker *w, const char *tenant, ida_directory_kind where);

#endif
