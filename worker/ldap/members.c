/* Owns how groups get into a run: with the members a stream tells of them, read in parts where the
 * server tells a part only, or after the streams. Must not know tokens. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "worker/ldap/escape.h"
#include "worker/ldap/sync.h"

/* What is asked of a group, and its members under this name. */
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
    return attributes_with(d, pool, d->dialect->member);
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

/* The members of an attribute without the stand-ins for "nobody". Memory of `pool`. */
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
            return DIRECTORY_OK; /* gone since: the next run tells */
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

directory_class ld_group_item(ld_run *r, apr_pool_t *pool, const ld_entry *entry)
{
    cache_group group;
    directory_class class = ld_group_entry(r, pool, entry, &group);
    if (class) {
        return class;
    }
    ld_unstamped(r, entry, group.stamp);
    /* Members by rule change without the group's entry: all dynamic groups are read after the
     * streams. */
    return strcmp(group.kind, "dynamic") == 0
               ? ld_stored(r, cache_sync_present(r->run, r->c, "group", group.id))
               : store_group(r, pool, &group, entry);
}

static directory_class dynamic_group(const ld_entry *entry, apr_pool_t *pool, void *baton)
{
    ld_run *r = baton;
    cache_group group;
    directory_class class = ld_group_entry(r, pool, entry, &group);
    return class ? class : store_group(r, pool, &group, entry);
}

directory_class ld_groups_dynamic(ld_run *r, const ld_kind *groups)
{
    if (!r->k->d->dialect->dynamic_filter) {
        return DIRECTORY_OK;
    }
    const ld_query query = {.base = groups->base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = r->k->d->dialect->dynamic_filter,
                            .attributes = groups->attributes,
                            .phase = LD_BASE,
                            .doing = "read dynamic groups"};
    return ld_paged(r->k, &query, dynamic_group, r);
}
