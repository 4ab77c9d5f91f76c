/* Owns the choice of a new entry's names: in Active Directory the common name is unique in its
 * container, the login name in its domain, and neither is what people are called by. Must not know
 * how entries are made. */
#include "worker/ldap/change/names.h"

#include <apr_strings.h>
#include <string.h>
#include <unicode/utf8.h>

#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

#define CN_MAX 64    /* UTF-16 units, as the schema counts */
#define NUMBERS 1000 /* names tried before giving up */

/* At most `units` UTF-16 units, cut between characters and without a blank at the end, which
 * servers drop or refuse in names. */
static char *cut(apr_pool_t *pool, const char *text, size_t units)
{
    int32_t len = (int32_t)strlen(text), at = 0, end = 0;
    size_t used = 0;
    while (at < len) {
        UChar32 c;
        U8_NEXT(text, at, len, c);
        used += c > 0xffff ? 2 : 1;
        if (used > units) {
            break;
        }
        end = at;
    }
    while (end > 0 && text[end - 1] == ' ') {
        end--;
    }
    return apr_pstrmemdup(pool, text, (apr_size_t)end);
}

/* What the account database takes as a login name: no control characters, none of its special ones,
 * no dot or blank at the end. */
static char *login_of(apr_pool_t *pool, const char *local, size_t max)
{
    char *out = apr_palloc(pool, strlen(local) + 1), *to = out;
    for (const char *from = local; *from; from++) {
        if ((unsigned char)*from >= ' ' && *from != 127 && !strchr("\"/\\[]:;|=,+*?<>@", *from)) {
            *to++ = *from;
        }
    }
    *to = '\0';
    out = cut(pool, out, max);
    size_t len = strlen(out);
    while (len && strchr(". ", out[len - 1])) {
        out[--len] = '\0';
    }
    return *out ? out : apr_pstrdup(pool, "user");
}

static char *numbered(apr_pool_t *pool, const char *base, const char *between, int number,
                      size_t max)
{
    if (number < 2) {
        return cut(pool, base, max);
    }
    char *tail = apr_psprintf(pool, "%s%d", between, number);
    return apr_pstrcat(pool, cut(pool, base, max - strlen(tail)), tail, NULL);
}

static directory_class login_free(ld_call *k, const char *login, int *taken)
{
    const directory *d = k->d;
    const ld_entry *entry;
    /* Users, groups and computers of the domain share one list of names. */
    directory_class class = ld_below(k, apr_pstrdup(k->pool, d->root ? d->root : d->user_base),
                                     apr_pstrcat(k->pool, "(", d->dialect->login, "=",
                                                 ld_filter_text(k->pool, login), ")", NULL),
                                     NULL, "look for a free login name", &entry);
    *taken = entry != NULL;
    return class;
}

static directory_class dn_free(ld_call *k, const char *dn, int *taken)
{
    const ld_entry *entry;
    directory_class class = ld_read(k, dn, NULL, "look for a free name", &entry);
    *taken = entry != NULL;
    return class == DIRECTORY_NOT_FOUND ? DIRECTORY_OK : class;
}

static const char *dn_of(ld_call *k, const char *value)
{
    return apr_pstrcat(k->pool, k->d->dialect->naming, "=", ld_dn_value(k->pool, value), ",",
                       k->d->create_in, NULL);
}

directory_class ld_names_choose(ld_call *k, const directory_create *create, int skip,
                                ld_names *names)
{
    const ld_dialect *t = k->d->dialect;
    directory_class class = DIRECTORY_OK;
    int taken = 1, number;
    *names = (ld_names){.cn = create->display_name, .login = create->local};
    if (!t->login_max) {
        names->dn = dn_of(k, names->login);
        return DIRECTORY_OK;
    }
    const char *base = login_of(k->pool, create->local, t->login_max);
    for (number = 1; !class && taken && number < NUMBERS; number++) {
        names->login = numbered(k->pool, base, "", number == 1 && !skip ? 1 : number + skip,
                                t->login_max);
        class = login_free(k, names->login, &taken);
    }
    if (!class && taken) {
        return ld_fail(k, DIRECTORY_CONFLICT, "samAccountName",
                       "%s: %s and its numbered forms are all taken", ld_server_url(k->d), base);
    }
    taken = 1;
    for (number = 1; !class && taken && number < NUMBERS; number++) {
        names->cn = numbered(k->pool, create->display_name, " ",
                             number == 1 && !skip ? 1 : number + skip, CN_MAX);
        names->dn = dn_of(k, names->cn);
        class = dn_free(k, names->dn, &taken);
    }
    return class || !taken ? class
                           : ld_fail(k, DIRECTORY_CONFLICT, "cn",
                                     "%s: \"%s\" and its numbered forms are all taken in %s",
                                     ld_server_url(k->d), create->display_name, k->d->create_in);
}
