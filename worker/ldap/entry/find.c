/* Owns where a user's entry is and whether it may be changed at all; and the server's schema.
 * Must not know what else an entry contains or how requests travel. */
#include "worker/ldap/entry/find.h"

#include <apr_strings.h>
#include <string.h>
#include <strings.h>

#include "core/base/text.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/schema.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

/* entries read for a login name: further mail addresses may match too */
#define FIND_LIMIT 20

/* An invisible entry may be gone, or our account may have lost access to the base: only the
 * first may be reported. */
static directory_class absent(ld_call *k, const char *what)
{
    const ld_entry *base;
    directory_class class = ld_read_base(k, k->d->user_base, NULL, "read userBase", &base);
    if (!class && !base) {
        class = ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: our account may not read userBase %s",
                        ld_server_url(k->d), k->d->user_base);
    }
    return class ? class
                 : ld_fail(k, DIRECTORY_NOT_FOUND, NULL, "%s: no user %s below %s",
                           ld_server_url(k->d), what, k->d->user_base);
}

static directory_class more_than_one(ld_call *k, const char *what, const char *const *dns)
{
    return ld_fail(k, DIRECTORY_CONFLICT, "upn", "%s: more than one entry is %s: %s and %s",
                   ld_server_url(k->d), what, dns[0], dns[1]);
}

static int carries(apr_pool_t *pool, const directory_user *user, const char *wanted)
{
    int found = user->upn && strcmp(ida_fold_address(pool, user->upn), wanted) == 0;
    for (const char **one = user->cache.upns; one && *one && !found; one++) {
        found = strcmp(ida_fold_address(pool, *one), wanted) == 0;
    }
    return found;
}

directory_class ld_user_by_id(ld_call *k, const char *id, directory_user *user)
{
    const char *uuid = ld_uuid_canonical(k->pool, id);
    if (!uuid) {
        return ld_fail(k, DIRECTORY_NOT_FOUND, NULL, "\"%s\" is no ID of this directory",
                       id ? id : "");
    }
    const ld_query query = {.base = k->d->user_base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = apr_pstrcat(k->pool, "(&", k->d->dialect->user_filter,
                                                  ld_id_filter(k->d->dialect, k->pool, uuid), ")",
                                                  NULL),
                            .attributes = k->d->user_attributes,
                            .limit = 2,
                            .phase = LD_BASE,
                            .doing = "find the user"};
    const ld_entry **rows;
    int count;
    directory_class class = ld_search(k, &query, &rows, &count);
    if (class) {
        return class;
    }
    if (count == 0 || !ld_user_read(k->d, k->pool, rows[0], user)) {
        return absent(k, uuid);
    }
    return DIRECTORY_OK;
}

directory_class ld_user_by_upn(ld_call *k, const char *upn, directory_user *user)
{
    const directory *d = k->d;
    const char *value = upn, *attribute = d->upn_attribute,
               *wanted = ida_fold_address(k->pool, upn), *at = strrchr(upn, '@');
    if (strcasecmp(attribute, d->dialect->login) == 0) {
        if (!at || strcmp(ida_fold_address(k->pool, at + 1),
                          ida_fold_address(k->pool, d->tenant->upn_domain)) != 0) {
            return absent(k, upn);
        }
        value = apr_pstrmemdup(k->pool, upn, (apr_size_t)(at - upn));
    }
    const char *test = apr_pstrcat(k->pool, "(", attribute, "=", ld_filter_text(k->pool, value),
                                   ")", NULL);
    if (d->dialect->active_directory && at && d->dns_domain &&
        strcmp(ida_fold_address(k->pool, at + 1), d->dns_domain) == 0) {
        const char *login = apr_pstrmemdup(k->pool, upn, (apr_size_t)(at - upn));
        test = apr_pstrcat(k->pool, "(|", test, "(&(!(", attribute, "=*))(", d->dialect->login, "=",
                           ld_filter_text(k->pool, login), ")))", NULL);
    }
    const ld_query query = {.base = d->user_base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = apr_pstrcat(k->pool, "(&", d->dialect->user_filter, test, ")",
                                                  NULL),
                            .attributes = k->d->user_attributes,
                            .limit = FIND_LIMIT,
                            .phase = LD_BASE,
                            .doing = "find the user"};
    const ld_entry **rows;
    const char *dns[FIND_LIMIT + 1];
    int count, found = 0;
    directory_class class = ld_search(k, &query, &rows, &count);
    for (int i = 0; !class && i < count; i++) {
        directory_user one;
        /* Each value of a multi-valued attribute names the account, while only one has it. */
        if (ld_user_read(k->d, k->pool, rows[i], &one) && carries(k->pool, &one, wanted)) {
            *user = one;
            dns[found++] = one.dn;
        }
    }
    return class       ? class
           : found > 1 ? more_than_one(k, upn, dns)
           : found     ? DIRECTORY_OK
                       : absent(k, upn);
}

static int is_named(apr_pool_t *pool, const char *name, const directory_user *user)
{
    const char *key = strchr(name, '=') ? ld_dn_key(pool, name) : NULL;
    return (key && strcmp(key, user->cache.dn_key) == 0) || strcasecmp(name, user->id) == 0 ||
           (user->login && strcasecmp(name, user->login) == 0) ||
           (user->upn &&
            strcmp(ida_fold_address(pool, name), ida_fold_address(pool, user->upn)) == 0);
}

/* Our own account by the name it binds with: a DN, or in Active Directory user@domain or
 * DOMAIN\user. */
static int is_own(ld_call *k, const directory_user *user)
{
    const directory *d = k->d;
    const char *own = ld_own_key(k), *slash = d->bind_dn ? strchr(d->bind_dn, '\\') : NULL;
    if (own && strcmp(own, user->cache.dn_key) == 0) {
        return 1;
    }
    return d->dialect->active_directory && d->bind == LD_BIND_SIMPLE && !strchr(d->bind_dn, '=') &&
           is_named(k->pool, slash ? slash + 1 : d->bind_dn, user);
}

directory_class ld_guard(ld_call *k, const directory_user *user)
{
    if (user->guarded) {
        return ld_fail(k, DIRECTORY_PROTECTED, NULL, "%s %s: it is never changed", user->dn,
                       user->guarded);
    }
    if (is_own(k, user)) {
        return ld_fail(k, DIRECTORY_PROTECTED, NULL,
                       "%s is the service account of this connection: it is never changed",
                       user->dn);
    }
    size_t i;
    json_t *value;
    json_array_foreach ((json_t *)(uintptr_t)k->d->protected_accounts, i, value) {
        const char *name = json_string_value(value);
        if (name && is_named(k->pool, name, user)) {
            return ld_fail(k, DIRECTORY_PROTECTED, NULL,
                           "%s is one of protectedAccounts: it is never changed", user->dn);
        }
    }
    return DIRECTORY_OK;
}

const ld_schema *ld_schema_of(ld_call *k)
{
    static const char *const attributes[] = {"attributeTypes", "objectClasses", "dITContentRules",
                                             NULL};
    directory *d = k->d;
    if (ld_ready(k)) {
        return NULL;
    }
    if (d->schema) {
        return d->schema;
    }
    if (!d->subschema) {
        ld_fail(k, DIRECTORY_CONFIG, NULL,
                "%s: our account may not read the rootDSE, so the schema cannot be checked",
                ld_server_url(d));
        return NULL;
    }
    const char *at = apr_pstrdup(k->pool, d->subschema);
    const ld_entry *entry;
    /* Some servers show a subschema to this filter alone. */
    directory_class class = ld_read_if(k, at, "(objectClass=subschema)", attributes,
                                       "read the schema", &entry);
    if (class == DIRECTORY_NOT_FOUND) {
        ld_fail(k, DIRECTORY_CONFIG, NULL, "%s", k->e->message);
    }
    if (class) {
        return NULL;
    }
    const ld_attribute *types = entry ? ld_get(entry, attributes[0]) : NULL,
                       *classes = entry ? ld_get(entry, attributes[1]) : NULL;
    if (!types || !classes) {
        ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: our account may not read the schema at %s",
                ld_server_url(d), at);
        return NULL;
    }
    ld_schema *schema = ld_schema_make(d->connection, types->values, types->count, classes->values,
                                       classes->count);
    const ld_attribute *rules = ld_get(entry, attributes[2]);
    if (rules) {
        ld_schema_rules(schema, rules->values, rules->count);
    }
    return d->schema = schema;
}
