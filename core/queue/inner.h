/* Shared by the files of the queue: rows as tasks, releasing seats and names. For core/queue and
 * the erasure of people. */
#ifndef CORE_QUEUE_INNER_H
#define CORE_QUEUE_INNER_H

#include "core/queue/change.h"

/* Converts a row of TASK_COLUMNS into a task without steps and payload. IDA_INTERNAL_ERROR if a
 * word in it is unknown. */
ida_kind queue_task_of_row(ida_ctx *c, const db_result *r, int row, ida_task *task);
/* Fills in the steps of the tenant's tasks: one statement for all of them. */
ida_kind queue_task_load_steps(store *s, ida_ctx *c, const char *tenant, ida_task *tasks,
                               int count);
ida_kind queue_task_put_step(store *s, ida_ctx *c, const ida_task *task, const ida_step *step);

/* `payload` in the place of the one that the task has. */
ida_kind queue_task_put_payload(store *s, ida_ctx *c, const ida_task *task, const char *payload);
/* Removes the photo of the task from the store. `untold`: a later try must warn that the photo is
 * missing. */
ida_kind queue_task_drop_photo(store *s, ida_ctx *c, const ida_task *task, int untold);

/* IDA_NOT_FOUND with the sentence for people. */
ida_kind queue_task_missing(ida_ctx *c, const char *id);

/* 1 if a creation has created its account or may have: a createAccount step with outcome done,
 * already or unknown, or progress.createSent (core/queue/claim.h); or if an update may have
 * enabled one: updateAccount unknown, or progress.enableSent. Seat and names of such a task are
 * released only by code that knows the account's real state. */
int queue_task_account_possible(ida_ctx *c, const ida_task *task);
/* A creation that takes a seat as long as its account is not in the cache. Needs the payload. */
int queue_task_wants_seat(ida_ctx *c, const ida_task *task);

/* Take and release a seat under the tenant's lock; both keep tenant.seats_held exact and may be
 * repeated. A released seat passes to another task that relied on it: an open update that
 * enables the same person. */
ida_kind queue_task_take_seat(store *s, ida_ctx *c, const char *tenant, const char *task_id);
/* Moves the seat from another update that enables the same person to this one, which is about
 * to; *moved 0: no other update holds one. */
ida_kind queue_task_move_seat(store *s, ida_ctx *c, const ida_task *task, int *moved);
ida_kind queue_task_give_back_seat(store *s, ida_ctx *c, const char *tenant, const char *task_id);
/* A finished update that keeps a seat because it may have enabled the person; *id NULL: there is
 * none. */
ida_kind queue_task_seat_of_over(store *s, ida_ctx *c, const char *tenant, const char *who,
                                 const char **id);
ida_kind queue_task_free_names(store *s, ida_ctx *c, const char *tenant, const char *task_id);

#endif
