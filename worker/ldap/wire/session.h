/* The open session of one tenant's LDAP directory, and a call over it. A session belongs to one
 * thread at a time. */
#ifndef WORKER_LDAP_WIRE_SESSION_H
#define WORKER_LDAP_WIRE_SESSION_H

#include <ldap.h>

#include "worker/directory/directory.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/schema.h"
#include "worker/ldap/wire/wire.h"

typedef enum ld_bind { LD_BIND_SIMPLE, LD_BIND_EXTERNAL, LD_BIND_GSSAPI } ld_bind;
typedef enum ld_scheme { LD_LDAPS, LD_LDAP, LD_LDAPI } ld_scheme;

typedef struct ld_server {
    const char *url, *host; /* host: the path of the socket for ldapi */
    ld_scheme scheme;
    int port;
    int64_t failed_until; /* monotonic ms; not tried before, unless every server is in that state */
} ld_server;

struct directory {
    const ida_env *env;
    const ida_tenant *tenant;
    apr_pool_t *pool;
    /* settings */
    const ld_dialect *dialect;
    ld_server *servers;
    int server_count, start_tls;
    ld_bind bind;
    const char *bind_dn, *password_file, *ca_file, *certificate_file, *key_file;
    const char *user_base, *group_base, *create_in, *upn_attribute, *marker_attribute, *placeholder,
        *placeholder_key;
    const json_t *protected_accounts; /* borrowed from the tenant */
    cache_guard guard;
    const char *const *user_attributes, *const *group_attributes; /* groups: without members */
    const char *dns_domain; /* of userBase by its dc parts, folded; NULL when it has none */
    /* connection; server: index of the one connected to, or connected to last */
    LDAP *ld;
    void *tls; /* libldap's TLS context, shared by one connection after the other; NULL: none yet */
    const char *tls_files; /* what it was made of */
    ld_wire wire;
    int fd, server;
    int64_t used_at,
        connections; /* how many there were: the address of `ld` may be that of an earlier one */
    apr_pool_t *connection; /* facts about the server: cleared with the connection */
    int offers_sync;        /* 1, 0, -1 unknown (rootDSE not readable) */
    int offers_password;    /* Password Modify (RFC 3062) */
    int offers_post_read;   /* the entry as a write left it, in the write's answer (RFC 4527) */
    const char *subschema, *vendor, *root,
        *service; /* root: the naming context; service: in Active Directory, this server's entry */
    struct berval own_sid; /* of our account; bv_val NULL: not reported */
    /* What the password policy said of our bind password at the bind: when it expires (ms UTC, 0:
     * not said, which servers do only near the end), sign-ins that are left to one that has (-1:
     * not said). */
    int64_t password_ends;
    int password_grace;
    const ld_schema *schema; /* read at first use */
    const char *own_key;     /* DN key of our account, after the first query */
};

/* One call of the function table: its pool, its error and the one deadline of all its waits. */
typedef struct ld_call {
    directory *d;
    apr_pool_t *pool;
    directory_error *e;
    int64_t deadline; /* monotonic ms */
    int64_t idle_ms;  /* longest silence of the server inside one answer; 0: only the deadline */
    int (*alive)(void *); /* non-zero stops the call; NULL: none */
    void *baton;
    int stopped;
} ld_call;

ld_call ld_call_begin(directory *d, apr_pool_t *pool, directory_error *e);
int64_t ld_left(const ld_call *k); /* ms, 0 when over */
int ld_stopped(const ld_call *k);  /* the caller wants the call to end, for example because the
                                      worker ends */

/* Sets the error and returns its class. */
directory_class ld_fail(ld_call *k, directory_class class, const char *field, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));
/* Classifies a code and sets the error: "<server>: <doing>: <code text>". */
directory_class ld_fail_code(ld_call *k, int code, ld_phase phase, const char *text,
                             const char *doing);

#define LD_FAILED_MS 30000 /* a server that failed is not tried for so long while others answer */

/* A usable connection: the present one, or a new one, connected, protected and bound. */
directory_class ld_ready(ld_call *k);
void ld_drop(directory *d);
/* The server fell silent or away in the middle of an answer: drops it and tries others first for a
 * while. */
void ld_drop_failed(directory *d);
/* libldap's text for its last failure; NULL: none. */
const char *ld_diagnostic(LDAP *ld, apr_pool_t *pool);
/* Starts TLS on the connection if the address asks for it (worker/ldap/wire/tls.c). The second
 * function frees the session's TLS context. */
directory_class ld_protect(ld_call *k, LDAP *ld, const ld_server *server);
void ld_forget_tls(directory *d);
/* The file of trusted authorities: caFile, else the system's; NULL: none was found. */
const char *ld_authorities(const directory *d);
/* Keeps what the answer to a bind says of our password (worker/ldap/wire/policy.c). Returns its
 * reason for a refusal; NULL: none. */
const char *ld_policy_heard(directory *d, LDAPControl **controls);
const char *ld_server_url(const directory *d);
/* DN key of our account; NULL if the server does not report it (error not set). */
const char *ld_own_key(ld_call *k);

#endif
