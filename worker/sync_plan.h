/* The plan of synchronisations inside a worker: which directory is due when. Shared by the plan
 * and the threads that carry it out; all other files include worker/sync.h. */
#ifndef WORKER_SYNC_PLAN_H
#define WORKER_SYNC_PLAN_H

#include <pthread.h>

#include "core/store/directory.h"
#include "worker/hold/threads.h"
#include "worker/sync.h"

/* A directory of a tenant. */
typedef struct sync_entry {
    struct sync_entry *next;
    char tenant[72];
    ida_directory_kind directory;
    int64_t revision, interval, next_at; /* ms; next_at monotonic */
    int held;                            /* waits for the end of the directory's hold */
    int busy, present;    /* present 0: not in the document; its rows are removed from the cache if
                             `reset` is set */
    int64_t requested_at; /* 0: nobody asked */
    int accept, reset;
    /* what was seen of another holder's lease, and since when (monotonic) */
    char owner[WORKER_NAME];
    int64_t fence, heartbeat, since;
} sync_entry;

struct sync_plan {
    worker *w;
    apr_pool_t *pool; /* entries; used under the lock */
    pthread_mutex_t lock;
    sync_entry *first;
    hold_threads threads;
};

/* Copies the entry that is due for longest and marks it busy; 0 when none is due. */
int sync_plan_take(sync_plan *plan, sync_entry *out, sync_entry **taken);
/* Returns the entry with the time of its next turn; what arrived meanwhile (a request, a new
 * document) takes precedence. `answered`: the request has been carried out, its permission to
 * delete included. */
void sync_plan_give_back(sync_plan *plan, sync_entry *e, const sync_entry *mine, int64_t wait,
                         int answered);
/* Copies the administrators' present request from the store into the entry that was taken and
 * into the plan's own. */
void sync_plan_asked(sync_plan *plan, sync_entry *taken, const store_directory *state);

#endif
