/* One run of a claimed task: the values that its steps share, and its begin. What a step may do is
 * in worker/run/step.h, which steps there are in worker/run/steps.h. */
#ifndef WORKER_RUN_RUN_H
#define WORKER_RUN_RUN_H

#include "core/base/correlation.h"
#include "core/queue/claim.h"
#include "worker/hold/health.h"
#include "worker/run/session.h"

/* What one run thread owns. */
typedef struct runner {
    worker *w;
    ida_correlation correlation; /* of the task in hand */
    ida_env env;                 /* the worker's, with that while there is one */
    int slot;                    /* its entry of w->calls */
    store *main, *cache;         /* DB_REQUEST, DB_SYNC */
    session_cache sessions;
    /* The last claim found nothing: `outlook` is valid and is read anew before the next claim. */
    int idle;
    queue_outlook outlook;
} runner;

/* How a step ended, for the task. */
typedef enum step_end {
    STEP_ON,     /* outcome and detail are set; continue with the next step */
    STEP_LATER,  /* try again, counted: `failed` after TRIES_MAX */
    STEP_UNSURE, /* the same, but `attention`: it may have happened */
    STEP_LAG,    /* what was written is not visible yet: the task waits a little, uncounted */
    STEP_HELD,   /* the directory as a whole: it was held, the task waits uncounted */
    STEP_FAILED, /* permanent */
    STEP_YIELD,  /* the worker is to stop: the task goes back uncounted */
    STEP_LOST    /* lease or store lost: nothing more may be done or written */
} step_end;

struct run;

/* A write of the run: into the main store under the fence, or into the cache. May be called again.
 */
typedef ida_kind (*run_write)(struct run *r, store *s, ida_ctx *c, void *baton);

/* Records of the run that are not written yet (worker/run/notes.h). */
#define RUN_NOTES_MAX 16
typedef struct run_note {
    run_write write;
    void *baton; /* in the run's pool */
} run_note;

/* The person's account in one of the tenant's directories. */
typedef struct run_account {
    ida_directory_kind directory;
    const char *object_id; /* NULL: not known (yet) */
    int looked;            /* 1: the address was looked up, because the ID is gone */
    const char *stranger;  /* for people: the account with another ID under the address; NULL:
                              none */
    session *session;
    int open;         /* 1: the directory refused to disable it */
    hold_known known; /* of the directory when the run began with it, or since it answered; if it
                         was held, or the watch held it, the first answer clears it */
} run_account;

typedef struct run {
    runner *runner;
    worker *w; /* this and the stores are the runner's */
    store *main, *cache;
    apr_pool_t *pool;
    ida_task *task;
    lease *lease;
    run_account own, other;      /* the task's; that in the tenant's other directory */
    run_account *account;        /* the one of them that the current step acts on */
    json_t *progress, *warnings; /* belong to the pool */
    const char *failure; /* set by a step that failed without ending the run: the task ends `failed`
                            with this text */
    int guarded;         /* 1: an account met by the run must not be touched */
    int failure_unknown; /* 1: it is unknown whether the step took effect or which person it
                            means: the task ends `attention` */
    int is_done;         /* what is written now ends the task as done */
    run_note notes[RUN_NOTES_MAX];
    int note_count;
    int64_t
        tries_before; /* attempts used before the workflow's current action: it counts from there */
    /* of the step in hand */
    ida_step step;    /* nameless: there is none */
    int64_t begun_at; /* ms UTC */
    const json_t
        *settings; /* of a workflow's action, from the sealed document that the session keeps */
    int recorded;  /* it wrote its own record, together with what had to be in the same transaction
                    */
    int64_t lag_since;   /* when it ends with STEP_LAG: what it waits for was written then (UTC) */
    int64_t held_until;  /* after STEP_HELD: when to try again (ms UTC); 0: the task's own
                            directory is held, which the claim of the next attempt checks */
    int64_t retry_after; /* ms: when it ends with STEP_LATER it is not to be tried sooner */
} run;

/* Runs `task` (claimed or taken over just before `claimed_at`, monotonic ms) to its next state. */
void run_task(runner *r, apr_pool_t *pool, ida_task *task, int64_t claimed_at);

#endif
