/* Servers with other settings: the local socket with SASL EXTERNAL, logins as UPN, uniqueness
 * rules, classes for further fields, and faults of a missing overlay. */
#include "t/unit/ldap_people.h"

#include "worker/directory/directory.h"

static const directory_ops *ops;

#define SERVICE "cn=idadmin,ou=services,dc=nordic,dc=example"

static directory_create with_mail(const ida_create *person, const char *local, const char *mail,
                                  const char *marker)
{
    directory_create c = creation(person, local, marker);
    c.mail = mail;
    return c;
}

/* UPN is uid@domain; the server keeps mail unique, knows a class for country, and has no ppolicy.
 */
static void logins(const char *ldaps)
{
    directory_error e;
    directory_user user;
    directory *d = open_with(tenant_with(
        json_list(ldaps, NULL), ",\"upnAttribute\":\"uid\",\"markerAttribute\":\"badgeMark\""));
    is_class(ops->find(d, pool, NULL, "EVA.BERG@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "found by login and domain");
    is_str(user.upn, "eva.berg@nordic.example", "which make the UPN");
    is_class(ops->find(d, pool, NULL, "eva.berg@elsewhere.example", &user, &e), DIRECTORY_NOT_FOUND,
             &e, "an address in another domain is not found");

    ida_create person = {.firstname = "Uma",
                         .surname = "Unik",
                         .country = "SE",
                         .country_is_code = 1,
                         .account_enabled = 1};
    directory_create c = with_mail(&person, "uma.unik", "uma@nordic.example", "task-1");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "created");
    ok(!user.warnings, "without a warning: the schema has a class for country");
    is_str(perl("$s->user('uma.unik')->{c}[0]"), "SE", "country is kept");
    is_str(user.marker, "task-1", "the marker in an attribute of its own");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_ALREADY, &e, "and adopted by it");
    c = with_mail(&person, "uma.unik2", "uma@nordic.example", "task-2");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_CONFLICT, &e, "the mail is taken");
    is_str(e.field, "mail", "field mail, as mail is not the UPN here");
    /* An address in use outside the searched base: only the server's own rule detects it. */
    is_str(perl("$s->modify(\"dn: cn=shared,ou=groups,dc=nordic,dc=example\\nchangetype: "
                "add\\nobjectClass: inetOrgPerson\\ncn: shared\\nsn: shared\\nmail: "
                "shared\\@nordic.example\\n\"); 'ok'"),
           "ok", "a mailbox elsewhere");
    c = with_mail(&person, "uma.unik3", "shared@nordic.example", "task-3");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_CONFLICT, &e,
             "a uniqueness rule of the server: conflict");
    is_str(e.field, "mail", "field mail, from the server's text");
    person.employee_id = "17";
    c = with_mail(&person, "uma.unik5", "uma5@nordic.example", "task-5");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "with an employee ID");
    c = with_mail(&person, "uma.unik6", "uma6@nordic.example", "task-6");
    is_class(
        ops->create(d, pool, &c, &user, &e), DIRECTORY_INVALID, &e,
        "the same employee ID again: no other login would help, so it is no conflict of names");
    is_str(e.field, "employeeId", "field employeeId");
    person.employee_id = NULL;

    person.account_enabled = 0;
    c = with_mail(&person, "uma.unik4", "uma4@nordic.example", "task-4");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_CONFIG, &e,
             "no ppolicy: a disabled account cannot be made");
    ops->find(d, pool, NULL, "bo.ek@nordic.example", &user, &e);
    is_class(ops->disable(d, pool, user.id, &user, &e), DIRECTORY_CONFIG, &e,
             "nor an account disabled");
    ok(e.message && strstr(e.message, "ppolicy"), "the message says what is missing");
    const directory_membership *rows;
    int count;
    is_class(ops->memberships(d, pool, user.id, NULL, 0, &rows, &count, &e), DIRECTORY_OK, &e,
             "memberships without a memberOf overlay");
    is_int(count, 3, "All staff, Sales team, CRM admins");
    json_t *report = ida_json_keep(pool, json_array());
    is_class(ops->probe(d, pool, report, &e), DIRECTORY_CONFIG, &e, "the doctor finds it");
    ops->close(d);
}

/* The service account is a person in scope: it is never touched. */
static void own_account(const char *ldaps)
{
    directory_error e;
    directory_user user;
    write_file(slapd_file("eva"), perl("Idadmin::Test::Slapd::user_password('eva.berg')"), 0600);
    directory *d = open_with(
        tenant_with(json_list(ldaps, NULL),
                    apr_psprintf(pool,
                                 ",\"bindDn\":\"UID=eva.berg, "
                                 "ou=people,dc=nordic,dc=example\",\"bindPasswordFile\":\"%s\"",
                                 slapd_file("eva"))));
    is_class(ops->find(d, pool, NULL, "eva.berg@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "bound as a person");
    is_class(ops->disable(d, pool, user.id, &user, &e), DIRECTORY_PROTECTED, &e,
             "who is not disabled");
    ops->find(d, pool, NULL, "bo.ek@nordic.example", &user, &e);
    const directory_membership *rows;
    int count;
    ops->memberships(d, pool, user.id, NULL, 0, &rows, &count, &e);
    is_class(ops->remove_member(d, pool, count ? rows[0].group_id : "", user.id, &e),
             DIRECTORY_FORBIDDEN, &e, "and may only read");
    ops->close(d);
}

static void local_socket(void)
{
    directory_error e;
    directory_user user = {0};
    const char *socket_path = slapd_file("ldapi"), *manager;
    is_str(perl("$s->stop; $main::p = Idadmin::Test::daemon([Idadmin::Test::program_path('slapd'), "
                "'-d', '0', '-f', \"$s->{base}/slapd.conf\", '-h', 'ldapi://' . ('%s' =~ "
                "s{/}{%%2F}gr)], log => $s->{log}); Idadmin::Test::within(sub { require "
                "IO::Socket::UNIX; IO::Socket::UNIX->new(Peer => '%s') }) ? 'ok' : 'no socket'",
                socket_path, socket_path),
           "ok", "slapd on a local socket");
    char *url = "";
    for (const char *at = socket_path; *at; at++) {
        url = *at == '/' ? apr_pstrcat(pool, url, "%2F", NULL) : ida_printf(pool, "%s%c", url, *at);
    }
    directory *d = open_with(tenant_with(json_list(apr_pstrcat(pool, "ldapi://", url, NULL), NULL),
                                         ",\"bind\":\"external\",\"upnAttribute\":\"uid\""));
    is_class(ops->find(d, pool, NULL, "anna.lind@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "EXTERNAL over the local socket");
    is_class(ops->set_manager(d, pool, user.id, "bo.ek@nordic.example", &manager, &e), DIRECTORY_OK,
             &e, "as the account it is mapped to");
    ops->close(d);
    perl("Idadmin::Test::stop_daemon($main::p); 'ok'");
    d = open_with(tenant_with(json_list(apr_pstrcat(pool, "ldapi://", url, NULL), NULL),
                              ",\"bind\":\"external\""));
    is_class(ops->find(d, pool, NULL, "anna.lind@nordic.example", &user, &e), DIRECTORY_TRANSIENT,
             &e, "the socket's server is away: transient");
    ops->close(d);
    d = NULL;
    ok(ops->open(&d, &env, tenant_with("[\"ldaps://127.0.0.1\"]", ",\"bind\":\"gssapi\""),
                 IDA_DIR_ON_PREMISES, pool, &e) == DIRECTORY_CONFIG,
       "GSSAPI under TLS is refused");
    ok(ops->open(&d, &env, tenant_with("[\"ldaps://127.0.0.1\"]", ",\"bind\":\"external\""),
                 IDA_DIR_ON_PREMISES, pool, &e) == DIRECTORY_CONFIG,
       "EXTERNAL without a certificate is refused");
}

int main(void)
{
    slapd_start("overlays => [qw(syncprov)], conf => \"overlay unique\nunique_uri "
                "ldap:///dc=nordic,dc=example?mail?sub\n"
                "unique_uri ldap:///dc=nordic,dc=example?employeeNumber?sub\", global => "
                "\"moduleload unique\n"
                "attributetype ( 1.3.6.1.4.1.99999.1 NAME 'badgeMark' EQUALITY caseIgnoreMatch "
                "SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n"
                "objectclass ( 1.3.6.1.4.1.99999.2 NAME 'badgeHolder' SUP top AUXILIARY MAY ( "
                "badgeMark \\$ c ) )\n"
                "authz-regexp gidNumber=.*,cn=peercred,cn=external,cn=auth " SERVICE "\"");
    const char *ldaps = perl("$s->ldaps_url");
    ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    logins(ldaps);
    own_account(ldaps);
    local_socket();
    return done();
}
