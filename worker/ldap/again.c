/* Owns what a sync must find out because no server tells it: links that were changed in silence,
 * containers that were moved. Must not know how tokens are kept. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/ldap/escape.h"
#include "worker/ldap/sync.h"

#define AGAIN_MAX \
    500 /* more than that are no leftovers of renames but the shape of the directory */
#define AT_ONCE 50
/* So often, and so long, is looked after a move: the server may still be at it in the first runs,
 * and far behind after many. */
#define LOOK_RUNS 3
#define LOOK_MS (60 * 1000)

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

directory_class ld_read_items(ld_run *r, const ld_kind *kind, const char *and,
                              LDAPControl **controls, const char *doing, int64_t *told)
{
    reading b = {r, kind, 0};
    const ld_query query = {
        .base = kind->base,
        .scope = LDAP_SCOPE_SUBTREE,
        .filter = and? apr_pstrcat(r->k->pool, "(&", kind->filter, and, ")", NULL) : kind->filter,
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
            any = apr_pstrcat(r->k->pool, any, "(", r->k->d->dialect->id, "=",
                              ld_filter_text(r->k->pool, ids[i]), ")", NULL);
        }
        class = ld_read_items(r, kind, apr_pstrcat(r->k->pool, "(|", any, ")", NULL), NULL, doing,
                              NULL);
    }
    return class;
}

static int64_t number(const json_t *object, const char *member)
{
    return json_integer_value(json_object_get(object, member));
}

/* "from" is a run that ended LOOK_MS ago or before, and is looked from; "next" takes its place when
 * it is as old, "at" is when that ended. */
void ld_again_note(const ld_run *r, const json_t *before, json_t *tokens)
{
    const json_t *old = json_object_get(before, "look");
    int64_t run = cache_sync_number(r->run), now = ida_now(r->k->d->env),
            from = number(old, "from"), next = number(old, "next"), at = number(old, "at");
    if (!at || now < at || now - at >= LOOK_MS) {
        from = next ? next : run;
        next = run;
        at = now;
    }
    json_object_set_new(tokens, "look",
                        json_pack("{sI sI sI}", "from", (json_int_t)from, "next", (json_int_t)next,
                                  "at", (json_int_t)at));
}

directory_class ld_again_ids(ld_run *r, store *cache, const json_t *tokens, cache_again_ids *ids)
{
    int64_t since = number(tokens, "run") - LOOK_RUNS + 1,
            look_from = number(json_object_get(tokens, "look"), "from");
    since = look_from && look_from < since ? look_from : since;
    /* Who came (back) in that run may be the one whom links lead to by a DN that was changed in
     * silence. */
    int64_t nowhere_since = json_is_true(json_object_get(tokens, "came")) ? 0 : since;
    return ld_stored(r, cache_sync_again(cache, r->c, r->k->d->tenant->id, IDA_DIR_ON_PREMISES,
                                         since, nowhere_since, AGAIN_MAX, ids));
}

directory_class ld_again(ld_run *r, store *cache, const ld_kind *kinds, int count,
                         const json_t *tokens)
{
    cache_again_ids ids;
    directory_class class = ld_again_ids(r, cache, tokens, &ids);
    for (int i = 0; !class && i < count; i++) {
        int users = strcmp(kinds[i].name, "user") == 0;
        class = read_these(r, &kinds[i], users ? ids.users : ids.groups,
                           users ? ids.user_count : ids.group_count);
    }
    return class;
}

/* --- who came back --- */

/* Links of others to somebody outside the bases are told when they are made, by a DN that means
 * nothing to the cache, and not again when that somebody moves inside. */
typedef struct joining {
    ld_run *r;
    cache_member member; /* the one who came */
} joining;

static directory_class joined(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool,
                              void *baton)
{
    const joining *j = baton;
    const char *group_id = ld_id_text(k->d->dialect, entry_pool, entry);
    return group_id
               ? ld_stored(j->r, cache_sync_member(j->r->run, j->r->c, group_id, &j->member, 0))
               : DIRECTORY_OK;
}

directory_class ld_joined(ld_run *r, const ld_kind *groups, const char *kind, const char *id,
                          const char *dn, apr_pool_t *pool)
{
    const ld_dialect *t = r->k->d->dialect;
    const char *const attributes[] = {t->id, NULL};
    joining j = {r, {.id = id, .kind = kind}};
    const ld_query query = {.base = groups->base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = apr_pstrcat(pool, "(&", groups->filter, "(", t->member, "=",
                                                  ld_filter_text(pool, dn), "))", NULL),
                            .attributes = attributes,
                            .phase = LD_BASE,
                            .doing = "look who has a new entry as a member"};
    return ld_paged(r->k, &query, joined, &j);
}

typedef struct returning {
    ld_run *r;
    const ld_kind *kinds;
    const char
        *known; /* the server's change counter at the end of the run before; NULL: not known */
    apr_hash_t *looked; /* IDs of accounts that moved: they may count as returned, too */
    int count;          /* of those whose links were asked for */
} returning;

static directory_class came_back(const returning *b, const ld_entry *account)
{
    ld_run *r = b->r;
    const ld_dialect *t = r->k->d->dialect;
    apr_pool_t *pool = r->k->pool;
    directory_class class = ld_joined(r, &b->kinds[1], "user", ld_id_text(t, pool, account),
                                      account->dn, pool);
    const char *reports = apr_pstrcat(pool, "(", t->manager, "=", ld_filter_text(pool, account->dn),
                                      ")", NULL);
    return class ? class
                 : ld_read_items(r, &b->kinds[0], reports, ld_identities(r->k->d),
                                 "read the reports of a new account", NULL);
}

/* Up to AT_ONCE accounts by ID, without those that the server has made since the run before: to a
 * new one no link is older than itself, and links made since are told. Many people may be made
 * between two syncs. */
static directory_class those_known(const returning *b, const char *const *ids, int count,
                                   const ld_entry ***rows, int *found)
{
    ld_run *r = b->r;
    const ld_dialect *t = r->k->d->dialect;
    const char *const attributes[] = {t->id, NULL};
    apr_pool_t *pool = r->k->pool;
    const char *any = "",
               *old = b->known ? apr_pstrcat(pool, "(uSNCreated<=", ld_filter_text(pool, b->known),
                                             ")", NULL)
                               : "";
    for (int i = 0; i < count; i++) {
        any = apr_pstrcat(pool, any, ld_id_filter(t, pool, ids[i]), NULL);
    }
    const ld_query query = {.base = b->kinds[0].base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = apr_pstrcat(pool, "(&", old, "(|", any, "))", NULL),
                            .attributes = attributes,
                            .phase = LD_BASE,
                            .doing = "find accounts that came back"};
    return ld_search(r->k, &query, rows, found); /* who is gone again is told by the next run */
}

static directory_class each(returning *b, const char *const *ids, int count)
{
    ld_call *k = b->r->k;
    apr_pool_t *whole = k->pool, *pool;
    directory_class class = DIRECTORY_OK;
    apr_pool_create(&pool, whole);
    k->pool = pool;
    for (int from = 0; !class && from < count; from += AT_ONCE) {
        const ld_entry **rows = NULL;
        int found = 0;
        apr_pool_clear(pool);
        class = those_known(b, ids + from, count - from < AT_ONCE ? count - from : AT_ONCE, &rows,
                            &found);
        for (int i = 0; !class && i < found; i++) {
            const char *id = ld_id_text(k->d->dialect, pool, rows[i]);
            if (id && !apr_hash_get(b->looked, id, APR_HASH_KEY_STRING)) {
                class = came_back(b, rows[i]);
                b->count++;
            }
        }
    }
    k->pool = whole;
    k->e->message = k->e->message ? apr_pstrdup(whole, k->e->message) : NULL;
    apr_pool_destroy(pool);
    return class;
}

directory_class ld_came_back(ld_run *r, const ld_kind *kinds, const json_t *tokens)
{
    enum { AT_A_TIME = 200 };
    int64_t settled = number(tokens, "run");
    const char **ids, *const *moved = (const char *const *)r->moved->elts, *after = "";
    returning b = {r, kinds, ida_json_string(tokens, "known"), apr_hash_make(r->k->pool), 0};
    int count;
    directory_class class = each(&b, moved, r->moved->nelts);
    for (int i = 0; i < r->moved->nelts; i++) {
        apr_hash_set(b.looked, moved[i], APR_HASH_KEY_STRING, moved[i]);
    }
    for (count = AT_A_TIME; !class && count == AT_A_TIME;) {
        class = ld_stored(r, cache_sync_returned(r->run, r->c, settled, INT64_MAX, after, AT_A_TIME,
                                                 &ids, &count));
        class = class ? class : each(&b, ids, count);
        after = !class && count ? ids[count - 1] : after;
    }
    ida_log(r->k->d->env, IDA_LOG_DEBUG, NULL,
            "%s: who has links to %d accounts that came back was asked", ld_server_url(r->k->d),
            b.count);
    return class;
}

/* --- containers --- */

/* The sum of what each is hashed to, lane by lane: no order is needed, and no memory, however many
 * a server tells. */
static directory_class add_place(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool,
                                 void *baton)
{
    uint64_t *sum = baton, hash[IDA_DIGEST_LEN / sizeof(uint64_t)];
    const char *id = ld_text(entry_pool, entry, k->d->dialect->id),
               *key = ld_dn_key(entry_pool, entry->dn);
    const char *place = id && key ? apr_pstrcat(entry_pool, id, " ", key, NULL) : NULL;
    if (place) {
        ida_sha256(place, strlen(place), (unsigned char *)hash);
        for (size_t i = 0; i < sizeof hash / sizeof *hash; i++) {
            sum[i] += hash[i];
        }
    }
    return DIRECTORY_OK;
}

directory_class ld_places(ld_call *k, const ld_kind *kinds, int count, const char **digest)
{
    const ld_dialect *t = k->d->dialect;
    const char *const attributes[] = {t->id, NULL};
    uint64_t sum[IDA_DIGEST_LEN / sizeof(uint64_t)] = {0};
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
        class = ld_paged(k, &query, add_place, sum);
    }
    *digest = ida_hex(k->pool, (const unsigned char *)sum, sizeof sum);
    return class;
}
