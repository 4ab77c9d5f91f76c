/* One call of the connector's table: its session, its pool, its error and the one deadline of all
 * its requests. */
#ifndef WORKER_GRAPH_CALL_H
#define WORKER_GRAPH_CALL_H

#include "worker/graph/graph.h"

typedef struct graph_call {
    graph *g;
    apr_pool_t *pool;
    directory_error *e;
    int64_t deadline;     /* monotonic ms */
    int (*alive)(void *); /* non-zero stops the call; NULL: none */
    void *baton;
} graph_call;

graph_call graph_call_begin(graph *g, apr_pool_t *pool,
                            directory_error *e); /* deadline: DIRECTORY_CALL_MS from now */
int64_t graph_left(const graph_call *k);         /* ms, 0 when over */
int graph_stopped(const graph_call *k);          /* 1: the call must end */

/* Sets the error and returns its class. Text of the directory is cleaned; it never contains
 * tokens or secrets. */
directory_class graph_fail(graph_call *k, directory_class class, const char *field,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Sleeps `ms`, less if the call's time is short; 0 if there is no time left for another request. */
int graph_pause(graph_call *k, int ms);
/* Sleeps `ms` whatever the call's time is; 0 as soon as the call must end. */
int graph_rest(const graph_call *k, int64_t ms);

/* The class to return: clears the error after a success. */
directory_class graph_end(graph_call *k, directory_class class);
/* Adds to a FORBIDDEN error the application permission that is missing; other classes are
 * returned unchanged. `privileged`: the account may hold a role that requires more than a
 * permission. */
directory_class graph_needs(graph_call *k, directory_class class, const char *permission,
                            int privileged);

#endif
