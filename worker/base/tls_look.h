/* A look at the certificate of a server: whether it is trusted, why not, and until when it is
 * valid. One way for every kind of server, because the libraries that carry the traffic (GnuTLS
 * below libldap, OpenSSL below libcurl and libpq) say it in words of their own. */
#ifndef WORKER_BASE_TLS_LOOK_H
#define WORKER_BASE_TLS_LOOK_H

#include <apr_pools.h>
#include <stdint.h>

typedef struct tls_target {
    const char *url;       /* https, ldaps, smtps: TLS at once; ldap, smtp, pgsql: by its command */
    const char *ca_file;   /* NULL: the system's authorities */
    const char *ca_name;   /* setting of ca_file: "caFile" */
    const char *proxy_url; /* NULL: none */
    int clear;             /* 1: no TLS is meant; only whether it can be connected to */
} tls_target;

typedef struct tls_seen {
    int reached;       /* 0: no connection, or no TLS there: nothing was seen */
    int64_t ends;      /* the first certificate of the chain to expire (ms UTC); 0: not known */
    const char *fault; /* each reason and what to do, in words; NULL: trusted */
} tls_seen;

/* Connects and ends the connection after the handshake; sends nothing of the protocol above.
 * At most TLS_LOOK_MS. */
#define TLS_LOOK_MS 10000
void tls_look(apr_pool_t *pool, const tls_target *target, tls_seen *seen);

#endif
