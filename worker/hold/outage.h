/* Servers other than directories that do not answer (mail): one try at a time, so that not every
 * thread waits for its own time-out. */
#ifndef WORKER_HOLD_OUTAGE_H
#define WORKER_HOLD_OUTAGE_H

#include <pthread.h>
#include <stdint.h>

#define OUTAGE_SERVERS 16

typedef struct outage {
    char server[256]; /* "": a free place */
    int failures;
    int64_t counted_at, until; /* monotonic ms of the last failure counted; no attempt before
                                  `until` */
} outage;

/* Zeroed at first, except the lock. */
typedef struct outages {
    pthread_mutex_t lock;
    outage rows[OUTAGE_SERVERS];
} outages;

/* 0: try now; otherwise the ms to wait before asking again. For a server that did not answer,
 * one attempt at a time is allowed, for `try_ms`. */
int64_t hold_outage_wait(outages *all, const char *server, int64_t now, int64_t try_ms);
/* A try that began at `begun` got no answer. Tries that were on their way together are one failure.
 * Returns 1 when the server had answered until then. */
int hold_outage_silent(outages *all, const char *server, int64_t begun, int64_t now,
                       uint32_t random);
/* The server answered. Returns 1 if it had not before. */
int hold_outage_over(outages *all, const char *server);

#endif
