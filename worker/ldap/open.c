/* Owns the making of a session from the tenant document, and the connector's table. Connects
 * nowhere. */
#include <apr_escape.h>
#include <apr_strings.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/tenant/value.h"
#include "worker/base/certificate.h"
#include "worker/base/secret.h"
#include "worker/ldap/change/change.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/ldap.h"
#include "worker/ldap/probe/probe.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/session.h"

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

/* Memory of libldap and of SASL: bind passwords and new ones lie in it, and are wiped. */
static void *lber_malloc(ber_len_t size, void *context)
{
    (void)context;
    return malloc(size);
}

static void *lber_calloc(ber_len_t count, ber_len_t size, void *context)
{
    (void)context;
    return calloc(count, size);
}

static void *lber_realloc(void *memory, ber_len_t size, void *context)
{
    (void)context;
    return secret_realloc(memory, size);
}

static void lber_free(void *memory, void *context)
{
    (void)context;
    secret_free(memory);
}

static void library_init(void)
{
    BerMemoryFunctions memory = {lber_malloc, lber_calloc, lber_realloc, lber_free};
    /* Before its first call; SASL is given the same functions by libldap. */
    ber_set_option(NULL, LBER_OPT_MEMORY_FNS, &memory);
    /* Only our own configuration counts: without this, ldap.conf, LDAPRC and LDAPTLS_* change
     * libldap's defaults. */
    setenv("LDAPNOINIT", "1", 1);
    signal(SIGPIPE, SIG_IGN);
    int version = LDAP_VERSION3; /* the first call initialises libldap, and SASL with it, for the
                                    whole process */
    ldap_set_option(NULL, LDAP_OPT_PROTOCOL_VERSION, &version);
}

void ld_library_init(void)
{
    pthread_once(&library_once, library_init);
}

__attribute__((format(printf, 3, 4))) static directory_class refuse(directory_error *e,
                                                                    apr_pool_t *pool,
                                                                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    e->class = DIRECTORY_CONFIG;
    e->message = apr_pvsprintf(pool, format, args);
    va_end(args);
    e->field = NULL;
    e->retry_after_s = 0;
    return DIRECTORY_CONFIG;
}

static const struct {
    const char *prefix;
    ld_scheme scheme;
    int port;
} schemes[] = {{"ldaps://", LD_LDAPS, 636}, {"ldap://", LD_LDAP, 389}, {"ldapi://", LD_LDAPI, 0}};

static int server_parse(apr_pool_t *pool, const char *url, ld_server *server)
{
    size_t i = 0;
    while (i < sizeof schemes / sizeof *schemes &&
           strncasecmp(url, schemes[i].prefix, strlen(schemes[i].prefix)) != 0) {
        i++;
    }
    if (i == sizeof schemes / sizeof *schemes) {
        return 0;
    }
    server->url = apr_pstrdup(pool, url);
    server->scheme = schemes[i].scheme;
    server->port = schemes[i].port;
    char *rest = apr_pstrdup(pool, url + strlen(schemes[i].prefix));
    char *slash = strchr(rest, '/');
    if (slash) {
        *slash = '\0';
    }
    if (server->scheme == LD_LDAPI) {
        server->host = *rest ? apr_punescape_url(pool, rest, NULL, NULL, 0)
                             : "/var/run/slapd/ldapi";
        return server->host && server->host[0] == '/';
    }
    char *colon = strrchr(rest, ':');
    if (rest[0] == '[') {
        char *close = strchr(rest, ']');
        if (!close) {
            return 0;
        }
        *close = '\0';
        colon = close[1] == ':' ? close + 1 : NULL;
        rest++;
    }
    if (colon) {
        char *end;
        *colon = '\0';
        long port = strtol(colon + 1, &end, 10);
        if (end == colon + 1 || *end || port < 1 || port > 65535) {
            return 0;
        }
        server->port = (int)port;
    }
    server->host = rest;
    return *rest != '\0';
}

/* "OU=People,DC=ad,DC=example" -> "ad.example" */
static const char *domain_of(apr_pool_t *pool, const char *dn)
{
    char *domain = NULL;
    const char *folded = NULL;
    if (ldap_dn2domain(dn, &domain) == 0 && domain && *domain) {
        folded = ida_fold_address(pool, domain);
    }
    ldap_memfree(domain);
    return folded;
}

static apr_status_t closed(void *baton)
{
    ld_drop(baton);
    ld_forget_tls(baton);
    return APR_SUCCESS;
}

/* Servers, and how our account proves itself to them. */
static directory_class read_servers(directory *d, const json_t *doc, directory_error *e)
{
    apr_pool_t *pool = d->pool;
    const json_t *urls = json_object_get(doc, "urls");
    const char *bind = ida_json_string(doc, "bind");
    d->server_count = (int)json_array_size(urls);
    d->servers = apr_pcalloc(pool, (apr_size_t)(d->server_count + 1) * sizeof *d->servers);
    d->start_tls = json_is_true(json_object_get(doc, "startTls"));
    d->bind = bind && strcmp(bind, "external") == 0 ? LD_BIND_EXTERNAL
              : bind && strcmp(bind, "gssapi") == 0 ? LD_BIND_GSSAPI
                                                    : LD_BIND_SIMPLE;
    for (int i = 0; i < d->server_count; i++) {
        const char *url = json_string_value(json_array_get(urls, (size_t)i));
        if (!url || !server_parse(pool, url, &d->servers[i])) {
            return refuse(
                e, pool,
                "directories.onPremises.urls: \"%s\" is no ldaps://, ldap:// or ldapi:// address",
                url ? url : "");
        }
        /* GSSAPI seals an ldap:// connection itself, which is checked after the bind; any other
         * method would send clear text. */
        if (d->servers[i].scheme == LD_LDAP && !d->start_tls && d->bind != LD_BIND_GSSAPI) {
            return refuse(
                e, pool,
                "directories.onPremises.urls: %s is not protected: use ldaps:// or set startTls",
                url);
        }
        if (d->bind == LD_BIND_GSSAPI && (d->servers[i].scheme != LD_LDAP || d->start_tls)) {
            return refuse(e, pool,
                          "directories.onPremises.urls: %s: bind gssapi is used on plain ldap:// "
                          "only, where it protects the connection itself",
                          url);
        }
    }
    if (d->server_count == 0) {
        return refuse(e, pool, "%s: names no server", "directories.onPremises.urls");
    }
    d->bind_dn = ida_json_string(doc, "bindDn");
    d->password_file = ida_json_string(doc, "bindPasswordFile");
    if (d->bind == LD_BIND_SIMPLE && (!d->bind_dn || !*d->bind_dn || !d->password_file)) {
        return refuse(e, pool, "%s: bind simple needs bindDn and bindPasswordFile",
                      "directories.onPremises");
    }
    d->ca_file = ida_json_string(doc, "caFile");
    d->certificate_file = ida_json_string(doc, "certificateFile");
    d->key_file = ida_json_string(doc, "keyFile");
    for (int i = 0; d->bind == LD_BIND_EXTERNAL && !d->certificate_file && i < d->server_count;
         i++) {
        if (d->servers[i].scheme != LD_LDAPI) {
            return refuse(e, pool,
                          "directories.onPremises.urls: %s: bind external needs ldapi:// or a "
                          "certificateFile",
                          d->servers[i].url);
        }
    }
    return DIRECTORY_OK;
}

static directory_class read_bases(directory *d, const json_t *doc, directory_error *e)
{
    apr_pool_t *pool = d->pool;
    d->user_base = ida_json_string(doc, "userBase");
    d->group_base = ida_json_string(doc, "groupBase");
    d->create_in = ida_json_string(doc, "createIn");
    d->create_in = d->create_in ? d->create_in : d->user_base;
    const char *bases[] = {d->user_base, d->group_base, d->create_in},
               *names[] = {"userBase", "groupBase", "createIn"};
    for (int i = 0; i < 3; i++) {
        if (!ld_dn_key(pool, bases[i])) {
            return refuse(e, pool, "directories.onPremises.%s: is no DN", names[i]);
        }
    }
    /* What was created must be found again. */
    if (!ld_dn_key_below(ld_dn_key(pool, d->create_in), ld_dn_key(pool, d->user_base))) {
        return refuse(e, pool, "%s: must lie below userBase", "directories.onPremises.createIn");
    }
    return DIRECTORY_OK;
}

static directory_class ld_open(directory **out, const ida_env *env, const ida_tenant *tenant,
                               ida_directory_kind kind, apr_pool_t *pool, directory_error *e)
{
    ld_library_init();
    const json_t *doc = kind == IDA_DIR_ON_PREMISES ? tenant->directory[kind] : NULL;
    const char *dialect = ida_json_string(doc, "dialect");
    if (!doc) {
        return refuse(e, pool, "tenant %s has no on-premises directory", tenant->id);
    }
    directory *d = apr_pcalloc(pool, sizeof *d);
    d->env = env;
    d->tenant = tenant;
    d->pool = pool;
    d->fd = -1;
    d->offers_sync = -1;
    d->dialect = ld_dialect_of(dialect);
    if (!d->dialect) {
        return refuse(
            e, pool,
            "directories.onPremises.dialect: \"%s\" is not supported: this version supports %s",
            dialect ? dialect : "", ld_dialects_text());
    }
    directory_class class = read_servers(d, doc, e);
    class = class ? class : read_bases(d, doc, e);
    if (class) {
        return class;
    }
    d->upn_attribute = ida_json_string(doc, "upnAttribute");
    d->upn_attribute = d->upn_attribute ? d->upn_attribute : d->dialect->upn;
    d->marker_attribute = ida_json_string(doc, "markerAttribute");
    d->marker_attribute = d->marker_attribute ? d->marker_attribute : d->dialect->marker;
    d->placeholder = ida_json_string(doc, "placeholderMember");
    d->placeholder_key = d->placeholder ? ld_dn_key(pool, d->placeholder) : NULL;
    if (d->placeholder && !d->placeholder_key) {
        return refuse(e, pool, "%s: is no DN", "directories.onPremises.placeholderMember");
    }
    d->protected_accounts = json_object_get(doc, "protectedAccounts");
    int percent = 0;
    if (ida_guard_parse(json_object_get(doc, "deletionGuard"), &percent, &d->guard.count)) {
        d->guard.percent = percent;
    }
    d->dns_domain = domain_of(pool, d->user_base);
    d->user_attributes = ld_user_attributes(d);
    d->group_attributes = ld_group_attributes(d);
    apr_pool_create(&d->connection, pool);
    /* Before the subpools go: the handle refers to none of them, but `closed` clears one. */
    apr_pool_pre_cleanup_register(pool, d, closed);
    *out = d;
    e->class = DIRECTORY_OK;
    return DIRECTORY_OK;
}

static void ld_close(directory *d)
{
    if (d) {
        apr_pool_cleanup_run(d->pool, d, closed);
    }
}

static void ld_expiry(directory *d, apr_pool_t *pool, directory_expiry *out)
{
    directory_error e;
    ld_own_password own = {0};
    *out = (directory_expiry){0};
    if (d->certificate_file) {
        certificate_file(pool, d->certificate_file, 0, &out->certificate);
    }
    if (d->ld) { /* a session that has just been used: no connection is made for this */
        ld_call k = ld_call_begin(d, pool, &e);
        ld_own_password_look(&k, &own);
        out->password = own.ends;
    }
}

const directory_ops ld_directory_ops = {
    .name = "ldap",
    .open = ld_open,
    .close = ld_close,
    .expiry = ld_expiry,
    .probe = ld_probe,
    .find = ld_find,
    .create = ld_create,
    .set_manager = ld_set_manager,
    .set_photo = ld_set_photo,
    .disable = ld_disable,
    .revoke_sessions = NULL, /* LDAP knows no sessions beyond a connection */
    .memberships = ld_memberships,
    .owned = ld_owned,
    .remove_member = ld_remove_member,
    .update = ld_update,
    .set_password = ld_set_password,
    .discard_password = ld_discard_password,
    .attributes = ld_attributes,
    .move = ld_move,
    .reports = ld_reports,
    .add_members = ld_add_members,
    .set_licenses = NULL, /* an on-premises directory has none */
    .sync = ld_sync,
};
