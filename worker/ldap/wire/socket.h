/* A TCP or local stream to a server, with every wait bounded, name look-up included. */
#ifndef WORKER_LDAP_WIRE_SOCKET_H
#define WORKER_LDAP_WIRE_SOCKET_H

#include <apr_pools.h>
#include <stdint.h>

/* Connects within `ms`; the descriptor, or -1 with *fault a sentence part in pool ("connection
 * refused"). */
int ld_socket_tcp(apr_pool_t *pool, const char *host, int port, int64_t ms, const char **fault);
int ld_socket_local(apr_pool_t *pool, const char *path, const char **fault);

/* Bounds every single read and write on the descriptor. 0 on success. */
int ld_socket_bound(int fd, int64_t ms);

/* 1 if there is something to read or the peer closed the connection: on an idle connection both
 * mean that it has ended. */
int ld_socket_stirs(int fd);

#endif
