/* Owns reading of Active Directory by its change counter, for accounts that may not use DirSync:
 * what has changed on one server since a number; and, where deletions do not show, the look now and
 * then at what is still there. Must not know how the cache is kept. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/ldap/sync.h"

#define SCAN_MS (10 * 60 * 1000) /* between two looks for deletions */

typedef struct reading {
    ld_run *r;
    const ld_kind *kind;
} reading;

static directory_class changed(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool,
                               void *baton)
{
    const reading *g = baton;
    (void)k, (void)entry_pool;
    g->r->changes++;
    directory_class class = g->kind->item(g->r, entry);
    apr_pool_clear(g->r->item_pool);
    return class;
}

static directory_class present(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool,
                               void *baton)
{
    const reading *g = baton;
    const char *id = ld_id_text(k->d->dialect, entry_pool, entry);
    return id ? ld_stored(g->r, cache_sync_present(g->r->run, g->r->c, g->kind->name, id))
              : ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: %s shows no objectGUID",
                        ld_server_url(k->d), entry->dn);
}

static directory_class container_moved(ld_call *k, const ld_entry *entry, apr_pool_t *entry_pool,
                                       void *baton)
{
    (void)entry_pool, (void)baton;
    return ld_fail(k, DIRECTORY_TOKEN_LOST, NULL,
                   "%s: %s has changed, perhaps moved with everything in it", ld_server_url(k->d),
                   entry->dn);
}

directory_class ld_usn_newest(ld_call *k, const char **usn)
{
    static const char *const attributes[] = {"highestCommittedUSN", NULL};
    const ld_entry *root = NULL;
    directory_class class = ld_read(k, "", attributes, "read the change counter", &root);
    *usn = root ? ld_text(k->pool, root, attributes[0]) : NULL;
    return class || *usn
               ? class
               : ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: the server shows no highestCommittedUSN",
                         ld_server_url(k->d));
}

static directory_class scan_kind(ld_run *r, const ld_kind *kind)
{
    const char *const id_alone[] = {r->k->d->dialect->id, NULL};
    reading g = {r, kind};
    const ld_query query = {.base = kind->base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = kind->filter,
                            .attributes = id_alone,
                            .phase = LD_BASE,
                            .doing = apr_pstrcat(r->k->pool, "look which ", kind->token,
                                                 " are still there", NULL)};
    directory_class class = ld_paged(r->k, &query, present, &g);
    return class ? class : ld_stored(r, cache_sync_complete(r->run, r->c, kind->name));
}

directory_class ld_scan(ld_run *r, const ld_kind *kinds, const json_t *old, json_t *tokens)
{
    const char *scanned = old ? ida_json_string(old, "scanned") : NULL;
    int64_t now = ida_now(r->k->d->env), then = scanned ? strtoll(scanned, NULL, 10) : 0;
    int due = old && (now - then >= SCAN_MS || then > now);
    directory_class class = DIRECTORY_OK;
    for (int i = 0; due && !class && i < 2; i++) {
        class = scan_kind(r, &kinds[i]);
    }
    ida_json_put(tokens, "scanned",
                 due || !old ? apr_psprintf(r->k->pool, "%" APR_INT64_T_FMT, now) : scanned);
    return class;
}

directory_class ld_usn(ld_run *r, const ld_kind *kinds, const json_t *old, json_t *tokens)
{
    ld_call *k = r->k;
    const char *last = old ? ida_json_string(old, "usn") : NULL, *usn = NULL;
    /* Before the search: what changes meanwhile is read twice rather than never. */
    directory_class class = ld_usn_newest(k, &usn);
    const char *root = apr_pstrdup(k->pool, k->d->root ? k->d->root : "");
    const char *since = last
                            ? ida_printf(k->pool, "(uSNChanged>=%lld)", strtoll(last, NULL, 10) + 1)
                            : "";
    if (!class && last) {
        const char *const nothing[] = {LDAP_NO_ATTRS, NULL};
        const ld_query query = {
            .base = root,
            .scope = LDAP_SCOPE_SUBTREE,
            .filter = ida_printf(
                k->pool,
                "(&%s(|(objectClass=organizationalUnit)(objectClass=container))(uSNCreated<=%lld))",
                since, strtoll(last, NULL, 10)),
            .attributes = nothing,
            .phase = LD_BASE,
            .doing = "look for moved containers"};
        class = ld_paged(k, &query, container_moved, NULL);
    }
    for (int i = 0; !class && i < 2; i++) {
        reading g = {r, &kinds[i]};
        const ld_query query = {
            .base = kinds[i].base,
            .scope = LDAP_SCOPE_SUBTREE,
            .filter = apr_pstrcat(k->pool, "(&", kinds[i].filter, since, ")", NULL),
            .attributes = kinds[i].attributes,
            .controls = i == 0 ? ld_identities(k->d) : NULL,
            .phase = LD_BASE,
            .doing = apr_pstrcat(k->pool, "read changed ", kinds[i].token, NULL)};
        class = ld_paged(k, &query, changed, &g);
        class =
            class || last ? class : ld_stored(r, cache_sync_complete(r->run, r->c, kinds[i].name));
    }
    class = class ? class : ld_scan(r, kinds, old, tokens);
    ida_json_put(tokens, "usn", usn);
    return class;
}
