/* Owns the protection of a connection by TLS: trusted certificates, and the context that
 * successive connections share. Must not know what is sent over it. */
#include <apr_strings.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"

/* Where systems keep the certificates of public authorities, for a tenant without caFile. */
static const char *const system_authorities[] = {"/etc/ssl/certs/ca-certificates.crt",
                                                 "/etc/pki/tls/certs/ca-bundle.crt",
                                                 "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

void ldap_pvt_tls_ctx_free(
    void *context); /* libldap exports it, but no installed header names it */

const char *ld_authorities(const directory *d)
{
    for (size_t i = 0; !d->ca_file && i < sizeof system_authorities / sizeof *system_authorities;
         i++) {
        if (access(system_authorities[i], R_OK) == 0) {
            return system_authorities[i];
        }
    }
    return d->ca_file;
}

/* Which files these are, as they are now: another text when one of them was changed or replaced. */
static const char *state_of(apr_pool_t *pool, const char *const *files, int count)
{
    const char *all = "";
    for (int i = 0; i < count; i++) {
        struct stat st = {0};
        if (files[i] && stat(files[i], &st) == 0) {
            all = ida_printf(pool, "%s%s %ju %ju %jd %jd.%09ld\n", all, files[i],
                             (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, (intmax_t)st.st_size,
                             (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
        }
    }
    return all;
}

void ld_forget_tls(directory *d)
{
    if (d->tls) {
        ldap_pvt_tls_ctx_free(d->tls);
        d->tls = NULL;
    }
}

/* One context for all connections while its files stay as they are: each takes the whole file of
 * authorities to read, and libldap with GnuTLS never frees the certificate and key it read into
 * one. */
static int set_context(directory *d, LDAP *ld, const char *files)
{
    int client = 0;
    if (d->tls && strcmp(files, d->tls_files) == 0) {
        return ldap_set_option(ld, LDAP_OPT_X_TLS_CTX, d->tls);
    }
    ld_forget_tls(d);
    int bad = ldap_set_option(ld, LDAP_OPT_X_TLS_NEWCTX, &client);
    if (!bad && ldap_get_option(ld, LDAP_OPT_X_TLS_CTX, &d->tls) ==
                    LDAP_OPT_SUCCESS) { /* counted for us too */
        d->tls_files = apr_pstrdup(d->pool, files);
    }
    return bad;
}

static directory_class set_tls(ld_call *k, LDAP *ld)
{
    directory *d = k->d;
    const char *ca = ld_authorities(d);
    int demand = LDAP_OPT_X_TLS_DEMAND, oldest = LDAP_OPT_X_TLS_PROTOCOL_TLS1_2;
    if (!ca) {
        return ld_fail(k, DIRECTORY_CONFIG, NULL,
                       "no file of trusted authorities was found: set caFile");
    }
    if (access(ca, R_OK) != 0) {
        return ld_fail(k, DIRECTORY_CONFIG, NULL, "caFile %s cannot be read: %s", ca,
                       strerror(errno));
    }
    int bad = ldap_set_option(ld, LDAP_OPT_X_TLS_REQUIRE_CERT, &demand) |
              ldap_set_option(ld, LDAP_OPT_X_TLS_CACERTFILE, ca) |
              ldap_set_option(ld, LDAP_OPT_X_TLS_PROTOCOL_MIN, &oldest);
    if (d->certificate_file) {
        bad |= ldap_set_option(ld, LDAP_OPT_X_TLS_CERTFILE, d->certificate_file) |
               ldap_set_option(ld, LDAP_OPT_X_TLS_KEYFILE,
                               d->key_file ? d->key_file : d->certificate_file);
    }
    const char *const files[] = {ca, d->certificate_file, d->key_file};
    /* Last: makes a context of these settings; without it they could be silently ignored. */
    bad |= set_context(d, ld, state_of(k->pool, files, 3));
    return bad ? ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: TLS cannot be set up with %s%s%s",
                         ld_server_url(d), ca, d->certificate_file ? " and " : "",
                         d->certificate_file ? d->certificate_file : "")
               : DIRECTORY_OK;
}

/* What shows the reason: the library below libldap says it in words that differ between systems, or
 * not at all. */
static const char *advice(const ld_call *k, const ld_server *server)
{
    const char *host = server->host;
    int v6 = strchr(host, ':') != NULL, v4 = !host[strspn(host, "0123456789.")];
    return ida_printf(k->pool, "openssl s_client -connect %s%s%s:%d%s -CAfile %s %s %s",
                      v6 ? "[" : "", host, v6 ? "]" : "", server->port,
                      server->scheme == LD_LDAP ? " -starttls ldap" : "", ld_authorities(k->d),
                      v6 || v4 ? "-verify_ip" : "-verify_hostname", host);
}

static directory_class tls_fault(ld_call *k, const ld_server *server, int code, const char *text)
{
    directory_class class = ld_fail_code(k, code, LD_TLS, text, "TLS");
    return class != DIRECTORY_CONFIG
               ? class
               : ld_fail(k, class, NULL,
                         "%s: TLS was refused: %s; check caFile and that the certificate names "
                         "this host, as shown by: %s",
                         server->url, ld_code_text(k->pool, code, text), advice(k, server));
}

static directory_class start_tls(ld_call *k, LDAP *ld)
{
    int id, code = ldap_start_tls(ld, NULL, NULL, &id);
    LDAPMessage *message = NULL;
    ld_answer answer;
    if (code != LDAP_SUCCESS) {
        return ld_fail_code(k, code, LD_READ, NULL, "StartTLS");
    }
    int type = ld_wait(k, id, &message);
    if (type <= 0) {
        return ld_fail_code(k, type == 0 ? LDAP_TIMEOUT : LDAP_SERVER_DOWN, LD_READ, NULL,
                            "StartTLS");
    }
    directory_class class = ld_parse(k, message, &answer, k->pool);
    if (class) {
        return class;
    }
    if (answer.code == LDAP_BUSY || answer.code == LDAP_UNAVAILABLE) {
        return ld_fail_code(k, answer.code, LD_READ, answer.text, "StartTLS");
    }
    /* Never a fall-back to clear text. */
    return answer.code == LDAP_SUCCESS
               ? DIRECTORY_OK
               : ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: StartTLS was refused: %s",
                         ld_server_url(k->d), ld_code_text(k->pool, answer.code, answer.text));
}

directory_class ld_protect(ld_call *k, LDAP *ld, const ld_server *server)
{
    if (server->scheme == LD_LDAPI || (server->scheme == LD_LDAP && !k->d->start_tls)) {
        return DIRECTORY_OK;
    }
    directory_class class = set_tls(k, ld);
    if (!class && server->scheme == LD_LDAP) {
        class = start_tls(k, ld);
    }
    if (class) {
        return class;
    }
    int code = ldap_install_tls(ld);
    return code == LDAP_SUCCESS ? DIRECTORY_OK
                                : tls_fault(k, server, code, ld_diagnostic(ld, k->pool));
}
