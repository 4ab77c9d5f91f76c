/* Owns the DN of the account that a session has just created, so that the next steps of the
 * creation need not look it up. Must not know what those steps do.
 *
 * It is valid for a moment only. If the account was moved or removed meanwhile, the server
 * answers a change with "no such object", and then it is looked up. As a value (a member) a
 * stale DN would be accepted: verify the entry before writing it there. */
#include "worker/ldap/entry/recent.h"

#include <apr_strings.h>
#include <strings.h>

#include "worker/ldap/entry/find.h"
#include "worker/ldap/wire/session.h"

#define MADE_MS 1000

void ld_recent_keep(ld_call *k, const directory_user *user)
{
    directory *d = k->d;
    directory_error before = *k->e;
    ld_recent_forget(d);
    if (user->id && user->dn && !user->managers && ld_guard(k, user) == DIRECTORY_OK) {
        d->made.id = apr_pstrdup(d->made.pool, user->id);
        d->made.dn = apr_pstrdup(d->made.pool, user->dn);
        d->made.until = ida_monotonic(d->env) + MADE_MS;
    }
    *k->e = before;
}

const char *ld_recent_dn(const ld_call *k, const char *id)
{
    const ld_recent *made = &k->d->made;
    return made->id && id && strcasecmp(made->id, id) == 0 && ida_monotonic(k->d->env) < made->until
               ? made->dn
               : NULL;
}
