/* Owns requests over a connection: streams, reads, writes. Must not know what entries
 * contain. */
#include "worker/ldap/wire/request.h"

#include <apr_tables.h>
#include <string.h>

#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

#define LOOK_EVERY 200     /* the same, in messages that come without a pause */
#define SERVER_LESS_MS 500 /* the server's time limit ends before our own */

LDAPControl **ld_identities(const directory *d)
{
    static char text_form[] = {0x30, 0x03, 0x02, 0x01, 0x01}; /* SEQUENCE { INTEGER 1 } */
    static LDAPControl control = {(char *)(uintptr_t) "1.2.840.113556.1.4.529",
                                  {sizeof text_form, text_form},
                                  1};
    static LDAPControl *list[] = {&control, NULL};
    return d->dialect->active_directory ? list : NULL;
}

/* No answer arrived: the connection cannot be used any more. */
static directory_class lost(ld_call *k, int type, int id, ld_phase phase, const char *doing)
{
    if (k->stopped) {
        ldap_abandon_ext(k->d->ld, id, NULL, NULL);
        ld_drop(k->d);
        return ld_fail(k, DIRECTORY_LOCAL, NULL, "%s: %s: stopped", ld_server_url(k->d), doing);
    }
    directory_class class = ld_fail_code(k, type == 0 ? LDAP_TIMEOUT : LDAP_SERVER_DOWN, phase,
                                         NULL, doing);
    ld_drop_failed(k->d);
    return class;
}

static directory_class unsent(ld_call *k, int code, const char *doing)
{
    /* The request was not sent completely, so it had no effect. */
    directory_class class = ld_fail_code(k, code, LD_READ, NULL, doing);
    if (class == DIRECTORY_TRANSIENT) {
        ld_drop(k->d);
    }
    return class;
}

/* --- searches --- */

/* slapd's limits of size and time are an account's own, and its pages all together count as one
 * answer. */
directory_class ld_fail_read(ld_call *k, const ld_query *query, const ld_answer *answer)
{
    directory_class class = ld_fail_code(k, answer->code, query->phase, answer->text, query->doing);
    int limit = answer->code == LDAP_SIZELIMIT_EXCEEDED ||
                answer->code == LDAP_ADMINLIMIT_EXCEEDED || answer->code == LDAP_TIMELIMIT_EXCEEDED;
    if (!limit || k->d->dialect->active_directory) {
        return class;
    }
    const char *why = k->e->message,
               *dn = k->d->bind == LD_BIND_SIMPLE ? k->d->bind_dn : ld_own_key(k);
    return ld_fail(k, class, NULL,
                   "%s; our account must be shown everything: add the line 'limits dn.exact=\"%s\" "
                   "size=unlimited time=unlimited' to the database in slapd.conf, in cn=config as "
                   "olcLimits of the database, without its first word",
                   why, dn ? dn : "DN of our account");
}

static const char *const no_attributes[] = {LDAP_NO_ATTRS, NULL};

directory_class ld_stream(ld_call *k, const ld_query *query, ld_take take, void *baton,
                          ld_answer *answer)
{
    directory_class class = ld_ready(k);
    if (class) {
        return class;
    }
    directory *d = k->d;
    const char *const *attributes = query->attributes ? query->attributes : no_attributes;
    int64_t server_ms = ld_left(k) > 2 * SERVER_LESS_MS ? ld_left(k) - SERVER_LESS_MS : 1000;
    struct timeval bound = {.tv_sec = (time_t)(server_ms / 1000)};
    /* A stream has no end of its own: a limit above what the server grants our account would be
     * refused (11). */
    struct timeval *limit = k->idle_ms ? NULL : &bound;
    int id, code = ldap_search_ext(d->ld, query->base, query->scope, query->filter,
                                   (char **)(uintptr_t)attributes, 0, query->controls, NULL, limit,
                                   query->limit, &id);
    if (code == LDAP_FILTER_ERROR || code == LDAP_PARAM_ERROR || code == LDAP_NO_MEMORY ||
        code == LDAP_ENCODING_ERROR) {
        return ld_fail_code(k, code, query->phase, NULL, query->doing);
    }
    if (code != LDAP_SUCCESS) {
        class = ld_fail_code(k, LDAP_SERVER_DOWN, LD_READ, NULL, query->doing);
        ld_drop(d);
        return class;
    }
    for (int count = 1;; count++) {
        LDAPMessage *message = NULL;
        int type = ld_wait(k, id, &message);
        if (type <= 0) {
            return lost(k, type, id, LD_READ, query->doing);
        }
        if (type == LDAP_RES_SEARCH_RESULT) {
            d->used_at = ida_monotonic(d->env);
            return ld_parse(k, message, answer, k->pool);
        }
        /* References to other servers are not followed. */
        class = take && (type == LDAP_RES_SEARCH_ENTRY || type == LDAP_RES_INTERMEDIATE)
                    ? take(k, type, message, baton)
                    : DIRECTORY_OK;
        ldap_msgfree(message);
        if (class) {
            ldap_abandon_ext(d->ld, id, NULL, NULL);
            return class;
        }
        k->stopped = count % LOOK_EVERY == 0 &&
                     ld_stopped(k); /* a stream need not end, or ever be silent */
        if (k->stopped) {
            return lost(k, 0, id, LD_READ, query->doing);
        }
    }
}

directory_class ld_unreadable(ld_call *k)
{
    return ld_fail(k, DIRECTORY_LOCAL, NULL,
                   "%s: an entry cannot be read, or has more than %d attributes or %d values",
                   ld_server_url(k->d), LD_ATTRIBUTES_MAX, LD_VALUES_MAX);
}

static directory_class collect(ld_call *k, int type, LDAPMessage *message, void *baton)
{
    if (type == LDAP_RES_SEARCH_ENTRY) {
        const ld_entry *entry = ld_entry_read(k->d->ld, message, k->pool);
        if (!entry) {
            return ld_unreadable(k);
        }
        APR_ARRAY_PUSH((apr_array_header_t *)baton, const ld_entry *) = entry;
    }
    return DIRECTORY_OK;
}

directory_class ld_search(ld_call *k, const ld_query *query, const ld_entry ***rows, int *count)
{
    directory_class class = DIRECTORY_OK;
    for (int attempt = 0; attempt < 2; attempt++) {
        apr_array_header_t *entries = apr_array_make(k->pool, 4, sizeof(const ld_entry *));
        ld_answer answer = {0};
        int was_connected = k->d->ld != NULL;
        class = ld_stream(k, query, collect, entries, &answer);
        if (!class && answer.code != LDAP_SUCCESS &&
            !(answer.code == LDAP_SIZELIMIT_EXCEEDED && query->limit &&
              entries->nelts >= query->limit)) {
            class = ld_fail_code(k, answer.code, query->phase, answer.text, query->doing);
        }
        *rows = (const ld_entry **)entries->elts;
        *count = entries->nelts;
        /* A read may be repeated once, and only if the first try lost its connection or the
         * server was busy. */
        if (class != DIRECTORY_TRANSIENT || (!was_connected && !k->d->ld) || ld_left(k) == 0) {
            return class;
        }
    }
    return class;
}

static directory_class one(ld_call *k, const ld_query *query, const ld_entry **entry)
{
    const ld_entry **rows;
    int count;
    directory_class class = ld_search(k, query, &rows, &count);
    *entry = !class && count ? rows[0] : NULL;
    return class;
}

directory_class ld_read_if(ld_call *k, const char *dn, const char *filter,
                           const char *const *attributes, const char *doing, const ld_entry **entry)
{
    return one(k, &(ld_query){dn, LDAP_SCOPE_BASE, filter, attributes, 1, NULL, LD_READ, doing},
               entry);
}

directory_class ld_read(ld_call *k, const char *dn, const char *const *attributes,
                        const char *doing, const ld_entry **entry)
{
    return ld_read_if(k, dn, "(objectClass=*)", attributes, doing, entry);
}

directory_class ld_read_base(ld_call *k, const char *dn, const char *const *attributes,
                             const char *doing, const ld_entry **entry)
{
    return one(
        k, &(ld_query){dn, LDAP_SCOPE_BASE, "(objectClass=*)", attributes, 1, NULL, LD_BASE, doing},
        entry);
}

directory_class ld_below(ld_call *k, const char *base, const char *filter,
                         const char *const *attributes, const char *doing, const ld_entry **entry)
{
    return one(k,
               &(ld_query){base, LDAP_SCOPE_SUBTREE, filter, attributes, 1, NULL, LD_BASE, doing},
               entry);
}

directory_class ld_compare(ld_call *k, const char *dn, const char *attribute, const char *value,
                           const char *doing, int *same)
{
    struct berval bytes = {.bv_val = (char *)(uintptr_t)value, .bv_len = strlen(value)};
    directory_class class = DIRECTORY_OK;
    *same = 0;
    for (int attempt = 0; attempt < 2 && (attempt == 0 || class == DIRECTORY_TRANSIENT);
         attempt++) {
        LDAPMessage *message = NULL;
        ld_answer answer = {0};
        int id;
        class = ld_ready(k);
        if (class) {
            return class;
        }
        int code = ldap_compare_ext(k->d->ld, dn, attribute, &bytes, NULL, NULL, &id);
        if (code != LDAP_SUCCESS) {
            class = unsent(k, code, doing);
            continue;
        }
        int type = ld_wait(k, id, &message);
        class = type <= 0 ? lost(k, type, id, LD_READ, doing)
                          : ld_parse(k, message, &answer, k->pool);
        if (!class && answer.code != LDAP_COMPARE_TRUE && answer.code != LDAP_COMPARE_FALSE &&
            answer.code != LDAP_NO_SUCH_ATTRIBUTE) {
            class = ld_fail_code(k, answer.code, LD_READ, answer.text, doing);
        }
        *same = !class && answer.code == LDAP_COMPARE_TRUE;
    }
    return class;
}

static LDAPControl *post_read(ld_call *k, const char *const *attributes)
{
    BerElement *ber = k->d->offers_post_read ? ber_alloc_t(LBER_USE_DER) : NULL;
    struct berval value = {0};
    LDAPControl *control = NULL;
    if (ber && ber_printf(ber, "{v}", attributes) >= 0 && ber_flatten2(ber, &value, 0) == 0) {
        ldap_control_create(LDAP_CONTROL_POST_READ, 0, &value, 1, &control);
    }
    ber_free(ber, 1);
    return control; /* NULL: without the control, callers read the entry when they need it */
}

/* --- writes --- */

/* The answer to a write; `code`: of sending it. */
static directory_class written(ld_call *k, int code, int id, ld_phase phase, const char *doing,
                               ld_answer *answer)
{
    LDAPMessage *message = NULL;
    if (code != LDAP_SUCCESS) {
        return unsent(k, code, doing);
    }
    int type = ld_wait(k, id, &message);
    if (type <= 0) {
        return lost(k, type, id, phase, doing);
    }
    k->d->used_at = ida_monotonic(k->d->env);
    directory_class class = ld_parse(k, message, answer, k->pool);
    return class || answer->code == LDAP_SUCCESS
               ? class
               : ld_fail_code(k, answer->code, phase, answer->text, doing);
}

directory_class ld_modify(ld_call *k, const char *dn, LDAPMod **mods, ld_phase phase,
                          const char *doing)
{
    ld_answer answer = {0};
    int id;
    directory_class class = ld_ready(k);
    if (class) {
        return class;
    }
    int code = ldap_modify_ext(k->d->ld, dn, mods, NULL, NULL, &id);
    return written(k, code, id, phase, doing, &answer);
}

directory_class ld_add(ld_call *k, const char *dn, LDAPMod **mods, const char *const *attributes,
                       const char *doing, ld_answer *answer)
{
    int id;
    directory_class class = ld_ready(k);
    if (class) {
        return class;
    }
    LDAPControl *show = post_read(k, attributes), *controls[] = {show, NULL};
    int code = ldap_add_ext(k->d->ld, dn, mods, show ? controls : NULL, NULL, &id);
    if (show) {
        ldap_control_free(show);
    }
    class = written(k, code, id, LD_WRITE, doing, answer);
    answer->shown = class == DIRECTORY_OK ? ld_entry_shown(answer->controls, k->pool) : NULL;
    return class;
}

directory_class ld_rename(ld_call *k, const char *dn, const char *rdn, const char *superior,
                          const char *doing)
{
    ld_answer answer = {0};
    int id;
    directory_class class = ld_ready(k);
    if (class) {
        return class;
    }
    int code = ldap_rename(k->d->ld, dn, rdn, superior, 1, NULL, NULL, &id);
    return written(k, code, id, LD_WRITE, doing, &answer);
}

directory_class ld_modify_password(ld_call *k, const char *dn, const char *password,
                                   const char *doing, ld_answer *answer)
{
    struct berval who = {.bv_val = (char *)(uintptr_t)dn, .bv_len = strlen(dn)},
                  fresh = {.bv_val = (char *)(uintptr_t)password, .bv_len = strlen(password)};
    int id;
    directory_class class = ld_ready(k);
    if (class) {
        return class;
    }
    int code = ldap_passwd(k->d->ld, &who, NULL, &fresh, NULL, NULL, &id);
    return written(k, code, id, LD_WRITE, doing, answer);
}
