/* Owns when a directory session is made, used again and closed. Knows no task. */
#include "worker/run/session.h"

#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "core/governance/named.h"
#include "core/store/tenant.h"
#include "worker/hold/crash.h"

#define SESSIONS_MAX 32
#define SESSION_IDLE_MS 300000

static directory_class refuse(directory_error *e, directory_class class, const char *message)
{
    *e = (directory_error){.class = class, .message = message};
    return class;
}

static void drop(session_cache *cache, session *s)
{
    for (session **at = &cache->first; *at; at = &(*at)->next) {
        if (*at == s) {
            *at = s->next;
            cache->count--;
            break;
        }
    }
    if (s->dir) {
        s->ops->close(s->dir);
    }
    apr_pool_destroy(s->pool);
}

void run_session_close_all(session_cache *cache)
{
    while (cache->first) {
        drop(cache, cache->first);
    }
}

/* Idle ones, and the one unused for longest when there are too many. */
static void tidy(session_cache *cache)
{
    int64_t now = ida_monotonic(&cache->w->env);
    session *oldest = NULL, *next;
    for (session *s = cache->first; s; s = next) {
        next = s->next;
        if (now - s->used_at > SESSION_IDLE_MS) {
            drop(cache, s);
        } else if (!oldest || s->used_at < oldest->used_at) {
            oldest = s;
        }
    }
    if (cache->count >= SESSIONS_MAX && oldest) {
        drop(cache, oldest);
    }
}

static session *known(session_cache *cache, const char *tenant, ida_directory_kind kind)
{
    for (session *s = cache->first; s; s = s->next) {
        if (s->kind == kind && strcmp(s->tenant_id, tenant) == 0) {
            return s;
        }
    }
    return NULL;
}

static directory_class load(session_cache *cache, store *main, session *s, const char *tenant,
                            directory_error *e)
{
    ida_ctx *c = worker_ctx(cache->w, s->pool);
    s->epoch = ida_seal_epoch(c);
    ida_kind kind = store_tenant_get(main, c, tenant, &s->tenant, &s->revision);
    if (kind && c->reason) { /* not to be followed, which waits for a person */
        return refuse(e, DIRECTORY_CONFIG, c->message);
    }
    if (kind) {
        return refuse(e, DIRECTORY_LOCAL,
                      ida_printf(s->pool, "The tenant's document cannot be read: %s",
                                 c->message ? c->message : ida_kind_text(kind)));
    }
    return DIRECTORY_OK;
}

directory_class run_session_renew(session_cache *cache, session *s, directory_error *e)
{
    if (s->dir) {
        s->ops->close(s->dir);
        s->dir = NULL;
    }
    if (s->dir_pool) {
        apr_pool_destroy(s->dir_pool);
    }
    apr_pool_create(&s->dir_pool, s->pool);
    directory *opened = NULL;
    hold_crash_call_begins(cache->w, s->tenant_id, s->kind);
    directory_class class = s->ops->open(&opened, cache->env, s->tenant, s->kind, s->dir_pool, e);
    hold_crash_call_ends();
    s->dir = class == DIRECTORY_OK ? opened : NULL;
    return class;
}

static directory_class open_session(session_cache *cache, session *s, directory_error *e)
{
    s->ops = directory_ops_for(s->kind);
    if (!s->tenant->has_directory[s->kind]) {
        return refuse(e, DIRECTORY_CONFIG,
                      ida_printf(s->pool, "The tenant document has no directory %s any more.",
                                 ida_directory_name(s->kind)));
    }
    if (!s->ops) {
        return refuse(
            e, DIRECTORY_CONFIG,
            ida_printf(s->pool,
                       "This version of idadmin-worker has no connector for the directory %s.",
                       ida_directory_name(s->kind)));
    }
    return run_session_renew(cache, s, e);
}

/* A protected account is the directory's ID too: it stays protected under another name. A
 * connector reads the document's list at each change. */
static directory_class taken(session_cache *cache, store *main, apr_pool_t *pool, session *s,
                             session **out, directory_error *e)
{
    ida_ctx *c = worker_ctx(cache->w, pool);
    json_t *list = json_object_get(s->tenant->directory[s->kind], "protectedAccounts");
    const json_t *named;
    if (json_array_size(list) && governance_named(main, c, s->tenant_id, &named)) {
        return refuse(e, DIRECTORY_LOCAL, "The protected accounts cannot be read from the store.");
    }
    for (size_t i = 0, count = json_array_size(list); i < count; i++) {
        const char *id = governance_named_id(pool, named, ida_directory_name(s->kind),
                                             json_string_value(json_array_get(list, i)));
        size_t at = 0;
        while (id && at < json_array_size(list) &&
               strcmp(json_string_value(json_array_get(list, at)), id) != 0) {
            at++;
        }
        if (id && at == json_array_size(list)) {
            json_array_append_new(list, json_string(id));
        }
    }
    s->used_at = ida_monotonic(&cache->w->env);
    *out = s;
    return DIRECTORY_OK;
}

/* The document is read and parsed only when it is another one, or may not be followed any more. */
static int stands(session_cache *cache, store *main, apr_pool_t *pool, session *s)
{
    int64_t revision;
    ida_tenant *tenant;
    ida_ctx *c = worker_ctx(cache->w, pool);
    if (store_tenant_revision(main, c, s->tenant_id, &revision) || revision != s->revision) {
        return 0;
    }
    int64_t epoch = ida_seal_epoch(c);
    if (epoch != s->epoch) {
        if (store_tenant_get(main, c, s->tenant_id, &tenant, &revision) ||
            revision != s->revision) {
            return 0;
        }
        s->epoch = epoch;
    }
    return 1;
}

directory_class run_session_get(session_cache *cache, store *main, apr_pool_t *pool,
                                const char *tenant, ida_directory_kind kind, session **out,
                                directory_error *e)
{
    apr_pool_t *fresh;
    *out = NULL;
    *e = (directory_error){.class = DIRECTORY_OK};
    tidy(cache);
    session *old = known(cache, tenant, kind);
    if (old && stands(cache, main, pool, old)) {
        return taken(cache, main, pool, old, out, e);
    }
    apr_pool_create(&fresh, NULL);
    session *s = apr_pcalloc(fresh, sizeof *s);
    s->pool = fresh;
    s->kind = kind;
    snprintf(s->tenant_id, sizeof s->tenant_id, "%s", tenant);
    directory_class class = load(cache, main, s, tenant, e);
    if (class == DIRECTORY_OK) {
        if (old) {
            drop(cache, old);
        }
        class = open_session(cache, s, e);
    }
    if (class != DIRECTORY_OK) {
        e->message = apr_pstrdup(pool, e->message); /* survives the pool it was made in */
        e->field = NULL;
        e->class = class;
        apr_pool_destroy(fresh);
        return class;
    }
    s->next = cache->first;
    cache->first = s;
    cache->count++;
    return taken(cache, main, pool, s, out, e);
}
