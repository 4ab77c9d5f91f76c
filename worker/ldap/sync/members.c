/* Owns how groups enter a run: with the members that a stream reports, read in parts if the
 * server returns only a part, or after the streams. Must not know tokens. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/text.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

/* Attributes to request of a group, with its members under this name. */
static const char *const *attributes_with(const directory *d, apr_pool_t *pool, const char *member)
{
    int count = 0;
    while (d->group_attributes[count]) {
        count++;
    }
    const char **out = apr_pcalloc(pool, (apr_size_t)(count + 2) * sizeof *out);
    memcpy(out, d->group_attributes, (size_t)count * sizeof *out);
    out[count] = member;
    return out;
}

const char *const *ld_group_attributes_all(const directory *d, apr_pool_t *pool)
{
    apr_array_header_t *names = apr_array_make(pool, 16, sizeof(const char *));
    for (const char *const *name = d->group_attributes; *name; name++) {
        ld_add_name(names, *name);
    }
    for (const ld_links *l = d->dialect->links; l->class; l++) {
        ld_add_name(names, l->attribute);
    }
    APR_ARRAY_PUSH(names, const char *) = NULL;
    return (const char *const *)names->elts;
}

directory_class ld_group_entry(ld_run *r, apr_pool_t *pool, const ld_entry *entry,
                               cache_group *group)
{
    return ld_group_read(r->k->d, pool, entry, group)
               ? DIRECTORY_OK
               : ld_fail(r->k, DIRECTORY_CONFIG, NULL,
                         "%s: %s shows no %s or no %s: our account may not read them",
                         ld_server_url(r->k->d), entry->dn, r->k->d->dialect->id,
                         r->k->d->dialect->group_name);
}

/* 1 when the values are the beginning of a longer list ("range=0-1499"; the last part ends in "*");
 * *last: number of the last one. */
static int begins_list(const ld_attribute *a, long *last)
{
    const char *dash = a && a->option && strncasecmp(a->option, "range=", 6) == 0
                           ? strchr(a->option, '-')
                           : NULL;
    char *end = NULL;
    *last = dash ? strtol(dash + 1, &end, 10) : 0;
    return dash && end != dash + 1 && !*end && *last >= 0 && *last < 1000000000;
}

/* The members of an attribute without placeholders. Memory of `pool`. */
static void push_members(const directory *d, apr_pool_t *pool, const cache_group *group,
                         const ld_attribute *a, apr_array_header_t *members)
{
    for (int i = 0; a && i < a->count; i++) {
        const char *key = ld_dn_key(pool, a->values[i].bv_val);
        if (key && !ld_is_placeholder(d, key, group->dn_key)) {
            *(cache_member *)apr_array_push(members) = (cache_member){.dn_key = key};
        }
    }
}

static directory_class store_members(ld_run *r, const cache_group *group,
                                     const apr_array_header_t *members)
{
    const cache_member *list = (const cache_member *)members->elts;
    if (!r->k->d->dialect->primary_group || !r->whole) {
        return ld_stored(r, cache_sync_group(r->run, r->c, group, list, members->nelts));
    }
    directory_class class = ld_stored(r, cache_sync_group(r->run, r->c, group, NULL, 0));
    return class || !members->nelts
               ? class
               : ld_stored(r, cache_sync_slice(r->run, r->c, group->id, list, members->nelts));
}

static directory_class store_group(ld_run *r, apr_pool_t *pool, const cache_group *group,
                                   const ld_entry *entry)
{
    const ld_attribute *a = ld_get(entry, r->k->d->dialect->member);
    apr_array_header_t *members = apr_array_make(pool, a ? a->count + 1 : 1, sizeof(cache_member));
    long last;
    if (begins_list(a, &last) || (r->k->d->dialect->primary_group && !r->whole)) {
        APR_ARRAY_PUSH(r->later, const char *) = apr_pstrdup(r->later->pool, entry->dn);
        return DIRECTORY_OK;
    }
    push_members(r->k->d, pool, group, a, members);
    for (const ld_links *l = ld_links_of(r->k->d, entry, NULL); l;
         l = ld_links_of(r->k->d, entry, l)) {
        if (!l->by_login && strcmp(l->attribute, r->k->d->dialect->member) != 0) {
            push_members(r->k->d, pool, group, ld_get(entry, l->attribute), members);
        }
    }
    return store_members(r, group, members);
}

/* One group with all its members, part by part. */
static directory_class group_in_parts(ld_run *r, const char *dn, apr_pool_t *pool)
{
    ld_call *k = r->k;
    const directory *d = k->d;
    const char *member = d->dialect->member;
    apr_array_header_t *members = apr_array_make(pool, 2000, sizeof(cache_member));
    cache_group group = {0};
    long from = 0, last = 0;
    for (int more = 1; more;) {
        const ld_entry *entry = NULL;
        const char *const *names = attributes_with(
            d, pool, from ? apr_psprintf(pool, "%s;range=%ld-*", member, from) : member);
        directory_class class = ld_read(k, dn, names, "read the members of a group", &entry);
        if (class == DIRECTORY_NOT_FOUND || (!class && !entry)) {
            *k->e = (directory_error){0};
            return DIRECTORY_OK; /* gone since: the next run will report it */
        }
        class = class ? class : ld_group_entry(r, pool, entry, &group);
        if (class) {
            return class;
        }
        const ld_attribute *a = ld_get(entry, member);
        push_members(d, pool, &group, a, members);
        more = begins_list(a, &last);
        if (members->nelts > LD_VALUES_MAX) {
            return ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: %s has more than %d members",
                           ld_server_url(d), dn, LD_VALUES_MAX);
        }
        if (more && last < from) {
            return ld_fail(
                k, DIRECTORY_CONFIG, NULL,
                "%s: the server tells the members of %s up to number %ld and not further",
                ld_server_url(d), dn, last);
        }
        from = last + 1;
        class = more ? DIRECTORY_OK : ld_primary_holders(r, entry, members);
        if (class) {
            return class;
        }
    }
    return store_members(r, &group, members);
}

directory_class ld_groups_late(ld_run *r)
{
    ld_call *k = r->k;
    apr_pool_t *whole = k->pool, *pool;
    directory_class class = DIRECTORY_OK;
    apr_pool_create(&pool, whole);
    for (int i = 0; !class && i < r->later->nelts; i++) {
        k->pool = pool;
        r->changes++;
        class = group_in_parts(r, APR_ARRAY_IDX(r->later, i, const char *), pool);
        k->pool = whole;
        k->e->message = k->e->message ? apr_pstrdup(whole, k->e->message) : NULL;
        apr_pool_clear(pool);
    }
    apr_pool_destroy(pool);
    return class;
}

/* 1 when the group, a static one, names members by login. */
static int names_logins(const directory *d, const ld_entry *group)
{
    for (const ld_links *l = ld_links_of(d, group, NULL); l; l = ld_links_of(d, group, l)) {
        if (l->by_login) {
            return 1;
        }
    }
    return 0;
}

directory_class ld_group_item(ld_run *r, apr_pool_t *pool, const ld_entry *entry)
{
    cache_group group;
    directory_class class = ld_group_entry(r, pool, entry, &group);
    if (class) {
        return class;
    }
    ld_unstamped(r, entry, group.stamp);
    /* Members by rule, and the accounts that login names mean, change without a change of the
     * group's entry: such groups are read after the streams. */
    return strcmp(group.kind, "dynamic") == 0 || names_logins(r->k->d, entry)
               ? ld_stored(r, cache_sync_present(r->run, r->c, "group", group.id))
               : store_group(r, pool, &group, entry);
}

/* --- groups that are read after the streams --- */

/* A group that names members by login, until it is given to the run. */
typedef struct by_login {
    cache_group group;
    apr_array_header_t *members; /* cache_member */
    const char **logins;
    int count;
} by_login;

typedef struct late_groups {
    ld_run *r;
    apr_pool_t *pool;
    apr_array_header_t *groups; /* by_login */
    apr_hash_t *logins;         /* folded -> DN key; "": not looked up yet, or no such account */
} late_groups;

static const char *kept(apr_pool_t *pool, const char *text)
{
    return text ? apr_pstrdup(pool, text) : NULL;
}

static directory_class hold_back(late_groups *late, apr_pool_t *pool, const ld_entry *entry,
                                 const cache_group *group)
{
    const directory *d = late->r->k->d;
    by_login *g = apr_array_push(late->groups);
    *g = (by_login){.group = {.id = kept(late->pool, group->id),
                              .name = kept(late->pool, group->name),
                              .kind = group->kind,
                              .description = kept(late->pool, group->description),
                              .dn = kept(late->pool, group->dn),
                              .dn_key = kept(late->pool, group->dn_key),
                              .stamp = kept(late->pool, group->stamp)},
                    .members = apr_array_make(late->pool, 8, sizeof(cache_member))};
    for (const ld_links *l = ld_links_of(d, entry, NULL); l; l = ld_links_of(d, entry, l)) {
        const ld_attribute *a = ld_get(entry, l->attribute);
        if (!l->by_login) {
            push_members(d, late->pool, &g->group, a, g->members);
            continue;
        }
        g->count = a ? a->count : 0;
        g->logins = apr_palloc(late->pool, (apr_size_t)(g->count + 1) * sizeof *g->logins);
        for (int i = 0; i < g->count; i++) {
            const char *login = ida_fold_address(pool, a->values[i].bv_val);
            g->logins[i] = apr_pstrdup(late->pool, login);
            apr_hash_set(late->logins, g->logins[i], APR_HASH_KEY_STRING, "");
        }
    }
    return DIRECTORY_OK;
}

static directory_class late_group(const ld_entry *entry, apr_pool_t *pool, void *baton)
{
    late_groups *late = baton;
    cache_group group;
    directory_class class = ld_group_entry(late->r, pool, entry, &group);
    return class                                ? class
           : names_logins(late->r->k->d, entry) ? hold_back(late, pool, entry, &group)
                                                : store_group(late->r, pool, &group, entry);
}

static directory_class take_login(const ld_entry *entry, apr_pool_t *pool, void *baton)
{
    late_groups *late = baton;
    const ld_attribute *a = ld_get(entry, late->r->k->d->dialect->login);
    const char *key = ld_dn_key(pool, entry->dn);
    for (int i = 0; key && a && i < a->count; i++) {
        apr_hash_set(late->logins,
                     apr_pstrdup(late->pool, ida_fold_address(pool, a->values[i].bv_val)),
                     APR_HASH_KEY_STRING, apr_pstrdup(late->pool, key));
    }
    return DIRECTORY_OK;
}

#define LOGINS_AT_ONCE 100

/* Looks for the accounts of all logins that were named. */
static directory_class find_logins(late_groups *late, const ld_kind *users)
{
    const ld_dialect *t = late->r->k->d->dialect;
    const char *const attributes[] = {t->login, NULL};
    apr_array_header_t *all = apr_array_make(late->pool, 64, sizeof(const char *));
    directory_class class = DIRECTORY_OK;
    for (apr_hash_index_t *i = apr_hash_first(late->pool, late->logins); i; i = apr_hash_next(i)) {
        APR_ARRAY_PUSH(all, const char *) = apr_hash_this_key(i);
    }
    for (int from = 0; !class && from < all->nelts; from += LOGINS_AT_ONCE) {
        apr_array_header_t *tests = apr_array_make(late->pool, 4 * LOGINS_AT_ONCE,
                                                   sizeof(const char *));
        for (int i = from; i < all->nelts && i < from + LOGINS_AT_ONCE; i++) {
            APR_ARRAY_PUSH(tests, const char *) = apr_pstrcat(
                late->pool, "(", t->login, "=",
                ld_filter_text(late->pool, APR_ARRAY_IDX(all, i, const char *)), ")", NULL);
        }
        const ld_query query = {.base = users->base,
                                .scope = LDAP_SCOPE_SUBTREE,
                                .filter = apr_pstrcat(late->pool, "(&", users->filter, "(|",
                                                      apr_array_pstrcat(late->pool, tests, '\0'),
                                                      "))", NULL),
                                .attributes = attributes,
                                .phase = LD_BASE,
                                .doing = "find members by login name"};
        class = ld_paged(late->r->k, &query, take_login, late);
    }
    return class;
}

static directory_class store_by_login(late_groups *late, by_login *g)
{
    for (int i = 0; i < g->count; i++) {
        const char *key = apr_hash_get(late->logins, g->logins[i], APR_HASH_KEY_STRING);
        /* An entry that is not one of our accounts is a member all the same. */
        APR_ARRAY_PUSH(g->members, cache_member) = (cache_member){
            .dn_key = key && *key ? key
                                  : apr_pstrcat(late->pool, "memberuid=", g->logins[i], NULL)};
    }
    return store_members(late->r, &g->group, g->members);
}

directory_class ld_groups_dynamic(ld_run *r, const ld_kind *users, const ld_kind *groups)
{
    if (!r->k->d->dialect->late_filter) {
        return DIRECTORY_OK;
    }
    late_groups late = {.r = r,
                        .pool = r->k->pool,
                        .groups = apr_array_make(r->k->pool, 16, sizeof(by_login)),
                        .logins = apr_hash_make(r->k->pool)};
    const ld_query query = {.base = groups->base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = r->k->d->dialect->late_filter,
                            .attributes = groups->attributes,
                            .phase = LD_BASE,
                            .doing = "read dynamic groups"};
    directory_class class = ld_paged(r->k, &query, late_group, &late);
    class = class ? class : find_logins(&late, users);
    for (int i = 0; !class && i < late.groups->nelts; i++) {
        class = store_by_login(&late, &APR_ARRAY_IDX(late.groups, i, by_login));
    }
    return class;
}
