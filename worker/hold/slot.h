/* What each run thread is at, so that no directory, however slow or full of work, keeps the tasks
 * of the others waiting. */
#ifndef WORKER_HOLD_SLOT_H
#define WORKER_HOLD_SLOT_H

#include "worker/hold/worker.h"

/* 1: the thread `slot` may try to claim this task, and counts as busy with it until it ends that or
 * tries another. 0: another thread is at the task; or the directory has as many threads as are left
 * free for the others. So one that falls silent, or has much to do, gets half of all threads, the
 * next one half of the rest, and so on. */
int hold_take(worker *w, int slot, const char *tenant, ida_directory_kind where, const char *task);
/* The thread is busy with the directory from here to there; `task`: "" none. */
void hold_run_begins(worker *w, int slot, const char *tenant, ida_directory_kind where,
                     const char *task);
void hold_run_ends(worker *w, int slot);
/* A directory call of the thread begins and ends; at its end, until when the watch held the
 * directory because of it (0: it did not). */
void hold_call_begins(worker *w, int slot, const char *tenant, ida_directory_kind where);
int64_t hold_call_ends(worker *w, int slot);
/* Puts a short hold on each directory that does not answer a call for long, so that no further
 * task of it is claimed. For the housekeeper. */
void hold_watch_calls(worker *w, store *main, apr_pool_t *pool);

#endif
