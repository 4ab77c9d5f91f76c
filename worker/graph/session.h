/* The rest of a session, known only where requests are made. */
#ifndef WORKER_GRAPH_SESSION_H
#define WORKER_GRAPH_SESSION_H

#include "worker/base/http.h"
#include "worker/graph/graph.h"

/* What the last answer told beside its body. In the pool of its call. */
typedef struct graph_seen {
    const char *percentage, *throttle_reason;
} graph_seen;

typedef struct graph_session {
    graph g;        /* first: what the other files see */
    char *header;   /* Authorization line, memory of secret_map */
    int64_t number; /* of the token in it */
    graph_seen last;
} graph_session;

/* --- inside (worker/graph/request.c) --- */

/* What an answer of the API says, as graph_send tells it. The body may be taken out of `raw`. */
directory_class graph_answer_read(graph_call *k, graph_effect effect, const graph_request *r,
                                  http_answer *raw, graph_answer *answer);

#endif
