/* Pages of a list or delta round, fetched by a thread of its own while those before are being
 * staged. */
#ifndef WORKER_GRAPH_FETCH_H
#define WORKER_GRAPH_FETCH_H

#include "worker/graph/graph.h"
#include "worker/graph/reader.h"

typedef struct graph_page {
    apr_pool_t *pool; /* everything of the page; destroyed by the taker */
    char *items; /* the array `value`, for graph_reader_begin; known to be whole and well-formed */
    const char *delta; /* link of the next round: with it this is the last page. NULL and no more
                          pages: a plain list ended */
    int last;
} graph_page;

/* Takes a page's body apart. 0: it is not whole, or no page. *next: link of the page after it, or
 * NULL. */
int graph_page_open(graph_page *page, char *bytes, const char **next);

typedef struct graph_fetch graph_fetch;

/* Begins at `url`. The session belongs to the fetch until it is ended; nothing else may use it
 * meanwhile. `token`: the address is one the directory gave for this purpose, so that its refusal
 * means that the token is lost. */
directory_class graph_fetch_begin(graph_fetch **fetch, graph_call *k, const char *url, int token,
                                  const char *doing);
/* The next page, waited for. A failure has its error in the call. */
directory_class graph_fetch_next(graph_fetch *fetch, graph_page *page);
void graph_fetch_end(graph_fetch *fetch);

/* One page without a thread; a failure that may pass is tried once more after a short while. */
directory_class graph_fetch_page(graph_call *k, const char *url, const char *doing,
                                 graph_page *page, const char **next, graph_answer *answer);

#endif
