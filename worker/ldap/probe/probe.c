/* Owns the doctor's report: what prevents this service from using a directory, in the order in
 * which it would fail. Writes nothing. */
#include "worker/ldap/probe/probe.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <string.h>

#include "core/base/text.h"
#include "worker/directory/report.h"
#include "worker/ldap/change/change.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/schema.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

#define CHECK_MS (3 * DIRECTORY_CALL_MS) /* for all questions but those that read everything */

typedef struct probe {
    ld_call *k;
    report report;
} probe;

static directory_class read_base(ld_call *k, const char *dn, const char *name)
{
    const char *const attributes[] = {k->d->dialect->id, NULL};
    const ld_entry *base;
    directory_class class = ld_read_base(k, dn, attributes,
                                         apr_pstrcat(k->pool, "read ", name, " ", dn, NULL), &base);
    if (!class && !(base && ld_get(base, attributes[0]))) {
        class = ld_fail(k, DIRECTORY_CONFIG, NULL, "%s %s is not readable by our account", name,
                        dn);
    }
    return class;
}

typedef struct shown {
    const ld_dialect *dialect;
    apr_pool_t *pool;
    int64_t count;
    const char *nameless; /* DN of an entry without an ID; NULL: none */
    const char *address;  /* attribute that no two may share; NULL: none */
    apr_hash_t *holders;  /* address, folded -> DN */
    const char *sharing;  /* the first that are shared, with the DNs */
    int64_t shared;
    const char *managed; /* the first entries that name several managers, for people */
    int64_t several;
} shown;

#define SHARED_NAMED 5 /* shared addresses, or entries with several managers, that are named */

/* Records which accounts have the addresses of the entry. */
static void note_addresses(shown *s, const ld_entry *entry, apr_pool_t *entry_pool)
{
    const ld_attribute *a = s->address ? ld_get(entry, s->address) : NULL;
    for (int i = 0; a && i < a->count; i++) {
        const char *key = ida_fold_address(entry_pool, a->values[i].bv_val);
        const char *other = apr_hash_get(s->holders, key, APR_HASH_KEY_STRING);
        if (!other) {
            apr_hash_set(s->holders, apr_pstrdup(s->pool, key), APR_HASH_KEY_STRING,
                         apr_pstrdup(s->pool, entry->dn));
        } else if (strcmp(other, entry->dn) != 0 && ++s->shared <= SHARED_NAMED) {
            s->sharing = apr_pstrcat(s->pool, s->sharing ? s->sharing : "", s->sharing ? "; " : "",
                                     key, " is that of ", other, " and ", entry->dn, NULL);
        }
    }
}

static void note_managers(shown *s, const ld_entry *entry)
{
    const ld_attribute *a = s->address ? ld_get(entry, s->dialect->manager) : NULL;
    if (a && a->count > 1 && ++s->several <= SHARED_NAMED) {
        s->managed = apr_pstrcat(s->pool, s->managed ? s->managed : "", s->managed ? "; " : "",
                                 entry->dn, NULL);
    }
}

static directory_class count_entry(const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    shown *s = baton;
    s->count++;
    if (!s->nameless && !ld_id_text(s->dialect, entry_pool, entry)) {
        s->nameless = apr_pstrdup(s->pool, entry->dn);
    }
    note_addresses(s, entry, entry_pool);
    note_managers(s, entry);
    return DIRECTORY_OK;
}

static directory_class count_message(ld_call *k, int type, LDAPMessage *message, void *baton)
{
    apr_pool_t *pool;
    apr_pool_create(&pool, ((shown *)baton)->pool);
    const ld_entry *entry = type == LDAP_RES_SEARCH_ENTRY ? ld_entry_read(k->d->ld, message, pool)
                                                          : NULL;
    directory_class class = entry ? count_entry(entry, pool, baton)
                            : type == LDAP_RES_SEARCH_ENTRY
                                ? ld_fail(k, DIRECTORY_LOCAL, NULL,
                                          "an entry of the answer cannot be read")
                                : DIRECTORY_OK;
    apr_pool_destroy(pool);
    return class;
}

/* Whether all of a stream can be read, in the way of a sync: one entry, or one page, would not meet
 * the server's limits. */
static void check_kind(probe *p, const char *base, const char *filter, const char *what,
                       const char *address)
{
    ld_call k = *p->k; /* with the time that a sync has */
    shown s = {.dialect = k.d->dialect,
               .pool = k.pool,
               .address = address,
               .holders = apr_hash_make(k.pool)};
    const char *const attributes[] = {k.d->dialect->id, address,
                                      address ? k.d->dialect->manager : NULL, NULL};
    const ld_query query = {.base = base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = filter,
                            .attributes = attributes,
                            .phase = LD_BASE,
                            .doing = apr_pstrcat(k.pool, "read all ", what, NULL)};
    k.deadline = ida_monotonic(k.d->env) + LD_RUN_MS;
    k.idle_ms = LD_SILENCE_MS;
    directory_class class = k.d->offers_sync > 0 && !k.d->dialect->active_directory
                                ? ld_syncrepl_look(&k, &query, count_message, &s)
                                : ld_paged(&k, &query, count_entry, &s);
    p->k->deadline = ida_monotonic(k.d->env) + CHECK_MS;
    if (!class && s.nameless) {
        class = ld_fail(&k, DIRECTORY_CONFIG, NULL, "%s shows no %s: our account may not read it",
                        s.nameless, attributes[0]);
    }
    directory_report_judge(
        &p->report, what, class,
        s.count ? ida_printf(k.pool, "%s: all %lld readable", base, (long long)s.count)
                : apr_pstrcat(k.pool, base, ": readable, but holds none yet or shows none", NULL));
    if (!class && address) {
        directory_report_line(
            &p->report, "addresses", !s.shared,
            s.shared
                ? ida_printf(k.pool,
                             "%s of %s that several people share, who can be named by object "
                             "ID alone: %s",
                             ida_count(k.pool, s.shared, "value", "values"), address, s.sharing)
                : apr_pstrcat(k.pool, "no two people share a value of ", address, NULL));
        directory_report_line(
            &p->report, "managers", !s.several,
            s.several ? ida_printf(k.pool,
                                   "%s several values of %s, so none of them is taken for the "
                                   "manager: %s",
                                   ida_count(k.pool, s.several, "person has", "people have"),
                                   k.d->dialect->manager, s.managed)
                      : apr_pstrcat(k.pool, "nobody has several values of ", k.d->dialect->manager,
                                    NULL));
    }
}

static void check_servers(probe *p)
{
    directory *d = p->k->d;
    /* Every server by itself: the one that answers must not hide another's broken certificate. */
    for (int i = 0; i < d->server_count; i++) {
        directory one = *d;
        apr_pool_t *pool;
        directory_error e;
        apr_pool_create(&pool, p->k->pool);
        one.servers = &d->servers[i];
        one.server_count = 1;
        one.server = 0;
        one.ld = NULL;
        one.fd = -1;
        one.tls = NULL; /* of its own: what belongs to d is not this one's to free */
        apr_pool_create(&one.connection, pool);
        ld_call k = ld_call_begin(&one, pool, &e);
        directory_class class = ld_ready(&k);
        const char *vendor = one.vendor ? apr_pstrdup(p->k->pool, one.vendor) : NULL;
        const char *how = one.servers->scheme == LD_LDAPI   ? "local socket"
                          : one.servers->scheme == LD_LDAPS ? "TLS verified"
                          : d->start_tls                    ? "StartTLS verified"
                                                            : "sealed by GSSAPI";
        if (class) {
            *p->k->e = e;
            p->k->e->message = apr_pstrdup(p->k->pool, e.message);
        }
        directory_report_judge(
            &p->report, apr_pstrcat(p->k->pool, "connect ", one.servers->url, NULL), class,
            apr_pstrcat(p->k->pool, how, ", bound", vendor ? ", version " : "", vendor, NULL));
        if (!class) {
            ld_probe_server_certificate(p->k, &p->report, &one);
        }
        ld_drop(&one);
        ld_forget_tls(&one);
        apr_pool_destroy(pool);
    }
}

static void check_schema(probe *p)
{
    ld_call *k = p->k;
    const directory *d = k->d;
    const ld_dialect *t = d->dialect;
    const ld_schema *schema = ld_schema_of(k);
    const char *const needed[] = {d->marker_attribute, d->upn_attribute};
    const char *const names[] = {"markerAttribute", "upnAttribute"};
    if (!directory_report_judge(&p->report, "schema", schema ? DIRECTORY_OK : k->e->class,
                                "readable")) {
        return;
    }
    directory_class class = ld_schema_knows(schema, t->lock)
                                ? DIRECTORY_OK
                                : ld_fail(k, DIRECTORY_CONFIG, NULL, "%s", t->lock_missing);
    directory_report_judge(&p->report, "disabling accounts", class,
                           apr_pstrcat(k->pool, t->lock, " is known to the server", NULL));
    for (int i = 0; i < 2; i++) {
        int place = ld_schema_allows(schema, t->user_class, needed[i]) ||
                    ld_schema_auxiliary(schema, needed[i]);
        class = place ? DIRECTORY_OK
                      : ld_fail(k, DIRECTORY_CONFIG, NULL, "%s %s has no place in a %s", names[i],
                                needed[i], t->user_class);
        directory_report_judge(&p->report, names[i], class, needed[i]);
    }
    const char *lost = NULL;
    for (const ld_field *f = t->fields; f->name; f++) {
        if (!ld_schema_allows(schema, t->user_class, f->attribute) &&
            !ld_schema_auxiliary(schema, f->attribute)) {
            lost = lost ? apr_pstrcat(k->pool, lost, ", ", f->name, NULL) : f->name;
        }
    }
    directory_report_line(
        &p->report, "fields", 1,
        lost ? apr_pstrcat(k->pool, "not kept by this directory (a creation warns): ", lost, NULL)
             : "every field has its place");
}

static void check_placeholder(probe *p)
{
    ld_call *k = p->k;
    const directory *d = k->d;
    if (!d->dialect->needs_member) {
        return;
    }
    if (!d->placeholder) {
        directory_report_line(
            &p->report, "placeholderMember", 1,
            "not set: the last member of a group is replaced by the group itself");
        return;
    }
    /* Servers accept a member that does not exist, so a missing placeholder is reported but is
     * no failure. */
    directory_class class = read_base(k, d->placeholder, "placeholderMember");
    directory_report_line(
        &p->report, "placeholderMember", 1,
        class ? apr_pstrcat(k->pool, d->placeholder,
                            ": is no entry of the directory; OpenLDAP accepts that", NULL)
              : "exists");
}

/* With lastbind our bind a moment ago left the server's time on our own entry. */
static void check_clock(probe *p, int64_t bound_at)
{
    ld_call *k = p->k;
    int64_t at = ld_own_sign_in(k);
    directory_report_line(&p->report, "sign-ins", 1,
                          at ? "recorded by the server"
                             : "not recorded for our own account: overlay or setting lastbind is "
                               "off, or not readable; stale accounts count from creation");
    if (!at) {
        return;
    }
    /* If the server is behind, lastbind-precision may have kept an older time; only a clock that
     * is ahead is certainly wrong. */
    ld_probe_clock(k, &p->report, at - bound_at, INT64_MAX,
                   "behind ours (or its lastbind-precision is coarse)");
}

/* A whole read also asks for entries newer than slapd's snapshot (newer_than_content in
 * worker/ldap/sync/syncrepl.c), and the newer of two states of an entry counts: our account must be
 * able to filter by the stamp and to read it. */
static directory_class stamp_shown(ld_call *k, const char *base, const char *filter,
                                   const char *what)
{
    const char *stamp = k->d->dialect->stamp, *doing = apr_pstrcat(k->pool, "search ", what, NULL);
    const char *const attributes[] = {stamp, NULL};
    const char *any = apr_pstrcat(k->pool, "(&", filter, "(", stamp,
                                  ">=19700101000000.000000Z#000000#000#000000))", NULL);
    const ld_entry *one, *stamped = NULL;
    directory_class class = ld_below(k, base, filter, attributes, doing, &one);
    class = class || !one ? class : ld_below(k, base, any, attributes, doing, &stamped);
    if (!class && one && !(stamped && ld_get(stamped, stamp))) {
        class = ld_fail(k, DIRECTORY_CONFIG, NULL,
                        "our account may not search and read %s of %s below %s: whoever changes "
                        "while everything is read counts as gone until the next sync",
                        stamp, what, base);
    }
    return class;
}

static void check_stamps(probe *p)
{
    ld_call *k = p->k;
    const directory *d = k->d;
    directory_class class = stamp_shown(k, d->user_base, d->dialect->user_filter, "users");
    class = class ? class : stamp_shown(k, d->group_base, d->dialect->group_filter, "groups");
    directory_report_judge(&p->report, d->dialect->stamp, class,
                           "our account may search and read it, looked at with one user and one "
                           "group where there are any");
}

/* The lock of an account takes effect only under a password policy. Our account can rarely read
 * which policy applies to whom, so any visible one is accepted. */
static void check_policy(probe *p)
{
    ld_call *k = p->k;
    const char *no_effect =
        "no password policy with pwdLockout TRUE is seen: a locked account can still sign in. "
        "Offboardings replace the password as well, other disabled accounts keep theirs. Add such "
        "a "
        "policy, name it in ppolicy_default, and let our account read it";
    directory_class class = ld_lock_holds(k, k->d->user_base)
                                ? DIRECTORY_OK
                                : ld_fail(k, DIRECTORY_CONFIG, NULL, "%s", no_effect);
    directory_report_judge(&p->report, "password policy", class,
                           "one with pwdLockout TRUE is seen: make sure that ppolicy_default names "
                           "it, so that a locked account cannot sign in");
}

typedef struct strays {
    const directory *d;
    apr_pool_t *pool;
    const char *base_key; /* of groupBase */
    int64_t others, outside;
    const char *one; /* DN of one of them */
} strays;

static directory_class count_stray(const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    strays *s = baton;
    const char *key = ld_dn_key(entry_pool, entry->dn);
    int other = ld_holds(entry, "objectClass", "organizationalRole") ||
                ld_holds(entry, "objectClass", "nisNetgroup");
    int outside = !other && key && s->base_key && !ld_dn_key_below(key, s->base_key);
    s->others += other;
    s->outside += outside;
    if ((other || outside) && !s->one) {
        s->one = apr_pstrdup(s->pool, entry->dn);
    }
    return DIRECTORY_OK;
}

/* Memberships that this service does not change, wherever our account sees them. */
static void check_elsewhere(probe *p)
{
    ld_call *k = p->k;
    const ld_dialect *t = k->d->dialect;
    static const char *const attributes[] = {"objectClass", NULL};
    strays s = {.d = k->d, .pool = k->pool, .base_key = ld_dn_key(k->pool, k->d->group_base)};
    const ld_query query = {
        .base = k->d->root ? apr_pstrdup(k->pool, k->d->root) : k->d->group_base,
        .scope = LDAP_SCOPE_SUBTREE,
        .filter = apr_pstrcat(k->pool, "(|", t->group_filter, t->elsewhere, ")", NULL),
        .attributes = attributes,
        .phase = LD_READ,
        .doing = "look for groups elsewhere"};
    directory_class class = ld_paged(k, &query, count_stray, &s);
    directory_report_line(
        &p->report, "groups elsewhere", 1,
        class   ? apr_pstrcat(k->pool, "were not looked at: ", k->e->message, NULL)
        : s.one ? ida_printf(
                      k->pool,
                      "not managed: %s outside groupBase, %s of other kinds "
                      "(organizationalRole, nisNetgroup), such as %s: an offboarding names those "
                      "that hold the person and leaves them as they are",
                      ida_count(k->pool, s.outside, "group", "groups"),
                      ida_count(k->pool, s.others, "entry", "entries"), s.one)
                : "none: our account sees no group outside groupBase and no organizationalRole or "
                  "nisNetgroup");
}

static void check_openldap(probe *p, int64_t bound_at)
{
    const directory *d = p->k->d;
    check_policy(p);
    check_elsewhere(p);
    directory_report_line(
        &p->report, "content synchronisation", d->offers_sync != 0,
        d->offers_sync > 0 ? "offered (syncprov)"
        : d->offers_sync == 0
            ? "not offered: load the syncprov overlay, or every sync reads the whole directory"
            : "unknown: the rootDSE is not readable by our account");
    if (d->offers_sync != 0) {
        check_stamps(p);
    }
    directory_report_line(
        &p->report, "initial passwords", 1,
        d->offers_password
            ? "set by the Password Modify operation: the server hashes them"
            : "sent inside the new entry, as the server does not offer Password Modify (RFC 3062): "
              "make sure that it hashes clear text (ppolicy_hash_cleartext)");
    check_placeholder(p);
    check_clock(p, bound_at);
}

directory_class ld_probe(directory *d, apr_pool_t *pool, json_t *lines, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    k.deadline = ida_monotonic(d->env) + CHECK_MS;
    probe p = {.k = &k, .report = {.lines = lines, .last = e}};
    check_servers(&p);
    ld_probe_own_certificate(&k, &p.report);
    int64_t bound_at = ida_now(d->env);
    ld_drop(d);
    directory_class class = ld_ready(&k);
    if (class) {
        *e = p.report.first ? p.report.error : *e;
        return p.report.first ? p.report.first : class;
    }
    ld_probe_own_password(&k, &p.report);
    directory_report_judge(&p.report, "userBase", read_base(&k, d->user_base, "userBase"),
                           d->user_base);
    directory_report_judge(&p.report, "groupBase", read_base(&k, d->group_base, "groupBase"),
                           d->group_base);
    directory_report_judge(
        &p.report, "createIn", read_base(&k, d->create_in, "createIn"),
        apr_pstrcat(pool, d->create_in,
                    d->dialect->active_directory
                        ? ": exists"
                        : ": exists; LDAP tells write permission only at the first write",
                    NULL));
    check_kind(&p, d->user_base, d->dialect->user_filter, "users", d->upn_attribute);
    check_kind(&p, d->group_base, d->dialect->group_filter, "groups", NULL);
    check_schema(&p);
    if (d->dialect->active_directory) {
        ld_probe_active_directory(&k, &p.report);
    } else {
        check_openldap(&p, bound_at);
    }
    *e = p.report.error;
    return p.report.first;
}
