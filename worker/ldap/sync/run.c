/* Owns what all ways of reading a directory share: errors of the cache, entries without a stamp,
 * reading all entries of a kind. Must not know tokens. */
#include <apr_strings.h>

#include "worker/ldap/sync/sync.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

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

typedef struct reading {
    ld_run *r;
    const ld_kind *kind;
} reading;

static directory_class take(const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    const reading *b = baton;
    b->r->changes++;
    return b->kind->item(b->r, entry_pool, entry);
}

directory_class ld_read_items(ld_run *r, const ld_kind *kind, const char *and, const char *doing)
{
    reading b = {r, kind};
    apr_pool_t *pool = r->k->pool;
    const ld_query query = {.base = kind->base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = apr_pstrcat(pool, "(&", kind->filter, and, ")", NULL),
                            .attributes = kind->attributes,
                            .controls = kind->controls,
                            .phase = LD_BASE,
                            .doing = apr_pstrcat(pool, doing, " ", kind->token, NULL)};
    return ld_paged(r->k, &query, take, &b);
}
