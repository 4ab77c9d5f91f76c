/* Connecting to a real slapd, and to peers that only seem to be one: protection, trust,
 * credentials, silence at every point, several servers, the probe. */
#include "t/unit/slapd.h"

#include "worker/directory/directory.h"

static const char *ldaps, *plain;
static const directory_ops *ops;

static int64_t minutes_later(void *baton)
{
    struct timespec now;
    (void)baton;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000 + 120000;
}

static char *port_url(const char *scheme, int port)
{
    return ida_printf(pool, "%s://127.0.0.1:%d", scheme, port);
}

/* One find of Eva Berg through a fresh session. */
static directory_class find_eva(const char *urls, const char *more, directory_error *e)
{
    directory *d = open_with(tenant_with(urls, more));
    directory_user user;
    *e = (directory_error){0};
    directory_class class = d ? ops->find(d, pool, NULL, "Eva.Berg@nordic.example", &user, e)
                              : DIRECTORY_LOCAL;
    ops->close(d);
    return class;
}

static void protection(void)
{
    directory_error e;
    is_class(find_eva(json_list(ldaps, NULL), "", &e), DIRECTORY_OK, &e, "LDAPS: found");
    is_class(find_eva(json_list(plain, NULL), ",\"startTls\":true", &e), DIRECTORY_OK, &e,
             "StartTLS: found");

    directory *d = NULL;
    ok(ops->open(&d, &env, tenant_with(json_list(plain, NULL), ""), IDA_DIR_ON_PREMISES, pool,
                 &e) == DIRECTORY_CONFIG &&
           strstr(e.message, "startTls"),
       "ldap:// without StartTLS is refused before anything is sent");
    ok(ops->open(&d, &env, tenant_with(json_list(ldaps, NULL), ",\"dialect\":\"eDirectory\""),
                 IDA_DIR_ON_PREMISES, pool, &e) == DIRECTORY_CONFIG &&
           strstr(e.message, "openLdap and activeDirectory"),
       "an unknown dialect is refused, naming those there are");
    is_class(find_eva(json_list(ldaps, NULL), ",\"dialect\":\"activeDirectory\"", &e),
             DIRECTORY_CONFIG, &e, "dialect activeDirectory for this server: configuration");
    ok(e.message && strstr(e.message, "no Active Directory"), "the message says what it is not");

    write_file(slapd_file("other.pem"), "", 0644);
    char *made = perl(
        "my $d = '%s'; my $r = Idadmin::Test::run_command(['openssl', 'req', '-x509', '-newkey', "
        "'rsa:2048', '-nodes', '-days', 2, '-subj', '/CN=stranger', '-keyout', \"$d/other.key\", "
        "'-out', \"$d/other.pem\"]); $r->{exit}",
        slapd_dir);
    is_str(made, "0", "a stranger's authority");
    char *other = apr_psprintf(pool, ",\"caFile\":\"%s\"", slapd_file("other.pem"));
    is_class(find_eva(json_list(ldaps, NULL), other, &e), DIRECTORY_CONFIG, &e,
             "LDAPS, certificate of an unknown authority: configuration, not network");
    ok(e.message && strstr(e.message, "caFile") && strstr(e.message, ldaps),
       "the message names server and caFile");
    is_class(find_eva(json_list(plain, NULL), apr_pstrcat(pool, ",\"startTls\":true", other, NULL),
                      &e),
             DIRECTORY_CONFIG, &e, "StartTLS, unknown authority: configuration");
    is_class(find_eva(json_list(ldaps, NULL), ",\"caFile\":\"/nowhere/ca.pem\"", &e),
             DIRECTORY_CONFIG, &e, "caFile that is not there: configuration");
    char *by_name = ida_printf(pool, "ldaps://127.0.0.2%s", strrchr(ldaps, ':'));
    is_class(find_eva(json_list(by_name, NULL), "", &e), DIRECTORY_TRANSIENT, &e,
             "no listener on another address: transient");
}

static void wrong_host(void)
{
    /* Another address of this machine forwards the bytes: the certificate is valid only for
     * 127.0.0.1. */
    directory_error e;
    int on = 1;
    wire *w = wire_to(atoi(strrchr(ldaps, ':') + 1));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w->port)};
    inet_pton(AF_INET, "127.0.0.3", &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!ok(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 8) == 0,
            "127.0.0.3 is ours to listen on")) {
        return;
    }
    int before = atomic_exchange(&w->listener, fd);
    is_class(find_eva(json_list(ida_printf(pool, "ldaps://127.0.0.3:%d", w->port), NULL), "", &e),
             DIRECTORY_CONFIG, &e, "certificate of another host: configuration");
    /* A second one, which looks for the reason, may wait behind the first. */
    ok(atomic_load(&w->connections) >= 1, "said by the true server");
    atomic_store(&w->listener, before);
    wire_end(w);
    close(fd);
}

static void credentials(void)
{
    directory_error e;
    write_file(slapd_file("wrong"), "not-the-password\n", 0600);
    write_file(slapd_file("empty"), "\n", 0600);
    write_file(slapd_file("open"), "whatever\n", 0644);
    char *wrong = apr_psprintf(pool, ",\"bindPasswordFile\":\"%s\"", slapd_file("wrong"));
    wire *second = wire_to(atoi(strrchr(ldaps, ':') + 1));
    is_class(find_eva(json_list(ldaps, port_url("ldaps", second->port)), wrong, &e),
             DIRECTORY_CREDENTIALS, &e, "wrong password: credentials");
    ok(e.message && !strstr(e.message, "not-the-password"), "the message holds no password");
    is_int(atomic_load(&second->connections), 0,
           "the second server is not tried with a refused password");
    is_class(find_eva(json_list(port_url("ldaps", second->port), ldaps), "", &e), DIRECTORY_OK, &e,
             "with the right one the wire works");
    is_int(atomic_load(&second->connections), 1, "and is seen");
    wire_end(second);
    is_class(find_eva(json_list(ldaps, NULL),
                      apr_psprintf(pool, ",\"bindPasswordFile\":\"%s\"", slapd_file("empty")), &e),
             DIRECTORY_CONFIG, &e, "empty password: refused here, never sent");
    is_class(find_eva(json_list(ldaps, NULL),
                      apr_psprintf(pool, ",\"bindPasswordFile\":\"%s\"", slapd_file("open")), &e),
             DIRECTORY_CONFIG, &e, "password file that others can read: configuration");
    is_class(find_eva(json_list(ldaps, NULL), ",\"userBase\":\"ou=nobody,dc=nordic,dc=example\"",
                      &e),
             DIRECTORY_CONFIG, &e, "userBase that is not there: configuration");
}

/* Our account is the subject of a certificate: the server checks it, and maps it to the entry. */
static void external(void)
{
    directory_error e;
    directory_user user, after;
    const char *config = "bind => ['cn=config', Idadmin::Test::Slapd::admin_password()]";
    is_str(
        perl("%%main::cert = map { $_ => Idadmin::Test::Tls::certificate($_, \"/O=Nordic/CN=$_\") "
             "} qw(idadmin stranger); $s->modify(\"dn: cn=config\\nchangetype: modify\\nreplace: "
             "olcTLSVerifyClient\\nolcTLSVerifyClient: try\\n-\\n"
             "add: olcAuthzRegexp\\nolcAuthzRegexp: {0}cn=idadmin,o=nordic "
             "$Idadmin::Test::Slapd::service\\n\", %s); 'ok'",
             config),
        "ok", "the server asks for certificates");
    const char *bind = ",\"bind\":\"external\",\"bindDn\":null,\"bindPasswordFile\":null";
    const char *good = ida_printf(pool, "%s,\"certificateFile\":\"%s\",\"keyFile\":\"%s\"", bind,
                                  perl("$main::cert{idadmin}{cert}"),
                                  perl("$main::cert{idadmin}{key}"));
    const char *odd = ida_printf(pool, "%s,\"certificateFile\":\"%s\",\"keyFile\":\"%s\"", bind,
                                 perl("$main::cert{stranger}{cert}"),
                                 perl("$main::cert{stranger}{key}"));
    is_class(find_eva(json_list(ldaps, NULL), good, &e), DIRECTORY_OK, &e,
             "LDAPS with a client certificate: found");
    is_class(find_eva(json_list(plain, NULL), apr_pstrcat(pool, ",\"startTls\":true", good, NULL),
                      &e),
             DIRECTORY_OK, &e, "StartTLS with a client certificate: found");
    directory *d = open_with(
        tenant_with(json_list(ldaps, NULL),
                    apr_pstrcat(pool, ",\"userBase\":\"dc=nordic,dc=example\"", good, NULL)));
    is_class(ops->find(d, pool, NULL, "idadmin@nordic.example", &user, &e), DIRECTORY_NOT_FOUND, &e,
             "the service account is no person");
    is_class(ops->find(d, pool, NULL, "elin.strand@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "a person");
    is_class(ops->disable(d, pool, user.id, &after, &e), DIRECTORY_OK, &e,
             "is disabled: the certificate has the rights of the entry it is mapped to");
    is_class(ops->update(d, pool, user.id, NULL, 0, 1, &after, &e), DIRECTORY_OK, &e,
             "and enabled");
    ops->close(d);
    d = open_with(tenant_with(json_list(ldaps, NULL), odd));
    is_class(ops->disable(d, pool, user.id, &after, &e), DIRECTORY_FORBIDDEN, &e,
             "another's certificate has no such rights");
    is_str(perl("Idadmin::Test::spew($main::cert{stranger}{$_}, "
                "Idadmin::Test::slurp($main::cert{idadmin}{$_})) for qw(cert key); 'ok'"),
           "ok", "the files get other contents");
    is_class(ops->disable(d, pool, user.id, &after, &e), DIRECTORY_FORBIDDEN, &e,
             "of which the connection that stands knows nothing");
    int64_t (*before)(void *) = env.monotonic;
    env.monotonic = minutes_later; /* a connection unused for so long is replaced */
    is_class(ops->disable(d, pool, user.id, &after, &e), DIRECTORY_OK, &e,
             "but the next one is made with them");
    is_class(ops->update(d, pool, user.id, NULL, 0, 1, &after, &e), DIRECTORY_OK, &e,
             "and enabled again");
    env.monotonic = before;
    ops->close(d);
    is_class(find_eva(json_list(ldaps, NULL),
                      apr_pstrcat(pool, bind, ",\"certificateFile\":\"/nowhere/cert.pem\"", NULL),
                      &e),
             DIRECTORY_CONFIG, &e, "a certificate that is not there: configuration");
    is_str(perl("$s->modify(\"dn: cn=config\\nchangetype: modify\\nreplace: "
                "olcTLSVerifyClient\\nolcTLSVerifyClient: never\\n\", %s); 'ok'",
                config),
           "ok", "the server asks no more");
    is_class(find_eva(json_list(ldaps, NULL), good, &e), DIRECTORY_CREDENTIALS, &e,
             "then the bind is refused: credentials");
}

static void silence(void)
{
    directory_error e;
    int fd, port = silent_port(&fd);
    is_class(find_eva(json_list(port_url("ldaps", port), NULL), "", &e), DIRECTORY_TRANSIENT, &e,
             "LDAPS peer that never speaks: transient");
    is_class(find_eva(json_list(port_url("ldap", port), NULL), ",\"startTls\":true", &e),
             DIRECTORY_TRANSIENT, &e, "StartTLS peer that never speaks: transient");
    is_class(find_eva(json_list(port_url("ldaps", port), ldaps), "", &e), DIRECTORY_OK, &e,
             "the next server answers instead");
    close(fd);
    is_class(find_eva(json_list(port_url("ldaps", port), NULL), "", &e), DIRECTORY_TRANSIENT, &e,
             "closed port: transient");
    ok(e.message && strstr(e.message, "refused"), "saying so");
    is_class(find_eva("[\"ldaps://nobody.invalid:636\"]", "", &e), DIRECTORY_TRANSIENT, &e,
             "a name that does not resolve: transient");

    wire *w = wire_to(atoi(strrchr(ldaps, ':') + 1));
    atomic_store(&w->cut, -1);
    is_class(find_eva(json_list(port_url("ldaps", w->port), NULL), "", &e), DIRECTORY_TRANSIENT, &e,
             "peer that hangs up inside the TLS handshake: transient, not configuration");
    wire_end(w);
}

static void session_life(void)
{
    directory_error e;
    directory_user user;
    wire *w = wire_to(atoi(strrchr(ldaps, ':') + 1));
    directory *d = open_with(tenant_with(json_list(port_url("ldaps", w->port), NULL), ""));
    is_class(ops->find(d, pool, NULL, "bo.ek@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "found over a wire");
    is_class(ops->find(d, pool, user.id, NULL, &user, &e), DIRECTORY_OK, &e, "found by ID");
    is_int(atomic_load(&w->connections), 1, "one connection serves several calls");
    atomic_store(&w->cut, 1);
    is_class(ops->find(d, pool, NULL, "bo.ek@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "a read whose answer is lost is repeated on a new connection");
    is_int(atomic_load(&w->connections), 2, "which is the second");
    perl("$s->restart; 'ok'");
    is_class(ops->find(d, pool, NULL, "bo.ek@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "a restarted server is met by a new connection");
    perl("$s->stop; 'ok'");
    is_class(ops->find(d, pool, NULL, "bo.ek@nordic.example", &user, &e), DIRECTORY_TRANSIENT, &e,
             "server down: transient");
    perl("$s->start; 'ok'");
    is_class(ops->find(d, pool, NULL, "bo.ek@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "server back: found");
    perl("$s->freeze; 'ok'");
    is_class(ops->find(d, pool, NULL, "bo.ek@nordic.example", &user, &e), DIRECTORY_TRANSIENT, &e,
             "black hole behind TLS: given up, transient");
    perl("$s->thaw; 'ok'");
    is_class(ops->find(d, pool, NULL, "bo.ek@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "thawed: found");
    ops->close(d);
    wire_end(w);
}

static const json_t *directory_report_line(const json_t *report, const char *check)
{
    size_t i;
    json_t *one;
    json_array_foreach ((json_t *)(uintptr_t)report, i, one) {
        const char *name = ida_json_string(one, "check");
        if (name && strncmp(name, check, strlen(check)) == 0) {
            return one;
        }
    }
    return NULL;
}

/* Without entryCSN a sync misses entries that change while it reads: reported for people and for
 * groups, whichever right is missing. */
static void stamps_hidden(const char *whose, const char *access)
{
    directory_error e;
    json_t *report = ida_json_keep(pool, json_array());
    const char *base = perl("$Idadmin::Test::Slapd::%s", whose);
    slapd_hides("entryCSN", base, access);
    directory *d = open_with(tenant_with(json_list(ldaps, NULL), ""));
    is_class(ops->probe(d, pool, report, &e), DIRECTORY_CONFIG, &e,
             apr_psprintf(pool, "entryCSN of %s, of which the right is \"%s\"", whose, access));
    const json_t *one = directory_report_line(report, "entryCSN");
    const char *detail = one ? ida_json_string(one, "detail") : "";
    ok(one && json_is_false(json_object_get(one, "ok")) && strstr(detail, base),
       "is reported, with the base: %s", detail);
    size_t i, bad = 0;
    json_t *other;
    json_array_foreach (report, i, other) {
        bad += !json_is_true(json_object_get(other, "ok"));
    }
    is_int((int64_t)bad, 1, "all else is well");
    ops->close(d);
    slapd_shows();
}

static void doctor(void)
{
    directory_error e;
    json_t *report = ida_json_keep(pool, json_array());
    directory *d = open_with(tenant_with(json_list(ldaps, NULL), ""));
    is_class(ops->probe(d, pool, report, &e), DIRECTORY_OK, &e, "probe: all well");
    const char *const checks[] = {"connect",
                                  "userBase",
                                  "groupBase",
                                  "createIn",
                                  "users",
                                  "groups",
                                  "schema",
                                  "disabling accounts",
                                  "markerAttribute",
                                  "fields",
                                  "content synchronisation",
                                  "entryCSN",
                                  "initial passwords",
                                  "placeholderMember",
                                  "sign-ins",
                                  "clock"};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const json_t *one = directory_report_line(report, checks[i]);
        ok(one && json_is_true(json_object_get(one, "ok")), "probe reports about: %s", checks[i]);
        printf("# %s: %s\n", checks[i], one ? ida_json_string(one, "detail") : "(none)");
    }
    ops->close(d);
    stamps_hidden("people", "none");
    stamps_hidden("people", "search");
    stamps_hidden("groups", "none");

    report = ida_json_keep(pool, json_array());
    int fd, port = silent_port(&fd);
    close(fd);
    d = open_with(tenant_with(json_list(port_url("ldaps", port), ldaps),
                              ",\"groupBase\":\"ou=lost,dc=nordic,dc=example\""));
    is_class(ops->probe(d, pool, report, &e), DIRECTORY_TRANSIENT, &e,
             "probe: the first failure is the result");
    ok(json_is_false(json_object_get(directory_report_line(report, "connect"), "ok")),
       "a server that is away is reported, though another answers");
    ok(json_is_false(json_object_get(directory_report_line(report, "groupBase"), "ok")),
       "a lost groupBase is reported");
    ok(json_is_true(json_object_get(directory_report_line(report, "userBase"), "ok")),
       "the rest is still checked");
    ops->close(d);
}

int main(void)
{
    slapd_start("");
    ldaps = perl("$s->ldaps_url");
    plain = perl("$s->url");
    ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    ok(ops && strcmp(ops->name, "ldap") == 0 && !directory_ops_for(IDA_DIR_COUNT),
       "the on-premises connector");
    protection();
    wrong_host();
    credentials();
    external();
    silence();
    doctor();
    session_life();
    return done();
}
