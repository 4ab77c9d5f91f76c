/* Owns the group that lists its people nowhere: Active Directory keeps it as a number in each
 * account (primaryGroupID). A sync tells it to the cache as a membership like any other. Must not
 * know how the cache is kept. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#include "worker/ldap/ad.h"
#include "worker/ldap/escape.h"
#include "worker/ldap/sync.h"

#define SLICE 500  /* people of one group told at once */
#define AT_ONCE 50 /* removed members asked for with one search */

/* A group, and people whose primary group it is. */
typedef struct holders {
    struct berval sid;
    const char *group_id;    /* NULL: not looked for yet */
    apr_array_header_t *ids; /* of accounts */
    apr_pool_t *pool;        /* of the IDs */
} holders;

/* Members that a group was told to have lost: one whose primary group it has become is in it all
 * the same. */
typedef struct lost {
    const char *group_id;
    struct berval sid;
    apr_array_header_t *ids;
} lost;

struct ld_primary {
    apr_pool_t *pool;
    int whole;
    apr_hash_t *groups; /* SID -> holders; in a whole run every group in scope, else those that were
                           named */
    apr_array_header_t *lost;
};

static holders *group_of(ld_primary *p, struct berval sid, int make)
{
    holders *h = apr_hash_get(p->groups, sid.bv_val, (apr_ssize_t)sid.bv_len);
    if (!h && make) {
        h = apr_pcalloc(p->pool, sizeof *h);
        h->sid = (struct berval){.bv_val = apr_pmemdup(p->pool, sid.bv_val, sid.bv_len),
                                 .bv_len = sid.bv_len};
        apr_hash_set(p->groups, h->sid.bv_val, (apr_ssize_t)sid.bv_len, h);
    }
    return h;
}

static directory_class list_group(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool,
                                  void *baton)
{
    ld_primary *p = baton;
    const ld_attribute *sid = ld_get(entry, k->d->dialect->sid);
    const char *id = ld_id_text(k->d->dialect, entry_pool, entry);
    if (sid && id) {
        group_of(p, sid->values[0], 1)->group_id = apr_pstrdup(p->pool, id);
    }
    return DIRECTORY_OK;
}

directory_class ld_primary_begin(ld_run *r, const ld_kind *groups, int whole)
{
    const ld_dialect *t = r->k->d->dialect;
    const char *const attributes[] = {t->id, t->sid, NULL};
    r->primary = NULL;
    if (!t->primary_group) {
        return DIRECTORY_OK;
    }
    ld_primary *p = r->primary = apr_pcalloc(r->k->pool, sizeof *p);
    p->pool = r->k->pool;
    p->whole = whole;
    p->groups = apr_hash_make(p->pool);
    p->lost = apr_array_make(p->pool, 4, sizeof(lost));
    if (!whole) {
        return DIRECTORY_OK;
    }
    const ld_query query = {.base = groups->base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = groups->filter,
                            .attributes = attributes,
                            .phase = LD_BASE,
                            .doing = "list groups"};
    return ld_paged(r->k, &query, list_group, p);
}

/* The people collected so far, as members of the group. */
static directory_class tell(ld_run *r, holders *h)
{
    int count = h->ids ? h->ids->nelts : 0;
    cache_member *members = apr_pcalloc(r->item_pool, (apr_size_t)(count + 1) * sizeof *members);
    directory_class class = DIRECTORY_OK;
    for (int i = 0; i < count; i++) {
        members[i] = (cache_member){.id = APR_ARRAY_IDX(h->ids, i, const char *), .kind = "user"};
    }
    if (count && r->primary->whole) {
        class = ld_stored(r, cache_sync_slice(r->run, r->c, h->group_id, members, count));
    }
    for (int i = 0; !class && !r->primary->whole && i < count; i++) {
        class = ld_stored(r, cache_sync_member(r->run, r->c, h->group_id, &members[i], 0));
    }
    if (h->pool) {
        apr_pool_clear(h->pool);
        h->ids = apr_array_make(h->pool, SLICE, sizeof(const char *));
    }
    return class;
}

directory_class ld_primary_user(ld_run *r, const ld_entry *entry)
{
    ld_primary *p = r->primary;
    struct berval sid = p ? ld_primary_sid(r->k->d->dialect, r->item_pool, entry)
                          : (struct berval){0};
    holders *h = sid.bv_val ? group_of(p, sid, !p->whole) : NULL;
    const char *id = h ? ld_id_text(r->k->d->dialect, r->item_pool, entry) : NULL;
    if (!id) {
        return DIRECTORY_OK; /* none, or one outside groupBase */
    }
    if (!h->pool) {
        apr_pool_create(&h->pool, p->pool);
        h->ids = apr_array_make(h->pool, SLICE, sizeof(const char *));
    }
    APR_ARRAY_PUSH(h->ids, const char *) = apr_pstrdup(h->pool, id);
    /* Other streams are open: a group that has not been looked for yet waits for the end. */
    return h->group_id && h->ids->nelts >= SLICE ? tell(r, h) : DIRECTORY_OK;
}

void ld_primary_lost(ld_run *r, const ld_entry *group, const char *group_id,
                     apr_array_header_t *ids)
{
    const ld_attribute *sid = r->primary ? ld_get(group, r->k->d->dialect->sid) : NULL;
    if (sid && ids && ids->nelts) {
        apr_pool_t *pool = r->primary->pool;
        struct berval copy = {.bv_val = apr_pmemdup(pool, sid->values[0].bv_val,
                                                    sid->values[0].bv_len),
                              .bv_len = sid->values[0].bv_len};
        APR_ARRAY_PUSH(r->primary->lost, lost) = (lost){.group_id = apr_pstrdup(pool, group_id),
                                                        .sid = copy,
                                                        .ids = ids};
    }
}

/* --- asking the directory --- */

typedef struct asking {
    struct berval sid;
    apr_pool_t *pool;
    apr_array_header_t *ids; /* found */
} asking;

static directory_class take_holder(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool,
                                   void *baton)
{
    asking *a = baton;
    struct berval sid = ld_primary_sid(k->d->dialect, entry_pool, entry);
    const char *id = ld_id_text(k->d->dialect, a->pool, entry);
    if (id && sid.bv_len == a->sid.bv_len && memcmp(sid.bv_val, a->sid.bv_val, sid.bv_len) == 0) {
        APR_ARRAY_PUSH(a->ids, const char *) = id;
    }
    return DIRECTORY_OK;
}

/* Accounts with the primary group `sid` that `further` (a filter, or "") holds for: their IDs. */
static directory_class ask(ld_run *r, struct berval sid, const char *further, apr_pool_t *pool,
                           apr_array_header_t *ids)
{
    const ld_dialect *t = r->k->d->dialect;
    const char *const attributes[] = {t->id, t->sid, t->primary_group, NULL};
    asking a = {sid, pool, ids};
    const ld_query query = {.base = r->k->d->user_base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = apr_psprintf(pool, "(&%s(%s=%" APR_INT64_T_FMT ")%s)",
                                                   t->user_filter, t->primary_group,
                                                   (apr_int64_t)ld_sid_rid(&sid), further),
                            .attributes = attributes,
                            .phase = LD_BASE,
                            .doing = "read whose primary group it is"};
    return ld_sid_rid(&sid) > 0 ? ld_paged(r->k, &query, take_holder, &a) : DIRECTORY_OK;
}

directory_class ld_primary_holders(ld_run *r, const ld_entry *group, apr_pool_t *pool,
                                   apr_array_header_t *ids)
{
    const ld_attribute *sid = r->primary && !r->primary->whole
                                  ? ld_get(group, r->k->d->dialect->sid)
                                  : NULL;
    return sid ? ask(r, sid->values[0], "", pool, ids) : DIRECTORY_OK;
}

static directory_class still_in(ld_run *r, const lost *l)
{
    directory_class class = DIRECTORY_OK;
    holders h = {.sid = l->sid,
                 .group_id = l->group_id,
                 .ids = apr_array_make(r->k->pool, 4, sizeof(const char *))};
    for (int from = 0; !class && from < l->ids->nelts; from += AT_ONCE) {
        const char *any = "";
        for (int i = from; i < l->ids->nelts && i < from + AT_ONCE; i++) {
            any = apr_pstrcat(r->k->pool, any,
                              ld_id_filter(r->k->d->dialect, r->k->pool,
                                           APR_ARRAY_IDX(l->ids, i, const char *)),
                              NULL);
        }
        class = ask(r, l->sid, apr_pstrcat(r->k->pool, "(|", any, ")", NULL), r->k->pool, h.ids);
    }
    return class ? class : tell(r, &h);
}

/* The group of a SID, if it is in scope. */
static directory_class find(ld_run *r, holders *h)
{
    const ld_dialect *t = r->k->d->dialect;
    const char *const attributes[] = {t->id, NULL};
    const ld_entry **rows;
    int count;
    const ld_query query = {
        .base = r->k->d->group_base,
        .scope = LDAP_SCOPE_SUBTREE,
        .filter = apr_pstrcat(r->k->pool, "(&", t->group_filter, "(", t->sid, "=",
                              ld_filter_bytes(r->k->pool, h->sid.bv_val, h->sid.bv_len), "))",
                              NULL),
        .attributes = attributes,
        .limit = 1,
        .phase = LD_BASE,
        .doing = "find a primary group"};
    directory_class class = ld_search(r->k, &query, &rows, &count);
    h->group_id = !class && count ? ld_id_text(t, r->k->pool, rows[0]) : NULL;
    return class;
}

directory_class ld_primary_end(ld_run *r)
{
    ld_primary *p = r->primary;
    directory_class class = DIRECTORY_OK;
    for (int i = 0; p && !class && i < p->lost->nelts; i++) {
        class = still_in(r, &APR_ARRAY_IDX(p->lost, i, lost));
    }
    for (apr_hash_index_t *i = p ? apr_hash_first(p->pool, p->groups) : NULL; i && !class;
         i = apr_hash_next(i)) {
        holders *h = apr_hash_this_val(i);
        if (!h->ids || !h->ids->nelts) {
            continue;
        }
        class = h->group_id ? DIRECTORY_OK : find(r, h);
        class = class || !h->group_id ? class : tell(r, h);
        apr_pool_clear(r->item_pool);
    }
    return class;
}
