/* Owns how old our own bind password is, and when it expires. Must not know who asks. */
#include <apr_strings.h>

#include "core/base/text.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/value.h"

/* Seconds that a password lasts by the policy of our account: the one that its entry names, else
 * the only one that can be seen. 0: no limit is known. */
static long longest(ld_call *k, const ld_entry *own, const char **policy)
{
    static const char *const attributes[] = {"pwdMaxAge", NULL};
    const directory *d = k->d;
    const char *named = ld_text(k->pool, own, d->dialect->policy);
    const ld_entry **rows = NULL, *entry = NULL;
    int count = 0;
    const ld_query any = {.base = d->root ? apr_pstrdup(k->pool, d->root) : d->user_base,
                          .scope = LDAP_SCOPE_SUBTREE,
                          .filter = "(objectClass=pwdPolicy)",
                          .attributes = attributes,
                          .limit = 2,
                          .phase = LD_READ,
                          .doing = "look for the password policy"};
    if (named) {
        ld_read(k, named, attributes, "read the password policy", &entry);
    } else if (!ld_search(k, &any, &rows, &count) && count == 1) {
        entry = rows[0];
    }
    *policy = entry ? apr_pstrdup(k->pool, entry->dn) : NULL;
    return entry ? ld_number(k->pool, entry, attributes[0]) : 0;
}

void ld_own_password_look(ld_call *k, ld_own_password *out)
{
    const directory *d = k->d;
    const ld_dialect *t = d->dialect;
    const char *const attributes[] = {t->password_changed,
                                      t->password_ends ? t->password_ends : t->policy, NULL};
    const ld_entry *own = NULL;
    const char *policy = NULL;
    *out = (ld_own_password){0};
    if (d->bind != LD_BIND_SIMPLE ||
        ld_read(k, ld_own_base(k), attributes, "read our own account", &own)) {
        own = NULL;
    }
    if (own) {
        out->changed = ld_entry_time(t, k->pool, own, t->password_changed);
        out->ends = t->password_ends ? ld_entry_time(t, k->pool, own, t->password_ends) : 0;
        out->by = out->ends ? t->password_ends : NULL;
    }
    long seconds = own && !out->ends && out->changed && t->policy ? longest(k, own, &policy) : 0;
    if (seconds > 0) {
        out->ends = out->changed + seconds * INT64_C(1000);
        out->by = ida_printf(k->pool, "pwdMaxAge of %s", policy);
    }
    if (d->password_ends) { /* the server's own word at our bind */
        out->ends = d->password_ends;
        out->by = "the server's answer to our bind";
    }
    if (d->password_grace >= 0) {
        out->ends = out->ends && out->ends < ida_now(d->env) ? out->ends : ida_now(d->env);
        out->by = ida_printf(k->pool, "the server takes it %s",
                             ida_count(k->pool, d->password_grace, "more time", "more times"));
    }
    *k->e = (directory_error){0};
}
