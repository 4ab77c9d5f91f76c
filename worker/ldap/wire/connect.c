/* Owns connecting: order of servers, bind, reading the rootDSE. Must not know users or groups. */
#include <openldap.h>
#include <sasl/sasl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "worker/base/secret.h"
#include "worker/ldap/wire/ber.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/socket.h"
#include "worker/ldap/wire/value.h"
#include "worker/ldap/wire/wire.h"

#define CONNECT_MS 5000 /* one server: TCP, TLS and bind each */
#define IO_MS 2000      /* one read or write inside libldap */
#define IDLE_MS 60000   /* a connection unused for longer is not used for a write */
#define BIND_PASSWORD_SIZE 1024
#define SEALED_SSF 128
#define ACTIVE_DIRECTORY "1.2.840.113556.1.4.800" /* a capability of the rootDSE */

static struct timeval interval(int64_t ms)
{
    return (struct timeval){.tv_sec = (time_t)(ms / 1000),
                            .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

static directory_class set_options(ld_call *k, LDAP *ld, int64_t ms)
{
    int version = LDAP_VERSION3, never = LDAP_DEREF_NEVER;
    struct timeval bound = interval(ms);
    int bad = ldap_set_option(ld, LDAP_OPT_PROTOCOL_VERSION, &version) |
              ldap_set_option(ld, LDAP_OPT_REFERRALS, LDAP_OPT_OFF) |
              ldap_set_option(ld, LDAP_OPT_RESTART, LDAP_OPT_ON) |
              ldap_set_option(ld, LDAP_OPT_DEREF, &never) |
              ldap_set_option(ld, LDAP_OPT_NETWORK_TIMEOUT, &bound) |
              ldap_set_option(ld, LDAP_OPT_TIMEOUT, &bound)
              /* Together with the socket's own time-outs this ends the wait for a peer that is
                 silent inside the TLS handshake; each alone hangs. */
              | ldap_set_option(ld, LDAP_OPT_CONNECT_ASYNC, LDAP_OPT_ON);
    return bad ? ld_fail(k, DIRECTORY_LOCAL, NULL, "the LDAP library refuses an option")
               : DIRECTORY_OK;
}

/* The password into `out` (memory of secret_map), *len set. Read at each connect, so that a changed
 * file counts. */
static directory_class read_password(ld_call *k, char *out, size_t *len)
{
    const char *file = k->d->password_file,
               *fault = secret_file_read(k->pool, "bindPasswordFile", file, out, BIND_PASSWORD_SIZE,
                                         len);
    if (fault) {
        return ld_fail(k, DIRECTORY_CONFIG, NULL, "%s", fault);
    }
    while (*len && strchr("\r\n", out[*len - 1])) {
        --*len;
    }
    /* An empty password would be an unauthenticated bind, which some servers call a success. */
    return *len ? DIRECTORY_OK
                : ld_fail(k, DIRECTORY_CONFIG, NULL, "bindPasswordFile %s is empty", file);
}

static int no_interaction(LDAP *ld, unsigned flags, void *defaults, void *interact)
{
    (void)ld, (void)flags, (void)defaults;
    for (sasl_interact_t *ask = interact; ask->id != SASL_CB_LIST_END; ask++) {
        ask->result = ask->defresult ? ask->defresult : "";
        ask->len = (unsigned)strlen(ask->result);
    }
    return LDAP_SUCCESS;
}

/* The result of one bind request; *message is passed on if SASL needs a further round. */
static directory_class bind_answer(ld_call *k, int id, ld_answer *answer, LDAPMessage **message)
{
    int type = ld_wait(k, id, message);
    if (type <= 0) {
        return ld_fail_code(k, type == 0 ? LDAP_TIMEOUT : LDAP_SERVER_DOWN, LD_BIND, NULL, "bind");
    }
    return ld_parse(k, *message, answer, k->pool);
}

static directory_class bind_gssapi(ld_call *k, LDAP *ld, ld_answer *answer)
{
    LDAPMessage *message = NULL;
    const char *mechanism = NULL;
    int id = -1, code;
    ber_len_t least = SEALED_SSF, ssf = 0;
    ldap_set_option(ld, LDAP_OPT_X_SASL_NOCANON, LDAP_OPT_ON);
    ldap_set_option(ld, LDAP_OPT_X_SASL_SSF_MIN, &least);
    do {
        code = ldap_sasl_interactive_bind(ld, NULL, "GSSAPI", NULL, NULL, LDAP_SASL_QUIET,
                                          no_interaction, NULL, message, &mechanism, &id);
        ldap_msgfree(message);
        message = NULL;
        if (code == LDAP_SASL_BIND_IN_PROGRESS) {
            int type = ld_wait(k, id, &message);
            if (type <= 0) {
                return ld_fail_code(k, type == 0 ? LDAP_TIMEOUT : LDAP_SERVER_DOWN, LD_BIND, NULL,
                                    "bind");
            }
        }
    } while (code == LDAP_SASL_BIND_IN_PROGRESS);
    answer->code = code;
    answer->text = ld_diagnostic(ld, k->pool);
    if (code == LDAP_SUCCESS &&
        (ldap_get_option(ld, LDAP_OPT_X_SASL_SSF, &ssf) != 0 || ssf < SEALED_SSF)) {
        return ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: GSSAPI gave no sealing of %d bits or more",
                       ld_server_url(k->d), SEALED_SSF);
    }
    return DIRECTORY_OK;
}

static directory_class bind_now(ld_call *k, LDAP *ld)
{
    /* Not critical: servers without a password policy ignore it. */
    LDAPControl policy = {.ldctl_oid = (char *)(uintptr_t)LDAP_CONTROL_PASSWORDPOLICYREQUEST},
                *controls[] = {&policy, NULL};
    const directory *d = k->d;
    ld_answer answer = {0};
    LDAPMessage *message = NULL;
    directory_class class = DIRECTORY_OK;
    if (d->bind == LD_BIND_GSSAPI) {
        class = bind_gssapi(k, ld, &answer);
    } else {
        char *password = secret_map(BIND_PASSWORD_SIZE);
        if (!password) {
            return ld_fail(k, DIRECTORY_LOCAL, NULL, "no memory for the bind password");
        }
        struct berval credential = {.bv_val = password, .bv_len = 0};
        int id, simple = d->bind == LD_BIND_SIMPLE;
        class = simple ? read_password(k, password, &credential.bv_len) : DIRECTORY_OK;
        if (!class) {
            int code = ldap_sasl_bind(ld, simple ? d->bind_dn : NULL,
                                      simple ? LDAP_SASL_SIMPLE : "EXTERNAL", &credential,
                                      simple ? controls : NULL, NULL, &id);
            class = code == LDAP_SUCCESS
                        ? bind_answer(k, id, &answer, &message)
                        : ld_fail_code(k, code, LD_BIND, ld_diagnostic(ld, k->pool), "bind");
        }
        secret_unmap(password, BIND_PASSWORD_SIZE);
    }
    const char *why = class ? NULL : ld_policy_heard(k->d, answer.controls);
    if (class || answer.code == LDAP_SUCCESS) {
        return class;
    }
    return ld_fail_code(k, answer.code, LD_BIND, why ? why : answer.text,
                        d->bind_dn ? ida_printf(k->pool, "bind as %s", d->bind_dn) : "bind");
}

/* The naming context that contains our people; NULL if the server does not report it. */
static const char *context_of(const directory *d, const ld_entry *root)
{
    const ld_attribute *contexts = ld_get(root, "namingContexts");
    const char *base = ld_dn_key(d->connection, d->user_base);
    for (int i = 0; base && contexts && i < contexts->count; i++) {
        const char *key = ld_dn_key(d->connection, contexts->values[i].bv_val);
        if (key && *key && ld_dn_key_below(base, key)) {
            return contexts->values[i].bv_val;
        }
    }
    return NULL;
}

/* Reads the kind of this server and its abilities after every bind, because another server may
 * be behind the address by now. */
static directory_class read_root(ld_call *k)
{
    static const char *const attributes[] = {"supportedControl",
                                             "supportedCapabilities",
                                             "supportedExtension",
                                             "subschemaSubentry",
                                             "vendorName",
                                             "vendorVersion",
                                             "defaultNamingContext",
                                             "dsServiceName",
                                             "tokenGroups",
                                             "namingContexts",
                                             NULL};
    directory *d = k->d;
    const ld_entry nothing = {.dn = ""}, *root = &nothing; /* our account may not be allowed to
                                                              read it */
    LDAPMessage *message = NULL;
    struct timeval bound = interval(ld_left(k));
    int id, code = ldap_search_ext(d->ld, "", LDAP_SCOPE_BASE, "(objectClass=*)",
                                   (char **)(uintptr_t)attributes, 0, NULL, NULL, &bound, 1, &id);
    int type = code == LDAP_SUCCESS ? ld_wait(k, id, &message) : -1;
    ld_answer answer = {0};
    while (type == LDAP_RES_SEARCH_ENTRY || type == LDAP_RES_SEARCH_REFERENCE) {
        if (type == LDAP_RES_SEARCH_ENTRY && root == &nothing) {
            const ld_entry *entry = ld_entry_read(d->ld, message, d->connection);
            root = entry ? entry : root;
        }
        ldap_msgfree(message);
        type = ld_wait(k, id, &message);
    }
    if (type <= 0) {
        return ld_fail_code(k, type == 0 ? LDAP_TIMEOUT : LDAP_SERVER_DOWN, LD_READ, NULL,
                            "read the rootDSE");
    }
    directory_class class = ld_parse(k, message, &answer, k->pool);
    if (class) {
        return class;
    }
    int active_directory = ld_holds(root, "supportedCapabilities", ACTIVE_DIRECTORY);
    if (active_directory != d->dialect->active_directory) {
        return ld_fail(k, DIRECTORY_CONFIG, NULL, "%s is %s, but dialect is %s", ld_server_url(d),
                       active_directory ? "Active Directory" : "no Active Directory",
                       d->dialect->name);
    }
    /* If our account may not read the rootDSE this is unknown: then the sync tries. */
    d->offers_sync = ld_get(root, "supportedControl")
                         ? ld_holds(root, "supportedControl", LDAP_CONTROL_SYNC)
                         : -1;
    d->offers_password = ld_holds(root, "supportedExtension", LDAP_EXOP_MODIFY_PASSWD);
    d->offers_post_read = ld_holds(root, "supportedControl", LDAP_CONTROL_POST_READ);
    d->subschema = ld_text(d->connection, root, "subschemaSubentry");
    d->vendor = ld_text(d->connection, root, "vendorVersion");
    d->root = ld_text(d->connection, root, "defaultNamingContext");
    d->root = d->root ? d->root : context_of(d, root);
    d->service = ld_text(d->connection, root, "dsServiceName");
    const ld_attribute *sids = active_directory ? ld_get(root, "tokenGroups") : NULL;
    d->own_sid = sids ? sids->values[0]
                      : (struct berval){0}; /* the account itself comes before its groups */
    return DIRECTORY_OK;
}

static int64_t soon(const ld_call *k)
{
    int64_t end = ida_monotonic(k->d->env) + CONNECT_MS;
    return end < k->deadline ? end : k->deadline;
}

static directory_class connect_to(ld_call *k, int index)
{
    directory *d = k->d;
    const ld_server *server = &d->servers[index];
    const char *fault = NULL, *plain = server->url;
    ld_call part = *k;
    d->server = index;
    part.deadline = soon(k);
    int local = server->scheme == LD_LDAPI;
    int fd = local ? ld_socket_local(k->pool, server->host, &fault)
                   : ld_socket_tcp(k->pool, server->host, server->port, ld_left(&part), &fault);
    if (fd < 0) {
        return ld_fail(k, DIRECTORY_TRANSIENT, NULL, "%s: %s", server->url,
                       fault ? fault : "cannot connect: no time left");
    }
    if (!local) {
        /* Names the host that the certificate is checked against; we start TLS ourselves. */
        plain = ida_printf(k->pool, strchr(server->host, ':') ? "ldap://[%s]:%d" : "ldap://%s:%d",
                           server->host, server->port);
    }
    int64_t io = ld_left(&part) < IO_MS ? ld_left(&part) + 1 : IO_MS;
    LDAP *ld = NULL;
    if (ld_socket_bound(fd, io) != 0 ||
        ldap_init_fd(fd, local ? LDAP_PROTO_IPC : LDAP_PROTO_TCP, plain, &ld) != LDAP_SUCCESS) {
        close(fd);
        return ld_fail(k, DIRECTORY_LOCAL, NULL, "%s: no LDAP handle could be made", server->url);
    }
    d->ld = ld;
    d->connections++;
    d->fd = fd;
    d->wire = (ld_wire){.env = d->env, .until = part.deadline};
    if (ld_wire_install(ld, &d->wire) != 0) {
        ld_drop(d);
        return ld_fail(k, DIRECTORY_LOCAL, NULL, "%s: the LDAP library takes no layer of ours",
                       server->url);
    }
    directory_class class = set_options(&part, ld, ld_left(&part) + 1);
    if (!class) {
        class = ld_protect(&part, ld, server);
    }
    if (!class) {
        part.deadline = soon(k);
        d->wire.until = part.deadline;
        class = bind_now(&part, ld);
    }
    if (!class) {
        class = read_root(&part);
    }
    if (class) {
        ld_drop(d);
        return class;
    }
    ld_socket_bound(fd, IO_MS);
    d->used_at = ida_monotonic(d->env);
    d->wire.until = k->deadline;
    return DIRECTORY_OK;
}

directory_class ld_ready(ld_call *k)
{
    directory *d = k->d;
    int64_t now = ida_monotonic(d->env);
    if (d->ld && now - d->used_at <= IDLE_MS && !ld_socket_stirs(d->fd)) {
        d->used_at = now;
        d->wire.until = k->deadline;
        return DIRECTORY_OK;
    }
    ld_drop(d);
    directory_class worst = DIRECTORY_OK;
    directory_error why = {0};
    int first = d->server, tried = 0;
    /* Round 0: servers in good standing, beginning with the one used last (sync tokens are its
     * own). Round 1, if none was: the others. */
    for (int round = 0; round < 2 && !tried; round++) {
        for (int i = 0; i < d->server_count && ld_left(k) > 0; i++) {
            int index = (first + i) % d->server_count;
            ld_server *server = &d->servers[index];
            if (round == 0 && server->failed_until > now) {
                continue;
            }
            tried = 1;
            directory_class class = connect_to(k, index);
            if (!class) {
                server->failed_until = 0;
                return DIRECTORY_OK;
            }
            server->failed_until = ida_monotonic(d->env) + LD_FAILED_MS;
            /* Prefer a fault that an administrator must fix to an unreachable server. A refused
             * account is not tried on other servers, because that would lock it. */
            if (!worst || (worst == DIRECTORY_TRANSIENT && class != DIRECTORY_TRANSIENT)) {
                worst = class;
                why = *k->e;
            }
            if (class == DIRECTORY_CREDENTIALS) {
                break;
            }
        }
    }
    d->server = first;
    if (!worst) {
        return ld_fail(k, DIRECTORY_TRANSIENT, NULL, "no time was left to connect to %s",
                       ld_server_url(d));
    }
    *k->e = why;
    return worst;
}

const char *ld_own_key(ld_call *k)
{
    directory *d = k->d;
    LDAPMessage *message = NULL;
    struct berval *identity = NULL;
    int id;
    if (d->own_key || !d->ld || d->own_sid.bv_val) {
        return d->own_key;
    }
    if (d->bind == LD_BIND_SIMPLE) {
        return d->own_key = ld_dn_key(d->connection, d->bind_dn);
    }
    if (ldap_extended_operation(d->ld, LDAP_EXOP_WHO_AM_I, NULL, NULL, NULL, &id) == LDAP_SUCCESS &&
        ld_wait(k, id, &message) > 0) {
        if (ldap_parse_extended_result(d->ld, message, NULL, &identity, 0) == LDAP_SUCCESS &&
            identity && identity->bv_len > 3 && strncmp(identity->bv_val, "dn:", 3) == 0) {
            d->own_key = ld_dn_key(d->connection, ld_bytes(k->pool, identity).bv_val + 3);
        }
        ber_bvfree(identity);
        ldap_msgfree(message);
    }
    return d->own_key;
}
