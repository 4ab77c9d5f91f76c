/* The queue as the worker sees it: claims, leases with fencing numbers, outcomes. Every write of
 * a run carries the fencing number. A write that finds another number returns IDA_CONFLICT, and
 * the run must stop at once without calling the directory again. */
#ifndef CORE_QUEUE_CLAIM_H
#define CORE_QUEUE_CLAIM_H

#include "core/queue/change.h"

struct queue_membership;

/* progress.createSent: a creation's run writes {"createSent": true} (with the marker, by
 * queue_change) before its first create call, and removes it only after a read has shown that no
 * account was created. While it is there, or createAccount is done, already or unknown, the
 * account may exist: cancelling or failing the task releases neither its seat nor its names. The
 * same is true of {"enableSent": true}, updates and the seat of the account that they enable
 * (queue_take_seat). Other members of progress belong to the run. */

/* Claims the task with the earliest due time that is queued, next_at <= now, whose person is not
 * locked and whose directory is not on hold (a held directory whose hold_until has passed allows a
 * single probe: the claim moves hold_until by probe_ms in the same transaction). In one
 * transaction: state running, fence + 1, owner, lease_until = now + lease_ms, started_at if first,
 * user_lock row. Brake: the first claim of an offboarding beyond tenant.brake within the hour goes
 * to `attention` instead (audited; *braked = 1, *task is that one). A task also waits while its
 * person has another queued one that precedes it by (due time, id), even if that one waits for its
 * next try. IDA_NOT_FOUND: no work. *task has payload and steps.
 *
 * `may` (NULL: all) is called for each candidate in the order of due times: 0 skips it. */
typedef int (*queue_may)(void *baton, const char *tenant, ida_directory_kind directory,
                         const char *task_id);
typedef struct queue_claimer {
    const char *owner;
    int64_t now, lease_ms, probe_ms;
    queue_may may; /* or NULL */
    void *baton;
} queue_claimer;
ida_kind queue_claim_among(store *s, ida_ctx *c, const queue_claimer *by, ida_task **task,
                           int *braked);

/* Whether a claim may find work. Reading it costs less than a claim (on PostgreSQL a fifth). */
typedef struct queue_outlook {
    /* 1: a queued task is due. It may still not be claimable, e.g. because its person is locked. */
    int due;
    /* Earliest later instant at which a task becomes due or a hold may be probed; 0: none known. */
    int64_t next_at;
} queue_outlook;
/* *out is zero after an error. */
ida_kind queue_look(store *s, ida_ctx *c, queue_outlook *out);

/* Heartbeat: heartbeat + 1, lease_until = now + lease_ms. IDA_CONFLICT when the fence is not ours
 * any more. Uses a connection of its own. */
ida_kind queue_renew(store *s, ida_ctx *c, const char *tenant, const char *task_id, int64_t fence,
                     int64_t now, int64_t lease_ms);

/* Running tasks with owner, fence and heartbeat, for takers that watch them by their own monotonic
 * clock; at most `max`. */
typedef struct queue_running_task {
    const char *tenant, *task_id, *owner;
    int64_t fence, heartbeat, lease_until;
} queue_running_task;
ida_kind queue_running(store *s, ida_ctx *c, int max, const queue_running_task **rows, int *count);

/* Takes over a running task whose (fence, heartbeat) is still the one that was watched: fence +
 * 1, new owner. Counts as a try (attempts + 1), so that a task that kills its worker ends.
 * IDA_NOT_FOUND if it has moved on. */
ida_kind queue_take_over(store *s, ida_ctx *c, const queue_running_task *seen, const char *owner,
                         int64_t now, int64_t lease_ms, ida_task **task);

/* --- outcomes, all under the fence; each is one transaction with its audit record when `audit` is
 * not NULL --- */

struct audit_record;

/* Records a step. Also persists `progress` when not NULL. */
ida_kind queue_step(store *s, ida_ctx *c, const ida_task *task, const ida_step *step,
                    const char *progress, const struct audit_record *audit);

/* Persists values a step must have on disk before its first directory call: new candidate names
 * (with reservations of the new ones; old ones are freed), marker ("": none), progress, object_id.
 * NULL members stay. IDA_UNPROCESSABLE when a new address was reserved by another task meanwhile:
 * choose again (queue_address_choose in the same store_transaction after store_tenant_lock avoids
 * that). `task` itself is not changed: read it again. */
typedef struct queue_task_change {
    const char *upn, *mail, *display_name, *marker, *progress, *object_id, *warnings;
} queue_task_change;
ida_kind queue_change(store *s, ida_ctx *c, const ida_task *task, const queue_task_change *change);

/* Reserves the seat of an account that an update is about to enable, unless a creation holds it;
 * its marker has been on disk since it was queued. `progress`, with enableSent in it, is written
 * in the same transaction. *full = 1: no seat is free, nothing was reserved or written. Released
 * by queue_account_made. */
ida_kind queue_take_seat(store *s, ida_ctx *c, const ida_task *task, const ida_tenant *tenant,
                         const char *progress, int *full);

/* Licences that the step at this position took, by name (the list ends with NULL). */
ida_kind queue_licenses_taken(store *s, ida_ctx *c, const ida_task *task, int position,
                              const char *const *names);

/* Memberships as an offboarding finds them, on disk before the first is taken away
 * (core/queue/rehire.h); those known already stay. */
ida_kind queue_memberships(store *s, ida_ctx *c, const ida_task *task,
                           const struct queue_membership *rows, int count);
/* Memberships that a sweep over the groups of one directory could not remove, and why. All
 * others found there were removed. */
typedef struct queue_refusal {
    const char *group_id, *reason;
} queue_refusal;
ida_kind queue_memberships_swept(store *s, ida_ctx *c, const ida_task *task,
                                 ida_directory_kind directory, const queue_refusal *refusals,
                                 int count);
/* Records that a rehire has restored the memberships that the offboardings of its account
 * revoked in this directory. */
ida_kind queue_memberships_restored(store *s, ida_ctx *c, const ida_task *task,
                                    ida_directory_kind directory);

/* After the account is in the cache: step done, seat and reservations released, in one
 * transaction. later = 1: queue_finish of the task, which follows in the same store_transaction,
 * releases them. */
ida_kind queue_account_made(store *s, ida_ctx *c, const ida_task *task, const ida_step *step,
                            const char *object_id, int later, const struct audit_record *audit);

/* running -> done, failed, attention: finished_at (not for attention), error, warnings; releases
 * user_lock. Releases seat and reservations for `done`, and for `failed` if a creation cannot
 * have created its account or an update cannot have enabled it. */
ida_kind queue_finish(store *s, ida_ctx *c, const ida_task *task, ida_task_state state,
                      const char *error, const char *warnings, const struct audit_record *audit);

/* running -> queued: next_at, error as reason, attempts + 1 when counts; user_lock freed. */
ida_kind queue_again(store *s, ida_ctx *c, const ida_task *task, int64_t next_at,
                     const char *reason, int counts, const struct audit_record *audit);

/* For core/queue/zone_changes.h. The next zone after `after` ("" at first) that queued tasks with
 * wall_fixed = 1 are in; NULL: no more. Those tasks: pages by id. */
ida_kind queue_next_zone(store *s, ida_ctx *c, const char *after, const char **zone);
ida_kind queue_zone_changes_in(store *s, ida_ctx *c, const char *zone, const char *after_id,
                               int max, ida_task **tasks, int *count);

/* Gives the task another due time that follows from the same wall time under new zone rules;
 * next_at follows when the task was not tried yet. IDA_CONFLICT when it is not queued with
 * task->due_at any more. */
ida_kind queue_set_due(store *s, ida_ctx *c, const ida_task *task, int64_t due_at);

/* Photos of tasks that ended `failed` or `attention` before `before` leave the store, at most
 * `max`. A retry of such a task warns about it. */
ida_kind queue_retain_photos(store *s, ida_ctx *c, const char *tenant, int64_t before, int max,
                             int *removed);

/* Removes finished tasks (with steps, runs and what they still hold) that ended before `before`,
 * oldest first, at most `max`. */
ida_kind queue_retain(store *s, ida_ctx *c, const char *tenant, int64_t before, int max,
                      int *removed);

#endif
