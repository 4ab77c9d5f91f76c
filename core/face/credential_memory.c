/* Owns the cache of API users and tenants. Must not know a server.
 *
 * Only the holder of the key benefits from the cache: another key, or another user, costs exactly
 * one statement each time, so that the time of a refusal does not reveal whether the user exists.
 *
 * One table under a mutex that is never held during a call to the store. Entries and tenants
 * have reference counts: the table holds one reference, each caller one. An entry that is about
 * to expire is loaded again by one thread while the others use the old one. */
#include "core/face/credential_memory.h"

#include <apr_allocator.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/count.h"
#include "core/base/network.h"
#include "core/cache/freshness.h"
#include "core/store/key.h"
#include "core/store/tenant.h"
#include "core/tenant/credentials.h"

#define BUCKETS 1024
#define RENEW_MS 1500 /* from this age on one thread loads again */
/* how long "synced" stays valid (core/operation/pipeline.c says for what); "not synced" is never
 * cached */
#define SYNCED_AGE_MS 5000

/* A parsed tenant in its own pool (unmanaged: it is destroyed with the last reference, on any
 * thread). */
typedef struct held_tenant {
    atomic_int references;
    apr_pool_t *pool;
    ida_tenant *tenant;
    int64_t revision, epoch;
} held_tenant;

typedef struct entry {
    ida_caller caller; /* first member: ida_caller_release gets the entry by a pointer to it */
    atomic_int references;
    held_tenant *tenant;
    int64_t revision, loaded_at, synced_at;
    int renewing; /* under the mutex */
    struct entry *next;
    const char *company, *username;
    char text[]; /* every string of the entry */
} entry;

struct ida_callers {
    pthread_mutex_t lock;
    entry *bucket[BUCKETS];
    size_t known, max_known;
    int64_t age_ms;
};

static void tenant_release(held_tenant *t)
{
    if (t && atomic_fetch_sub(&t->references, 1) == 1) {
        apr_pool_destroy(t->pool); /* the struct lies in it */
    }
}

static void entry_release(entry *e)
{
    if (atomic_fetch_sub(&e->references, 1) == 1) {
        tenant_release(e->tenant);
        free(e);
    }
}

void ida_caller_release(const ida_caller *caller)
{
    entry_release((entry *)((char *)caller - offsetof(entry, caller)));
}

static apr_status_t destroy(void *baton)
{
    ida_callers *all = baton;
    for (int b = 0; b < BUCKETS; b++) {
        for (entry *e = all->bucket[b], *next; e; e = next) {
            next = e->next;
            entry_release(e);
        }
    }
    pthread_mutex_destroy(&all->lock);
    return APR_SUCCESS;
}

ida_callers *ida_callers_make(apr_pool_t *pool, unsigned max, int64_t age_ms)
{
    ida_callers *all = apr_pcalloc(pool, sizeof *all);
    all->max_known = max;
    all->age_ms = age_ms;
    pthread_mutex_init(&all->lock, NULL);
    apr_pool_cleanup_register(pool, all, destroy, apr_pool_cleanup_null);
    return all;
}

static unsigned hash(const char *company, const char *username)
{
    unsigned h = 2166136261u; /* FNV-1a: lengths are bounded and tables too, so collisions cost a
                                 few comparisons at worst */
    for (const char *p = company; *p; p++) {
        h = (h ^ (unsigned char)*p) * 16777619u;
    }
    h = (h ^ ':') * 16777619u;
    for (const char *p = username; *p; p++) {
        h = (h ^ (unsigned char)*p) * 16777619u;
    }
    return h ^ h >> 15;
}

static entry **find(ida_callers *all, unsigned h, const char *company, const char *username)
{
    entry **at = &all->bucket[h % BUCKETS];
    while (*at &&
           (strcmp((*at)->username, username) != 0 || strcmp((*at)->company, company) != 0)) {
        at = &(*at)->next;
    }
    return at;
}

static void unlink_entry(ida_callers *all, entry **at)
{
    entry *e = *at;
    *at = e->next;
    ida_count_lower(&all->known, 1);
    entry_release(e);
}

/* Makes room for one entry by removing the oldest. Scans all entries, but only if the table is
 * full. */
static void evict_oldest(ida_callers *all)
{
    entry **oldest = NULL;
    for (int b = 0; b < BUCKETS; b++) {
        for (entry **at = &all->bucket[b]; *at; at = &(*at)->next) {
            if (!oldest || (*at)->loaded_at < (*oldest)->loaded_at) {
                oldest = at;
            }
        }
    }
    if (oldest) {
        unlink_entry(all, oldest);
    }
}

/* Replaces an older state; the table gets its own reference. */
static void keep(ida_callers *all, unsigned h, entry *e)
{
    pthread_mutex_lock(&all->lock);
    entry **at = find(all, h, e->company, e->username);
    if (*at && (*at)->loaded_at > e->loaded_at) { /* a newer state was stored meanwhile */
        pthread_mutex_unlock(&all->lock);
        return;
    }
    if (*at) {
        unlink_entry(all, at);
    }
    if (all->known >= all->max_known) {
        evict_oldest(all);
    }
    entry **head = &all->bucket[h % BUCKETS];
    atomic_fetch_add(&e->references, 1);
    e->next = *head;
    *head = e;
    all->known++;
    pthread_mutex_unlock(&all->lock);
}

/* --- loading --- */

typedef struct asked {
    const char *company, *username, *key_hash;
} asked;

static ida_kind load_tenant(store *s, ida_ctx *c, const char *company, held_tenant **out)
{
    apr_allocator_t *allocator;
    apr_pool_t *pool;
    apr_allocator_create(&allocator);
    apr_pool_create_unmanaged_ex(&pool, NULL, allocator);
    apr_allocator_owner_set(allocator, pool);
    held_tenant *held = apr_pcalloc(pool, sizeof *held);
    ida_ctx *inner = ida_ctx_make(c->env, pool);
    held->epoch = ida_seal_epoch(inner);
    ida_kind kind = store_tenant_get(s, inner, company, &held->tenant, &held->revision);
    if (kind) {
        c->retry_after = inner->retry_after;
        ida_fail(c, kind, "%s", inner->message ? inner->message : ida_kind_text(kind));
        apr_pool_destroy(pool);
        return kind;
    }
    held->pool = pool;
    atomic_init(&held->references, 1);
    *out = held;
    return IDA_OK;
}

static const char *put_text(char **to, const char *text)
{
    if (!text) {
        return NULL;
    }
    size_t len = strlen(text) + 1;
    char *at = memcpy(*to, text, len);
    *to += len;
    return at;
}

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static entry *make_entry(const store_key *key, const char *company, const char *username)
{
    const char *label = key->key_hash && key->principal.label ? key->principal.label : "",
               *from = key->principal.from;
    entry *e = calloc(1, sizeof *e + text_size(company) + text_size(username) + text_size(label) +
                             text_size(from) + text_size(key->key_hash));
    if (!e) {
        abort(); /* no memory for a few hundred bytes: abort, as APR does */
    }
    char *to = e->text;
    atomic_init(&e->references, 1);
    e->company = put_text(&to, company);
    e->username = put_text(&to, username);
    e->caller.company_known = key->company_known;
    e->caller.key_hash = put_text(&to, key->key_hash);
    e->caller.principal = key->principal;
    e->caller.principal.company = e->company;
    e->caller.principal.username = e->username;
    e->caller.principal.label = put_text(&to, label);
    e->caller.principal.from = put_text(&to, from);
    e->caller.disabled = key->disabled;
    e->revision = key->tenant_revision;
    return e;
}

/* The key's tenant, after the key was checked. `old` (may be NULL) is the previous state: its
 * tenant is used again if the revision is the same. */
static ida_kind load_rest(store *s, ida_ctx *c, const entry *old, entry *e)
{
    ida_kind kind = IDA_OK;
    int same = old && old->tenant && old->tenant->revision == e->revision &&
               old->tenant->epoch == ida_seal_epoch(c);
    if (same) {
        e->tenant = old->tenant;
        atomic_fetch_add(&e->tenant->references, 1);
    } else {
        kind = load_tenant(s, c, e->company, &e->tenant);
    }
    if (!kind && same && old->caller.synced && e->loaded_at - old->synced_at < SYNCED_AGE_MS) {
        e->caller.synced = 1;
        e->synced_at = old->synced_at;
    } else if (!kind) {
        kind = cache_is_synced(s, c, e->tenant->tenant, &e->caller.synced);
        e->synced_at = e->loaded_at;
    }
    e->caller.tenant = kind ? NULL : e->tenant->tenant;
    return kind;
}

static ida_kind load(store *s, ida_ctx *c, const asked *a, const entry *old, entry **out)
{
    store_key key;
    int64_t now = ida_monotonic(c->env);
    ida_kind kind = store_key_find(s, c, a->company, a->username, &key);
    if (kind) {
        return kind;
    }
    entry *e = make_entry(&key, a->company, a->username);
    e->loaded_at = now;
    if (ida_key_hash_equal(a->key_hash, e->caller.key_hash)) {
        kind = load_rest(s, c, old, e);
    }
    if (kind) {
        entry_release(e);
        return kind;
    }
    *out = e;
    return IDA_OK;
}

/* The stored state of the user with this key, with a new reference: either fresh enough to
 * answer with, or to be loaded again by this thread. */
static entry *remembered(ida_callers *all, unsigned h, const asked *a, int64_t now, int *good)
{
    *good = 0;
    pthread_mutex_lock(&all->lock);
    entry *old = *find(all, h, a->company, a->username);
    if (!ida_key_hash_equal(a->key_hash, old ? old->caller.key_hash : NULL)) {
        old = NULL;
    } else {
        int64_t age = now - old->loaded_at;
        int renew = age >= RENEW_MS && !old->renewing;
        atomic_fetch_add(&old->references, 1);
        *good = age < all->age_ms && !renew;
        old->renewing |= !*good;
    }
    pthread_mutex_unlock(&all->lock);
    return old;
}

ida_kind ida_caller_get(ida_callers *all, ida_ctx *c, store_source *source, const char *company,
                        const char *username, const char *key_hash, const ida_caller **out)
{
    const asked a = {company, username, key_hash};
    unsigned h = hash(company, username);
    int good;
    entry *old = remembered(all, h, &a, ida_monotonic(c->env), &good), *fresh = NULL;
    if (good) {
        *out = &old->caller;
        return IDA_OK;
    }
    store *s;
    ida_kind kind = source->acquire(source, c, company, &s);
    if (!kind) {
        kind = load(s, c, &a, old, &fresh);
        source->release(source, s);
    }
    if (!kind) {
        if (fresh->tenant) {
            keep(all, h, fresh);
        }
        *out = &fresh->caller;
        /* still fresh enough; the next caller tries again */
    } else if (old && ida_monotonic(c->env) - old->loaded_at < all->age_ms) {
        ida_ctx_clear(c);
        pthread_mutex_lock(&all->lock);
        old->renewing = 0;
        pthread_mutex_unlock(&all->lock);
        *out = &old->caller;
        return IDA_OK;
    }
    if (old) {
        entry_release(old);
    }
    return kind;
}

const char *ida_caller_fault(const ida_caller *caller, const char *hash, const char *address,
                             int64_t now)
{
    int same = caller && ida_key_hash_equal(hash, caller->key_hash);
    return !caller || !caller->key_hash                                          ? "no such user"
           : !same                                                               ? "wrong key"
           : caller->disabled                                                    ? "user disabled"
           : caller->principal.expires_at && now >= caller->principal.expires_at ? "key expired"
           : !ida_networks_hold(caller->principal.from, address)
               ? "address not allowed for this key"
               : NULL;
}
