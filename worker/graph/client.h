/* What all sessions of the process with one application in one directory share. */
#ifndef WORKER_GRAPH_CLIENT_H
#define WORKER_GRAPH_CLIENT_H

#include <stdatomic.h>

#include "worker/graph/throttle.h"
#include "worker/graph/token.h"

struct graph_client {
    struct graph_client *next;
    char *key; /* settings it belongs to */
    graph_token token;
    graph_throttle throttle;
    _Atomic int64_t
        clock_ahead; /* ms by which the service's clock was ahead of ours, from its Date */
};

/* The one of these settings, made at first use and kept for the life of the process (there are as
 * many as there were settings). NULL without memory. */
struct graph_client *graph_client_of(const graph *g);

/* A random (version 4) GUID in text. */
#define GRAPH_GUID_SIZE 37
const char *graph_guid(const ida_env *env, char out[GRAPH_GUID_SIZE]);

#endif
