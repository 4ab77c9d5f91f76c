/* Owns a synchronisation of an LDAP directory: the validity of tokens, the two streams, the
 * fall-back without tokens. Must not know how groups are read or how the cache works. */
#include "worker/ldap/sync/sync.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/wire/ad.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

/* the streams are read this often, whatever the databases report */
#define ASK_MS (10 * 60 * 1000)
/* everything is read this often, whatever the tokens say, because servers lose changes in
 * crashes */
#define FULL_MS (24 * 60 * 60 * 1000)

static directory_class user_item(ld_run *r, apr_pool_t *pool, const ld_entry *entry)
{
    directory_user user;
    if (!ld_user_read(r->k->d, pool, entry, &user)) {
        return ld_fail(r->k, DIRECTORY_CONFIG, NULL,
                       "%s: %s shows no %s: our account may not read it", ld_server_url(r->k->d),
                       entry->dn, r->k->d->dialect->id);
    }
    ld_unstamped(r, entry, user.cache.stamp);
    r->sign_ins = r->sign_ins || user.cache.last_success_at > 0;
    directory_class class = ld_stored(r, cache_sync_user(r->run, r->c, &user.cache));
    return class ? class : ld_primary_user(r, pool, entry);
}

/* --- what tokens hold for --- */

/* Identifies the database behind the connection: one restored from a copy counts as another. */
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

/* The identity that a token is valid for: address, database and ID of the base; another server,
 * or a reloaded database, has another identity. */
static directory_class server_identity(ld_call *k, const char **identity)
{
    const char *const attributes[] = {k->d->dialect->id, NULL}, *database = NULL;
    const ld_entry *base;
    directory_class class = ld_read_base(k, k->d->user_base, attributes, "read userBase", &base);
    const char *id = base ? ld_id_text(k->d->dialect, k->pool, base) : NULL;
    if (!class && !id) {
        class = ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: our account may not read %s of userBase %s",
                        ld_server_url(k->d), attributes[0], k->d->user_base);
    }
    class = class ? class : database_of(k, &database);
    *identity = class ? NULL
                      : apr_pstrcat(k->pool, ld_server_url(k->d), " ", database, " ", id, NULL);
    return class;
}

/* Tokens belong to one server, so that one is tried first, as long as it answers. */
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

/* How a directory is read, and how instead when that way is closed. */
typedef enum way { BY_READING, BY_SYNCREPL, BY_DIRSYNC, BY_USN } way;

static const struct {
    const char *tokens[2]; /* where the next run continues; NULL: nowhere */
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

typedef struct wanted {
    const directory_sync *asked;
    const ld_kind *kinds;
    const char *binding;
    int kept_sign_ins;
    int unchanged; /* nothing is to be read: the run notes that it was */
    ld_drift drift;
} wanted;

/* Users and groups each by itself. */
static directory_class two_streams(ld_run *r, const ld_kind *kinds, const json_t *old, way w,
                                   json_t *fresh, int *unavailable)
{
    directory_class class = DIRECTORY_OK;
    for (int i = 0; !class && i < 2; i++) {
        const char *next = NULL;
        if (w == BY_SYNCREPL) {
            class = ld_syncrepl(r, &kinds[i], ida_json_string(old, kinds[i].token), &next,
                                unavailable);
        } else {
            class = ld_read_items(r, &kinds[i], "", "read all");
            class = class ? class : ld_stored(r, cache_sync_complete(r->run, r->c, kinds[i].name));
        }
        ida_json_put(fresh, kinds[i].token, next);
    }
    return class;
}

/* The streams into staging. *tokens: JSON for the next run, "{}" when there can be none. `old`
 * NULL: everything. */
static directory_class streams(ld_run *r, const wanted *of, const json_t *old, way w,
                               const char **tokens, int *unavailable)
{
    const ld_kind *kinds = of->kinds;
    ld_call *k = r->k;
    int blind = w == BY_USN;
    json_t *fresh = ida_json_keep(k->pool, json_object());
    directory_class class = w == BY_DIRSYNC ? ld_dirsync(r, kinds, old, fresh, &blind, unavailable)
                            : w == BY_USN   ? ld_usn(r, kinds, old, fresh)
                                            : two_streams(r, kinds, old, w, fresh, unavailable);
    if (!class && r->drift && of->drift.may_read_all) {
        return ld_fail(k, DIRECTORY_TOKEN_LOST, NULL, "%s: %s", ld_server_url(k->d), r->drift);
    }
    class = class ? class : ld_groups_late(r);
    class = class ? class : ld_primary_end(r);
    if (!class && (r->changes > 0 || r->whole)) {
        class = ld_groups_dynamic(r, &kinds[0], &kinds[1]);
    }
    ida_log(k->d->env, IDA_LOG_DEBUG, NULL, "%s: %lld entries of users and groups were told",
            ld_server_url(k->d), (long long)r->changes);
    json_object_set_new(fresh, "asked", json_integer(ida_now(k->d->env)));
    ida_json_put(fresh, "server", ld_server_url(k->d));
    ld_drift_end(r, &of->drift, old, blind, fresh);
    /* One token without the other would make half a run of the next. */
    *tokens = has_tokens(fresh, w) ? ida_json_text(k->pool, fresh) : "{}";
    return class;
}

/* The tokens of a run that had nothing to ask. */
static const char *same_tokens(const ld_run *r, const wanted *of, const json_t *old)
{
    json_t *same = ida_json_keep(r->k->pool, json_copy((json_t *)(uintptr_t)old));
    ld_drift_end(r, &of->drift, old, 0, same);
    return ida_json_text(r->k->pool, same);
}

static directory_class run_once(ld_run *r, const wanted *w, const json_t *old, way by,
                                cache_summary *summary, int *unavailable)
{
    ld_call *k = r->k;
    const directory *d = k->d;
    const char *tokens = "{}";
    cache_guard guard = d->guard;
    guard.accept = w->asked->accept;
    *unavailable = 0;
    r->changes = r->sign_ins = 0;
    r->whole = old == NULL;
    r->drift = NULL;
    r->later = apr_array_make(k->pool, 4, sizeof(const char *));
    r->holders = apr_hash_make(k->pool);
    directory_class class = ld_stored(r, cache_sync_begin(&r->run, w->asked->cache, r->c, k->pool,
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
        cache_sync_abort(r->run, r->c, ld_stopped(k) ? NULL : k->e->message);
        return class;
    }
    /* In Active Directory nothing is missing: an account without a time has never signed in.
     * Elsewhere our own bind was a sign-in: when its time is recorded, sign-ins are. */
    int sign_ins = r->sign_ins || (old && w->kept_sign_ins) || d->dialect->active_directory ||
                   ld_own_sign_in(k) > 0;
    ida_kind kind = cache_sync_commit(r->run, r->c, tokens, w->binding, &guard, sign_ins, summary);
    return kind == IDA_CONFLICT && summary->guard_stopped ? DIRECTORY_OK : ld_stored(r, kind);
}

/* The databases report no change since their last answers. This is trusted for a limited time
 * only: they are read now and then in any case. */
static int nothing_new(ld_run *r, const wanted *w, const json_t *tokens)
{
    int64_t asked_at = json_integer_value(json_object_get(tokens, "asked"));
    int nothing = asked_at <= w->drift.now && w->drift.now - asked_at < ASK_MS &&
                  ld_unchanged(r->k, w->kinds, 2, tokens);
    *r->k->e = (directory_error){0}; /* an error here is met again by the code that needs the
                                        answer */
    return nothing;
}

/* Logged when it changes, not at each synchronisation. `before`: the earlier tokens; NULL: none
 * of this directory. */
static void tell_way(const ld_run *r, way by, const json_t *before, const char *why)
{
    const directory *d = r->k->d;
    if (by == BY_READING && (!before || has_tokens(before, BY_SYNCREPL))) {
        ida_log(d->env, IDA_LOG_WARN, "IDA0401",
                "tenant %s: %s offers no content synchronisation (overlay syncprov): the whole "
                "directory is read at each sync",
                d->tenant->id, ld_server_url(d));
    }
    if (by == BY_USN && !has_tokens(before, BY_USN)) {
        ida_log(d->env, IDA_LOG_WARN, "IDA0402",
                "tenant %s: DirSync cannot be used (%s): changes are read by uSNChanged, and "
                "deletions only every ten minutes; grant our account \"Replicating Directory "
                "Changes\" on the domain",
                d->tenant->id, why ? why : ld_server_url(d));
    }
}

static directory_class bring_up_to_date(ld_run *r, wanted *w, const cache_sync_state *state,
                                        cache_summary *summary)
{
    ld_call *k = r->k;
    const directory *d = k->d;
    const json_t *tokens = state->tokens ? ida_json_load(k->pool, state->tokens) : NULL;
    const char *identity;
    int unavailable = 0;
    prefer_server(k->d, tokens);
    directory_class class = server_identity(k, &identity);
    if (class) {
        return class;
    }
    w->binding = binding_of(k, identity, w->kinds, 2);
    w->kept_sign_ins = state->sign_ins;
    int bound = state->binding && strcmp(state->binding, w->binding) == 0;
    way by = d->dialect->sync == LD_SYNC_DIRSYNC ? BY_DIRSYNC
             : d->offers_sync != 0               ? BY_SYNCREPL
                                                 : BY_READING;
    way was = has_tokens(tokens, by) ? by : ways[by].instead;
    const json_t *before = bound && has_tokens(tokens, was) ? tokens : NULL, *old = before;
    class = ld_drift_begin(r, &w->drift, w->asked->cache, state, before, was != BY_DIRSYNC);
    if (class) {
        return class;
    }
    if (w->asked->full || state->full_at <= 0 || state->full_at <= w->drift.now - FULL_MS) {
        old = NULL;
    }
    w->unchanged = old && was == BY_SYNCREPL && !w->drift.since && nothing_new(r, w, old);
    if (!w->unchanged) {
        class = ld_drift_places(r, &w->drift, before, w->kinds, 2);
    }
    if (class) {
        return class;
    }
    if (w->drift.since && w->drift.may_read_all) {
        old = NULL;
    }
    by = old ? was : by;
    class = run_once(r, w, old, by, summary, &unavailable);
    if (class == DIRECTORY_TOKEN_LOST && old) {
        ida_log(d->env, IDA_LOG_INFO, NULL, "tenant %s: %s; everything is read again",
                d->tenant->id, k->e->message);
        old = NULL;
        class = run_once(r, w, NULL, by, summary, &unavailable);
    }
    const char *why = k->e->message;
    if (class && unavailable) {
        by = ways[by].instead;
        old = NULL;
        class = run_once(r, w, NULL, by, summary, &unavailable);
    }
    if (!class) {
        tell_way(r, by, bound ? tokens : NULL, why);
    }
    return class;
}

directory_class ld_sync(directory *d, apr_pool_t *pool, const directory_sync *asked,
                        cache_summary *summary, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    k.deadline = ida_monotonic(d->env) + LD_RUN_MS;
    k.idle_ms = LD_SILENCE_MS;
    k.alive = asked->alive;
    k.baton = asked->baton;
    *summary = (cache_summary){0};
    const ld_kind kinds[] = {
        {"user", "users", d->user_base, d->dialect->user_filter, d->user_attributes,
         ld_identities(d), user_item},
        {"group", "groups", d->group_base, d->dialect->group_filter,
         ld_group_attributes_all(d, pool), NULL, ld_group_item},
    };
    ld_run r = {.k = &k, .c = asked->c};
    wanted w = {.asked = asked, .kinds = kinds};
    cache_sync_state state = {0};
    directory_class class = ld_stored(&r, cache_sync_state_get(asked->cache, r.c, d->tenant->id,
                                                               IDA_DIR_ON_PREMISES, &state));
    return class ? class : bring_up_to_date(&r, &w, &state, summary);
}
