/* Owns memberships: finding a user's groups and removing the user from one. Must not know users
 * beyond their DN. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>
#include <strings.h>

#include "core/base/text.h"
#include "worker/ldap/change/change.h"
#include "worker/ldap/change/unmanaged.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/entry/mods.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

static int is_dynamic(const directory *d, const ld_entry *group)
{
    const char *class = d->dialect->dynamic_group_class;
    return class && ld_holds(group, "objectClass", class);
}

static directory_class gather(const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    ld_gathering *g = baton;
    cache_group group;
    if (ld_group_read(g->d, entry_pool, entry, &group) &&
        !apr_hash_get(g->seen, group.id, APR_HASH_KEY_STRING)) {
        directory_membership *row = apr_array_push(g->rows);
        row->group_id = apr_pstrdup(g->pool, group.id);
        row->group_name = apr_pstrdup(g->pool, group.name);
        row->retained = strcmp(group.kind, "dynamic") == 0
                            ? apr_pstrcat(g->pool, "membership by rule", group.rule ? ": " : "",
                                          group.rule ? group.rule : "", NULL)
                            : ld_outside(g->d, entry_pool, group.dn_key);
        apr_hash_set(g->seen, row->group_id, APR_HASH_KEY_STRING, row->group_id);
    }
    return DIRECTORY_OK;
}

/* How groups of a class name the user; NULL: they cannot. */
static const char *value_of(const ld_links *l, const directory_user *user)
{
    return l->by_login ? user->login : user->dn;
}

static const char *or_is(ld_call *k, const char *any, const char *attribute, const char *rule,
                         const char *value)
{
    return value ? apr_pstrcat(k->pool, any, "(", attribute, rule, "=",
                               ld_filter_text(k->pool, value), ")", NULL)
                 : any;
}

/* Filter for entries that name the user in one of the attributes of groups. A login is any value
 * of its attribute, whose case does not count (RFC 4519), but memberUid compares exactly (RFC
 * 2307). `whole` 1: in any case, which no index answers, for a single entry; 0: as the account's
 * own entry has it, and in small letters. */
static const char *names_user(ld_call *k, const directory_user *user, int whole)
{
    static const char *const none[] = {NULL};
    const char *any = "", *rule = whole ? ":caseIgnoreIA5Match:" : "";
    for (const ld_links *l = k->d->dialect->links; l->class; l++) {
        any = l->by_login ? any : or_is(k, any, l->attribute, "", user->dn);
        for (const char *const *login = l->by_login && user->logins ? user->logins : none; *login;
             login++) {
            const char *small = ida_fold_address(k->pool, *login);
            any = or_is(k, any, l->attribute, rule, *login);
            any = whole || !strcmp(small, *login) ? any : or_is(k, any, l->attribute, rule, small);
        }
    }
    return apr_pstrcat(k->pool, "(|", any, ")", NULL);
}

/* Every group below the base that lists the user. */
static directory_class gather_by_member(ld_call *k, ld_gathering *g, const directory_user *user)
{
    const ld_dialect *t = k->d->dialect;
    const ld_query query = {.base = k->d->group_base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .attributes = k->d->group_attributes,
                            .phase = LD_BASE,
                            .doing = "list memberships",
                            .filter = apr_pstrcat(k->pool, "(&", t->group_filter,
                                                  names_user(k, user, 0), ")", NULL)};
    return ld_every_page(k, &query, gather, g);
}

static directory_class collect(const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    cache_group group;
    ld_gathering *g = baton;
    if (ld_group_read(g->d, entry_pool, entry, &group) &&
        !apr_hash_get(g->by_rule, group.id, APR_HASH_KEY_STRING)) {
        apr_hash_set(g->by_rule, apr_pstrdup(g->pool, group.id), APR_HASH_KEY_STRING,
                     apr_pstrdup(g->pool, group.dn));
    }
    return DIRECTORY_OK;
}

/* Whether the group shows the user: by a filter on its members, or, if the server applies rules
 * only to comparisons, by comparing. Comparing alone does not suffice: with the dynlist overlay
 * slapd 2.5 answers "false" for members of static groups. */
static directory_class shows_user(ld_call *k, const char *group_dn, int by_rule,
                                  const directory_user *user, int *shows)
{
    const ld_entry *group;
    directory_class class = ld_read_if(k, group_dn, names_user(k, user, 1), NULL,
                                       "look into a group", &group);
    *shows = group != NULL;
    return class || *shows || !by_rule ? class
                                       : ld_compare(k, group_dn, k->d->dialect->member, user->dn,
                                                    "look into a dynamic group", shows);
}

/* The group at the DN if it shows the user. */
static directory_class gather_shown(ld_call *k, ld_gathering *g, const char *group_dn, int by_rule,
                                    const directory_user *user)
{
    const ld_entry *group = NULL;
    int shows = 0;
    directory_class class = shows_user(k, group_dn, by_rule, user, &shows);
    if (!class && shows) {
        class = ld_read(k, group_dn, k->d->group_attributes, "look into a group", &group);
    }
    if (group) {
        gather(group, k->pool, g);
    }
    return class == DIRECTORY_NOT_FOUND ? DIRECTORY_OK : class;
}

/* Groups by rule: depending on its overlays a server finds them by a filter on members, or shows
 * their members only when one group is read. */
static directory_class gather_by_rule(ld_call *k, ld_gathering *g, const directory_user *user)
{
    const ld_query query = {.base = k->d->group_base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .attributes = k->d->group_attributes,
                            .phase = LD_BASE,
                            .doing = "list dynamic groups",
                            .filter = k->d->dialect->dynamic_filter};
    directory_class class = query.filter ? ld_every_page(k, &query, collect, g) : DIRECTORY_OK;
    for (apr_hash_index_t *i = apr_hash_first(g->pool, g->by_rule); i && !class;
         i = apr_hash_next(i)) {
        if (!apr_hash_get(g->seen, apr_hash_this_key(i), APR_HASH_KEY_STRING)) {
            class = gather_shown(k, g, apr_hash_this_val(i), 1, user);
        }
    }
    return class;
}

/* Groups that the user's own entry names, including those outside groupBase. The link may
 * outlive its group, so the group's own entry decides. */
static directory_class gather_by_back_link(ld_call *k, ld_gathering *g, const directory_user *user)
{
    const ld_dialect *t = k->d->dialect;
    const char *const attributes[] = {t->member_of, NULL};
    const ld_entry *own;
    directory_class class = ld_read(k, user->dn, attributes, "read the user's groups", &own);
    const ld_attribute *links = own ? ld_get(own, t->member_of) : NULL;
    for (int i = 0; !class && links && i < links->count; i++) {
        class = gather_shown(k, g, links->values[i].bv_val, 0, user);
    }
    return class == DIRECTORY_NOT_FOUND ? DIRECTORY_OK : class;
}

/* The group that no `member` attribute lists, only a number in the user's own entry, wherever it
 * is. */
static directory_class gather_primary(ld_call *k, ld_gathering *g, const directory_user *user)
{
    const ld_entry *group;
    int before = g->rows->nelts;
    if (!user->primary || !k->d->root) {
        return DIRECTORY_OK;
    }
    directory_class class = ld_below(k, apr_pstrdup(k->pool, k->d->root),
                                     apr_pstrcat(k->pool, "(", k->d->dialect->sid, "=",
                                                 user->primary, ")", NULL),
                                     k->d->group_attributes, "find the primary group", &group);
    if (group) {
        gather(group, k->pool, g);
    }
    if (g->rows->nelts > before) {
        APR_ARRAY_IDX(g->rows, before, directory_membership).retained =
            "primary group of the account: it keeps it as long as no other group is made the "
            "primary one";
    }
    return class;
}

static int is_primary(ld_call *k, const ld_entry *group, const directory_user *user)
{
    const ld_attribute *sid = user->primary ? ld_get(group, k->d->dialect->sid) : NULL;
    return sid && strcmp(ld_filter_bytes(k->pool, sid->values[0].bv_val, sid->values[0].bv_len),
                         user->primary) == 0;
}

/* NOT_FOUND if there is no such group. */
static directory_class group_by_id(ld_call *k, const char *group_id, const ld_entry **group)
{
    const ld_dialect *t = k->d->dialect;
    const char *uuid = ld_uuid_canonical(k->pool, group_id);
    if (!uuid) {
        ld_fail(k, DIRECTORY_NOT_FOUND, "group", "\"%s\" is no ID of this directory",
                group_id ? group_id : "");
        return DIRECTORY_NOT_FOUND; /* (gcc's analyzer does not know what ld_fail returns) */
    }
    /* In Active Directory an ID finds its entry at any place: memberships may be in groups
     * outside groupBase. */
    const char *const *attributes = k->d->group_attributes;
    directory_class class = t->binary_ids
                                ? ld_read_if(k, apr_pstrcat(k->pool, "<GUID=", uuid, ">", NULL),
                                             t->group_filter, attributes, "find the group", group)
                                : ld_below(k, k->d->group_base, ld_id_filter(t, k->pool, uuid),
                                           attributes, "find the group", group);
    if (!class && !*group) {
        ld_fail(k, DIRECTORY_NOT_FOUND, "group", "%s: no group %s below %s", ld_server_url(k->d),
                uuid, k->d->group_base);
        return DIRECTORY_NOT_FOUND;
    }
    return class;
}

/* The group by ID; `shows` is 1 if it contains the user now. */
static directory_class group_holding(ld_call *k, const char *group_id, const directory_user *user,
                                     const ld_entry **group, int *shows)
{
    directory_class class = group_by_id(k, group_id, group);
    if (class) {
        return class;
    }
    *shows = is_primary(k, *group, user);
    return *shows ? DIRECTORY_OK
                  : shows_user(k, (*group)->dn, is_dynamic(k->d, *group), user, shows);
}

directory_class ld_memberships(directory *d, apr_pool_t *pool, const char *id,
                               const char *const *candidates, int candidate_count,
                               const directory_membership **rows, int *count, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    directory_user user;
    ld_gathering g = {.d = d,
                      .pool = pool,
                      .rows = apr_array_make(pool, 8, sizeof(directory_membership)),
                      .seen = apr_hash_make(pool),
                      .by_rule = apr_hash_make(pool)};
    *rows = NULL;
    *count = 0;
    directory_class (*const ways[])(ld_call *, ld_gathering *, const directory_user *) = {
        gather_by_member, gather_by_back_link, gather_by_rule, gather_primary};
    directory_class class = ld_user_by_id(&k, id, &user);
    for (size_t i = 0; !class && i < sizeof ways / sizeof *ways; i++) {
        class = ways[i](&k, &g, &user);
    }
    class = class ? class : ld_gather_unmanaged(&k, &g, &user, names_user(&k, &user, 0));
    for (int i = 0; !class && i < candidate_count; i++) {
        const ld_entry *group = NULL;
        int shows = 0;
        if (apr_hash_get(g.seen, candidates[i], APR_HASH_KEY_STRING)) {
            continue;
        }
        class = group_holding(&k, candidates[i], &user, &group, &shows);
        if (!class && shows) {
            gather(group, pool, &g);
        }
        class = class == DIRECTORY_NOT_FOUND ? DIRECTORY_OK : class;
    }
    if (!class) {
        *rows = (const directory_membership *)g.rows->elts;
        *count = g.rows->nelts;
        *e = (directory_error){0};
    }
    return class;
}

/* Deletes the member in one attribute; the last one of a group that may not be empty is swapped for
 * the placeholder in the same modify. */
static directory_class take_out_of(ld_call *k, const ld_entry *group, const ld_links *l,
                                   const char *value)
{
    const directory *d = k->d;
    ld_mods remove = ld_mods_make(k->pool), swap = ld_mods_make(k->pool);
    ld_mods_text(&remove, LDAP_MOD_DELETE, l->attribute, value);
    directory_class class = ld_modify(k, group->dn, ld_mods_end(&remove), LD_MEMBER,
                                      "remove the member");
    /* 65: the group would be left without a member. */
    if (class != DIRECTORY_INVALID || !l->needs_one) {
        return class;
    }
    ld_mods_text(&swap, LDAP_MOD_ADD, l->attribute, d->placeholder ? d->placeholder : group->dn);
    ld_mods_text(&swap, LDAP_MOD_DELETE, l->attribute, value);
    return ld_modify(k, group->dn, ld_mods_end(&swap), LD_MEMBER,
                     "swap the last member for the placeholder");
}

static int is_login(const directory_user *user, const char *value)
{
    for (const char *const *login = user->logins; login && *login; login++) {
        if (strcasecmp(*login, value) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Deletes the user's logins in each form that the group has them. */
static directory_class take_logins_out(ld_call *k, const ld_entry *group, const ld_links *l,
                                       const directory_user *user)
{
    const char *const attributes[] = {l->attribute, NULL};
    const ld_entry *entry = NULL;
    directory_class all = DIRECTORY_ALREADY,
                    class = ld_read(k, group->dn, attributes, "read the members", &entry);
    const ld_attribute *named = entry ? ld_get(entry, l->attribute) : NULL;
    for (int i = 0; !class && named && i < named->count; i++) {
        const char *value = named->values[i].bv_val;
        directory_class one = is_login(user, value) ? take_out_of(k, group, l, value)
                                                    : DIRECTORY_ALREADY;
        all = one ? all : DIRECTORY_OK;
        class = one == DIRECTORY_ALREADY ? DIRECTORY_OK : one;
    }
    return class ? class : all;
}

/* Deletes the member in each attribute by which the group names members. */
static directory_class take_out(ld_call *k, const ld_entry *group, const directory_user *user)
{
    directory_class all = DIRECTORY_ALREADY;
    for (const ld_links *l = ld_links_of(k->d, group, NULL); l; l = ld_links_of(k->d, group, l)) {
        directory_class class = l->by_login ? take_logins_out(k, group, l, user)
                                            : take_out_of(k, group, l, user->dn);
        if (class && class != DIRECTORY_ALREADY) {
            return class;
        }
        all = class ? all : DIRECTORY_OK;
    }
    return all;
}

directory_class ld_remove_member(directory *d, apr_pool_t *pool, const char *group_id,
                                 const char *user_id, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    directory_user user;
    const ld_entry *group = NULL;
    directory_class last = DIRECTORY_OK;
    int shows = 0, sent = 0;
    for (int attempt = 0; attempt <= LD_ATTEMPTS; attempt++) {
        directory_class class = ld_user_by_id(&k, user_id, &user);
        class = class ? class : ld_guard(&k, &user);
        if (class) {
            return class;
        }
        class = group_holding(&k, group_id, &user, &group, &shows);
        if (class == DIRECTORY_NOT_FOUND) {
            *e = (directory_error){0};
            return DIRECTORY_ALREADY;
        }
        if (class) {
            return class;
        }
        if (!shows) {
            *e = (directory_error){0};
            return sent && last != DIRECTORY_ALREADY ? DIRECTORY_OK : DIRECTORY_ALREADY;
        }
        if (is_dynamic(d, group)) {
            return ld_fail(&k, DIRECTORY_INVALID, NULL,
                           "%s: membership of %s is by rule and cannot be removed",
                           ld_server_url(d), group->dn);
        }
        if (is_primary(&k, group, &user)) {
            return ld_fail(&k, DIRECTORY_INVALID, NULL,
                           "%s: %s is the primary group of the account: it can be left only when "
                           "another one is made the primary group",
                           ld_server_url(d), group->dn);
        }
        if (attempt == LD_ATTEMPTS ||
            (sent && last != DIRECTORY_UNSURE && last != DIRECTORY_NOT_FOUND)) {
            break;
        }
        last = take_out(&k, group, &user);
        sent = 1;
        if (last != DIRECTORY_OK && last != DIRECTORY_ALREADY && last != DIRECTORY_UNSURE &&
            last != DIRECTORY_NOT_FOUND) {
            return last;
        }
    }
    return last == DIRECTORY_UNSURE ? last
                                    : ld_fail(&k, DIRECTORY_UNSURE, NULL,
                                              "%s: the member was removed, but %s still shows %s",
                                              ld_server_url(d), group->dn, user.dn);
}

/* --- adding --- */

#define AT_ONCE 20 /* members added with one modify */

/* Reads whether the group shows the user: ALREADY, or OK with the attribute's value by which the
 * group names members, if the user is to be added. */
static directory_class look_at(ld_call *k, const char *group_id, const char *user_id,
                               const ld_entry **group, const char **value)
{
    directory_user user;
    int shows = 0;
    *value = NULL;
    directory_class class = ld_user_by_id(k, user_id, &user);
    class = class ? class : ld_guard(k, &user);
    class = class ? class : group_holding(k, group_id, &user, group, &shows);
    if (class || shows) {
        return class ? class : DIRECTORY_ALREADY;
    }
    if (is_dynamic(k->d, *group)) {
        return ld_fail(k, DIRECTORY_INVALID, NULL,
                       "%s: membership of %s is by rule: members cannot be added",
                       ld_server_url(k->d), (*group)->dn);
    }
    const ld_links *l = ld_links_of(k->d, *group, NULL);
    *value = l ? value_of(l, &user) : user.dn;
    return *value ? DIRECTORY_OK
                  : ld_fail(k, DIRECTORY_INVALID, NULL,
                            "%s: %s names members by login, and %s has none", ld_server_url(k->d),
                            (*group)->dn, user.dn);
}

static directory_class put_in(ld_call *k, const ld_entry *group, const char *const *values)
{
    const ld_links *l = ld_links_of(k->d, group, NULL);
    ld_mods mods = ld_mods_make(k->pool);
    ld_mods_texts(&mods, LDAP_MOD_ADD, l ? l->attribute : k->d->dialect->member, values);
    return ld_modify(k, group->dn, ld_mods_end(&mods), LD_MEMBER, "add members");
}

/* One user alone: reads, adds, and reads again if the answer leaves the result open. */
static directory_class join(ld_call *k, const char *group_id, const char *user_id)
{
    directory_class last = DIRECTORY_NOT_FOUND; /* it is not known whether the group has it */
    const ld_entry *group = NULL;
    const char *dns[2] = {NULL};
    for (int attempt = 0;
         last == DIRECTORY_ALREADY || last == DIRECTORY_UNSURE || last == DIRECTORY_NOT_FOUND;
         attempt++) {
        directory_class class = look_at(k, group_id, user_id, &group, &dns[0]);
        if (class == DIRECTORY_ALREADY && attempt && last != DIRECTORY_ALREADY) {
            return DIRECTORY_OK;
        }
        if (class) {
            return class;
        }
        if (attempt == LD_ATTEMPTS) {
            return last == DIRECTORY_UNSURE
                       ? last
                       : ld_fail(k, DIRECTORY_UNSURE, NULL, "%s: %s neither takes nor shows %s",
                                 ld_server_url(k->d), group->dn, dns[0]);
        }
        last = put_in(k, group, dns);
    }
    return last;
}

directory_class ld_add_members(directory *d, apr_pool_t *pool, const char *group_id,
                               const char *const *user_ids, int count, directory_class *each,
                               directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    directory_error first = {0};
    for (int from = 0; from < count; from += AT_ONCE) {
        const char *dns[AT_ONCE + 1] = {NULL};
        int many = 0, upto = from + AT_ONCE < count ? from + AT_ONCE : count;
        const ld_entry *group = NULL;
        for (int i = from; upto - from > 1 && i < upto; i++) {
            const char *dn;
            each[i] = look_at(&k, group_id, user_ids[i], &group, &dn);
            if (dn) {
                dns[many++] = dn;
            } else if (each[i] != DIRECTORY_ALREADY && !first.class) {
                first = *e;
            }
        }
        /* All of them or none: if one is refused, each is tried alone. */
        int put = many > 1 && put_in(&k, group, dns) == DIRECTORY_OK;
        for (int i = from; i < upto; i++) {
            if (upto - from > 1 && each[i] != DIRECTORY_OK) {
                continue;
            }
            each[i] = put ? DIRECTORY_OK : join(&k, group_id, user_ids[i]);
            if (each[i] != DIRECTORY_OK && each[i] != DIRECTORY_ALREADY && !first.class) {
                first = *e;
            }
        }
    }
    *e = first;
    return first.class;
}
