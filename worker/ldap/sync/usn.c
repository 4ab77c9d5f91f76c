/* Owns reading of Active Directory by its change counter, for accounts that may not use DirSync:
 * what has changed on one server since a number. Must not know how the cache is kept. */
#include <apr_strings.h>
#include <stdlib.h>

#include "core/base/json.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

static directory_class newest(ld_call *k, const char **usn)
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

/* Entries in a container that moves are not reported as changed. */
static directory_class look_for_containers(ld_run *r, const char *since, int64_t last)
{
    ld_call *k = r->k;
    const ld_entry *moved;
    directory_class class = ld_below(
        k, apr_pstrdup(k->pool, k->d->root ? k->d->root : ""),
        ida_printf(
            k->pool,
            "(&%s(|(objectClass=organizationalUnit)(objectClass=container))(uSNCreated<=%lld))",
            since, (long long)last),
        NULL, "look for moved containers", &moved);
    if (moved) {
        r->drift = apr_pstrcat(k->pool, moved->dn,
                               " has changed, perhaps moved with everything in it", NULL);
    }
    return class;
}

directory_class ld_usn(ld_run *r, const ld_kind *kinds, const json_t *old, json_t *tokens)
{
    const char *text = old ? ida_json_string(old, "usn") : NULL, *usn = NULL;
    int64_t last = text ? strtoll(text, NULL, 10) : 0;
    const char *since = text ? ida_printf(r->k->pool, "(uSNChanged>=%lld)", (long long)last + 1)
                             : "";
    /* Before the search: what changes meanwhile is read twice rather than never. */
    directory_class class = newest(r->k, &usn);
    if (!class && text) {
        class = look_for_containers(r, since, last);
    }
    for (int i = 0; !class && i < 2; i++) {
        class = ld_read_items(r, &kinds[i], since, text ? "read changed" : "read all");
        if (!class && !text) {
            class = ld_stored(r, cache_sync_complete(r->run, r->c, kinds[i].name));
        }
    }
    ida_json_put(tokens, "usn", usn);
    return class;
}
