/* A sync run as its parts see it. */
#ifndef WORKER_GRAPH_SYNC_H
#define WORKER_GRAPH_SYNC_H

#include "worker/graph/delta.h"

/* --- sign-in activity (worker/graph/signin.c): a list of its own, read in pieces over many rounds
 * --- */

/* Kept between runs as the member `signIns` of the tokens. */
typedef struct graph_sign_ins {
    const char *next;     /* page to go on with; NULL: a pass begins with the first one */
    int64_t completed_at; /* last whole pass; 0: none yet, so that nobody's sign-ins are known */
    int64_t not_before;   /* when to ask again */
    const char
        *refused;    /* why the directory tells no sign-ins; NULL: it does, as far as is known */
    int64_t sent[5]; /* times of the last requests, oldest first: the reports' own limit */
} graph_sign_ins;

void graph_sign_ins_load(graph_sign_ins *s, apr_pool_t *pool, const json_t *tokens);
json_t *graph_sign_ins_json(const graph_sign_ins *s); /* new reference */

/* Reads as many pages as its limit allows, waiting for its turn at most `patience_ms` in all.
 * `full`: a pass begins even when the last one is young. Whatever the directory answers here, the
 * main sync goes on: only a stop, a full disk and the like are returned. */
directory_class graph_sign_ins_read(graph_delta *d, graph_sign_ins *s, int full,
                                    int64_t patience_ms);

/* 1 when the cache can tell who did not sign in. */
int graph_sign_ins_known(const graph_sign_ins *s);

#endif
