/* Lines to a log server: syslog over TLS (RFC 5425), a batch a connection. Knows nothing of what
 * the lines say. */
#ifndef WORKER_SEND_SYSLOG_H
#define WORKER_SEND_SYSLOG_H

#include <apr_tables.h>

#include "core/base/context.h"

typedef struct syslog_server {
    const char *host, *port;
    const char *ca_file;           /* NULL: the system's */
    const char *certificate, *key; /* files of this machine's; NULL: none */
} syslog_server;

/* "HOST", "HOST:PORT" or "[ADDRESS]:PORT" into host and port, in the pool; 0: it is none of them.
 */
int syslog_address(apr_pool_t *pool, const char *text, syslog_server *out);

/* Why nothing could be sent as the files are, for people, or NULL. */
const char *syslog_fault(apr_pool_t *pool, const syslog_server *server);

/* Sends the lines (const char *) in their order. The protocol has no answer: they count as taken
 * when the server, after the end of them, has ended the connection in order, having read all, as
 * TCP tells. NULL, or why not, for people; then some may have arrived all the same. */
const char *syslog_send(const ida_env *env, apr_pool_t *pool, const syslog_server *server,
                        const apr_array_header_t *lines);

#endif
