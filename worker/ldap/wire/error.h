/* Result codes of LDAP servers and of libldap as failure classes and as sentences. */
#ifndef WORKER_LDAP_WIRE_ERROR_H
#define WORKER_LDAP_WIRE_ERROR_H

#include "worker/directory/directory.h"

/* What was being done: the same code means different things. Bits, for the table. */
typedef enum ld_phase {
    LD_TLS = 1, /* setting up protection */
    LD_BIND = 2,
    LD_READ = 4, /* an entry that may be absent */
    LD_BASE = 8, /* below a configured base, which must exist */
    LD_WRITE = 16,
    LD_SWAP = 64, /* a write that names the value it replaces: 16 means that another changed it
                     meanwhile */
    LD_MEMBER =
        32 /* a write of memberships: codes that mean "already so" (to be verified by reading) */
} ld_phase;

/* The class of a code; `text` is the server's diagnostic message (may be NULL). *field: the
 * attribute at fault if the text names one, in pool, otherwise NULL. */
directory_class ld_classify(apr_pool_t *pool, int code, ld_phase phase, const char *text,
                            const char **field);

/* 1 when the refusal is one of the server's password policy. */
int ld_password_refused(int code, const char *text);
/* 1 when it is refused because the present password is too new: then there is one. */
int ld_password_stands(int code, const char *text);

/* "No such object (32): text", cleaned and cut. */
const char *ld_code_text(apr_pool_t *pool, int code, const char *text);

#endif
