/* What an LDAP server sends to one search, through libldap as in a session; the first bit of the
 * input chooses the dialect. Entries become users and groups, their controls and the messages
 * between them are read, and so is the end. */
#include <apr_strings.h>
#include <openldap.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/text.h"
#include "t/fuzz/fuzz.h"
#include "t/fuzz/mutate.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/sync/dirsync.h"
#include "worker/ldap/sync/sync_message.h"
#include "worker/ldap/wire/ad.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"
#include "worker/ldap/wire/wire.h"

#define INPUT_MAX 65536 /* what a socket takes without a reader */

static void check_text(const char *text)
{
    FUZZ_HOLDS(!text || (*text && ida_utf8_valid(text, strlen(text))));
}

static void read_entry(directory *d, apr_pool_t *pool, LDAPMessage *message)
{
    directory_user user;
    cache_group group;
    const ld_entry *entry = ld_entry_read(d->ld, message, pool);
    if (!entry) {
        return;
    }
    for (int i = 0; i < entry->count; i++) {
        const ld_attribute *a = &entry->attributes[i];
        check_text(ld_text(pool, entry, a->name));
        FUZZ_HOLDS(ld_told(entry, a->name));
        for (int v = 0; v < a->count; v++) {
            FUZZ_HOLDS(a->values[v].bv_val && a->values[v].bv_val[a->values[v].bv_len] == '\0');
            ld_sid_rid(&a->values[v]);
            ld_holds(entry, a->name, a->values[v].bv_val);
        }
    }
    if (ld_user_read(d, pool, entry, &user)) {
        FUZZ_HOLDS(user.id && strlen(user.id) == 36 && user.cache.dn_key);
        check_text(user.upn);
        check_text(user.mail);
        check_text(user.display_name);
    }
    if (ld_group_read(d, pool, entry, &group)) {
        FUZZ_HOLDS(strlen(group.id) == 36 && group.name && group.kind);
    }
}

static void read_message(directory *d, apr_pool_t *pool, int type, LDAPMessage *message)
{
    LDAPControl **controls = NULL;
    char *oid = NULL;
    struct berval *data = NULL;
    ld_sync_state state;
    ld_sync_info info;
    if (type == LDAP_RES_SEARCH_ENTRY) {
        read_entry(d, pool, message);
        if (ldap_get_entry_controls(d->ld, message, &controls) == LDAP_SUCCESS &&
            ld_sync_state_read(pool, controls, &state) > 0) {
            FUZZ_HOLDS(strlen(state.id) == 36);
        }
        ldap_controls_free(controls);
    } else if (type == LDAP_RES_INTERMEDIATE) {
        if (ldap_parse_intermediate(d->ld, message, &oid, &data, NULL, 0) == LDAP_SUCCESS) {
            ld_sync_info_read(pool, data, &info);
        }
        ldap_memfree(oid);
        ber_bvfree(data);
    }
}

static void read_end(ld_call *k, int type, LDAPMessage *message)
{
    char *oid = NULL;
    struct berval *data = NULL;
    if (type == LDAP_RES_EXTENDED) {
        ldap_parse_extended_result(k->d->ld, message, &oid, &data, 0);
        ldap_memfree(oid);
        ber_bvfree(data);
    }
    ld_answer answer = {0};
    ld_sync_done done;
    struct berval cookie;
    int more;
    if (ld_parse(k, message, &answer, k->pool) == DIRECTORY_OK) {
        FUZZ_HOLDS(!answer.text || *answer.text);
        const char *field;
        ld_classify(k->pool, answer.code, LD_BASE, answer.text, &field);
        ld_code_text(k->pool, answer.code, answer.text);
        ld_sync_done_read(k->pool, answer.controls, &done);
        ld_dirsync_answer(k->pool, &answer, &more, &cookie);
        ld_entry_shown(answer.controls, k->pool);
    }
}

static void search(directory *d, apr_pool_t *pool, int peer, const uint8_t *data, size_t size)
{
    directory_error e;
    ld_call k = ld_call_begin(d, pool, &e);
    int id, type;
    fuzz_leaks(1); /* libldap loses a request to which it cannot read the answer, and the answer */
    int code = ldap_search_ext(d->ld, "dc=x", LDAP_SCOPE_SUBTREE, "(objectClass=*)", NULL, 0, NULL,
                               NULL, NULL, 0, &id);
    fuzz_leaks(0);
    FUZZ_HOLDS(code == LDAP_SUCCESS);
    FUZZ_HOLDS(write(peer, data, size) == (ssize_t)size);
    shutdown(peer, SHUT_WR);
    do {
        LDAPMessage *message = NULL;
        apr_pool_t *sub;
        apr_pool_create(&sub, pool);
        fuzz_leaks(1);
        type = ld_wait(&k, id, &message);
        fuzz_leaks(0);
        if (type == LDAP_RES_SEARCH_ENTRY || type == LDAP_RES_INTERMEDIATE) {
            read_message(d, sub, type, message);
            ldap_msgfree(message);
        } else if (type == LDAP_RES_SEARCH_REFERENCE) {
            ldap_msgfree(message);
        } else if (type > 0) {
            read_end(&k, type, message);
            type = -1;
        }
        apr_pool_destroy(sub);
    } while (type > 0);
}

FUZZ_STRUCTURE(fuzz_ber, 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ida_tenant tenant = {.id = "nordic",
                                      .upn_domain = "x.example",
                                      .email_domain = "x.example"};
    if (size < 2 || size > INPUT_MAX) {
        return 0;
    }
    ida_ctx *c = fuzz_context();
    signal(SIGPIPE, SIG_IGN); /* as in the worker */
    ld_server server = {.url = "ldap://fuzz", .host = "fuzz", .scheme = LD_LDAP, .port = 389};
    int ends[2], ad = data[0] & 1;
    directory d = {.env = c->env,
                   .tenant = &tenant,
                   .pool = c->pool,
                   .dialect = ld_dialect_of(ad ? "activeDirectory" : "openLdap"),
                   .servers = &server,
                   .server_count = 1,
                   .bind_dn = "cn=a",
                   .user_base = "ou=p,dc=x",
                   .group_base = "ou=g,dc=x",
                   .create_in = "ou=p,dc=x",
                   .upn_attribute = ad ? "userPrincipalName" : "mail",
                   .marker_attribute = "employeeType",
                   .fd = -1,
                   .used_at = ida_monotonic(c->env)};
    apr_pool_create(&d.connection, c->pool);
    FUZZ_HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    d.wire = (ld_wire){.env = c->env, .until = d.used_at + 10000};
    FUZZ_HOLDS(ldap_init_fd(ends[0], LDAP_PROTO_TCP, "ldap://fuzz", &d.ld) == LDAP_SUCCESS &&
               ld_wire_install(d.ld, &d.wire) == 0);
    d.fd = ends[0];
    int version = LDAP_VERSION3;
    ldap_set_option(d.ld, LDAP_OPT_PROTOCOL_VERSION, &version);
    ldap_set_option(d.ld, LDAP_OPT_REFERRALS, LDAP_OPT_OFF);
    ldap_set_option(d.ld, LDAP_OPT_RESTART, LDAP_OPT_ON);
    search(&d, c->pool, ends[1], data + 1, size - 1);
    ld_drop(&d);
    close(ends[1]);
    return 0;
}
