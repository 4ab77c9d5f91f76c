/* Owns a sync run of an LDAP directory: what tokens hold for, the two streams, dynamic groups, the fall-back without tokens. Must
 * not know how the cache is kept. */
#include "worker/ldap_sync.h"

#include <apr_strings.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "worker/ldap_escape.h"
#include "worker/ldap_ops.h"

#define RUN_MS (60 * 60 * 1000) /* longest run */
#define SILENCE_MS 60000        /* of the server inside one answer */

directory_class ld_stored(ld_run *r, ida_kind kind)
{
    return kind == IDA_OK ? DIRECTORY_OK
                          : ld_fail(r->k, DIRECTORY_LOCAL, NULL, "the cache refuses: %s",
                                    r->c->message ? r->c->message : ida_kind_text(kind));
}

static directory_class user_item(ld_run *r, const ld_entry *entry)
{
    directory_user user;
    if (!ld_user_read(r->k->d, r->item_pool, entry, &user)) {
        return ld_fail(r->k, DIRECTORY_CONFIG, NULL, "%s: %s shows no %s: our account may not read it", ld_server_url(r->k->d),
                       entry->dn, r->k->d->dialect->id);
    }
    r->sign_ins = r->sign_ins || user.cache.last_success_at > 0;
    return ld_stored(r, sync_run_user(r->run, r->c, &user.cache));
}

/* Its members as the server shows them, without the stand-ins for "nobody". */
static directory_class store_group(ld_run *r, const sync_group *group, const ld_entry *entry)
{
    const directory *d = r->k->d;
    const ld_attribute *a = ld_get(entry, d->dialect->member);
    sync_member *members = apr_pcalloc(r->item_pool, (apr_size_t)((a ? a->count : 0) + 1) * sizeof *members);
    int count = 0;
    for (int i = 0; a && i < a->count; i++) {
        const char *key = ld_dn_key(r->item_pool, a->values[i].bv_val);
        if (key && !ld_is_placeholder(d, key, group->dn_key)) {
            members[count++].dn_key = key;
        }
    }
    return ld_stored(r, sync_run_group(r->run, r->c, group, members, count));
}

static directory_class read_group(ld_run *r, const ld_entry *entry, sync_group *group)
{
    return ld_group_read(r->k->d, r->item_pool, entry, group)
               ? DIRECTORY_OK
               : ld_fail(r->k, DIRECTORY_CONFIG, NULL, "%s: %s shows no %s: our account may not read it", ld_server_url(r->k->d),
                         entry->dn, r->k->d->dialect->id);
}

static directory_class group_item(ld_run *r, const ld_entry *entry)
{
    sync_group group;
    directory_class class = read_group(r, entry, &group);
    if (class) {
        return class;
    }
    /* Members by rule change without the group's entry: all dynamic groups are read after the streams. */
    return strcmp(group.kind, "dynamic") == 0 ? ld_stored(r, sync_run_present(r->run, r->c, "group", group.id))
                                              : store_group(r, &group, entry);
}

static directory_class dynamic_group(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    ld_run *r = baton;
    sync_group group;
    (void)k, (void)entry_pool;
    directory_class class = read_group(r, entry, &group);
    class = class ? class : store_group(r, &group, entry);
    apr_pool_clear(r->item_pool);
    return class;
}

/* --- what tokens hold for --- */

static const char *const *with_member(directory *d, apr_pool_t *pool)
{
    int count = 0;
    while (d->group_attributes[count]) {
        count++;
    }
    const char **out = apr_pcalloc(pool, (apr_size_t)(count + 2) * sizeof *out);
    memcpy(out, d->group_attributes, (size_t)count * sizeof *out);
    out[count] = d->dialect->member;
    return out;
}

/* Address and entryUUID of the base: another server, or a database loaded anew, is another identity. */
static directory_class server_identity(ld_call *k, const char **identity)
{
    const char *const attributes[] = {k->d->dialect->id, NULL};
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
    const char *id = !class && count ? ld_text(k->pool, rows[0], attributes[0]) : NULL;
    if (!class && !id) {
        class = ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: our account may not read %s of userBase %s", ld_server_url(k->d),
                        attributes[0], k->d->user_base);
    }
    *identity = class ? NULL : apr_pstrcat(k->pool, ld_server_url(k->d), " ", id, NULL);
    return class;
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

typedef struct paged_baton {
    ld_run *r;
    const ld_kind *kind;
} paged_baton;

static directory_class paged_item(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    paged_baton *p = baton;
    (void)k, (void)entry_pool;
    p->r->changes++;
    directory_class class = p->kind->item(p->r, entry);
    apr_pool_clear(p->r->item_pool);
    return class;
}

static directory_class read_all(ld_run *r, const ld_kind *kind)
{
    paged_baton p = {r, kind};
    const ld_query query = {.base = kind->base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = kind->filter,
                            .attributes = kind->attributes,
                            .phase = LD_BASE,
                            .doing = apr_pstrcat(r->k->pool, "read all ", kind->token, NULL)};
    directory_class class = ld_paged(r->k, &query, paged_item, &p);
    return class ? class : ld_stored(r, sync_run_complete(r->run, r->c, kind->name));
}

static directory_class read_dynamic(ld_run *r, const ld_kind *groups)
{
    const ld_query query = {.base = groups->base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = r->k->d->dialect->dynamic_filter,
                            .attributes = groups->attributes,
                            .phase = LD_BASE,
                            .doing = "read dynamic groups"};
    return ld_paged(r->k, &query, dynamic_group, r);
}

/* Our own bind was a sign-in: when its time is recorded, sign-ins are. */
static int own_sign_in(ld_call *k)
{
    const directory *d = k->d;
    const ld_entry **rows;
    int count;
    if (d->bind != LD_BIND_SIMPLE) {
        return 0;
    }
    const ld_query query = {.base = d->bind_dn,
                            .scope = LDAP_SCOPE_BASE,
                            .filter = "(objectClass=*)",
                            .attributes = d->dialect->sign_ins,
                            .limit = 1,
                            .phase = LD_READ,
                            .doing = "read our own account"};
    return ld_search(k, &query, &rows, &count) == DIRECTORY_OK && count && rows[0]->count > 0;
}

/* The streams into staging. *tokens: JSON for the next run, "{}" when there can be none. `old` NULL: everything. */
static directory_class streams(ld_run *r, const ld_kind *kinds, int count, const json_t *old, int syncrepl, const char **tokens,
                               int *unavailable)
{
    json_t *fresh = ida_json_keep(r->k->pool, json_object());
    directory_class class = DIRECTORY_OK;
    int whole = 1;
    for (int i = 0; !class && i < count; i++) {
        const char *next = NULL;
        class = syncrepl ? ld_syncrepl(r, &kinds[i], old ? ida_json_string(old, kinds[i].token) : NULL, &next, unavailable)
                         : read_all(r, &kinds[i]);
        ida_json_put(fresh, kinds[i].token, next);
        whole = whole && next;
    }
    if (!class && (r->changes > 0 || !old)) {
        class = read_dynamic(r, &kinds[1]);
    }
    /* One token without the other would make half a run of the next. */
    *tokens = whole ? ida_json_text(r->k->pool, fresh) : "{}";
    return class;
}

typedef struct wanted {
    store *cache;
    const ld_kind *kinds;
    int kind_count, accept, kept_sign_ins;
    const char *binding;
} wanted;

static directory_class run_once(ld_run *r, const wanted *w, const json_t *old, int syncrepl, sync_summary *summary,
                                int *unavailable)
{
    ld_call *k = r->k;
    const directory *d = k->d;
    const char *tokens = "{}";
    sync_guard guard = d->guard;
    guard.accept = w->accept;
    *unavailable = 0;
    r->changes = 0;
    r->sign_ins = 0;
    directory_class class =
        ld_stored(r, sync_run_begin(&r->run, w->cache, r->c, k->pool, d->tenant->id, IDA_DIR_ON_PREMISES, old == NULL));
    if (class) {
        return class;
    }
    class = streams(r, w->kinds, w->kind_count, old, syncrepl, &tokens, unavailable);
    if (class) {
        sync_run_abort(r->run, r->c, k->e->message);
        return class;
    }
    int sign_ins = r->sign_ins || (old && w->kept_sign_ins) || own_sign_in(k);
    ida_kind kind = sync_run_commit(r->run, r->c, tokens, w->binding, &guard, sign_ins, summary);
    return kind == IDA_CONFLICT && summary->guard_stopped ? DIRECTORY_OK : ld_stored(r, kind);
}

directory_class ld_sync(directory *d, apr_pool_t *pool, store *cache, ida_ctx *c, int full, int accept, int (*alive)(void *),
                        void *baton, sync_summary *summary, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    k.deadline = ida_monotonic(d->env) + RUN_MS;
    k.idle_ms = SILENCE_MS;
    k.alive = alive;
    k.baton = baton;
    *summary = (sync_summary){0};
    const ld_kind kinds[] = {
        {"user", "users", d->user_base, d->dialect->user_filter, d->user_attributes, user_item},
        {"group", "groups", d->group_base, d->dialect->group_filter, with_member(d, pool), group_item},
    };
    ld_run r = {.k = &k, .c = c};
    wanted w = {.cache = cache, .kinds = kinds, .kind_count = 2, .accept = accept};
    const char *identity;
    store_sync_state state = {0};
    apr_pool_create(&r.item_pool, pool);
    directory_class class = server_identity(&k, &identity);
    class = class ? class : ld_stored(&r, store_sync_state_get(cache, c, d->tenant->id, IDA_DIR_ON_PREMISES, &state));
    if (class) {
        return class;
    }
    w.binding = binding_of(&k, identity, kinds, 2);
    w.kept_sign_ins = state.sign_ins;
    const json_t *tokens = state.tokens ? ida_json_load(pool, state.tokens) : NULL;
    int unavailable = 0, usable = !full && state.full_at > 0 && state.binding && strcmp(state.binding, w.binding) == 0
                               && ida_json_string(tokens, kinds[0].token) && ida_json_string(tokens, kinds[1].token);
    int syncrepl = d->dialect->sync == LD_SYNC_SYNCREPL && d->offers_sync != 0;
    class = run_once(&r, &w, usable ? tokens : NULL, syncrepl, summary, &unavailable);
    if (class == DIRECTORY_TOKEN_LOST && usable) {
        ida_log(d->env, IDA_LOG_INFO, NULL, "tenant %s: %s; everything is read again", d->tenant->id, e->message);
        class = run_once(&r, &w, NULL, syncrepl, summary, &unavailable);
    }
    if (class && unavailable && syncrepl) {
        class = run_once(&r, &w, NULL, 0, summary, &unavailable);
        syncrepl = 0;
    }
    /* Said when it is news, not at each of the syncs that follow. */
    if (!class && !syncrepl && !(state.binding && strcmp(state.binding, w.binding) == 0)) {
        ida_log(d->env, IDA_LOG_WARN, "IDA0401",
                "tenant %s: %s offers no content synchronisation (overlay syncprov): the whole directory is read at each sync",
                d->tenant->id, ld_server_url(d));
    }
    apr_pool_destroy(r.item_pool);
    return class;
}
