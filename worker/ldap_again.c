/* Owns what a sync must find out because no server tells it: links that were changed in silence, containers that were moved. Must
 * not know how tokens are kept. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "worker/ldap_escape.h"
#include "worker/ldap_sync.h"

#define AGAIN_MAX 500 /* more than that are no leftovers of renames but the shape of the directory */
#define AT_ONCE 50
#define LOOK_RUNS 3 /* in so many runs after a move: the server may still be at it in the first */

typedef struct reading {
    ld_run *r;
    const ld_kind *kind;
    int64_t told;
} reading;

static directory_class take(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    reading *b = baton;
    (void)k, (void)entry_pool;
    b->told++;
    directory_class class = b->kind->item(b->r, entry);
    apr_pool_clear(b->r->item_pool);
    return class;
}

directory_class ld_read_items(ld_run *r, const ld_kind *kind, const char *and, LDAPControl **controls, const char *doing,
                              int64_t *told)
{
    reading b = {r, kind, 0};
    const ld_query query = {.base = kind->base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = and ? apr_pstrcat(r->k->pool, "(&", kind->filter, and, ")", NULL) : kind->filter,
                            .attributes = kind->attributes,
                            .controls = controls,
                            .phase = LD_BASE,
                            .doing = doing};
    directory_class class = ld_paged(r->k, &query, take, &b);
    if (told) {
        *told = b.told;
    }
    return class;
}

static directory_class read_these(ld_run *r, const ld_kind *kind, const char *const *ids, int count)
{
    directory_class class = DIRECTORY_OK;
    const char *doing = apr_pstrcat(r->k->pool, "look at ", kind->token, " again", NULL);
    for (int from = 0; !class && from < count; from += AT_ONCE) {
        const char *any = "";
        for (int i = from; i < count && i < from + AT_ONCE; i++) {
            any = apr_pstrcat(r->k->pool, any, "(", r->k->d->dialect->id, "=", ld_filter_text(r->k->pool, ids[i]), ")", NULL);
        }
        class = ld_read_items(r, kind, apr_pstrcat(r->k->pool, "(|", any, ")", NULL), NULL, doing, NULL);
    }
    return class;
}

directory_class ld_again_ids(ld_run *r, store *cache, const json_t *tokens, sync_again_ids *ids)
{
    int64_t since = json_integer_value(json_object_get(tokens, "run")) - LOOK_RUNS + 1;
    /* Who came (back) in that run may be the one whom links lead to by a DN that was changed in silence. */
    int64_t nowhere_since = json_is_true(json_object_get(tokens, "came")) ? 0 : since;
    return ld_stored(r,
                     sync_again(cache, r->c, r->k->d->tenant->id, IDA_DIR_ON_PREMISES, since, nowhere_since, AGAIN_MAX, ids));
}

directory_class ld_again(ld_run *r, store *cache, const ld_kind *kinds, int count, const json_t *tokens)
{
    sync_again_ids ids;
    directory_class class = ld_again_ids(r, cache, tokens, &ids);
    for (int i = 0; !class && i < count; i++) {
        int users = strcmp(kinds[i].name, "user") == 0;
        class = read_these(r, &kinds[i], users ? ids.users : ids.groups, users ? ids.user_count : ids.group_count);
    }
    return class;
}

/* --- who came back --- */

/* Links of others to somebody outside the bases are told when they are made, by a DN that means nothing to the cache, and not
 * again when that somebody moves inside. */
typedef struct joining {
    ld_run *r;
    sync_member member; /* the one who came */
} joining;

static directory_class joined(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    const joining *j = baton;
    const char *group_id = ld_id_text(k->d->dialect, entry_pool, entry);
    return group_id ? ld_stored(j->r, sync_run_member(j->r->run, j->r->c, group_id, &j->member, 0)) : DIRECTORY_OK;
}

directory_class ld_joined(ld_run *r, const ld_kind *groups, const char *kind, const char *id, const char *dn, apr_pool_t *pool)
{
    const ld_dialect *t = r->k->d->dialect;
    const char *const attributes[] = {t->id, NULL};
    joining j = {r, {.id = id, .kind = kind}};
    const ld_query query = {
        .base = groups->base,
        .scope = LDAP_SCOPE_SUBTREE,
        .filter = apr_pstrcat(pool, "(&", groups->filter, "(", t->member, "=", ld_filter_text(pool, dn), "))", NULL),
        .attributes = attributes,
        .phase = LD_BASE,
        .doing = "look who has a new entry as a member"};
    return ld_paged(r->k, &query, joined, &j);
}

static directory_class came_back(ld_run *r, const ld_kind *kinds, const char *id)
{
    apr_pool_t *pool = r->k->pool;
    const ld_entry **rows;
    int count = 0;
    const ld_query itself = {.base = kinds[0].base,
                             .scope = LDAP_SCOPE_SUBTREE,
                             .filter = ld_id_filter(r->k->d->dialect, pool, id),
                             .limit = 1,
                             .phase = LD_BASE,
                             .doing = "find a new account"};
    directory_class class = ld_search(r->k, &itself, &rows, &count);
    if (class || !count) {
        return class; /* gone again: the next run tells */
    }
    class = ld_joined(r, &kinds[1], "user", id, rows[0]->dn, pool);
    const char *reports = apr_pstrcat(pool, "(", r->k->d->dialect->manager, "=", ld_filter_text(pool, rows[0]->dn), ")", NULL);
    return class ? class
                 : ld_read_items(r, &kinds[0], reports, ld_identities(r->k->d), "read the reports of a new account", NULL);
}

/* Each by itself in a pool of its own. */
static directory_class each(ld_run *r, const ld_kind *kinds, const char *const *ids, int count)
{
    apr_pool_t *whole = r->k->pool, *pool;
    directory_class class = DIRECTORY_OK;
    apr_pool_create(&pool, whole);
    r->k->pool = pool;
    for (int i = 0; !class && i < count; i++) {
        apr_pool_clear(pool);
        class = came_back(r, kinds, ids[i]);
    }
    r->k->pool = whole;
    r->k->e->message = r->k->e->message ? apr_pstrdup(whole, r->k->e->message) : NULL;
    apr_pool_destroy(pool);
    return class;
}

directory_class ld_came_back(ld_run *r, const ld_kind *kinds, const json_t *tokens)
{
    enum { AT_A_TIME = 200 };
    int64_t settled = json_integer_value(json_object_get(tokens, "run"));
    directory_class class = each(r, kinds, (const char *const *)r->moved->elts, r->moved->nelts);
    const char **ids, *after = "";
    int count;
    for (count = AT_A_TIME; !class && count == AT_A_TIME;) {
        class = ld_stored(r, sync_run_returned(r->run, r->c, settled, INT64_MAX, after, AT_A_TIME, &ids, &count));
        class = class ? class : each(r, kinds, ids, count);
        after = !class && count ? ids[count - 1] : after;
    }
    return class;
}

/* --- containers --- */

typedef struct listing {
    apr_pool_t *pool;
    apr_array_header_t *places; /* "ID DN key" */
} listing;

static directory_class list(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    listing *l = baton;
    const char *id = ld_text(entry_pool, entry, k->d->dialect->id), *key = ld_dn_key(entry_pool, entry->dn);
    if (id && key) {
        APR_ARRAY_PUSH(l->places, const char *) = apr_pstrcat(l->pool, id, " ", key, NULL);
    }
    return DIRECTORY_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

directory_class ld_places(ld_call *k, const ld_kind *kinds, int count, const char **digest)
{
    const ld_dialect *t = k->d->dialect;
    const char *const attributes[] = {t->id, NULL};
    listing l = {k->pool, apr_array_make(k->pool, 64, sizeof(const char *))};
    directory_class class = DIRECTORY_OK;
    *digest = NULL;
    if (!t->container_filter) {
        return DIRECTORY_OK;
    }
    for (int i = 0; !class && i < count; i++) {
        if (i > 0 && strcmp(kinds[i].base, kinds[0].base) == 0) {
            break;
        }
        const ld_query query = {.base = kinds[i].base,
                                .scope = LDAP_SCOPE_SUBTREE,
                                .filter = t->container_filter,
                                .attributes = attributes,
                                .phase = LD_BASE,
                                .doing = "list containers"};
        class = ld_paged(k, &query, list, &l);
    }
    qsort(l.places->elts, (size_t)l.places->nelts, sizeof(const char *), by_text);
    const char *text = apr_array_pstrcat(k->pool, l.places, '\n');
    *digest = ida_sha256_hex(k->pool, text, strlen(text));
    return class;
}
