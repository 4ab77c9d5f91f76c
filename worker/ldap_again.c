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
} reading;

static directory_class take(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    reading *b = baton;
    (void)k, (void)entry_pool;
    directory_class class = b->kind->item(b->r, entry);
    apr_pool_clear(b->r->item_pool);
    return class;
}

static directory_class read_these(ld_run *r, const ld_kind *kind, const char *const *ids, int count)
{
    directory_class class = DIRECTORY_OK;
    reading b = {r, kind};
    for (int from = 0; !class && from < count; from += AT_ONCE) {
        const char *any = "";
        for (int i = from; i < count && i < from + AT_ONCE; i++) {
            any = apr_pstrcat(r->k->pool, any, "(", r->k->d->dialect->id, "=", ld_filter_text(r->k->pool, ids[i]), ")", NULL);
        }
        const ld_query query = {.base = kind->base,
                                .scope = LDAP_SCOPE_SUBTREE,
                                .filter = apr_pstrcat(r->k->pool, "(&", kind->filter, "(|", any, "))", NULL),
                                .attributes = kind->attributes,
                                .phase = LD_BASE,
                                .doing = apr_pstrcat(r->k->pool, "look at ", kind->token, " again", NULL)};
        class = ld_paged(r->k, &query, take, &b);
    }
    return class;
}

directory_class ld_again(ld_run *r, store *cache, const ld_kind *kinds, int count, const json_t *tokens)
{
    sync_again_ids ids;
    int64_t since = json_integer_value(json_object_get(tokens, "run")) - LOOK_RUNS + 1;
    /* Who came (back) in that run may be the one whom links lead to by a DN that was changed in silence. */
    int64_t nowhere_since = json_is_true(json_object_get(tokens, "came")) ? 0 : since;
    directory_class class = ld_stored(
        r, sync_again(cache, r->c, r->k->d->tenant->id, IDA_DIR_ON_PREMISES, since, nowhere_since, AGAIN_MAX, &ids));
    for (int i = 0; !class && i < count; i++) {
        int users = strcmp(kinds[i].name, "user") == 0;
        class = read_these(r, &kinds[i], users ? ids.users : ids.groups, users ? ids.user_count : ids.group_count);
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
