/* The access token of one application in one directory: got, kept, renewed and dropped here. One
 * for all sessions of the process; locks for itself. */
#ifndef WORKER_GRAPH_TOKEN_H
#define WORKER_GRAPH_TOKEN_H

#include <pthread.h>
#include <sys/stat.h>

#include "worker/graph/call.h"

#define GRAPH_TOKEN_SIZE 32768 /* bytes for "Authorization: Bearer " and the token */

typedef struct graph_token {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *header;                 /* memory of secret_map */
    int64_t number;               /* of the present token; 0: none yet */
    int64_t renew_at, expires_at; /* monotonic ms */
    int fetching;
    /* the last failure, returned to all callers until it is time to try again */
    directory_class refusal;
    char refusal_text[1200];
    int64_t refusal_until;
    struct stat refused_file; /* a change of the credential file ends a refusal at once */
} graph_token;

/* 0 without memory. */
int graph_token_init(graph_token *t);

/* A usable token as header line into `header` (GRAPH_TOKEN_SIZE bytes of secret_map), unless
 * *number names it as being there already. Gets or renews it, or waits for the thread that does. */
directory_class graph_token_get(graph_call *k, char *header, int64_t *number);
/* The API refused the token of that number: no one uses it any more. */
void graph_token_drop(graph_token *t, int64_t number);

/* "https://graph.microsoft.com/.default" for the session's API. */
const char *graph_token_scope(const graph *g, apr_pool_t *pool);

/* --- inside --- */

struct http_answer;
/* Parses the endpoint's answer: the token into `header` (GRAPH_TOKEN_SIZE bytes), its life in
 * seconds. `credential`: the secret that was sent and must not appear in the error. *answered:
 * the endpoint itself refused it. */
directory_class graph_token_answer(graph_call *k, const char *url, const struct http_answer *a,
                                   const char *credential, char *header, int64_t *life,
                                   int *answered);

/* worker/graph/assertion.c: */

/* Signed client assertion appended to the NUL-terminated `out` of `size` bytes. NULL, or for people
 * what is wrong. `pem`: key and certificate. */
const char *graph_assertion(const ida_env *env, apr_pool_t *pool, const char *pem, size_t pem_len,
                            const char *client_id, const char *audience, char *out, size_t size);
/* When the certificate ends (ms UTC). NULL, or what is wrong. */
const char *graph_certificate_end(const char *pem, size_t len, int64_t *at);

#endif
