/* Owns a sync run of the cloud directory: what tokens hold for, the two delta streams, restarts,
 * users who were restored. Must not know what an item looks like, nor how the cache is kept.
 *
 * A run stages everything and gives the links of the next round with its last batch: a run that
 * breaks off anywhere leaves cache and links as they were, and the next one asks again from there.
 * A link that is refused begins a round over everything while the old cache serves. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/graph/calls.h"
#include "worker/graph/fetch.h"
#include "worker/graph/sync.h"
#include "worker/graph/throttle.h"

#define SIGN_IN_PATIENCE_MS \
    15000 /* a round's wait for its turn to ask for sign-ins; none in a round over everything */
#define RETURNED_SLICE 100

enum { USERS, GROUPS, STREAMS };

static const struct {
    const char *token; /* its member in sync_state.tokens */
    const char *start, *doing;
    directory_class (*item)(graph_delta *d, graph_reader *r);
} streams[STREAMS] = {
    {"users", "/users/delta?$select=" GRAPH_USERS_TRACKED, "reading changed users",
     graph_delta_user},
    {"groups", "/groups/delta?$select=" GRAPH_GROUPS_TRACKED, "reading changed groups",
     graph_delta_group},
};

typedef struct wanted {
    graph_call *k;
    store *cache;
    ida_ctx *c;
    int64_t settled; /* the last run that was committed, as the tokens tell */
    cache_sync_state state;
    int accept, licenses_refused;
    const char *binding;
    const json_t *tokens; /* of the last run; NULL: everything is read */
    graph_sign_ins sign_ins;
    cache_summary *summary;
} wanted;

/* --- one stream --- */

static directory_class take_page(graph_delta *d, graph_page *page, int which)
{
    graph_reader r;
    directory_class class = DIRECTORY_OK;
    graph_reader_begin(&r, page->items);
    for (int more = graph_array_begin(&r); more && !class; more = graph_array_next(&r)) {
        class = streams[which].item(d, &r);
        d->users += which == USERS;
    }
    if (which == USERS) { /* as soon as they are known: a first round would else be read at the pace
                             of a small tenant */
        graph_throttle_tenant_size(d->k->g, d->users);
    }
    return class;
}

static directory_class read_stream(graph_delta *d, wanted *w, int which, const char **token)
{
    graph_call *k = w->k;
    const char *known = w->tokens ? ida_json_string(w->tokens, streams[which].token) : NULL;
    const char *url = known ? known : graph_url(k->g, k->pool, streams[which].start);
    graph_fetch *fetch;
    *token = NULL;
    directory_class class = graph_fetch_begin(&fetch, k, url, known != NULL, streams[which].doing);
    while (!class && !*token) {
        graph_page page;
        class = graph_fetch_next(fetch, &page);
        if (class) {
            break;
        }
        class = take_page(d, &page, which);
        if (!class && page.last) {
            *token = apr_pstrdup(k->pool, page.delta);
            class = page.delta ? DIRECTORY_OK
                               : graph_fail(k, DIRECTORY_TRANSIENT, NULL,
                                            "%s: the last page names no link for the next round",
                                            streams[which].doing);
        }
        if (!class && !*token && k->alive && k->alive(k->baton)) {
            class = graph_fail(k, DIRECTORY_LOCAL, NULL, "%s: stopped", streams[which].doing);
        }
        apr_pool_destroy(page.pool);
    }
    graph_fetch_end(fetch);
    return class;
}

/* --- users and groups who came back --- */

/* Links of one entry: to the groups it is in, to the members of a group, to the people a user
 * leads. */
typedef struct links {
    graph_delta *d;
    const char *id, *kind; /* of the entry */
    apr_hash_t *none;      /* who is no member, as the round told: it may know better than a list */
    ida_kind failed;
} links;

static void member_of(graph_call *k, json_t *item, void *baton)
{
    links *l = baton;
    const char *type = ida_json_string(item, "@odata.type"), *id = ida_json_string(item, "id"),
               *kind = graph_member_kind(type);
    const cache_member member = {.id = l->id, .kind = l->kind};
    (void)k;
    if (!l->failed && id && type && kind && strcmp(kind, "group") == 0) {
        l->failed = cache_sync_member(l->d->run, l->d->c, id, &member, 0);
    }
}

static void has_member(graph_call *k, json_t *item, void *baton)
{
    links *l = baton;
    const char *id = ida_json_string(item, "id");
    const cache_member member = graph_member_of(id, ida_json_string(item, "@odata.type"));
    (void)k;
    if (!l->failed && id && !apr_hash_get(l->none, id, APR_HASH_KEY_STRING)) {
        l->failed = cache_sync_member(l->d->run, l->d->c, l->id, &member, 0);
    }
}

static void leads(graph_call *k, json_t *item, void *baton)
{
    links *l = baton;
    const char *id = ida_json_string(item, "id"),
               *kind = graph_member_kind(ida_json_string(item, "@odata.type"));
    (void)k;
    if (!l->failed && id && kind && strcmp(kind, "user") == 0) {
        l->failed = cache_sync_report(l->d->run, l->d->c, id, l->id);
    }
}

/* Every item of a plain list, each page bounded by itself. */
static directory_class each_of(graph_delta *d, const char *url, const char *doing, graph_item each,
                               void *baton)
{
    graph_call k = *d->k;
    apr_pool_t *next_pool;
    directory_class class = DIRECTORY_OK;
    apr_pool_create(&next_pool, d->k->pool);
    for (const char *next = url; next && !class;) {
        graph_page page = {0};
        graph_answer answer;
        const char *after = NULL;
        json_t *item;
        size_t i;
        apr_pool_create(&page.pool, d->k->pool);
        k.pool = page.pool;
        class = graph_fetch_page(&k, next, doing, &page, &after, &answer);
        json_t *items = class ? NULL
                              : ida_json_keep(page.pool,
                                              json_loads(page.items, JSON_DISABLE_EOF_CHECK, NULL));
        json_array_foreach (items, i, item) {
            each(&k, item, baton);
        }
        apr_pool_clear(next_pool);
        next = apr_pstrdup(next_pool, after);
        if (class) {
            d->k->e->message = apr_pstrdup(d->k->pool, d->k->e->message);
        } else if (d->k->alive && d->k->alive(d->k->baton)) {
            class = graph_fail(d->k, DIRECTORY_LOCAL, NULL, "%s: stopped", doing);
        }
        apr_pool_destroy(page.pool);
    }
    apr_pool_destroy(next_pool);
    return class;
}

/* An entry that is not found is gone again, or was asked of a replica that does not have it yet.
 * Should it be back, or show, before the next round, that one would not know that it has to be
 * asked. */
static directory_class read_links(links *l, const char *url, graph_item each)
{
    directory_class class = each_of(l->d, url, "reading what belongs to a new or restored entry",
                                    each, l);
    if (class == DIRECTORY_NOT_FOUND) {
        json_object_set_new(l->d->unread, l->id, json_string(l->kind));
        return DIRECTORY_OK;
    }
    return class ? class : graph_stored(l->d->k, l->d->c, l->failed);
}

/* No group changes when a member is deleted and restored, nobody whose manager was: no delta tells,
 * the entry is asked. */
static directory_class returned_user(graph_delta *d, const char *id)
{
    const graph *g = d->k->g;
    apr_pool_t *pool = d->item_pool;
    links l = {.d = d, .id = id, .kind = "user"};
    directory_class class = read_links(
        &l, graph_url(g, pool, "/users/%s/memberOf?$select=id&$top=999", id), member_of);
    return class ? class
                 : read_links(&l,
                              graph_url(g, pool, "/users/%s/directReports?$select=id&$top=999", id),
                              leads);
}

/* A group that is new to the cache was made or restored; only of the former all members are told.
 * (Those that can be restored are in no other group.) */
static directory_class appeared_group(graph_delta *d, const char *id, apr_hash_t *none)
{
    links l = {.d = d, .id = id, .kind = "group", .none = none};
    return read_links(
        &l, graph_url(d->k->g, d->item_pool, "/groups/%s/members?$select=id&$top=999", id),
        has_member);
}

static directory_class read_appeared(graph_delta *d)
{
    directory_class class = DIRECTORY_OK;
    for (apr_hash_index_t *i = apr_hash_first(d->pool, d->appeared); i && !class;
         i = apr_hash_next(i)) {
        class = appeared_group(d, apr_hash_this_key(i), apr_hash_this_val(i));
        apr_pool_clear(d->item_pool);
    }
    return class;
}

static int is_kind(const json_t *kind, const char *name)
{
    return json_is_string(kind) && strcmp(json_string_value(kind), name) == 0;
}

/* Those whom the last round did not find; whoever is told as deleted since is asked no more. */

static directory_class read_unread_users(graph_delta *d, wanted *w)
{
    const char *id;
    json_t *kind;
    directory_class class = DIRECTORY_OK;
    json_object_foreach (json_object_get(w->tokens, "unread"), id, kind) {
        if (!class && is_kind(kind, "user") && !apr_hash_get(d->gone, id, APR_HASH_KEY_STRING)) {
            class = returned_user(d, id);
            apr_pool_clear(d->item_pool);
        }
    }
    return class;
}

/* They are taken for new to the cache once more. */
static void unread_groups(graph_delta *d, const wanted *w)
{
    const char *id;
    json_t *kind;
    json_object_foreach (json_object_get(w->tokens, "unread"), id, kind) {
        if (is_kind(kind, "group")) {
            apr_hash_set(d->appeared, id, APR_HASH_KEY_STRING, apr_hash_make(d->pool));
        }
    }
}

/* Whoever was made before the last round began and was not in the cache after the last whole one
 * came back, or was shown late: then asking costs two requests. */
static directory_class read_returned(graph_delta *d, wanted *w)
{
    const char **ids, *after = "";
    int count;
    do {
        directory_class class = graph_stored(w->k, w->c,
                                             cache_sync_returned(d->run, w->c, w->settled,
                                                                 w->state.started_at, after,
                                                                 RETURNED_SLICE, &ids, &count));
        for (int i = 0; !class && i < count; i++) {
            class = returned_user(d, ids[i]);
            apr_pool_clear(d->item_pool);
        }
        if (class) {
            return class;
        }
        after = count ? ids[count - 1] : after;
    } while (count == RETURNED_SLICE);
    return read_unread_users(d, w);
}

/* --- users who are deleted and can be restored --- */

static void deleted(graph_call *k, json_t *item, void *baton)
{
    graph_delta *d = baton;
    const char *id = ida_json_string(item, "id");
    (void)k;
    if (id) {
        apr_hash_set(d->gone, apr_pstrdup(d->pool, id), APR_HASH_KEY_STRING, "");
    }
}

/* A round over everything may name them as members still. Few: they are kept for 30 days. Read
 * before the users, whose word is the later one: whoever is taken for deleted and is not would lose
 * memberships that nobody tells again. */
static directory_class read_deleted(graph_delta *d)
{
    const graph *g = d->k->g;
    const char *url = graph_url(g, d->k->pool,
                                "/directory/deletedItems/microsoft.graph.user?$select=id&$top=999");
    directory_class class = each_of(d, url, "reading deleted users", deleted, d);
    if (class == DIRECTORY_FORBIDDEN || class == DIRECTORY_NOT_FOUND) {
        ida_log(g->env, IDA_LOG_DEBUG, NULL,
                "tenant %s: deleted users cannot be read and may be counted as members: %s",
                g->tenant->id, d->k->e->message);
        class = DIRECTORY_OK;
    }
    return class;
}

/* --- a run --- */

/* Everything into staging; *tokens is for the next run. */
static directory_class stage_all(graph_delta *d, wanted *w, const char **tokens)
{
    graph_call *k = w->k;
    int full = w->tokens == NULL;
    json_t *fresh = ida_json_keep(k->pool, json_object());
    directory_class class = graph_sign_ins_read(d, &w->sign_ins, full,
                                                full ? 0 : SIGN_IN_PATIENCE_MS);
    if (!class && full) {
        class = read_deleted(d);
    }
    for (int i = 0; !class && i < STREAMS; i++) {
        const char *token = NULL;
        class = read_stream(d, w, i, &token);
        ida_json_put(fresh, streams[i].token, token);
        if (!class && i == USERS && !full) {
            class = read_returned(d, w);
        }
        if (!class && i == GROUPS && !full) {
            class = read_appeared(d);
        }
    }
    json_object_set_new(fresh, "signIns", graph_sign_ins_json(&w->sign_ins));
    json_object_set_new(fresh, "run", json_integer(cache_sync_number(d->run)));
    json_object_set(fresh, "unread", d->unread);
    *tokens = ida_json_text(k->pool, fresh);
    return class;
}

/* A licence bought a moment ago is not in our list yet: *again when it has a name now. */
static directory_class name_licenses(graph_delta *d, int *again)
{
    directory_class class = graph_license_load(d->k, 1);
    for (apr_hash_index_t *i = apr_hash_first(d->pool, d->skus); i && !class && !*again;
         i = apr_hash_next(i)) {
        const char *sku = apr_hash_this_key(i), *name = apr_hash_this_val(i);
        *again = strcmp(sku, name) == 0 &&
                 strcmp(graph_license_name(d->k->g, d->pool, sku), sku) != 0;
    }
    return class;
}

static directory_class run_once(wanted *w, int *again)
{
    graph_call *k = w->k;
    graph_delta d = {
        .k = k, .c = w->c, .pool = k->pool, .settled = w->settled, .skus = apr_hash_make(k->pool)};
    d.gone = apr_hash_make(k->pool);
    d.appeared = w->tokens ? apr_hash_make(k->pool) : NULL;
    d.unread = ida_json_keep(k->pool, json_object());
    unread_groups(&d, w);
    cache_guard guard = k->g->guard;
    const char *tokens = "{}";
    guard.accept = w->accept;
    *again = 0;
    apr_pool_create(&d.item_pool, k->pool);
    directory_class class = graph_stored(k, w->c,
                                         cache_sync_begin(&d.run, w->cache, w->c, k->pool,
                                                          k->g->tenant->id, IDA_DIR_CLOUD,
                                                          w->tokens == NULL));
    if (class) {
        return class;
    }
    class = stage_all(&d, w, &tokens);
    if (!class && d.unnamed_skus && !w->licenses_refused) {
        class = name_licenses(&d, again);
    }
    apr_pool_destroy(d.item_pool);
    if (class || *again) {
        cache_sync_abort(d.run, w->c, class ? k->e->message : NULL);
        return class;
    }
    ida_kind kind = cache_sync_commit(d.run, w->c, tokens, w->binding, &guard,
                                      graph_sign_ins_known(&w->sign_ins), w->summary);
    return kind == IDA_CONFLICT && w->summary->guard_stopped ? DIRECTORY_OK
                                                             : graph_stored(k, w->c, kind);
}

/* Licences without the permission to read their names are told by ID; with it they are read anew,
 * all of them. */
static directory_class load_licenses(wanted *w)
{
    const graph *g = w->k->g;
    directory_class class = graph_license_load(w->k, 0);
    w->licenses_refused = class == DIRECTORY_FORBIDDEN;
    /* "members of any kind": caches from before devices and applications counted are read anew. */
    w->binding = apr_psprintf(w->k->pool, "%s\n%s\n%s\n%s\n%s\nlicences %s\nmembers of any kind",
                              g->root, g->directory_id, g->client_id, streams[USERS].start,
                              streams[GROUPS].start, w->licenses_refused ? "by ID" : "by name");
    w->binding = ida_sha256_hex(w->k->pool, w->binding, strlen(w->binding));
    if (w->licenses_refused && !(w->state.binding && strcmp(w->state.binding, w->binding) == 0)) {
        ida_log(g->env, IDA_LOG_WARN, "IDA0481",
                "tenant %s: licences are shown by ID, as their names cannot be read: %s",
                g->tenant->id, w->k->e->message ? w->k->e->message : "");
    }
    return w->licenses_refused ? DIRECTORY_OK : class;
}

directory_class graph_sync(directory *d, apr_pool_t *pool, store *cache, ida_ctx *c, int full,
                           int accept, int (*alive)(void *), void *baton, cache_summary *summary,
                           directory_error *e)
{
    graph *g = (graph *)d;
    graph_call k = graph_call_begin(g, pool, e);
    wanted w = {.k = &k, .cache = cache, .c = c, .accept = accept, .summary = summary};
    int again = 0;
    k.alive = alive;
    k.baton = baton;
    *summary = (cache_summary){0};
    directory_class class = graph_stored(
        &k, c, cache_sync_state_get(cache, c, g->tenant->id, IDA_DIR_CLOUD, &w.state));
    class = class ? class : load_licenses(&w);
    if (class) {
        return class;
    }
    const json_t *tokens = w.state.tokens ? ida_json_load(pool, w.state.tokens) : NULL;
    int same = w.state.binding && strcmp(w.state.binding, w.binding) == 0;
    int usable = !full && same && w.state.full_at > 0 &&
                 ida_json_string(tokens, streams[USERS].token) &&
                 ida_json_string(tokens, streams[GROUPS].token);
    graph_sign_ins_load(&w.sign_ins, pool, same ? tokens : NULL);
    w.tokens = usable ? tokens : NULL;
    w.settled = usable ? json_integer_value(json_object_get(tokens, "run")) : 0;
    for (int restarts = 0, renames = 0;;) {
        class = run_once(&w, &again);
        if (class == DIRECTORY_TOKEN_LOST && restarts++ < 2) {
            /* From our own start, not from the Location of the refusal: that one may have forgotten
             * what we select. */
            ida_log(g->env, IDA_LOG_INFO, NULL, "tenant %s: %s; everything is read again",
                    g->tenant->id, e->message ? e->message : "");
            w.tokens = NULL;
            continue;
        }
        if (class || !again || renames++) {
            break;
        }
    }
    if (class == DIRECTORY_TOKEN_LOST) { /* refused again and again: the directory's fault, not a
                                            lost token's */
        class = e->class = DIRECTORY_TRANSIENT;
    }
    if (!class) {
        graph_throttle_tenant_size(g, summary->users);
        *e = (directory_error){.class = DIRECTORY_OK};
    }
    return class;
}
