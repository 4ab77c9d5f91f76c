/* A server that omits what the protocol promises (the scripted peer, over TLS): empty values in
 * DNs and entries, controls and parts of answers without a value or with an empty one. libldap
 * passes such a value on as NULL, or aborts the process; here it ends at most one call, and the
 * cache stays unchanged. */
#include <arpa/inet.h>
#include <openldap.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "core/cache/freshness.h"
#include "core/cache/person.h"
#include "core/cache/sync.h"
#include "t/unit/slapd.h"
#include "worker/ldap/wire/value.h"

#define PEER "Idadmin::Test::LdapPeer"
#define USERS 20

static const directory_ops *ops;
static store *cache;

static ida_tenant *tenant_on_peer(const char *changes)
{
    return tenant_of("hostile", "peer.example",
                     perl("Idadmin::Test::json_text($main::p->document(%s))", changes));
}

static directory_class sync_now(const char *changes, int again, directory_error *e)
{
    cache_summary summary = {0};
    directory *d = open_with(tenant_on_peer(changes));
    directory_class class = ops->sync(d, pool, &(directory_sync){cache, fresh(), .full = again},
                                      &summary, e);
    ops->close(d);
    return class;
}

static int stop_after(void *baton)
{
    return ida_monotonic(&env) > *(int64_t *)baton;
}

/* A search without an end, and without a pause in which the connector checks whether to
 * continue. */
static void endless(const char *how, const char *rule)
{
    struct rusage before, after;
    cache_summary summary = {0};
    directory_error e = {0};
    perl("$main::p->script(rules => [{ on => 'search', %s }, { on => 'page', %s }]); 'ok'", rule,
         rule);
    directory *d = open_with(tenant_on_peer(""));
    directory_class class = DIRECTORY_TRANSIENT;
    getrusage(RUSAGE_SELF, &before);
    alarm(300 * SLOWNESS); /* ends the test if it continues */
    /* On a busy machine the time may be over before the peer has answered the bind. */
    for (int tries = 0; tries < 20 && class == DIRECTORY_TRANSIENT; tries++) {
        int64_t until = ida_monotonic(&env) + 3000;
        class = ops->sync(d, pool,
                          &(directory_sync){cache, fresh(), .full = 1, .alive = stop_after,
                                            .baton = &until},
                          &summary, &e);
    }
    alarm(0);
    getrusage(RUSAGE_SELF, &after);
    is_class(class, DIRECTORY_LOCAL, &e,
             apr_pstrcat(pool, how, ", ", rule, ": a search that never ends is stopped", NULL));
    ok(e.message && strstr(e.message, "stopped"), "and says so: %s", e.message ? e.message : "-");
    /* A sanitizer keeps freed memory for a while. */
    ok(SLOWNESS > 1 || after.ru_maxrss - before.ru_maxrss < 64 * 1024,
       "in bounded memory: %ld KB more", after.ru_maxrss - before.ru_maxrss);
    ops->close(d);
    perl("$main::p->script; 'ok'");
}

static int64_t users_cached(void)
{
    cache_sync_info info = {0};
    cache_sync_info_get(cache, fresh(), "hostile", IDA_DIR_ON_PREMISES, &info);
    return info.users;
}

/* A new peer with an empty cache. */
static void peer(const char *options)
{
    directory_error e = {0};
    is_str(perl("$main::p = " PEER "->new(users => %d, %s); 'ok'", USERS, options), "ok", options);
    is_int(cache_reset(cache, fresh(), "hostile", IDA_DIR_ON_PREMISES), IDA_OK, "an empty cache");
    is_class(sync_now("", 1, &e), DIRECTORY_OK, &e, "a first sync");
    is_int(users_cached(), USERS, "everybody is known");
}

static void odd_values(const char *how)
{
    static const char *const odd[] = {"'manager', 'dc=x,cn='",
                                      "'manager', ''",
                                      "'manager', 'cn='",
                                      "'manager', '=x'",
                                      "'manager', 'cn=+sn='",
                                      "'manager', ','",
                                      "'manager', 'cn=#'",
                                      "'manager', 'cn=#0400'",
                                      "'', 'x'",
                                      "';', ''",
                                      "'member;range=', 'cn='",
                                      "'objectClass', ''",
                                      "'objectSid', ''",
                                      "'jpegPhoto', ''",
                                      "'member', 'dc=x,cn=', ''"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        directory_error e = {0};
        perl("$main::p->script(with => [['person0002|All staff', %s]]); 'ok'", odd[i]);
        is_class(sync_now("", 1, &e), DIRECTORY_OK, &e,
                 apr_pstrcat(pool, how, ": an entry with ", odd[i], NULL));
        is_int(users_cached(), USERS, "and everybody is there");
    }
    perl("$main::p->script; 'ok'");
}

/* Each control without its value, and with an empty one. `again`: 0 reads everything, 1 the
 * changes. */
static void bare_control(const char *control, int again, directory_class want, const char *says)
{
    static const char *const ways[] = {"absent", "empty"};
    for (size_t i = 0; i < 2; i++) {
        directory_error e = {0};
        perl("$main::p->script(bare => { %s => '%s' }); 'ok'", control, ways[i]);
        is_class(sync_now("", again, &e), want, &e,
                 ida_printf(pool, "value of \"%s\" %s", control, ways[i]));
        ok(e.message && strstr(e.message, says), "and says so: %s", e.message ? e.message : "-");
        is_int(users_cached(), USERS, "the cache is as it was");
    }
    perl("$main::p->script; 'ok'");
}

/* slapd itself does the same after a cookie that it cannot read. */
static void no_cookie(void)
{
    directory_error e = {0};
    perl("$main::p->script(cookieless => 1); 'ok'");
    is_class(sync_now("", 1, &e), DIRECTORY_OK, &e, "everything is reported, and no cookie");
    is_int(users_cached(), USERS, "everybody is there");
    perl("$main::p->script; 'ok'");
    is_class(sync_now("", 0, &e), DIRECTORY_OK, &e, "the next sync begins anew");
}

static void protected_accounts(void)
{
    static const char *const lists[] = {"'cn='", "'dc=x,cn='", "''", "','", "'cn=+sn='", "'='"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        directory_user user;
        directory_error e = {0};
        directory *d = open_with(
            tenant_on_peer(ida_printf(pool, "protectedAccounts => [%s]", lists[i])));
        is_class(ops->find(d, pool, NULL, "person0003@peer.example", &user, &e), DIRECTORY_OK, &e,
                 "a person");
        directory_class class = ops->disable(d, pool, user.id, &user, &e);
        ok(class == DIRECTORY_OK || class == DIRECTORY_ALREADY,
           "protectedAccounts [%s]: matches no account (%s)", lists[i],
           e.message ? e.message : "-");
        ops->close(d);
    }
}

static void creations(void)
{
    static const char *const ways[] = {"", "bare => { postRead => 'absent' }",
                                       "bare => { postRead => 'empty' }",
                                       "with => [['uid=made', 'manager', 'cn=']]"};
    static const ida_create person = {.firstname = "Eva", .surname = "Berg", .account_enabled = 1};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        directory_user user;
        directory_error e = {0};
        directory_create create = {.person = &person,
                                   .local = ida_printf(pool, "made%zu", i),
                                   .display_name = "Eva Berg",
                                   .marker = ida_printf(pool, "task-%zu", i),
                                   .password = "First-Passw0rd-of-24-char"};
        create.upn = create.mail = apr_pstrcat(pool, create.local, "@peer.example", NULL);
        directory *d = open_with(tenant_on_peer(""));
        perl("$main::p->forget; $main::p->script(%s); 'ok'", ways[i]);
        is_class(ops->create(d, pool, &create, &user, &e), DIRECTORY_OK, &e,
                 ida_printf(pool, "a creation: %s", ways[i]));
        is_str(user.upn, create.upn, "the account is known");
        is_str(perl("scalar(my @a = $main::p->seen(' add '))"), "1", "it was asked for once");
        ops->close(d);
    }
    perl("$main::p->script; 'ok'");
}

static void leaves(const char *dn)
{
    is_str(perl("require LdapPeer::Content; LdapPeer::Content->new({ dialect => 'openLdap' }, "
                "\"$main::p->{base}/content\")->remove('%s')",
                dn),
           "0", dn);
}

/* The entry that these bytes from a socket decode to. */
static const ld_entry *entry_of_bytes(const void *from, size_t size, int *got)
{
    const unsigned char *bytes = from;
    int ends[2], id;
    is_int(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0, "a connection");
    pid_t child = fork();
    if (!child) {
        for (size_t at = 0; at < size;) {
            ssize_t put = write(ends[1], bytes + at, size - at);
            at += put > 0 ? (size_t)put : size;
        }
        _exit(0);
    }
    LDAP *ld = NULL;
    LDAPMessage *message = NULL;
    struct timeval bound = {.tv_sec = 60};
    ldap_init_fd(ends[0], LDAP_PROTO_TCP, NULL, &ld);
    ldap_search_ext(ld, "", LDAP_SCOPE_BASE, "(a=*)", NULL, 0, NULL, NULL, NULL, 0, &id);
    *got = ldap_result(ld, id, LDAP_MSG_ONE, &bound, &message);
    const ld_entry *entry = ld_entry_read(ld, message, pool);
    ldap_msgfree(message);
    ldap_unbind_ext(ld, NULL, NULL);
    close(ends[1]);
    waitpid(child, NULL, 0);
    return entry;
}

/* An entry whose attribute has so many empty values, from a socket: an entry that fits into a
 * message could take gigabytes. */
static const ld_entry *entry_of_values(unsigned count, int *got)
{
    const unsigned char head[] = {0x30, 0x84, 0,   0,    0,    0, 2, 1, 1, 0x64, 0x84, 0, 0, 0, 0,
                                  4,    1,    'x', 0x30, 0x84, 0, 0, 0, 0, 0x30, 0x84, 0, 0, 0, 0,
                                  4,    1,    'a', 0x31, 0x84, 0, 0, 0, 0};
    static const size_t lengths[] = {
        2, 11, 20, 26, 35}; /* positions of the 4-byte lengths, each of which covers the rest */
    size_t size = sizeof head + 2 * (size_t)count;
    unsigned char *bytes = malloc(size);
    memcpy(bytes, head, sizeof head);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint32_t len = htonl((uint32_t)(size - lengths[i] - 4));
        memcpy(bytes + lengths[i], &len, 4);
    }
    for (size_t at = sizeof head; at < size; at += 2) {
        memcpy(bytes + at, "\4", 2);
    }
    const ld_entry *entry = entry_of_bytes(bytes, size, got);
    free(bytes);
    return entry;
}

/* An entry with so many attributes with one value each: their names are those of the list in
 * turn, or all different. */
static const ld_entry *entry_of_attributes(int count, const char *const *names, int *got)
{
    BerElement *ber = ber_alloc_t(LBER_USE_DER);
    struct berval bytes;
    ber_printf(ber, "{it{s{", 1, LDAP_RES_SEARCH_ENTRY, "x");
    for (int i = 0, n = 0; i < count; i++) {
        const char *name = names ? names[n++] : apr_psprintf(pool, "a%d", i);
        n = names && names[n] ? n : 0;
        ber_printf(ber, "{s[s]}", name, apr_psprintf(pool, "%d", i));
    }
    ber_printf(ber, "}}}");
    ber_flatten2(ber, &bytes, 0);
    const ld_entry *entry = entry_of_bytes(bytes.bv_val, bytes.bv_len, got);
    ber_free(ber, 1);
    return entry;
}

/* Values in separate lists are one attribute's, as slapd reports them when loaded so; those with
 * another option are not. */
static void apart(void)
{
    static const char *const names[] = {"member", "description", "MEMBER", "member;range=0-1",
                                        NULL};
    int got;
    const ld_entry *entry = entry_of_attributes(4, names, &got);
    ok(entry && entry->count == 3, "three attributes");
    const ld_attribute *member = entry ? ld_get(entry, "member") : NULL;
    ok(member && member->count == 2 && strcmp(member->values[0].bv_val, "0") == 0 &&
           strcmp(member->values[1].bv_val, "2") == 0,
       "one of two values, in their order");
    entry = entry_of_attributes(200000, names, &got);
    member = entry ? ld_get(entry, "member") : NULL;
    ok(member && entry->count == 3 && member->count == 100000 &&
           strcmp(member->values[99999].bv_val, "199998") == 0,
       "in many pieces");
    entry = entry_of_attributes(LD_ATTRIBUTES_MAX, NULL, &got);
    ok(entry && entry->count == LD_ATTRIBUTES_MAX, "as many attributes as are taken");
    entry = entry_of_attributes(LD_ATTRIBUTES_MAX + 1, NULL, &got);
    is_int(got, LDAP_RES_SEARCH_ENTRY, "one more came");
    ok(!entry, "and is not taken");
}

static void too_many_values(void)
{
    int got;
    const ld_entry *entry = entry_of_values(10, &got);
    ok(entry && entry->count == 1 && entry->attributes[0].count == 10, "ten values");
    entry = entry_of_values(LD_VALUES_MAX - 1, &got);
    ok(entry && entry->count == 1 && entry->attributes[0].count == LD_VALUES_MAX - 1,
       "as many as are taken");
    entry = entry_of_values(LD_VALUES_MAX, &got);
    is_int(got, LDAP_RES_SEARCH_ENTRY, "one more came");
    ok(!entry, "and is not taken");
}

int main(void)
{
    const char *references = "dn => 'ou=people', do => 'references'",
               *entries = "filter => 'organizationalUnit', do => 'entries'";
    slapd_start("start => 0");
    perl("require " PEER
         "; unshift @INC, Idadmin::Test::src_dir() . '/t/double/ldap-peer/lib'; 'ok'");
    ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    store_beside(&cache);

    peer("sync => 1");
    odd_values("content synchronisation");
    protected_accounts();
    no_cookie();
    bare_control("state", 1, DIRECTORY_LOCAL, "sync message cannot be read");
    bare_control("done", 1, DIRECTORY_CONFIG, "without saying how");
    leaves("uid=person0020,ou=people,dc=peer,dc=example");
    bare_control("info", 0, DIRECTORY_LOCAL, "sync message cannot be read");
    creations();
    endless("content synchronisation", references);
    endless("containers", entries);
    perl("$main::p->stop; 'ok'");

    peer("sync => 0");
    odd_values("pages");
    bare_control("paged", 1, DIRECTORY_CONFIG, "page");
    endless("pages", references);
    perl("$main::p->stop; 'ok'");

    peer("dialect => 'activeDirectory'");
    odd_values("DirSync");
    bare_control("dirsync", 1, DIRECTORY_CONFIG, "without a token");
    perl("$main::p->stop; 'ok'");
    apart();
    too_many_values(); /* at the end: it raises the process's peak memory */
    store_disconnect(cache);
    return done();
}
