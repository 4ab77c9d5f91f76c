/* State shared by the threads of one idadmin-worker: settings, the request to stop, leases,
 * directory calls. */
#ifndef WORKER_HOLD_WORKER_H
#define WORKER_HOLD_WORKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/store/store.h"
#include "worker/base/config.h"
#include "worker/directory/directory.h"
#include "worker/hold/outage.h"

/* a holder acts at most this long after its last renewal, a taker waits as long by its own clock */
#define LEASE_MS 60000
#define LEASE_RENEW_MS 10000
/* how long a claimed probe keeps others from a directory on hold: its calls may be repeated once */
#define PROBE_MS (2 * DIRECTORY_CALL_MS + 5000)
#define POLL_MS 250 /* how often idle threads look for new work */
#define LEASE_SLOTS 256
#define WORKER_NAME 112

typedef enum lease_kind { LEASE_TASK, LEASE_SYNC } lease_kind;

typedef struct lease {
    int used;
    lease_kind kind;
    char tenant[72], task[40];
    ida_directory_kind directory;
    int64_t fence, renewed_at; /* monotonic ms just before the last good renewal was sent */
    int lost, closing; /* closing: its end is being written, after which a renewal finds nothing */
} lease;

/* The present work of a run thread (worker/hold/slot.h). */
typedef struct call_slot {
    int busy;      /* with a task of this directory, or making ready for one */
    char task[40]; /* that it runs or tries to claim; "": none */
    char tenant[72];
    ida_directory_kind directory;
    int64_t since;      /* monotonic ms, of the directory call in progress; 0: none */
    int64_t held_until; /* the watch held the directory because of this call: until when (ms UTC);
                           0: it did not */
} call_slot;

typedef struct crash_note crash_note;

typedef struct worker {
    ida_env env;
    worker_config config;   /* as at the start: never changes */
    worker_config settings; /* the present settings, owned by the main thread; others take a copy */
    char id[WORKER_NAME];   /* host-pid-random: never the name of an earlier process */
    char host[64];
    int64_t pid; /* process that signals are for: this one, or the one that supervises it */
    char service[WORKER_NAME]; /* with which the names of all processes of this service begin, one
                         after the other: those before this one touch nothing more. "": not
                         supervised */
    int starts;                /* this one's number */
    struct {
        int signal; /* 0: none */
        char tenant[72];
        ida_directory_kind directory;
    } suspect; /* it died of this signal in a call of this directory */
    int64_t started_at;
    atomic_int stopping;
    atomic_int strange_key, strange_schema; /* idle.c */
    _Atomic int64_t stop_by;                /* monotonic ms at which the process must be gone */
    pthread_mutex_t lock;                   /* leases, slots, settings */
    lease leases[LEASE_SLOTS];
    outages outages;       /* servers that do not answer, other than directories */
    struct amends *amends; /* amends.c; under the lock */
    call_slot *calls;      /* one a run thread */
    int call_count;
} worker;

/* Prepares `w` with a copy of the configuration. */
void worker_init(worker *w, const ida_env *env, const worker_config *config, apr_pool_t *pool);

/* What is configured now, as a copy in `pool`. Store, threads and the keys of tasks and of the
 * audit stay those of the start. */
void worker_settings(worker *w, apr_pool_t *pool, worker_config *out);
void worker_settings_set(worker *w, const worker_config *config);

/* 1: this holder, whose heartbeat has not changed since then (monotonic ms), cannot be calling a
 * directory any more. */
int worker_holds_no_more(const worker *w, const char *owner, int64_t since);

/* Non-zero once the worker must end; usable as a callback. */
int worker_stopping(void *w);

/* Sleeps at most `ms`, returning early when the worker is to stop. */
void worker_nap(worker *w, int64_t ms);

/* A context in `pool` that reports to this worker's log. */
ida_ctx *worker_ctx(worker *w, apr_pool_t *pool);

/* --- leases (lease.c) --- */

/* Records in the store that this worker is alive. */
ida_kind hold_seen(const worker *w, store *main, ida_ctx *c);

/* Registers what was claimed just after `claimed_at` (monotonic ms taken before the claim was
 * sent). NULL when all slots are taken. */
lease *hold_lease_begin(worker *w, lease_kind kind, const char *tenant, const char *task,
                        ida_directory_kind where, int64_t fence, int64_t claimed_at);
void hold_lease_end(worker *w, lease *l);
/* The holder is about to write the end of its work: a renewal that fails from now on is no loss. */
void hold_lease_closes(worker *w, lease *l);
/* Monotonic ms left; 0 when lost. */
int64_t hold_lease_left(worker *w, lease *l);
/* Renews it when no directory call fits in any more. */
void hold_lease_extend(worker *w, lease *l, store *main, apr_pool_t *pool);
/* Another worker has the fence: do not renew any more. */
void hold_lease_lose(worker *w, lease *l);
/* Renews all; for the heartbeat thread. */
void hold_lease_renew_all(worker *w, store *main, apr_pool_t *pool);

#endif
