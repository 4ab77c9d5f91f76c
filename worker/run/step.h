/* What a step may do and how it ends: directory calls under the lease, writes under the fence, the
 * account it acts on. */
#ifndef WORKER_RUN_STEP_H
#define WORKER_RUN_STEP_H

#include <apr_tables.h>

#include "core/audit/audit.h"
#include "worker/run/run.h"

typedef step_end (*step_function)(run *r);

/* A context of its own in the run's pool. */
ida_ctx *run_ctx(run *r);

/* --- words (run.c) --- */

/* Sets outcome and detail of the current step; returns STEP_ON. */
step_end step_says(run *r, ida_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same as `failed`; returns STEP_FAILED. */
step_end step_fails(run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same without an outcome yet; returns STEP_LATER. */
step_end step_later(run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a warning for people, unless it is there already. */
void run_warn(run *r, const char *text);
/* Name of the current step for messages. */
const char *run_shown(run *r);
/* "A, B, C": names of groups and the like, the first 40 written out. */
const char *run_listed(run *r, const apr_array_header_t *names);
/* 1 if the current attempt is the last one that counts. */
int run_last_try(const run *r);

/* --- directory calls (call.c) --- */

/* Writes pending records and renews the lease to its full length. Call before anything is sent
 * to the outside. STEP_ON or STEP_LOST. */
step_end run_commit(run *r);
/* Whether an outside call may begin: STEP_ON while the lease lasts longer than a call may take
 * and the worker is not stopping; otherwise how the step must end. */
step_end run_may_call(run *r);

/* One directory call: checks the lease, limits the time, and repeats once on a new connection if
 * time allows. `call` gets the open session's parts. STEP_ON: e->class has the answer, success
 * or error; otherwise how the step must end. */
typedef directory_class (*directory_call)(run *r, const directory_ops *ops, directory *dir,
                                          void *baton, directory_error *e);
step_end run_call(run *r, directory_call call, void *baton, directory_error *e);

/* The same, for calls whose successful answers are OK, ALREADY and NOT_FOUND: others end the
 * step. */
step_end run_ask(run *r, directory_call call, void *baton, directory_error *e);

/* How the step ends after an answer that was no success, with the reason in the step's detail. */
step_end run_fails(run *r, const directory_error *e);

/* The text of an answer. */
const char *run_why(const directory_error *e);

/* When this service created the account with that UPN (NULL: the task's own) in ms UTC, while
 * the directory may not show it everywhere yet; otherwise 0. */
int64_t run_made_lately(run *r, const char *upn);
/* When this task wrote to the directory last (ms UTC). */
int64_t run_last_write(const run *r);
/* Ends a step whose object, written at `since`, is not visible yet: STEP_LAG, after the
 * directory's lag_ms STEP_LATER. */
step_end run_lags(run *r, int64_t since, const char *message);

/* --- writes (notes.c) --- */

/* Writes to the main store, after what was noted: STEP_ON, or STEP_LOST. Repeated while the store
 * is away and the lease lasts. */
step_end run_store(run *r, run_write write, void *baton);
/* Write-through into the cache after the directory answered; ends as run_store. */
step_end run_cache(run *r, run_write write, void *baton);
/* Records the current step, which has created or enabled the account: the cache counts it, so
 * seat and reservations are released. */
step_end run_account_made(run *r, const char *object_id);
/* Audit record of category workflow, actor worker. */
audit_record *run_audit(run *r, ida_ctx *c, const char *action, const char *outcome,
                        const char *detail);

/* --- the account that the step acts on (account.c) --- */

/* From here to its end the step acts on the person's account in the tenant's other directory.
 * *found 0: the tenant has no such directory, or the directory no such account. Other ends than
 * STEP_ON end the step. */
step_end run_other_account(run *r, int *found);
/* The task's own account has this ID. */
void run_account_is(run *r, const char *object_id);
/* Looks up the account by its ID, into *user. As run_call: `e` has the answer. */
step_end run_find(run *r, directory_user *user, directory_error *e);
/* Disables the account and updates the cache; *after: the account as the directory shows it. As
 * run_call. */
step_end run_disable(run *r, directory_user *after, directory_error *e);
/* Its sessions ended. As run_ask. */
step_end run_sign_out(run *r, directory_error *e);
/* Updates the cache with the account as the directory has just shown it; the second function
 * records that the directory has it no more. */
step_end run_cache_user(run *r, directory_user *user);
step_end run_cache_gone(run *r);
/* The directory reports that the account is gone: write-through and `already`, unless another
 * account has its address. */
step_end step_absent(run *r);
/* The same where it should be there, or where the person has no account in that directory:
 * STEP_FAILED with `why`, or the failure that another account has its address. */
step_end step_gone(run *r, const char *why);
/* Another account has the address: the person created again, or a namesake. That account is not
 * touched, the step is `failed`, and the task ends `attention`. */
step_end step_stranger(run *r, const run_account *of);
/* STEP_ON, unless the person was offboarded after this task was requested: a person who has left
 * stays out. `so`: the consequence, for the detail. */
step_end step_still_wanted(run *r, const char *so);

#endif
