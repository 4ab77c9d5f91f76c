/* One HTTP exchange through libcurl: bytes out, bytes and a few headers in. Belongs to one thread
 * at a time. */
#ifndef WORKER_BASE_HTTP_H
#define WORKER_BASE_HTTP_H

#include <apr_pools.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/context.h"

/* How far a request came if there was no answer. */
typedef enum http_outcome {
    HTTP_ANSWERED,
    HTTP_UNSENT,  /* no byte of the request was sent: name, connection, proxy */
    HTTP_REFUSED, /* our settings or the peer's certificate: needs a human; nothing was sent */
    HTTP_LOST,    /* the request was sent, its answer did not come or is incomplete */
    HTTP_TOO_BIG, /* the answer is larger than max_bytes */
    HTTP_STOPPED, /* stopped by `alive`; the request may have been sent */
    HTTP_FAULT    /* our own: memory, an option that libcurl refuses */
} http_outcome;

typedef struct http_request {
    const char *method, *url;
    const char *const *headers; /* "Name: value", NULL-terminated, or NULL */
    const char *secret_header;  /* one more, in memory of secret_map; NULL: none */
    const void *body;           /* NULL: none. Not copied */
    size_t body_len, max_bytes;
    int once;             /* 1: never sent a second time by libcurl on its own (writes) */
    int64_t deadline;     /* monotonic ms */
    int (*alive)(void *); /* non-zero stops; NULL: none */
    void *baton;
} http_request;

typedef struct http_answer {
    int status;
    char *bytes; /* followed by a NUL; http_answer_free */
    size_t len;
    int sent; /* the request, or a part of it, may have been sent */
    /* headers, in the given pool; NULL if absent */
    const char *location, *retry_after, *request_id, *date, *content_type, *throttle_scope,
        *throttle_percentage, *throttle_reason;
    const char *fault; /* for people, if there is no answer */
} http_answer;

typedef struct http_client http_client;

/* Once, before threads start. */
void http_library_init(void);

/* A handle that keeps its connections between exchanges. `ca_file`, `proxy_url`: NULL for none.
 * `single`: HTTP/1.1, for one exchange that leaves no state. NULL if libcurl is out of memory. */
http_client *http_make(apr_pool_t *pool, const ida_env *env, const char *ca_file,
                       const char *proxy_url, int single);
void http_close(http_client *h);

/* `answer` is filled whatever the outcome is. */
http_outcome http_send(http_client *h, apr_pool_t *pool, const http_request *request,
                       http_answer *answer);
/* Wipes and frees the body, which may also come from malloc(). */
void http_answer_free(http_answer *answer);

/* Stores one header line, as libcurl passes it (not terminated), in the members it belongs to. A
 * status line resets them all: earlier lines belonged to an interim answer or to the proxy. */
void http_answer_header(http_answer *answer, apr_pool_t *pool, const char *bytes, size_t len);

/* Retry-After in ms from now: seconds, also fractions, or a date, compared with the answer's own
 * Date if it has one. -1: none. */
int http_retry_after_ms(const http_answer *answer, int64_t now);
/* An HTTP date in ms, 0 if it is not a date. */
int64_t http_date_ms(const char *text);

#endif
