/* The run of one claimed task: its steps in order, each looking, acting and recording under the
 * fencing number. */
#ifndef WORKER_RUN_RUN_H
#define WORKER_RUN_RUN_H

#include "core/audit/audit.h"
#include "core/model/payload.h"
#include "core/queue/claim.h"
#include "worker/hold/health.h"
#include "worker/run/session.h"

/* What one run thread owns. */
typedef struct runner {
    worker *w;
    int slot;            /* its entry of w->calls */
    store *main, *cache; /* DB_REQUEST, DB_SYNC */
    session_cache sessions;
    int64_t warmed_for; /* due instant that directories were connected for last */
} runner;

/* How a step ended, for the task. */
typedef enum step_end {
    STEP_ON,     /* outcome and detail say what happened; go on with the next step */
    STEP_LATER,  /* try again, counted: `failed` after TRIES_MAX */
    STEP_UNSURE, /* the same, but `attention`: it may have happened */
    STEP_LAG,  /* what was written is not visible yet: the task waits a little, uncounted (run_lags)
                */
    STEP_HELD, /* the directory as a whole: it was held, the task waits uncounted */
    STEP_FAILED, /* permanent */
    STEP_YIELD,  /* the worker is to stop: the task goes back uncounted */
    STEP_LOST    /* lease or store lost: nothing more may be done or written */
} step_end;

struct workflow_action;
struct run;

/* A write of the run under the fence; may be called again. */
typedef ida_kind (*run_write)(struct run *r, ida_ctx *c, void *baton);

/* What the run has said but not written yet (record.h). */
#define RUN_NOTES_MAX 16
typedef struct run_note {
    run_write write;
    void *baton; /* in the run's pool */
} run_note;

typedef struct run {
    runner *r;
    ida_ctx *c;
    apr_pool_t *pool;
    ida_task *task;
    lease *lease;
    session *session;
    json_t *progress, *warnings; /* belong to the pool */
    int64_t lag_since; /* of a step that ends with STEP_LAG: when what it waits for was written (ms
                          UTC) */
    hold_known known;  /* of the directory when the run began, or since it answered; if it was held,
                          or the watch held it,  the first answer clears it */
    int in_twin;       /* the run acts on the person's other account (run_twin_enter) */
    struct {
        session *session;
        ida_directory_kind directory;
        const char *object_id;
        hold_known known;
    } own;              /* of the task itself, while in_twin */
    int64_t held_until; /* of a step that ends with STEP_HELD: when the other directory may be asked
                           again (ms UTC); 0: the task's own, which the claim of the next try looks
                           at */
    const char *failure; /* set by a step that failed without ending the run: the task ends `failed`
                            with this text */
    int is_done;         /* what is written now ends the task as done */
    int failure_unknown; /* nobody knows whether that step took effect: the task ends `attention` */
    run_note notes[RUN_NOTES_MAX];
    int note_count;
    int64_t
        tries_before; /* tries used up before the workflow's action in hand: it counts from there */
    /* of the step in hand */
    ida_step step;
    int recorded;        /* the step wrote its own record, together with what had to be in the same
                            transaction */
    int64_t retry_after; /* ms: a step that ends with STEP_LATER is not to be tried sooner */
    const struct workflow_action *action; /* the workflow's action that it is; NULL: none */
    int64_t begun_at;                     /* ms UTC */
} run;

/* Runs `task` (claimed or taken over just after `claimed_at`, monotonic ms) to its next state. */
void run_task(runner *r, apr_pool_t *pool, ida_task *task, int64_t claimed_at);

/* --- for steps --- */

typedef step_end (*step_function)(run *r);
/* NULL when this version does not know the step. */
step_function step_find(const char *name);

/* Sets outcome and detail of the step in hand; returns STEP_ON. */
step_end step_says(run *r, ida_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Before anything leaves for the outside: STEP_ON while more of the lease is left than a call may
 * take, and the worker is not to stop; else how the step must end. */
step_end run_may_call(run *r);

/* One directory call: lease checked, time watched, repeated once on a new connection where that is
 * worth its time. `call` gets the open session's parts. STEP_ON: e->class tells the answer, be it
 * good or bad; else how the step must end. */
typedef directory_class (*directory_call)(run *r, const directory_ops *ops, directory *dir,
                                          void *baton, directory_error *e);
step_end run_call(run *r, directory_call call, void *baton, directory_error *e);

/* How the step ends after an answer that was no success, with the reason in the step's detail. */
step_end run_fails(run *r, const directory_error *e);

/* When this service made the account of that UPN (ms UTC), so long as the directory may not show it
 * everywhere yet; else 0. */
int64_t run_made_lately(run *r, const char *upn);
/* When this task wrote to the directory last (ms UTC). */
int64_t run_last_write(const run *r);
/* Ends a step whose object, written at `since`, is not visible yet: STEP_LAG, after the directory's
 * lag_ms STEP_LATER. */
step_end run_lags(run *r, int64_t since, const char *message);

/* 1 when the try in hand is the last one that counts. */
int run_last_try(const run *r);

/* Ends of a store write of the run: STEP_ON, or STEP_LOST. Repeated while the store is away and the
 * lease lasts. */
step_end run_store(run *r, run_write write, void *baton);

/* Records the step in hand, which has made or enabled the account: the cache counts it, so seat and
 * reservations are given back. */
step_end run_account_made(run *r, const char *object_id);

/* Adds a warning for people, once. */
void run_warn(run *r, const char *text);

/* Audit record of category workflow, actor worker. */
audit_record *run_audit(run *r, ida_ctx *c, const char *action, const char *outcome,
                        const char *detail);

/* The person's account in the tenant's other directory (worker/run/twin.c). From enter to leave,
 * session, directory and object of the run are that account's, so that steps act on it unchanged.
 * *found 0: the tenant has no such directory, or the directory no such account. Other ends than
 * STEP_ON end the step. Leave is called in any case. */
step_end run_twin_enter(run *r, int *found);
void run_twin_leave(run *r);
/* A step named "<step>@cloud": the same step, of the other account. */
step_end run_twin_step(run *r, step_function function);

/* --- steps_*.c --- */
step_end step_create_account(run *r);
step_end step_set_manager(run *r);
step_end step_set_photo(run *r);
step_end step_update_account(run *r);
/* The payload of an update; else how the step ends, as told in its detail. */
step_end run_read_update(run *r, ida_update *update);
step_end step_restore_memberships(run *r);
step_end step_disable_account(run *r);
step_end step_revoke_sessions(run *r);
step_end step_revoke_memberships(run *r);
step_end step_verify(run *r);
/* The account that the run acts on: disabled, with the cache told; its sessions ended. As run_call:
 * `e` tells the answer. */
step_end run_disable(run *r, directory_error *e);
step_end run_sign_out(run *r, directory_error *e);
step_end step_await_synchronisation(run *r);

/* worker/run/steps_common.c */
/* Directory and cache say that the person is gone: write-through and `already`. */
step_end step_absent(run *r);
/* STEP_ON, unless the person was offboarded after this task was asked for: who left stays out.
 * `so`: what follows, for the detail. */
step_end step_still_wanted(run *r, const char *so);
/* Write-through into the cache after the directory answered. */
typedef ida_kind (*cache_write)(run *r, store *cache, ida_ctx *c, void *baton);
step_end run_cache(run *r, cache_write write, void *baton);
/* The account that the run acts on, as the directory has just shown it; that the directory has it
 * no more. */
step_end run_cache_user(run *r, directory_user *user);
step_end run_cache_gone(run *r);
/* Looks for that account by its ID, into *user. As run_call: `e` tells the answer. */
step_end run_find(run *r, directory_user *user, directory_error *e);

#endif
