/* Owns a sync run of an LDAP directory: what tokens hold for, the two streams, the fall-back
 * without tokens. Must not know how groups are read, nor how the cache is kept. */
#include "worker/ldap/sync.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/ldap/ad.h"
#include "worker/ldap/ops.h"

#define TRIES 3 /* of an increment during which entries are moved */
#define ASK_MS                                                                                   \
    (10 * 60 * 1000) /* the streams are asked so often, whatever the databases say of themselves \
                      */
#define FULL_MS                                                                                 \
    (24 * 60 * 60 * 1000) /* everything is read so often, whatever the tokens say: servers lose \
                             changes in crashes */

directory_class ld_stored(ld_run *r, ida_kind kind)
{
    return kind == IDA_OK ? DIRECTORY_OK
                          : ld_fail(r->k, DIRECTORY_LOCAL, NULL, "the cache refuses: %s",
                                    r->c->message ? r->c->message : ida_kind_text(kind));
}

void ld_unstamped(ld_run *r, const ld_entry *entry, const char *stamp)
{
    if (!stamp && !r->unstamped) {
        r->unstamped = apr_pstrdup(r->k->pool, entry->dn);
    }
}

static directory_class user_item(ld_run *r, const ld_entry *entry)
{
    directory_user user;
    if (!ld_user_read(r->k->d, r->item_pool, entry, &user)) {
        return ld_fail(r->k, DIRECTORY_CONFIG, NULL,
                       "%s: %s shows no %s: our account may not read it", ld_server_url(r->k->d),
                       entry->dn, r->k->d->dialect->id);
    }
    ld_unstamped(r, entry, user.cache.stamp);
    r->sign_ins = r->sign_ins || user.cache.last_success_at > 0;
    directory_class class = ld_stored(r, cache_sync_user(r->run, r->c, &user.cache));
    return class ? class : ld_primary_user(r, entry);
}

/* --- what tokens hold for --- */

/* The database behind the connection: one restored from a copy counts as another. */
static directory_class database_of(ld_call *k, const char **id)
{
    static const char *const invocation[] = {"invocationId", NULL};
    const directory *d = k->d;
    const ld_entry *entry = NULL;
    *id = "";
    if (!d->service) {
        return DIRECTORY_OK;
    }
    directory_class class = ld_read(k, apr_pstrdup(k->pool, d->service), invocation,
                                    "read the identity of the server", &entry);
    const ld_attribute *a = entry ? ld_get(entry, invocation[0]) : NULL;
    *id = a ? ld_guid_text(k->pool, a->values[0].bv_val, a->values[0].bv_len) : NULL;
    return class || *id ? class
                        : ld_fail(k, DIRECTORY_CONFIG, NULL,
                                  "%s: our account may not read invocationId of %s",
                                  ld_server_url(d), d->service);
}

/* What a token is good for: address, database and ID of the base; another server, or a database
 * loaded anew, is another identity.
 */
static directory_class server_identity(ld_call *k, const char **identity)
{
    const char *const attributes[] = {k->d->dialect->id, NULL}, *database = NULL;
    const ld_query query = {.base = k->d->user_base,
                            .scope = LDAP_SCOPE_BASE,
                            .filter = "(objectClass=*)",
                            .attributes = attributes,
                            .limit = 1,
                            .phase = LD_BASE,
                            .doing = "read userBase"};
    const ld_entry **rows;
    int count;
    directory_class class = ld_search(k, &query, &rows, &count);
    const char *id = !class && count ? ld_id_text(k->d->dialect, k->pool, rows[0]) : NULL;
    if (!class && !id) {
        class = ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: our account may not read %s of userBase %s",
                        ld_server_url(k->d), attributes[0], k->d->user_base);
    }
    class = class ? class : database_of(k, &database);
    *identity = class ? NULL
                      : apr_pstrcat(k->pool, ld_server_url(k->d), " ", database, " ", id, NULL);
    return class;
}

/* Since when the server runs, in its own words (slapd dates its schema so, to the second); "" when
 * it does not tell. */
static directory_class running_since(ld_call *k, const char **since)
{
    static const char *const created[] = {"createTimestamp", NULL};
    const ld_entry *schema = NULL;
    *since = "";
    if (k->d->dialect->sync != LD_SYNC_SYNCREPL || !k->d->subschema) {
        return DIRECTORY_OK;
    }
    directory_class class = ld_read(k, apr_pstrdup(k->pool, k->d->subschema), created,
                                    "read since when the server runs", &schema);
    const char *text = schema ? ld_text(k->pool, schema, created[0]) : NULL;
    *since = text ? text : "";
    return class == DIRECTORY_NOT_FOUND || class == DIRECTORY_FORBIDDEN ? DIRECTORY_OK : class;
}

/* Tokens are one server's own: it is asked first, as long as it answers. */
static void prefer_server(directory *d, const json_t *tokens)
{
    const char *url = ida_json_string(tokens, "server");
    for (int i = 0; url && !d->ld && i < d->server_count; i++) {
        if (strcmp(d->servers[i].url, url) == 0) {
            d->server = i;
        }
    }
}

static const char *binding_of(ld_call *k, const char *identity, const ld_kind *kinds, int count)
{
    const char *text = apr_pstrcat(k->pool, k->d->dialect->name, "\n", identity, "\n",
                                   k->d->placeholder_key ? k->d->placeholder_key : "", "\n", NULL);
    for (int i = 0; i < count; i++) {
        text = apr_pstrcat(k->pool, text, kinds[i].base, "\n", kinds[i].filter, "\n", NULL);
        for (const char *const *name = kinds[i].attributes; *name; name++) {
            text = apr_pstrcat(k->pool, text, *name, " ", NULL);
        }
    }
    return ida_sha256_hex(k->pool, text, strlen(text));
}

/* --- a run --- */

static directory_class read_all(ld_run *r, const ld_kind *kind)
{
    int64_t told;
    directory_class class = ld_read_items(r, kind, NULL, NULL,
                                          apr_pstrcat(r->k->pool, "read all ", kind->token, NULL),
                                          &told);
    r->changes += told;
    return class ? class : ld_stored(r, cache_sync_complete(r->run, r->c, kind->name));
}

/* How a directory is read, and how instead when that way is closed. */
typedef enum way { BY_READING, BY_SYNCREPL, BY_DIRSYNC, BY_USN } way;

static const struct {
    const char *tokens[2]; /* what the next run goes on from; NULL: nothing */
    way instead;
} ways[] = {
    [BY_READING] = {{NULL, NULL}, BY_READING},
    [BY_SYNCREPL] = {{"users", "groups"}, BY_READING},
    [BY_DIRSYNC] = {{"dirsync", NULL}, BY_USN},
    [BY_USN] = {{"usn", NULL}, BY_USN},
};

static int has_tokens(const json_t *tokens, way w)
{
    int all = ways[w].tokens[0] != NULL;
    for (int i = 0; i < 2 && ways[w].tokens[i]; i++) {
        all = all && ida_json_string(tokens, ways[w].tokens[i]);
    }
    return all;
}

/* Users and groups each by itself. */
static directory_class two_streams(ld_run *r, const ld_kind *kinds, const json_t *old, way w,
                                   json_t *fresh, int *unavailable)
{
    directory_class class = DIRECTORY_OK;
    for (int i = 0; !class && i < 2; i++) {
        const char *next = NULL;
        class = w == BY_SYNCREPL
                    ? ld_syncrepl(r, &kinds[i], old ? ida_json_string(old, kinds[i].token) : NULL,
                                  &next, unavailable)
                    : read_all(r, &kinds[i]);
        ida_json_put(fresh, kinds[i].token, next);
    }
    return class;
}

typedef struct wanted {
    const char *places, *since;
    store *cache;
    const ld_kind *kinds;
    int accept, kept_sign_ins;
    const json_t *before; /* the tokens of the last run, also when everything is read; NULL: none,
                             or another server's */
    int unchanged;        /* nothing is to be read: the run notes that it was */
    const char *binding;
} wanted;

/* A run without streams would find the same: the databases say that nothing has changed since their
 * last answers, and nothing is left to be looked at again. Not after a restart: slapd may have lost
 * a deletion together with its CSN. */
static int nothing_new(ld_run *r, const wanted *of, const json_t *old)
{
    const char *since = ida_json_string(old, "since");
    int64_t asked_at = json_integer_value(json_object_get(old, "asked")),
            now = ida_now(r->k->d->env);
    cache_again_ids left;
    int nothing = since && *since && strcmp(since, of->since) == 0 && asked_at <= now &&
                  now - asked_at < ASK_MS && ld_unchanged(r->k, of->kinds, 2, old) &&
                  ld_again_ids(r, of->cache, old, &left) == DIRECTORY_OK &&
                  left.user_count + left.group_count == 0;
    *r->k->e = (directory_error){0}; /* what could not be read is met again by whoever needs it */
    return nothing;
}

/* What changes from run to run, besides the server's tokens. */
static void number_tokens(const ld_run *r, const wanted *of, json_t *tokens)
{
    ld_again_note(r, of->before, tokens);
    json_object_set_new(tokens, "run", json_integer(cache_sync_number(r->run)));
    json_object_set_new(tokens, "came", json_boolean(r->entries > 0));
}

static const char *same_tokens(const ld_run *r, const wanted *of, const json_t *old)
{
    json_t *fresh = ida_json_keep(r->k->pool, json_copy((json_t *)(uintptr_t)old));
    number_tokens(r, of, fresh);
    return ida_json_text(r->k->pool, fresh);
}

/* The streams into staging. *tokens: JSON for the next run, "{}" when there can be none. `old`
 * NULL: everything. */
static directory_class streams(ld_run *r, const wanted *of, const json_t *old, way w,
                               const char **tokens, int *unavailable)
{
    const ld_kind *kinds = of->kinds;
    const char *known = NULL;
    json_t *fresh = ida_json_keep(r->k->pool, json_object());
    directory_class class = ld_primary_begin(r, &kinds[1], old == NULL);
    class = class             ? class
            : w == BY_DIRSYNC ? ld_dirsync(r, kinds, old, fresh, unavailable)
            : w == BY_USN     ? ld_usn(r, kinds, old, fresh)
                              : two_streams(r, kinds, old, w, fresh, unavailable);
    if (!class && old && w == BY_SYNCREPL) {
        class = ld_again(r, of->cache, kinds, 2, old);
    }
    if (!class && r->primary) {
        class = ld_usn_newest(
            r->k, &known); /* after the streams: who was made later was not told by them */
    }
    ida_json_put(fresh, "known", known);
    ida_json_put(fresh, "places", of->places);
    ida_json_put(fresh, "since", of->since);
    json_object_set_new(fresh, "asked", json_integer(ida_now(r->k->d->env)));
    number_tokens(r, of, fresh);
    class = class || !r->primary || r->whole ? class : ld_came_back(r, kinds, old);
    class = class ? class : ld_groups_late(r, &kinds[1]);
    class = class ? class : ld_primary_end(r);
    if (!class && old && w == BY_DIRSYNC && r->changes > 0) {
        class = ld_dirsync_moves(r, fresh);
    }
    if (!class && (r->changes > 0 || !old)) {
        class = ld_groups_dynamic(r, &kinds[1]);
    }
    ida_log(r->k->d->env, IDA_LOG_DEBUG, NULL, "%s: %lld entries of users and groups were told",
            ld_server_url(r->k->d), (long long)r->changes);
    ida_json_put(fresh, "server", ld_server_url(r->k->d));
    /* One token without the other would make half a run of the next. */
    *tokens = has_tokens(fresh, w) && !r->raced ? ida_json_text(r->k->pool, fresh) : "{}";
    return class;
}

static directory_class run_once(ld_run *r, const wanted *w, const json_t *old, way by,
                                cache_summary *summary, int *unavailable)
{
    ld_call *k = r->k;
    const directory *d = k->d;
    const char *tokens = "{}";
    cache_guard guard = d->guard;
    guard.accept = w->accept;
    *unavailable = 0;
    r->changes = r->entries = 0;
    r->sign_ins = 0;
    r->whole = old == NULL;
    r->raced = 0;
    r->moved = apr_array_make(k->pool, 4, sizeof(const char *));
    r->later = apr_array_make(k->pool, 4, sizeof(const char *));
    directory_class class = ld_stored(r, cache_sync_begin(&r->run, w->cache, r->c, k->pool,
                                                          d->tenant->id, IDA_DIR_ON_PREMISES,
                                                          old == NULL));
    if (class) {
        return class;
    }
    if (w->unchanged) {
        tokens = same_tokens(r, w, old);
    } else {
        class = streams(r, w, old, by, &tokens, unavailable);
    }
    if (class) {
        cache_sync_abort(r->run, r->c, k->e->message);
        return class;
    }
    if (r->raced) {
        ida_log(d->env, IDA_LOG_INFO, NULL,
                "tenant %s: entries were moved in %s while changes were read: %s", d->tenant->id,
                ld_server_url(d),
                r->last_try ? "the next sync reads everything" : "they are read again");
    }
    if (r->raced && !r->last_try) {
        cache_sync_abort(r->run, r->c, NULL);
        return DIRECTORY_OK;
    }
    /* In Active Directory nothing is missing: an account without a time has never signed in.
     * Elsewhere our own bind was a sign-in: when its time is recorded, sign-ins are. */
    int sign_ins = r->sign_ins || (old && w->kept_sign_ins) || d->dialect->active_directory ||
                   ld_own_sign_in(k) > 0;
    ida_kind kind = cache_sync_commit(r->run, r->c, tokens, w->binding, &guard, sign_ins, summary);
    return kind == IDA_CONFLICT && summary->guard_stopped ? DIRECTORY_OK : ld_stored(r, kind);
}

directory_class ld_sync(directory *d, apr_pool_t *pool, store *cache, ida_ctx *c, int full,
                        int accept, int (*alive)(void *), void *baton, cache_summary *summary,
                        directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    k.deadline = ida_monotonic(d->env) + LD_RUN_MS;
    k.idle_ms = LD_SILENCE_MS;
    k.alive = alive;
    k.baton = baton;
    *summary = (cache_summary){0};
    const ld_kind kinds[] = {
        {"user", "users", d->user_base, d->dialect->user_filter, d->user_attributes, user_item},
        {"group", "groups", d->group_base, d->dialect->group_filter,
         ld_group_attributes_all(d, pool), ld_group_item},
    };
    ld_run r = {.k = &k, .c = c};
    wanted w = {.cache = cache, .kinds = kinds, .accept = accept};
    const char *identity;
    cache_sync_state state = {0};
    apr_pool_create(&r.item_pool, pool);
    directory_class class = ld_stored(&r, cache_sync_state_get(cache, c, d->tenant->id,
                                                               IDA_DIR_ON_PREMISES, &state));
    const json_t *tokens = !class && state.tokens ? ida_json_load(pool, state.tokens) : NULL;
    prefer_server(d, tokens);
    class = class ? class : server_identity(&k, &identity);
    if (class) {
        return class;
    }
    w.binding = binding_of(&k, identity, kinds, 2);
    w.kept_sign_ins = state.sign_ins;
    class = running_since(&k, &w.since);
    if (class) {
        return class;
    }
    const char *places = ida_json_string(tokens, "places"),
               *since = ida_json_string(tokens, "since");
    r.restarted = since && strcmp(since, w.since) != 0;
    int bound = state.binding && strcmp(state.binding, w.binding) == 0, unavailable = 0;
    way by = d->dialect->sync == LD_SYNC_DIRSYNC ? BY_DIRSYNC
             : d->offers_sync != 0               ? BY_SYNCREPL
                                                 : BY_READING;
    w.before = bound ? tokens : NULL;
    if (full || state.full_at <= 0 || !bound || state.full_at <= ida_now(d->env) - FULL_MS) {
        tokens = NULL;
    } else if (!has_tokens(tokens, by)) {
        by = has_tokens(tokens, ways[by].instead) ? ways[by].instead : by;
        tokens = has_tokens(tokens, by) ? tokens : NULL;
    }
    w.unchanged = tokens && by == BY_SYNCREPL && nothing_new(&r, &w, tokens);
    if (!w.unchanged) {
        class = ld_places(&k, kinds, 2, &w.places);
        if (class) {
            return class;
        }
        if (w.places && (!places || strcmp(places, w.places) != 0)) {
            tokens = NULL;
        }
    }
    for (int try = 1; try == 1 || (!class && r.raced && try <= TRIES); try++) {
        r.last_try = try == TRIES;
        class = run_once(&r, &w, tokens, by, summary, &unavailable);
    }
    if (class == DIRECTORY_TOKEN_LOST && tokens) {
        ida_log(d->env, IDA_LOG_INFO, NULL, "tenant %s: %s; everything is read again",
                d->tenant->id, e->message);
        class = run_once(&r, &w, NULL, by, summary, &unavailable);
    }
    const char *why = e->message;
    if (class && unavailable) {
        by = ways[by].instead;
        class = run_once(&r, &w, NULL, by, summary, &unavailable);
    }
    /* Said when it is news, not at each of the syncs that follow. */
    if (!class && by == BY_READING && (!bound || has_tokens(w.before, BY_SYNCREPL))) {
        ida_log(d->env, IDA_LOG_WARN, "IDA0401",
                "tenant %s: %s offers no content synchronisation (overlay syncprov): the whole "
                "directory is read at each sync",
                d->tenant->id, ld_server_url(d));
    } else if (!class && by == BY_USN && (!bound || !tokens)) {
        ida_log(d->env, IDA_LOG_WARN, "IDA0402",
                "tenant %s: DirSync cannot be used (%s): changes are read by uSNChanged, and "
                "deletions only every ten minutes; "
                "grant our account \"Replicating Directory Changes\" on the domain",
                d->tenant->id, why ? why : ld_server_url(d));
    }
    apr_pool_destroy(r.item_pool);
    return class;
}
