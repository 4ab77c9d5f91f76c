/* The stretch between libldap's TLS and the socket: where a peer that sends a byte now and then is
 * met. */
#ifndef WORKER_LDAP_WIRE_WIRE_H
#define WORKER_LDAP_WIRE_WIRE_H

#include <ldap.h>

#include "core/base/context.h"

/* Longest message that is taken from a server: a group of two million members and more. What
 * announces itself as longer is no LDAP. */
#define LD_MESSAGE_MAX ((ber_len_t)256 * 1024 * 1024)

/* Lives as long as the handle. Reads and writes that begin after `until` (monotonic ms) fail:
 * TLS and BER keep reading until a record or message is complete, and each byte would restart
 * the socket's own time-out. */
typedef struct ld_wire {
    const ida_env *env;
    int64_t until;
} ld_wire;

/* Before TLS is set up on the handle. 0 on success. */
int ld_wire_install(LDAP *ld, ld_wire *wire);

#endif
