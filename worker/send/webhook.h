/* One call of a webhook: Standard Webhooks 1.0 (https://www.standardwebhooks.com/). */
#ifndef WORKER_SEND_WEBHOOK_H
#define WORKER_SEND_WEBHOOK_H

#include <sys/socket.h>

#include "core/base/context.h"

typedef struct webhook_call {
    const char *url;         /* https, or http to this machine */
    const char *secret_file; /* "whsec_" and base64 of 24 to 64 bytes; several, while one is
                                replaced by another */
    const char *ca_file;     /* NULL: the system's */
    const char *id;          /* webhook-id: the same for every try */
    const char *body;        /* JSON */
    int allow_private;
} webhook_call;

typedef enum webhook_outcome {
    WEBHOOK_TAKEN,   /* answered with 2xx */
    WEBHOOK_REFUSED, /* 3xx, 4xx, a private address, settings: a person has to change something */
    WEBHOOK_LATER,   /* unreachable, 408, 425, 429, 5xx */
    WEBHOOK_LOST,    /* sent, the answer did not come */
    WEBHOOK_GONE     /* 410: refused for good, and so would be every other call */
} webhook_outcome;

/* The identity of the request that `env` is about goes along, as X-Request-Id and traceparent.
 * Takes at most WEBHOOK_MS. *detail is for people, in `pool`; *retry_after_ms: requested by a
 * 429 or 503, at most WEBHOOK_RETRY_AFTER_MOST_MS; otherwise 0. */
#define WEBHOOK_MS 15000
#define WEBHOOK_RETRY_AFTER_MOST_MS (3600 * 1000)
webhook_outcome webhook_send(const ida_env *env, apr_pool_t *pool, const webhook_call *call,
                             int *retry_after_ms, const char **detail);

/* Connects to its address and sends nothing: NULL when that works, else why not, for people.
 * *ends: when its certificate expires (ms UTC); 0: not known. */
const char *webhook_unreachable(apr_pool_t *pool, const webhook_call *call, int64_t *ends);

/* Why its secret file makes no signature, or NULL. */
const char *webhook_secret_fault(apr_pool_t *pool, const webhook_call *call);
/* Faults of c (ida_fault_add), by member: secret files of the document that no signature can be
 * made with. */
struct ida_tenant;
void webhook_secrets_check(ida_ctx *c, const struct ida_tenant *tenant);

/* --- for tests --- */

/* 1 for addresses outside the public internet: this machine, private and shared networks, link-
 * local, multicast, documentation, and IPv6 addresses that contain such an IPv4 address. */
int webhook_address_private(const struct sockaddr *address);
/* What an answer with that status means. */
webhook_outcome webhook_judge_status(apr_pool_t *pool, long status, const char **detail);
/* The value of webhook-signature for secrets in the form of their file; NULL with *fault. */
const char *webhook_signature(apr_pool_t *pool, const char *secrets, const char *id, int64_t at_s,
                              const char *body, const char **fault);

#endif
