/* Addresses: the one place where they are built and judged. */
#ifndef WORKER_GRAPH_URL_H
#define WORKER_GRAPH_URL_H

#include "worker/graph/graph.h"

/* graph_url(g, pool, "/users/%s/manager/$ref", id): every %s is percent-encoded as a path segment
 * (a UPN beginning with '$' is put in the function form by graph_user_url). */
const char *graph_url(const graph *g, apr_pool_t *pool, const char *format, ...);
/* "/users/{key}" + tail, by ID or UPN. */
const char *graph_user_url(const graph *g, apr_pool_t *pool, const char *key, const char *tail);
/* Removal of a group's member. The only place that makes a DELETE address below a group; without
 * "/$ref" it would delete the user. */
const char *graph_member_ref_url(const graph *g, apr_pool_t *pool, const char *group_id,
                                 const char *member_id);
/* A value inside '' of $filter: quotes doubled, then percent-encoded. */
const char *graph_filter_value(apr_pool_t *pool, const char *text);

typedef struct graph_address {
    const char *host, *origin,
        *shown; /* origin: "scheme://host:port"; shown: without the usual port */
    int secure, loopback;
} graph_address;

/* 0 when it is no http or https address, or names a user. */
int graph_url_parse(const char *url, apr_pool_t *pool, graph_address *out);
/* 1 when scheme, host and port are the session's. */
int graph_url_ours(const graph *g, const char *url);
/* 0 for an address below a group that a DELETE would use on the member itself. */
int graph_url_deletes_safely(const char *url);

#endif
