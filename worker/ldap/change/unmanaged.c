/* Owns memberships that this service names and never changes: groups in other places, entries of
 * other kinds, the group of an account's own gidNumber. Must not know how one is left. */
#include "worker/ldap/change/unmanaged.h"

#include <apr_strings.h>
#include <string.h>
#include <strings.h>

#include "worker/ldap/change/change.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

const char *ld_outside(const directory *d, apr_pool_t *pool, const char *dn_key)
{
    const char *base = d->dialect->binary_ids ? NULL : ld_dn_key(pool, d->group_base);
    return base && !ld_dn_key_below(dn_key, base)
               ? "the group lies outside groupBase, where this service changes nothing"
               : NULL;
}

directory_class ld_every_page(ld_call *k, const ld_query *query, ld_each each, void *baton)
{
    directory_class class = ld_paged(k, query, each, baton);
    /* A read is repeated once; duplicates are removed. */
    return class == DIRECTORY_TRANSIENT && ld_left(k) > 0 ? ld_paged(k, query, each, baton) : class;
}

typedef struct elsewhere {
    ld_gathering *g;
    const directory_user *user;
    const char *gid; /* of the user's own entry, escaped; NULL: none */
} elsewhere;

static void add_retained(ld_gathering *g, const char *id, const char *name, const char *why)
{
    *(directory_membership *)apr_array_push(
        g->rows) = (directory_membership){.group_id = apr_pstrdup(g->pool, id),
                                          .group_name = apr_pstrdup(g->pool, name),
                                          .retained = why};
}

/* "(host,login,domain)" with this login, in any case. */
static int triple_names(const ld_attribute *a, const char *login)
{
    for (int i = 0; login && a && i < a->count; i++) {
        const char *from = strchr(a->values[i].bv_val, ','),
                   *to = from ? strchr(from + 1, ',') : NULL;
        if (to && (size_t)(to - from - 1) == strlen(login) &&
            strncasecmp(from + 1, login, strlen(login)) == 0) {
            return 1;
        }
    }
    return 0;
}

static directory_class take_elsewhere(const ld_entry *entry, apr_pool_t *pool, void *baton)
{
    const elsewhere *e = baton;
    ld_gathering *g = e->g;
    const directory *d = g->d;
    const char *id = ld_id_text(d->dialect, pool, entry), *name = ld_text(pool, entry, "cn"),
               *key = ld_dn_key(pool, entry->dn), *why = NULL;
    int seen = id && apr_hash_get(g->seen, id, APR_HASH_KEY_STRING);
    if (!id || !key) {
        return DIRECTORY_OK;
    }
    if (e->gid && ld_holds(entry, "objectClass", "posixGroup") &&
        ld_holds(entry, "gidNumber", e->gid)) {
        /* A separate row from that of a memberUid, because a memberUid can be removed. */
        add_retained(
            g, seen ? "gidNumber" : id, name ? name : entry->dn,
            "the group of the account's own gidNumber, which this service does not change");
        return DIRECTORY_OK;
    }
    if (seen) {
        return DIRECTORY_OK;
    }
    if (ld_holds(entry, "objectClass", "organizationalRole")) {
        why = ld_holds(entry, "roleOccupant", e->user->dn)
                  ? "an organizationalRole (roleOccupant): this service does not change those"
                  : NULL;
    } else if (ld_holds(entry, "objectClass", "nisNetgroup")) {
        why = triple_names(ld_get(entry, "nisNetgroupTriple"), e->user->login)
                  ? "a nisNetgroup: this service does not change those"
                  : NULL;
    } else {
        why = ld_outside(d, pool, key);
    }
    if (why) {
        add_retained(g, id, name ? name : entry->dn, why);
        id = apr_pstrdup(g->pool, id);
        apr_hash_set(g->seen, id, APR_HASH_KEY_STRING, id);
    }
    return DIRECTORY_OK;
}

/* The number of the primary group as a value of a filter; NULL: the user's entry has none. */
static directory_class own_gid(ld_call *k, const directory_user *user, const char **gid)
{
    static const char *const attributes[] = {"gidNumber", NULL};
    const ld_entry *own;
    directory_class class = ld_read(k, user->dn, attributes, "read the user's gidNumber", &own);
    const char *number = own ? ld_text(k->pool, own, attributes[0]) : NULL;
    *gid = number ? ld_filter_text(k->pool, number) : NULL;
    return class == DIRECTORY_NOT_FOUND ? DIRECTORY_OK : class;
}

directory_class ld_gather_unmanaged(ld_call *k, ld_gathering *g, const directory_user *user,
                                    const char *naming)
{
    static const char *const attributes[] = {
        "objectClass", "cn", "roleOccupant", "nisNetgroupTriple", "entryUUID", "gidNumber", NULL};
    const ld_dialect *t = k->d->dialect;
    elsewhere e = {g, user, NULL};
    if (!t->elsewhere || !k->d->root) {
        return DIRECTORY_OK;
    }
    directory_class class = own_gid(k, user, &e.gid);
    const char *by_gid = e.gid
                             ? apr_pstrcat(k->pool, "(&(objectClass=posixGroup)(gidNumber=", e.gid,
                                           "))", NULL)
                             : "";
    const ld_query query = {.base = apr_pstrdup(k->pool, k->d->root),
                            .scope = LDAP_SCOPE_SUBTREE,
                            .attributes = attributes,
                            .phase = LD_READ,
                            .doing = "look for other memberships",
                            .filter = apr_pstrcat(k->pool, "(|(&", t->group_filter, naming, ")",
                                                  t->elsewhere, by_gid, ")", NULL)};
    class = class ? class : ld_every_page(k, &query, take_elsewhere, &e);
    if (class == DIRECTORY_OK || class == DIRECTORY_TRANSIENT) {
        return class;
    }
    /* A search that the server refuses must not keep memberships from being revoked: a row says
     * what was not looked at. Only a lost connection ends the call, because a repetition can
     * succeed. */
    add_retained(g, "elsewhere", "groups outside groupBase",
                 apr_pstrcat(g->pool, "were not looked at: ", k->e->message ? k->e->message : "",
                             NULL));
    *k->e = (directory_error){0};
    return DIRECTORY_OK;
}

/* --- ownership --- */

typedef struct owning {
    const directory *d;
    const char *own; /* DN key of the user */
    apr_array_header_t *rows;
} owning;

static directory_class take_owned(const ld_entry *entry, apr_pool_t *pool, void *baton)
{
    static const char *const names[] = {"owner", "managedBy"};
    const owning *o = baton;
    apr_pool_t *keep = o->rows->pool;
    const char *id = ld_id_text(o->d->dialect, pool, entry), *name = ld_text(pool, entry, "cn");
    if (!id) {
        return DIRECTORY_OK;
    }
    directory_membership *row = apr_array_push(o->rows);
    *row = (directory_membership){apr_pstrdup(keep, id), apr_pstrdup(keep, name ? name : entry->dn),
                                  NULL};
    for (int n = 0; n < 2; n++) {
        const ld_attribute *a = ld_get(entry, names[n]);
        for (int i = 0; a && i < a->count; i++) {
            const char *dn = a->values[i].bv_val, *key = ld_dn_key(pool, dn);
            if (key && strcmp(key, o->own) != 0) {
                directory_owner_add(row, keep, dn);
            }
        }
    }
    return DIRECTORY_OK;
}

directory_class ld_owned(directory *d, apr_pool_t *pool, const char *id, apr_array_header_t *rows,
                         directory_error *e)
{
    static const char *const attributes[] = {"cn",        "owner",      "managedBy",
                                             "entryUUID", "objectGUID", NULL};
    ld_call k = ld_call_begin(d, pool, e);
    directory_user user;
    directory_class class = ld_user_by_id(&k, id, &user);
    const char *dn = class ? NULL : ld_filter_text(pool, user.dn);
    owning o = {d, class ? NULL : ld_dn_key(pool, user.dn), rows};
    const ld_query query = {.base = apr_pstrdup(pool, d->root ? d->root : d->group_base),
                            .scope = LDAP_SCOPE_SUBTREE,
                            .attributes = attributes,
                            .phase = LD_READ,
                            .doing = "look for groups that the user owns",
                            .filter = apr_pstrcat(pool, "(&", d->dialect->group_filter, "(|(owner=",
                                                  dn, ")(managedBy=", dn, ")))", NULL)};
    apr_array_clear(rows);
    return class ? class : ld_paged(&k, &query, take_owned, &o);
}
