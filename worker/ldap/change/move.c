/* Owns moving an entry to another container and updating the links that name it, such as
 * manager. Must not know what an account contains. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#include "worker/ldap/change/change.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/entry/mods.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

/* DNs of the entries below `base` that name `dn` in `attribute`. */
typedef struct naming {
    const ld_dialect *dialect;
    apr_pool_t *pool;
    const char *attribute;      /* to be collected; NULL: the DN of the entry */
    apr_array_header_t *values; /* const char * */
} naming;

static directory_class take(const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    naming *n = baton;
    const char *value = n->attribute ? ld_id_text(n->dialect, entry_pool, entry) : entry->dn;
    if (value) {
        APR_ARRAY_PUSH(n->values, const char *) = apr_pstrdup(n->pool, value);
    }
    return DIRECTORY_OK;
}

static directory_class linked(ld_call *k, const char *base, const char *filter, const char *link,
                              const char *dn, const char *collect, const char *doing,
                              apr_array_header_t **values)
{
    const char *const attributes[] = {collect ? collect : LDAP_NO_ATTRS, NULL};
    directory_class class = DIRECTORY_OK;
    const ld_query query = {.base = base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .attributes = attributes,
                            .phase = LD_BASE,
                            .doing = doing,
                            .filter = apr_pstrcat(k->pool, "(&", filter, "(", link, "=",
                                                  ld_filter_text(k->pool, dn), "))", NULL)};
    for (int attempt = 0; attempt < 2 && (attempt == 0 || class == DIRECTORY_TRANSIENT);
         attempt++) {
        naming n = {.dialect = k->d->dialect,
                    .pool = k->pool,
                    .attribute = collect,
                    .values = apr_array_make(k->pool, 8, sizeof(const char *))};
        *values = n.values;
        class = ld_paged(k, &query, take, &n);
    }
    return class;
}

directory_class ld_reports(directory *d, apr_pool_t *pool, const char *id, const char *const **ids,
                           int *count, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    const ld_dialect *t = d->dialect;
    directory_user user;
    apr_array_header_t *found;
    *ids = NULL;
    *count = 0;
    directory_class class = ld_user_by_id(&k, id, &user);
    class = class ? class
                  : linked(&k, d->user_base, t->user_filter, t->manager, user.dn, t->id,
                           "list the reports", &found);
    if (!class) {
        *ids = (const char *const *)found->elts;
        *count = found->nelts;
    }
    return class;
}

/* --- moving --- */

#define NUMBERS 50 /* names tried in a container */
#define TOLD_MAX 6 /* warnings and the terminating NULL */

/* A group and the attribute by which it names the account. */
typedef struct group_link {
    const char *group, *attribute;
} group_link;

static directory_class link_change(ld_call *k, const char *entry, int op, const char *link,
                                   const char *dn)
{
    ld_mods mods = ld_mods_make(k->pool);
    ld_mods_text(&mods, op, link, dn);
    directory_class class = ld_modify(k, entry, ld_mods_end(&mods), LD_MEMBER, "follow a move");
    return class == DIRECTORY_ALREADY || class == DIRECTORY_NOT_FOUND ? DIRECTORY_OK : class;
}

/* A server that stores links as plain text leaves them at the old DN. So that no membership is
 * lost if the move fails midway, the new DN joins the groups before the move and the old one
 * leaves them after it; with a server that updates links itself there is nothing to do. */
static directory_class in_groups(ld_call *k, const apr_array_header_t *groups, int op,
                                 const char *dn)
{
    directory_class class = DIRECTORY_OK;
    for (int i = 0; !class && i < groups->nelts; i++) {
        const group_link *link = &APR_ARRAY_IDX(groups, i, group_link);
        class = link_change(k, link->group, op, link->attribute, dn);
        if (class) {
            ld_fail(k, class, k->e->field, "%s: %s", link->group, k->e->message);
        }
    }
    return class;
}

/* Finds all groups that name the DN, by each attribute that contains DNs. */
static directory_class groups_of(ld_call *k, const char *dn, apr_array_header_t **groups)
{
    const ld_dialect *t = k->d->dialect;
    directory_class class = DIRECTORY_OK;
    *groups = apr_array_make(k->pool, 8, sizeof(group_link));
    for (const ld_links *l = t->links; !class && l->class; l++) {
        apr_array_header_t *dns = NULL;
        class = l->by_login ? DIRECTORY_OK
                            : linked(k, k->d->group_base, t->group_filter, l->attribute, dn, NULL,
                                     "list memberships", &dns);
        for (int i = 0; !class && dns && i < dns->nelts; i++) {
            APR_ARRAY_PUSH(*groups, group_link) = (group_link){APR_ARRAY_IDX(dns, i, const char *),
                                                               l->attribute};
        }
    }
    return class;
}

/* The new DN into all of them, or into none: a right may be missing to one. */
static directory_class join_groups(ld_call *k, const apr_array_header_t *groups, const char *dn)
{
    directory_class class = in_groups(k, groups, LDAP_MOD_ADD, dn);
    if (class) {
        directory_error why = *k->e;
        in_groups(k, groups, LDAP_MOD_DELETE, dn);
        ld_fail(k, class, why.field,
                "the account stays where it is, because a membership cannot follow it: %s",
                why.message);
    }
    return class;
}

/* Changes links from the old DN to the new one. Failures are warnings, because the account has
 * moved already. */
static const char *follow(ld_call *k, const char *base, const char *filter, const char *link,
                          const char *old, const char *fresh)
{
    apr_array_header_t *left = NULL;
    const char *told = NULL;
    directory_class class = linked(k, base, filter, link, old, NULL,
                                   "look for links to the old place", &left);
    for (int i = 0; !class && i < left->nelts; i++) {
        const char *dn = APR_ARRAY_IDX(left, i, const char *);
        directory_class one = link_change(k, dn, LDAP_MOD_ADD, link, fresh);
        one = one ? one : link_change(k, dn, LDAP_MOD_DELETE, link, old);
        if (one) {
            told = told ? told
                        : apr_pstrcat(k->pool, dn, " still names the old place: ", k->e->message,
                                      NULL);
        }
    }
    return class ? k->e->message : told;
}

static directory_class occupied(ld_call *k, const char *dn)
{
    return ld_fail(k, DIRECTORY_CONFLICT, "container", "%s: %s is another entry",
                   ld_server_url(k->d), dn);
}

/* What is to be moved, and to which DN (*fresh). ALREADY: it is there. */
static directory_class look(ld_call *k, const char *id, const char *container, directory_user *user,
                            const char **fresh)
{
    const directory *d = k->d;
    const ld_entry *there = NULL;
    const char *key = ld_dn_key(k->pool, container);
    directory_class class = ld_user_by_id(k, id, user);
    class = class ? class : ld_guard(k, user);
    if (class) {
        return class;
    }
    if (!key || !ld_dn_key_below(key, ld_dn_key(k->pool, d->user_base))) {
        return ld_fail(k, DIRECTORY_INVALID, "container", "\"%s\" does not lie below userBase %s",
                       container, d->user_base);
    }
    const char *name = ld_dn_first(k->pool, user->dn), *parent = ld_dn_parent(k->pool, user->dn);
    if (!name || !parent) {
        return ld_fail(k, DIRECTORY_LOCAL, NULL, "%s cannot be taken apart", user->dn);
    }
    if (strcmp(key, ld_dn_key(k->pool, parent)) == 0) {
        return DIRECTORY_ALREADY;
    }
    class = ld_read(k, container, NULL, "find the container", &there);
    if (class == DIRECTORY_NOT_FOUND || (!class && !there)) {
        return ld_fail(k, DIRECTORY_NOT_FOUND, "container", "%s: there is no container %s",
                       ld_server_url(d), container);
    }
    /* The common name need not be unique in the directory, only in a container: it gets a number,
     * as that of a new account does. Other names mean something to their users. */
    int may_number = ld_rdn_value(k->pool, user->dn, "cn") && !strchr(name, '+');
    for (int number = 1; !class && number < (may_number ? NUMBERS : 2); number++) {
        const char *tail = number > 1 ? apr_psprintf(k->pool, " %d", number) : "";
        *fresh = apr_pstrcat(k->pool, name, tail, ",", container, NULL);
        class = ld_read(k, *fresh, NULL, "look whether the place is free", &there);
    }
    return class == DIRECTORY_NOT_FOUND ? DIRECTORY_OK : class ? class : occupied(k, *fresh);
}

directory_class ld_move(directory *d, apr_pool_t *pool, const char *id, const char *container,
                        directory_user *after, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    const ld_dialect *t = d->dialect;
    const char *old = NULL, *fresh = NULL, **told = apr_pcalloc(pool, TOLD_MAX * sizeof *told);
    directory_class last = DIRECTORY_OK;
    for (int attempt = 0; attempt <= LD_ATTEMPTS; attempt++) {
        apr_array_header_t *groups = NULL;
        directory_class class = look(&k, id, container, after, &fresh);
        if (class == DIRECTORY_ALREADY && old) {
            break;
        }
        if (class) {
            return class;
        }
        if (attempt == LD_ATTEMPTS) {
            return last != DIRECTORY_OK
                       ? last
                       : ld_fail(&k, DIRECTORY_UNSURE, NULL,
                                 "%s: the account was moved, but the directory still shows %s",
                                 ld_server_url(d), after->dn);
        }
        old = after->dn;
        if (!t->keeps_links) {
            class = groups_of(&k, old, &groups);
            class = class ? class : join_groups(&k, groups, fresh);
        }
        if (class) {
            return class;
        }
        last = ld_rename(&k, old, ld_dn_first(pool, fresh), container, "move the account");
        if (last != DIRECTORY_OK && last != DIRECTORY_UNSURE && last != DIRECTORY_NOT_FOUND) {
            directory_error why = *e;
            if (groups) {
                /* The memberships of this DN must not pass to another entry that has or gets it. */
                in_groups(&k, groups, LDAP_MOD_DELETE, fresh);
            }
            *e = why;
            return last == DIRECTORY_CONFLICT ? occupied(&k, fresh) : last;
        }
    }
    if (!t->keeps_links) {
        const char **to = told;
        const char *left;
        for (const ld_links *l = t->links; l->class && to - told < TOLD_MAX - 2; l++) {
            left = l->by_login
                       ? NULL
                       : follow(&k, d->group_base, t->group_filter, l->attribute, old, after->dn);
            if (left) {
                *to++ = left;
            }
        }
        left = follow(&k, d->user_base, t->user_filter, t->manager, old, after->dn);
        if (left) {
            *to++ = left;
        }
        after->warnings = *told ? told : NULL;
    }
    *e = (directory_error){0};
    return DIRECTORY_OK;
}
