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
/* For client-request-id: the identity of the request that is carried out, if that is a GUID or a
 * trace's ID; else one made of it, the same each time; of no request a random one. */
const char *graph_request_guid(const ida_env *env, apr_pool_t *pool, char out[GRAPH_GUID_SIZE]);

#endif
