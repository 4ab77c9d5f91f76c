/* Owns a synchronisation of the cloud directory: validity of tokens, the two delta streams,
 * restarts. Must not know what an item looks like or how the cache works.
 *
 * A run stages everything and saves the links of the next round with its last batch: a run that
 * ends early leaves cache and links unchanged, and the next one continues from there. A refused
 * link begins a round over everything while the old cache serves. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/graph/sync.h"
#include "worker/graph/throttle.h"
#include "worker/graph/url.h"

/* how long a round waits for its turn to read sign-ins; a round over everything does not wait */
#define SIGN_IN_PATIENCE_MS 15000

static directory_class take_user(void *baton, json_t *item)
{
    graph_delta *d = baton;
    /* At once: otherwise a first round would be read at the pace of a small tenant. */
    graph_throttle_tenant_size(d->k->g, ++d->users);
    return graph_delta_user(d, item);
}

enum { USERS, GROUPS, STREAMS };

static const struct {
    const char *token; /* its member in sync_state.tokens */
    const char *start, *doing;
    graph_item item;
} streams[STREAMS] = {
    {"users", "/users/delta?$select=" GRAPH_USERS_TRACKED, "reading changed users", take_user},
    {"groups", "/groups/delta?$select=" GRAPH_GROUPS_TRACKED, "reading changed groups",
     graph_delta_group},
};

typedef struct wanted {
    graph_call *k;
    const directory_sync *asked;
    int64_t settled; /* the last run that was committed, according to the tokens */
    cache_sync_state state;
    int licenses_refused;
    const char *binding;
    const json_t *tokens; /* of the last run; NULL: everything is read */
    graph_sign_ins sign_ins;
    cache_summary *summary;
} wanted;

/* --- one stream --- */

/* An address that the directory made for us and now refuses: whatever it calls that, this round
 * cannot be continued. */
static int token_refused(const graph_list *list, int known)
{
    int status = list->answer.status;
    return status == 410 || ((known || list->pages) && (status == 400 || status == 404));
}

static directory_class read_stream(graph_delta *d, wanted *w, int which, const char **token)
{
    graph_call *k = w->k;
    const char *known = w->tokens ? ida_json_string(w->tokens, streams[which].token) : NULL;
    graph_list list = {
        .request = {.method = "GET",
                    .url = known ? known : graph_url(k->g, k->pool, streams[which].start),
                    .sync = 1,
                    .doing = streams[which].doing}};
    directory_class class = graph_each(k, &list, streams[which].item, d);
    *token = list.delta;
    if (class) {
        return token_refused(&list, known != NULL) ? k->e->class = DIRECTORY_TOKEN_LOST : class;
    }
    return list.delta ? DIRECTORY_OK
                      : graph_fail(k, DIRECTORY_TRANSIENT, NULL,
                                   "%s: the last page names no link for the next round",
                                   streams[which].doing);
}

/* --- users who are deleted and can be restored --- */

static directory_class deleted(void *baton, json_t *item)
{
    graph_delta *d = baton;
    const char *id = ida_json_string(item, "id");
    if (id) {
        apr_hash_set(d->gone, apr_pstrdup(d->pool, id), APR_HASH_KEY_STRING, "");
    }
    return DIRECTORY_OK;
}

/* A round over everything may still list deleted users as members. They are few, because they
 * are kept for 30 days. They are read before the users, so that a user who is restored meanwhile
 * counts as existing: a deleted one would lose memberships that are not reported again. */
static directory_class read_deleted(graph_delta *d)
{
    const graph *g = d->k->g;
    const char *url = graph_url(g, d->k->pool,
                                "/directory/deletedItems/microsoft.graph.user?$select=id&$top=999");
    graph_list list = {
        .request = {.method = "GET", .url = url, .sync = 1, .doing = "reading deleted users"}};
    directory_class class = graph_each(d->k, &list, deleted, d);
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
    const json_t *unread = json_object_get(w->tokens, "unread");
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
            class = graph_returned_users(d, w->state.started_at, unread);
        }
        if (!class && i == GROUPS && !full) {
            class = graph_appeared_groups(d);
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
    d->k->deadline = ida_monotonic(d->k->g->env) + DIRECTORY_CALL_MS; /* pages had their own */
    directory_class class = graph_license_load(d->k, 1);
    for (apr_hash_index_t *i = apr_hash_first(d->pool, d->unnamed); i && !class && !*again;
         i = apr_hash_next(i)) {
        const char *sku = apr_hash_this_key(i);
        *again = strcmp(graph_license_name(d->k->g, d->pool, sku), sku) != 0;
    }
    return class;
}

static directory_class run_once(wanted *w, int *again)
{
    graph_call *k = w->k;
    graph_delta d = {.k = k,
                     .c = w->asked->c,
                     .pool = k->pool,
                     .settled = w->settled,
                     .unnamed = apr_hash_make(k->pool)};
    d.gone = apr_hash_make(k->pool);
    d.appeared = w->tokens ? apr_hash_make(k->pool) : NULL;
    d.unread = ida_json_keep(k->pool, json_object());
    graph_unread_groups(&d, json_object_get(w->tokens, "unread"));
    cache_guard guard = k->g->guard;
    const char *tokens = "{}";
    guard.accept = w->asked->accept;
    *again = 0;
    apr_pool_create(&d.item_pool, k->pool);
    directory_class class = graph_stored(k, w->asked->c,
                                         cache_sync_begin(&d.run, w->asked->cache, w->asked->c,
                                                          k->pool, k->g->tenant->id, IDA_DIR_CLOUD,
                                                          w->tokens == NULL));
    if (class) {
        return class;
    }
    class = stage_all(&d, w, &tokens);
    if (!class && apr_hash_count(d.unnamed) && !w->licenses_refused) {
        class = name_licenses(&d, again);
    }
    apr_pool_destroy(d.item_pool);
    if (class || *again) {
        cache_sync_abort(d.run, w->asked->c, class && !graph_stopped(k) ? k->e->message : NULL);
        return class;
    }
    cache_sync_sign_ins_at(d.run, w->sign_ins.known_at);
    ida_kind kind = cache_sync_commit(d.run, w->asked->c, tokens, w->binding, &guard,
                                      graph_sign_ins_known(&w->sign_ins), w->summary);
    return kind == IDA_CONFLICT && w->summary->guard_stopped ? DIRECTORY_OK
                                                             : graph_stored(k, w->asked->c, kind);
}

/* Without the permission to read their names licences are stored by ID; once the permission
 * exists, all are read again. */
static directory_class load_licenses(wanted *w)
{
    const graph *g = w->k->g;
    directory_class class = graph_license_load(w->k, 0);
    w->licenses_refused = class == DIRECTORY_FORBIDDEN;
    /* "members of any kind": caches from before devices and applications counted are read again
     * in full. */
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

directory_class graph_sync(directory *d, apr_pool_t *pool, const directory_sync *asked,
                           cache_summary *summary, directory_error *e)
{
    graph *g = (graph *)d;
    graph_call k = graph_call_begin(g, pool, e);
    wanted w = {.k = &k, .asked = asked, .summary = summary};
    int again = 0;
    k.alive = asked->alive;
    k.baton = asked->baton;
    *summary = (cache_summary){0};
    directory_class class = graph_stored(&k, asked->c,
                                         cache_sync_state_get(asked->cache, asked->c, g->tenant->id,
                                                              IDA_DIR_CLOUD, &w.state));
    class = class ? class : load_licenses(&w);
    if (class) {
        return class;
    }
    const json_t *tokens = w.state.tokens ? ida_json_load(pool, w.state.tokens) : NULL;
    int same = w.state.binding && strcmp(w.state.binding, w.binding) == 0;
    int usable = !asked->full && same && w.state.full_at > 0 &&
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
