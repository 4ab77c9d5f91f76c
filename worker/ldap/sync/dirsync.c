/* Owns incremental reading of Active Directory by DirSync: the meaning of its entries, and
 * reading what has changed. Must not know the control's encoding or the cache. */
#include "worker/ldap/sync/dirsync.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/wire/ad.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

#define AT_ONCE 50 /* changed entries read with one search */

typedef struct changed {
    const char *id;
    int placed; /* new, renamed or moved */
    int fresh;  /* reported with its object class: new since this token */
} changed;

typedef struct dirsync {
    ld_run *r;
    const ld_kind *users, *groups;
    const char *root; /* naming context */
    int full;
    int lists; /* 1: whole lists of members arrived: the server does not know incremental values */
    apr_pool_t *pool, *item_pool; /* item_pool: cleared after every entry */
    apr_hash_t *known;            /* of an increment: ID -> changed */
    apr_hash_t *added; /* of an increment: "group member" (IDs) -> DN key of the added member */
    apr_array_header_t *order;
} dirsync;

static int in_scope(apr_pool_t *pool, const ld_kind *kind, const char *dn)
{
    const char *key = ld_dn_key(pool, dn);
    return key && ld_dn_key_below(key, ld_dn_key(pool, kind->base));
}

static const ld_kind *kind_of(const dirsync *f, const ld_entry *entry)
{
    return ld_holds(entry, "objectClass", "group") ? f->groups
           : ld_holds(entry, "objectClass", "user") && !ld_holds(entry, "objectClass", "computer")
               ? f->users
               : NULL;
}

/* --- members --- */

/* DirSync reports added members as "range=1-1" and removed members as "range=0-0". */
static int went(const ld_attribute *a)
{
    return a->option && strcasecmp(a->option, "range=0-0") == 0;
}

static int came(const ld_attribute *a)
{
    return a->option && strcasecmp(a->option, "range=1-1") == 0;
}

static directory_class member_slice(dirsync *f, const char *id, const ld_attribute *a)
{
    ld_run *r = f->r;
    cache_member *members = apr_pcalloc(f->item_pool, (apr_size_t)(a->count + 1) * sizeof *members);
    int count = 0;
    for (int i = 0; i < a->count; i++) {
        const char *member,
            *key = ld_dn_key(f->item_pool,
                             ld_extended_dn(f->item_pool, a->values[i].bv_val, &member));
        if (key) {
            members[count++].dn_key = key;
        }
    }
    return ld_stored(r, cache_sync_slice(r->run, r->c, id, members, count));
}

static directory_class tell(dirsync *f, const changed *c, const cache_member *member, int removed)
{
    return ld_stored(f->r, cache_sync_member(f->r->run, f->r->c, c->id, member, removed));
}

/* A removed member is reported by the DN it had then, which may belong to another entry now. So
 * its ID decides, whatever its kind. */
static directory_class member_went(dirsync *f, changed *c, const char *id)
{
    static const char *const kinds[] = {"user", "group"};
    const char *key = apr_hash_get(f->added, apr_pstrcat(f->item_pool, c->id, " ", id, NULL),
                                   APR_HASH_KEY_STRING);
    directory_class class = key ? tell(f, c, &(cache_member){.dn_key = key}, 1) : DIRECTORY_OK;
    for (int i = 0; !class && i < 2; i++) {
        class = tell(f, c, &(cache_member){.id = id, .kind = kinds[i]}, 1);
    }
    return class;
}

static directory_class member_changes(dirsync *f, changed *c, const ld_attribute *a)
{
    ld_run *r = f->r;
    directory_class class = DIRECTORY_OK;
    for (int i = 0; !class && i < a->count; i++) {
        const char *id, *dn = ld_extended_dn(f->item_pool, a->values[i].bv_val, &id);
        const char *key = ld_dn_key(f->item_pool, dn);
        if (!id) {
            class = ld_fail(r->k, DIRECTORY_CONFIG, NULL,
                            "%s: DirSync names members without their objectGUID",
                            ld_server_url(r->k->d));
        } else if (went(a)) {
            class = member_went(f, c, id);
        } else if (key) {
            apr_hash_set(f->added, apr_pstrcat(f->pool, c->id, " ", id, NULL), APR_HASH_KEY_STRING,
                         apr_pstrdup(f->pool, key));
            class = tell(f, c, &(cache_member){.dn_key = key}, 0);
        }
    }
    return class;
}

/* --- entries --- */

/* The entry without removed values: a manager is a linked value like a member, so former
 * managers are reported too. */
static const ld_entry *as_it_is(apr_pool_t *pool, const ld_entry *entry)
{
    ld_attribute *attributes = apr_palloc(pool,
                                          (apr_size_t)(entry->count + 1) * sizeof *attributes);
    ld_entry *now = apr_pmemdup(pool, entry, sizeof *entry);
    now->attributes = attributes;
    now->count = 0;
    for (int i = 0; i < entry->count; i++) {
        if (!went(&entry->attributes[i])) {
            attributes[now->count++] = entry->attributes[i];
        }
    }
    return now;
}

/* A first pass reports everything. */
static directory_class whole(dirsync *f, const ld_entry *told)
{
    ld_run *r = f->r;
    const ld_entry *entry = as_it_is(f->item_pool, told);
    const ld_kind *kind = kind_of(f, entry);
    cache_group group;
    if (!kind || !in_scope(f->item_pool, kind, entry->dn)) {
        return DIRECTORY_OK;
    }
    r->changes++;
    if (kind == f->users) {
        return kind->item(r, f->item_pool, entry);
    }
    directory_class class = ld_group_entry(r, f->item_pool, entry, &group);
    class = class ? class : ld_stored(r, cache_sync_group(r->run, r->c, &group, NULL, 0));
    for (int i = 0; !class && i < entry->count; i++) {
        const ld_attribute *a = &entry->attributes[i];
        if (strcasecmp(a->name, r->k->d->dialect->member) == 0 && a->count) {
            class = member_slice(f, group.id, a);
        }
    }
    return class;
}

static directory_class part(dirsync *f, const char *id, const ld_entry *entry)
{
    ld_run *r = f->r;
    directory_class class = DIRECTORY_OK;
    changed *c = apr_hash_get(f->known, id, APR_HASH_KEY_STRING);
    if (!c) {
        c = apr_pcalloc(f->pool, sizeof *c);
        c->id = apr_pstrdup(f->pool, id);
        apr_hash_set(f->known, c->id, APR_HASH_KEY_STRING, c);
        APR_ARRAY_PUSH(f->order, changed *) = c;
    }
    c->placed = c->placed || ld_told(entry, "name") || ld_told(entry, "parentGUID");
    c->fresh = c->fresh || ld_told(entry, "objectClass");
    for (int i = 0; !class && i < entry->count; i++) {
        const ld_attribute *a = &entry->attributes[i];
        if (strcasecmp(a->name, r->k->d->dialect->member) == 0 && a->count) {
            f->lists = f->lists || (!came(a) && !went(a));
            class = member_changes(f, c, a);
        }
    }
    return class;
}

static directory_class gone(ld_run *r, const char *id)
{
    directory_class class = ld_stored(r, cache_sync_delete(r->run, r->c, "user", id));
    r->changes++;
    return class ? class : ld_stored(r, cache_sync_delete(r->run, r->c, "group", id));
}

static directory_class take(ld_call *k, int type, LDAPMessage *message, void *baton)
{
    dirsync *f = baton;
    ld_run *r = f->r;
    directory_class class = DIRECTORY_OK;
    if (type != LDAP_RES_SEARCH_ENTRY) {
        return class;
    }
    const ld_entry *entry = ld_entry_read(k->d->ld, message, f->item_pool);
    const char *id = entry ? ld_id_text(k->d->dialect, f->item_pool, entry) : NULL;
    if (!id) {
        class = ld_fail(k, DIRECTORY_LOCAL, NULL, "%s: an entry of DirSync without its objectGUID",
                        ld_server_url(k->d));
    } else if (ld_holds(entry, "isDeleted", "TRUE")) {
        class = f->full ? DIRECTORY_OK : gone(r, id);
    } else {
        class = f->full ? whole(f, entry) : part(f, id, entry);
    }
    apr_pool_clear(f->item_pool);
    return class;
}

/* --- what has changed, as it is now --- */

static directory_class look_at(const ld_entry *entry, apr_pool_t *pool, void *baton)
{
    dirsync *f = baton;
    ld_run *r = f->r;
    const char *id = ld_id_text(r->k->d->dialect, pool, entry);
    changed *c = id ? apr_hash_get(f->known, id, APR_HASH_KEY_STRING) : NULL;
    const ld_kind *kind = kind_of(f, entry);
    cache_group group;
    directory_class class = DIRECTORY_OK;
    if (!c) {
        return DIRECTORY_OK;
    }
    int here = kind && in_scope(pool, kind, entry->dn),
        container = !kind && !ld_holds(entry, "objectClass", "user");
    /* DirSync reports neither links to this entry nor the members that a moved group had before,
     * and the last run may have read them before the move. */
    if (c->placed && !c->fresh && (here || container)) {
        r->drift = apr_pstrcat(r->k->pool, entry->dn, " was renamed, moved or restored",
                               container ? ", with everything in it" : "", NULL);
    }
    if (here) {
        r->changes++;
        if (kind == f->users) {
            class = kind->item(r, pool, entry);
        } else {
            class = ld_group_entry(r, pool, entry, &group);
            class = class ? class : ld_stored(r, cache_sync_group(r->run, r->c, &group, NULL, 0));
        }
        apr_hash_set(f->known, c->id, APR_HASH_KEY_STRING, NULL);
    }
    return class;
}

/* What is not found, or not in scope any more, is gone. */
static directory_class look_at_changes(dirsync *f, const char *const *attributes)
{
    ld_run *r = f->r;
    ld_call *k = r->k;
    directory_class class = DIRECTORY_OK;
    for (int from = 0; !class && from < f->order->nelts; from += AT_ONCE) {
        char *ids = "";
        for (int i = from; i < f->order->nelts && i < from + AT_ONCE; i++) {
            ids = apr_pstrcat(f->pool, ids,
                              ld_id_filter(k->d->dialect, f->pool,
                                           APR_ARRAY_IDX(f->order, i, changed *)->id),
                              NULL);
        }
        const ld_query query = {.base = f->root,
                                .scope = LDAP_SCOPE_SUBTREE,
                                .filter = apr_pstrcat(f->pool, "(|", ids, ")", NULL),
                                .attributes = attributes,
                                .controls = ld_identities(k->d),
                                .phase = LD_BASE,
                                .doing = "read what has changed"};
        class = ld_paged(k, &query, look_at, f);
    }
    for (int i = 0; !class && i < f->order->nelts; i++) {
        const char *id = APR_ARRAY_IDX(f->order, i, changed *)->id;
        if (apr_hash_get(f->known, id, APR_HASH_KEY_STRING)) {
            class = gone(r, id);
        }
    }
    return class;
}

/* --- a run --- */

/* The first one is the members: a read of single entries omits it, because it must not fetch all
 * members of a group. */
static const char *const *all_attributes(const dirsync *f)
{
    static const char *const more[] = {"name", "parentGUID", "isDeleted", "objectClass", NULL};
    const directory *d = f->r->k->d;
    const char *const *const lists[] = {d->user_attributes, d->group_attributes, more};
    apr_array_header_t *names = apr_array_make(f->pool, 40, sizeof(const char *));
    ld_add_name(names, d->dialect->member);
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        for (const char *const *name = lists[l]; *name; name++) {
            ld_add_name(names, *name);
        }
    }
    APR_ARRAY_PUSH(names, const char *) = NULL;
    return (const char *const *)names->elts;
}

/* What a refused request means: no right, no such control, or a token that this server does not
 * take. */
static directory_class refused(ld_call *k, const ld_answer *answer, int token, int *unavailable)
{
    directory_class class = ld_fail_code(k, answer->code, LD_BASE, answer->text, "DirSync");
    int control = answer->code == LDAP_UNAVAILABLE_CRITICAL_EXTENSION ||
                  answer->code == LDAP_UNWILLING_TO_PERFORM || answer->code == LDAP_PROTOCOL_ERROR;
    if (control && token) {
        return k->e->class = DIRECTORY_TOKEN_LOST;
    }
    *unavailable = control || answer->code == LDAP_INSUFFICIENT_ACCESS;
    return class;
}

directory_class ld_dirsync(ld_run *r, const ld_kind *kinds, const json_t *old, json_t *tokens,
                           int *blind, int *unavailable)
{
    ld_call *k = r->k;
    const char *token = old ? ida_json_string(old, "dirsync") : NULL;
    int shown = 0;
    dirsync f = {.r = r, .users = &kinds[0], .groups = &kinds[1], .full = token == NULL};
    struct berval cookie = {0};
    directory_class class = DIRECTORY_OK;
    *unavailable = 0;
    apr_pool_create(&f.pool, k->pool);
    apr_pool_create(&f.item_pool, f.pool);
    f.known = apr_hash_make(f.pool);
    f.added = apr_hash_make(f.pool);
    f.order = apr_array_make(f.pool, 64, sizeof(changed *));
    const char *const *attributes = all_attributes(&f);
    if (token && !ld_dirsync_cookie(f.pool, token, &cookie)) {
        return ld_fail(k, DIRECTORY_TOKEN_LOST, NULL, "the stored sync token is damaged");
    }
    class = ld_ready(k);
    const int64_t connection = k->d->connections;
    for (int more = 1; !class && more;) {
        ld_answer answer = {0};
        class = ld_dirsync_ask(k, &cookie, ld_dirsync_kinds, attributes, take, &f, &answer,
                               &f.root);
        more = 0;
        if (!class && answer.code != LDAP_SUCCESS) {
            class = refused(k, &answer, token != NULL, unavailable);
        } else if (!class && k->d->connections != connection) {
            /* Parts of an answer belong to one server. */
            class = ld_fail(k, DIRECTORY_TRANSIENT, NULL,
                            "%s: the connection was lost during DirSync", ld_server_url(k->d));
        } else if (!class && !ld_dirsync_answer(f.pool, &answer, &more, &cookie)) {
            class = ld_fail(k, DIRECTORY_CONFIG, NULL,
                            "%s: the server ended DirSync without a token", ld_server_url(k->d));
        }
        if (!class && f.lists) {
            *unavailable = 1;
            class = ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: DirSync tells no single members",
                            ld_server_url(k->d));
        }
        if (!class && ld_stopped(k)) {
            class = ld_fail(k, DIRECTORY_LOCAL, NULL, "%s: sync stopped", ld_server_url(k->d));
        }
    }
    for (int i = 0; !class && f.full && i < 2; i++) {
        class = ld_stored(r, cache_sync_complete(r->run, r->c, kinds[i].name));
    }
    class = class || f.full ? class : look_at_changes(&f, attributes + 1);
    class = class ? class : ld_dirsync_deletions(k, f.root, &shown);
    *blind = !shown;
    ida_json_put(tokens, "dirsync",
                 class ? NULL
                       : ida_base64_encode(k->pool, (const unsigned char *)cookie.bv_val,
                                           cookie.bv_len));
    apr_pool_destroy(f.pool);
    return class;
}
