/* Owns the group whose members are not listed: Active Directory stores it as a number in each
 * account (primaryGroupID). A synchronisation reports it to the cache as an ordinary membership.
 * Must not know how the cache works. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#include "worker/ldap/entry/entry.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/wire/ad.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/value.h"

directory_class ld_primary_user(ld_run *r, apr_pool_t *item_pool, const ld_entry *entry)
{
    const ld_dialect *t = r->k->d->dialect;
    struct berval sid = ld_primary_sid(t, item_pool, entry);
    if (!sid.bv_val) {
        return DIRECTORY_OK;
    }
    apr_pool_t *pool = apr_hash_pool_get(r->holders);
    apr_array_header_t *ids = apr_hash_get(r->holders, sid.bv_val, (apr_ssize_t)sid.bv_len);
    if (!ids) {
        ids = apr_array_make(pool, 4, sizeof(cache_member));
        apr_hash_set(r->holders, apr_pmemdup(pool, sid.bv_val, sid.bv_len), (apr_ssize_t)sid.bv_len,
                     ids);
    }
    *(cache_member *)apr_array_push(ids) = (cache_member){.id = ld_id_text(t, pool, entry),
                                                          .kind = "user"};
    return DIRECTORY_OK;
}

/* The ID of the group with this SID, or NULL: it lies outside groupBase. */
static directory_class group_of(ld_run *r, const void *sid, apr_ssize_t len, const char **id)
{
    const ld_dialect *t = r->k->d->dialect;
    const char *const attributes[] = {t->id, NULL};
    const ld_entry *group;
    directory_class class = ld_below(r->k, r->k->d->group_base,
                                     apr_pstrcat(r->k->pool, "(&", t->group_filter, "(", t->sid,
                                                 "=", ld_filter_bytes(r->k->pool, sid, (size_t)len),
                                                 "))", NULL),
                                     attributes, "find a primary group", &group);
    *id = group ? ld_id_text(t, r->k->pool, group) : NULL;
    return class;
}

directory_class ld_primary_end(ld_run *r)
{
    directory_class class = DIRECTORY_OK;
    for (apr_hash_index_t *i = apr_hash_first(r->k->pool, r->holders); i && !class;
         i = apr_hash_next(i)) {
        const apr_array_header_t *ids = apr_hash_this_val(i);
        const char *id;
        class = group_of(r, apr_hash_this_key(i), apr_hash_this_key_len(i), &id);
        if (!class && id) {
            class = ld_stored(r, cache_sync_slice(r->run, r->c, id, (const cache_member *)ids->elts,
                                                  ids->nelts));
        }
    }
    return class;
}

/* --- whose primary group it is --- */

typedef struct asking {
    const ld_dialect *dialect;
    const struct berval *sid;
    apr_array_header_t *members;
} asking;

static directory_class take_holder(const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    const asking *a = baton;
    struct berval sid = ld_primary_sid(a->dialect, entry_pool, entry);
    const char *id = ld_id_text(a->dialect, a->members->pool, entry);
    if (id && sid.bv_len == a->sid->bv_len && memcmp(sid.bv_val, a->sid->bv_val, sid.bv_len) == 0) {
        *(cache_member *)apr_array_push(a->members) = (cache_member){.id = id, .kind = "user"};
    }
    return DIRECTORY_OK;
}

directory_class ld_primary_holders(ld_run *r, const ld_entry *group, apr_array_header_t *members)
{
    const ld_dialect *t = r->k->d->dialect;
    const ld_attribute *sid = t->primary_group ? ld_get(group, t->sid) : NULL;
    int64_t number = sid ? ld_sid_rid(&sid->values[0]) : 0;
    if (r->whole || number <= 0) {
        return DIRECTORY_OK;
    }
    const char *const attributes[] = {t->id, t->sid, t->primary_group, NULL};
    asking a = {t, &sid->values[0], members};
    const ld_query query = {.base = r->k->d->user_base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = apr_psprintf(members->pool, "(&%s(%s=%" APR_INT64_T_FMT "))",
                                                   t->user_filter, t->primary_group, number),
                            .attributes = attributes,
                            .phase = LD_BASE,
                            .doing = "read whose primary group it is"};
    return ld_paged(r->k, &query, take_holder, &a);
}
