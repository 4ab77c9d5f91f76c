/* Pacing of one application in one tenant: below the published limits, and as slow as the
 * service asks. One object for all sessions of the process; it locks itself. */
#ifndef WORKER_GRAPH_THROTTLE_H
#define WORKER_GRAPH_THROTTLE_H

#include <pthread.h>

#include "worker/base/http.h"
#include "worker/graph/request.h"

/* Published: 3,000 writes in 150 s. 18.7 a second and a burst of 150 make at most 2,955 in any
 * 150 s, which leaves room for requests that travel at different speeds. With the burst a minute
 * at which dozens of people join and leave is done within that minute. */
#define GRAPH_WRITES_PER_S 18.7
#define GRAPH_WRITES_BURST 150
/* Published: 3,500, 5,000 or 8,000 units in 10 s, depending on the number of users. We use 85 %
 * of it, a tenth of the limit as a burst. */
#define GRAPH_UNITS_SHARE 0.85
#define GRAPH_UNITS_BURST 0.1
/* longest wait inside a call: longer ones are the task's, not a thread's */
#define GRAPH_PACE_MS 4000

typedef struct graph_bucket {
    double level, rate, burst; /* rate: per second */
    int64_t at;                /* monotonic ms of `level` */
} graph_bucket;

typedef struct graph_throttle {
    pthread_mutex_t lock;
    graph_bucket writes, units;
    int64_t hold_all, hold_writes; /* monotonic ms until which nothing is sent */
    int refusals;                  /* successive 429s without a Retry-After */
    double strain;                 /* last x-ms-throttle-limit-percentage */
    int64_t strain_until;
    int64_t users; /* of the tenant; 0: not known */
} graph_throttle;

void graph_throttle_init(graph_throttle *t, int64_t now);

/* Waits for its turn, at most GRAPH_PACE_MS and never beyond the call's deadline.
 * DIRECTORY_THROTTLED (error set, nothing sent) while the service asks to wait, or if the turn
 * is further away. */
directory_class graph_throttle_enter(graph_throttle *t, graph_call *k, graph_effect effect,
                                     const graph_request *request);
/* Reads the limits that an answer reports. Returns how long to wait after a 429, in ms;
 * otherwise 0. */
int64_t graph_throttle_answered(graph_throttle *t, const ida_env *env, const http_answer *answer);

/* Live workers on this store: each takes its part of the limits. Any thread, any time. */
void graph_throttle_share(int workers);
/* Number of users of the tenant that a synchronisation has seen so far: the read limit depends
 * on it. The largest number counts. */
void graph_throttle_tenant_size(const graph *g, int64_t users);

/* --- inside, for tests --- */

/* Takes `cost` and returns the ms to wait before it may be used, or -1 (nothing taken) when that is
 * more than `patience`. `reserve` of the burst is left to others. */
int64_t graph_bucket_take(graph_bucket *b, int64_t now, double cost, double reserve,
                          int64_t patience);

#endif
