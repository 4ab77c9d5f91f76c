/* What settings and links are judged by; the making of addresses is in graph.h. */
#ifndef WORKER_GRAPH_URL_H
#define WORKER_GRAPH_URL_H

#include <apr_pools.h>

typedef struct graph_address {
    const char *host, *origin,
        *shown; /* origin: "scheme://host:port"; shown: without the usual port */
    int secure, loopback;
} graph_address;

/* 0 when it is no http or https address, or names a user. */
int graph_url_parse(const char *url, apr_pool_t *pool, graph_address *out);

/* 0 for an address below a group that a DELETE would use on the member itself. */
int graph_url_deletes_safely(const char *url);

#endif
