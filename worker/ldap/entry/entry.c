/* Owns what entries mean: a user and a group as this service sees them. Must not know how requests
 * travel. */
#include "worker/ldap/entry/entry.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>
#include <strings.h>

#include "core/base/text.h"
#include "core/tenant/naming.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/entry/mods.h"
#include "worker/ldap/wire/ad.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

const char *ld_id_text(const ld_dialect *t, apr_pool_t *pool, const ld_entry *entry)
{
    if (!t->binary_ids) {
        return ld_uuid_canonical(pool, ld_text(pool, entry, t->id));
    }
    const ld_attribute *a = ld_get(entry, t->id);
    return a ? ld_guid_text(pool, a->values[0].bv_val, a->values[0].bv_len) : NULL;
}

const char *ld_id_filter(const ld_dialect *t, apr_pool_t *pool, const char *uuid)
{
    const unsigned char *bytes = t->binary_ids ? ld_guid_bytes(pool, uuid) : NULL;
    return apr_pstrcat(pool, "(", t->id, "=", bytes ? ld_filter_bytes(pool, bytes, 16) : uuid, ")",
                       NULL);
}

void ld_add_name(apr_array_header_t *names, const char *name)
{
    if (!name) {
        return;
    }
    for (int i = 0; i < names->nelts; i++) {
        if (strcasecmp(APR_ARRAY_IDX(names, i, const char *), name) == 0) {
            return;
        }
    }
    APR_ARRAY_PUSH(names, const char *) = name;
}

const char *const *ld_user_attributes(directory *d)
{
    const ld_dialect *t = d->dialect;
    apr_array_header_t *names = apr_array_make(d->pool, LD_MAX_ATTRIBUTES, sizeof(const char *));
    const char *const base[] = {
        t->id,         t->stamp,   t->login,         t->mail, d->upn_attribute,    "cn",
        "displayName", t->manager, t->created,       t->lock, d->marker_attribute, t->changed,
        t->addresses,  t->anchor,  t->primary_group, t->sid,  t->expires};
    for (size_t i = 0; i < sizeof base / sizeof *base; i++) {
        ld_add_name(names, base[i]);
    }
    for (const ld_field *f = t->fields; f->name; f++) {
        if (f->cache != LD_NO_FIELD) {
            ld_add_name(names, f->attribute);
            if (f->also) {
                ld_add_name(names, f->also);
            }
        }
    }
    for (const char *const *name = t->sign_ins; *name; name++) {
        ld_add_name(names, *name);
    }
    for (const char *const *name = t->guards; name && *name; name++) {
        ld_add_name(names, *name);
    }
    APR_ARRAY_PUSH(names, const char *) = NULL;
    return (const char *const *)names->elts;
}

const char *const *ld_group_attributes(directory *d)
{
    const ld_dialect *t = d->dialect;
    apr_array_header_t *names = apr_array_make(d->pool, 10, sizeof(const char *));
    const char *const base[] = {t->id,         t->stamp,      t->changed,
                                t->group_name, t->group_type, "objectClass",
                                "description", t->rule,       t->sid};
    for (size_t i = 0; i < sizeof base / sizeof *base; i++) {
        ld_add_name(names, base[i]);
    }
    APR_ARRAY_PUSH(names, const char *) = NULL;
    return (const char *const *)names->elts;
}

/* Distinguishes a newer state of the entry from an older one. If the counter is local to each
 * server, the time comes first. */
static const char *stamp_of(const ld_dialect *t, apr_pool_t *pool, const ld_entry *entry)
{
    const char *stamp = ld_text(pool, entry, t->stamp),
               *at = t->changed ? ld_text(pool, entry, t->changed) : NULL;
    if (!t->changed || !stamp) {
        return stamp;
    }
    size_t digits = at ? strspn(at, "0123456789") : 0, len = strlen(stamp);
    return digits == 14 && len <= 20
               ? apr_psprintf(pool, "%.14s#%0*d%s", at, (int)(20 - len) + 1, 0, stamp)
               : NULL;
}

int64_t ld_entry_time(const ld_dialect *t, apr_pool_t *pool, const ld_entry *entry,
                      const char *attribute)
{
    const char *text = ld_text(pool, entry, attribute);
    return t->filetime ? ld_filetime(text) : ld_time(text);
}

/* Last sign-in of the account by the best attribute available; ms, 0: none. */
static int64_t sign_in_of(const ld_dialect *t, apr_pool_t *pool, const ld_entry *entry)
{
    int64_t at = 0;
    for (const char *const *name = t->sign_ins; *name && !at; name++) {
        at = ld_entry_time(t, pool, entry, *name);
    }
    return at;
}

const char *ld_own_base(const ld_call *k)
{
    const struct berval *sid = &k->d->own_sid;
    return sid->bv_val
               ? apr_pstrcat(k->pool, "<SID=",
                             ida_hex(k->pool, (const unsigned char *)sid->bv_val, sid->bv_len), ">",
                             NULL)
               : k->d->bind_dn;
}

int64_t ld_own_sign_in(ld_call *k)
{
    const directory *d = k->d;
    const ld_entry *entry = NULL;
    if (d->bind != LD_BIND_SIMPLE ||
        ld_read(k, ld_own_base(k), d->dialect->sign_ins, "read our own account", &entry)) {
        return 0;
    }
    return entry ? sign_in_of(d->dialect, k->pool, entry) : 0;
}

/* The value in the RDN if there are several, because the administrator chose that one. */
static const char *naming_value(apr_pool_t *pool, const ld_entry *entry, const char *attribute)
{
    const ld_attribute *a = ld_get(entry, attribute);
    const char *in_rdn = a && a->count > 1 ? ld_rdn_value(pool, entry->dn, attribute) : NULL;
    return in_rdn ? in_rdn : ld_text(pool, entry, attribute);
}

/* --- one address of several --- */

/* The local part that the tenant's format makes of the entry's names; NULL: none. */
static const char *local_by_format(const directory *d, apr_pool_t *pool, const ld_entry *entry)
{
    const char *first = ld_text(pool, entry, "givenName"), *last = ld_text(pool, entry, "sn");
    const ida_name_parts parts = {first ? first : "", NULL, last ? last : ""};
    char *local = NULL;
    return d->tenant->username_format &&
                   !ida_naming_local(ida_ctx_make(d->env, pool), d->tenant->username_format, &parts,
                                     &local)
               ? local
               : NULL;
}

/* 1 for the local part, with or without a number after it. */
static int by_format(const char *key, const char *local)
{
    size_t len = local ? strlen(local) : 0;
    return len && strncmp(key, local, len) == 0 &&
           key[len + strspn(key + len, "0123456789")] == '@';
}

/* Which of several addresses is meant: one at the domain before others, among them one by the
 * tenant's format, and the smallest of those that are left, so that the cache does not flap. The
 * others, NULL-terminated, in *further. */
static const char *one_address(const directory *d, apr_pool_t *pool, const ld_entry *entry,
                               const char **values, int count, const char *domain,
                               const char ***further)
{
    const char *local = count > 1 ? local_by_format(d, pool, entry) : NULL,
               *at_domain = ida_fold_address(pool, domain);
    int best = 0, best_rank = 3, others = 0;
    for (int i = 0; i < count; i++) {
        const char *key = ida_fold_address(pool, values[i]), *at = strrchr(key, '@');
        int rank = !at || strcmp(at + 1, at_domain) != 0 ? 2 : by_format(key, local) ? 0 : 1;
        if (rank < best_rank || (rank == best_rank && strcmp(values[i], values[best]) < 0)) {
            best = i;
            best_rank = rank;
        }
    }
    *further = NULL;
    if (count > 1) {
        *further = apr_pcalloc(pool, (apr_size_t)count * sizeof **further);
        for (int i = 0; i < count; i++) {
            if (i != best) {
                (*further)[others++] = values[i];
            }
        }
    }
    return count ? values[best] : NULL;
}

/* The attribute's text values, each followed by `tail`. */
static const char **texts_of(apr_pool_t *pool, const ld_entry *entry, const char *attribute,
                             const char *tail, int *count)
{
    const ld_attribute *a = ld_get(entry, attribute);
    const char **out = apr_pcalloc(pool, (apr_size_t)(a ? a->count + 1 : 1) * sizeof *out);
    *count = 0;
    for (int i = 0; a && i < a->count; i++) {
        if (a->values[i].bv_len && ida_utf8_valid(a->values[i].bv_val, a->values[i].bv_len)) {
            out[(*count)++] = apr_pstrcat(pool, a->values[i].bv_val, tail, NULL);
        }
    }
    return out;
}

static const char *upn_of(const directory *d, apr_pool_t *pool, const ld_entry *entry,
                          const char ***further)
{
    int login = strcasecmp(d->upn_attribute, d->dialect->login) == 0, count;
    const char *tail = login ? apr_pstrcat(pool, "@", d->tenant->upn_domain, NULL) : "",
               **values = texts_of(pool, entry, d->upn_attribute, tail, &count);
    const char *upn = one_address(d, pool, entry, values, count, d->tenant->upn_domain, further);
    if (login && count > 1) { /* the administrator chose the one in the RDN */
        const char *chosen = ld_rdn_value(pool, entry->dn, d->upn_attribute);
        chosen = chosen ? apr_pstrcat(pool, chosen, tail, NULL) : NULL;
        for (int i = 0; chosen && (*further)[i]; i++) {
            if (strcasecmp((*further)[i], chosen) == 0) {
                (*further)[i] = upn;
                upn = chosen;
                break;
            }
        }
    }
    if (upn || login || !d->dialect->active_directory) {
        return upn ? upn : ld_text(pool, entry, login ? "" : d->upn_attribute);
    }
    /* Accounts without one sign in by their login name at the domain. */
    const char *name = ld_text(pool, entry, d->dialect->login);
    return name && d->dns_domain ? apr_pstrcat(pool, name, "@", d->dns_domain, NULL) : NULL;
}

/* The mail address: the UPN if it is one, otherwise an address in the tenant's mail domain. */
static const char *mail_of(const directory *d, apr_pool_t *pool, const ld_entry *entry,
                           const char *upn)
{
    int count;
    const char **further, **values = texts_of(pool, entry, d->dialect->mail, "", &count);
    return strcasecmp(d->upn_attribute, d->dialect->mail) == 0
               ? upn
               : one_address(d, pool, entry, values, count, d->tenant->email_domain, &further);
}

/* Mail addresses among the proxy addresses ("SMTP:" the primary one, "smtp:" the others). */
static const char **proxy_addresses(apr_pool_t *pool, const ld_entry *entry, const char *attribute,
                                    const char *mail)
{
    const ld_attribute *a = ld_get(entry, attribute);
    const char **out = a ? apr_pcalloc(pool, (apr_size_t)(a->count + 1) * sizeof *out) : NULL;
    int count = 0;
    for (int i = 0; a && i < a->count; i++) {
        const char *text = a->values[i].bv_val;
        if (a->values[i].bv_len > 5 && strncasecmp(text, "smtp:", 5) == 0 &&
            ida_utf8_valid(text, a->values[i].bv_len) &&
            (!mail || strcasecmp(text + 5, mail) != 0)) {
            out[count++] = apr_pstrdup(pool, text + 5);
        }
    }
    return count ? out : NULL;
}

/* Why an account must never be changed, from what its entry shows. */
static const char *guard_of(const directory *d, apr_pool_t *pool, const ld_entry *entry)
{
    const char *const *guards = d->dialect->guards;
    if (!guards) {
        return NULL;
    }
    const ld_attribute *sid = ld_get(entry, guards[2]);
    int64_t rid = sid ? ld_sid_rid(&sid->values[0]) : -1;
    if (sid && d->own_sid.bv_val && sid->values[0].bv_len == d->own_sid.bv_len &&
        memcmp(sid->values[0].bv_val, d->own_sid.bv_val, d->own_sid.bv_len) == 0) {
        return "is the service account of this connection";
    }
    return ld_holds(entry, guards[0], "TRUE") ? "is a critical system object"
           : rid == 500 || rid == 502         ? "is a built-in account of the domain"
           : ld_number(pool, entry, guards[1]) > 0
               ? "is protected by adminCount, as a member of an administrative group"
               : NULL;
}

static const char **further_addresses(apr_pool_t *pool, const ld_entry *entry,
                                      const char *attribute, const char *first)
{
    const ld_attribute *a = ld_get(entry, attribute);
    if (!a || a->count < 2) {
        return NULL;
    }
    const char **out = apr_pcalloc(pool, (apr_size_t)(a->count + 1) * sizeof *out);
    int count = 0;
    for (int i = 0; i < a->count; i++) {
        if (a->values[i].bv_len && ida_utf8_valid(a->values[i].bv_val, a->values[i].bv_len) &&
            (!first || strcmp(a->values[i].bv_val, first) != 0)) {
            out[count++] = apr_pstrmemdup(pool, a->values[i].bv_val, a->values[i].bv_len);
        }
    }
    return count ? out : NULL;
}

/* In the form of the cloud's onPremisesImmutableId: base64 of 16 bytes. */
static const char *anchor_of(const ld_dialect *t, apr_pool_t *pool, const ld_entry *entry)
{
    const ld_attribute *a = t->anchor ? ld_get(entry, t->anchor) : NULL;
    if (t->anchor && (!a || a->values[0].bv_len != 16)) {
        a = ld_get(entry, t->id);
    }
    return a ? ida_base64_encode(pool, (const unsigned char *)a->values[0].bv_val,
                                 a->values[0].bv_len)
             : NULL;
}

struct berval ld_primary_sid(const ld_dialect *t, apr_pool_t *pool, const ld_entry *entry)
{
    const ld_attribute *sid = t->primary_group ? ld_get(entry, t->sid) : NULL;
    long rid = sid ? ld_number(pool, entry, t->primary_group) : 0;
    return rid > 0 && rid <= UINT32_MAX ? ld_sid_with(pool, &sid->values[0], (uint32_t)rid)
                                        : (struct berval){0};
}

/* Line breaks as callers write them: Active Directory keeps two characters for each. */
static const char *plain_breaks(apr_pool_t *pool, const char *value)
{
    char *out = apr_pstrdup(pool, value), *to = out;
    for (; *value; value++) {
        if (value[0] != '\r' || value[1] != '\n') {
            *to++ = *value;
        }
    }
    *to = '\0';
    return out;
}

int ld_user_read(directory *d, apr_pool_t *pool, const ld_entry *entry, directory_user *user)
{
    const ld_dialect *t = d->dialect;
    int count;
    *user = (directory_user){0};
    cache_user *c = &user->cache;
    c->id = ld_id_text(t, pool, entry);
    c->dn = entry->dn;
    c->dn_key = ld_dn_key(pool, entry->dn);
    if (!c->id || !c->dn_key) {
        return 0;
    }
    c->upn = upn_of(d, pool, entry, &c->upns);
    c->mail = mail_of(d, pool, entry, c->upn);
    c->addresses = t->addresses ? proxy_addresses(pool, entry, t->addresses, c->mail)
                                : further_addresses(pool, entry, t->mail, c->mail);
    c->anchor = anchor_of(t, pool, entry);
    c->display_name = ld_text(pool, entry, "displayName");
    c->display_name = c->display_name ? c->display_name : naming_value(pool, entry, "cn");
    c->display_name = c->display_name ? c->display_name : ld_rdn_value(pool, entry->dn, "cn");
    for (const ld_field *f = t->fields; f->name; f++) {
        if (f->cache != LD_NO_FIELD) {
            const char *value = ld_text(pool, entry, f->attribute);
            value = value || !f->also ? value : ld_text(pool, entry, f->also);
            *(const char **)((char *)c + f->cache) = value ? plain_breaks(pool, value) : NULL;
        }
    }
    c->enabled = t->lock_bit ? !(ld_number(pool, entry, t->lock) & t->lock_bit)
                             : !ld_holds(entry, t->lock, t->locked);
    c->expires_at = ld_entry_time(t, pool, entry, t->expires);
    c->created_at = ld_time(ld_text(pool, entry, t->created));
    c->last_success_at = sign_in_of(t, pool, entry);
    c->last_sign_in_at = c->last_success_at;
    const ld_attribute *managers = ld_get(entry, t->manager);
    user->managers = managers ? managers->count : 0;
    /* With several managers only a person can say which one is meant, so none is taken; the
     * doctor lists them. */
    const char *manager = user->managers == 1 ? ld_text(pool, entry, t->manager) : NULL;
    c->manager_dn = manager ? ld_extended_dn(pool, manager, &c->manager_id) : NULL;
    c->manager_dn = c->manager_id ? NULL : c->manager_dn;
    c->manager_dn_key = c->manager_dn ? ld_dn_key(pool, c->manager_dn) : NULL;
    c->stamp = stamp_of(t, pool, entry);
    user->id = c->id;
    user->upn = c->upn;
    user->mail = c->mail;
    user->display_name = c->display_name;
    user->dn = c->dn;
    user->enabled = c->enabled;
    user->marker = ld_text(pool, entry, d->marker_attribute);
    user->login = naming_value(pool, entry, t->login);
    user->logins = texts_of(pool, entry, t->login, "", &count);
    user->guarded = guard_of(d, pool, entry);
    struct berval primary = ld_primary_sid(t, pool, entry);
    user->primary = primary.bv_val ? ld_filter_bytes(pool, primary.bv_val, primary.bv_len) : NULL;
    return 1;
}

int ld_group_read(directory *d, apr_pool_t *pool, const ld_entry *entry, cache_group *group)
{
    const ld_dialect *t = d->dialect;
    *group = (cache_group){0};
    group->id = ld_id_text(t, pool, entry);
    group->dn = entry->dn;
    group->dn_key = ld_dn_key(pool, entry->dn);
    group->name = naming_value(pool, entry, t->group_name);
    group->description = ld_text(pool, entry, "description");
    group->stamp = stamp_of(t, pool, entry);
    int dynamic = t->dynamic_group_class && ld_holds(entry, "objectClass", t->dynamic_group_class);
    group->kind = dynamic                                                       ? "dynamic"
                  : t->group_type && ld_number(pool, entry, t->group_type) >= 0 ? "distribution"
                                                                                : "security";
    group->rule = dynamic ? ld_text(pool, entry, t->rule) : NULL;
    return group->id && group->dn_key && group->name;
}

const ld_links *ld_links_of(const directory *d, const ld_entry *group, const ld_links *after)
{
    for (const ld_links *l = after ? after + 1 : d->dialect->links; l->class; l++) {
        if (ld_holds(group, "objectClass", l->class)) {
            return l;
        }
    }
    return after || ld_get(group, "objectClass") ? NULL : d->dialect->links;
}

void ld_lock_mods(const directory *d, const ld_entry *entry, int enabled, ld_mods *mods)
{
    const ld_dialect *t = d->dialect;
    if (!t->lock_bit) {
        ld_mods_text(mods, LDAP_MOD_REPLACE, t->lock, enabled ? NULL : t->locked);
        return;
    }
    /* The other bits stay as they are; another writer's change in between is refused by the server
     * (16). */
    const char *old = ld_text(mods->pool, entry, t->lock);
    long bits = ld_number(mods->pool, entry, t->lock);
    if (old) {
        ld_mods_text(mods, LDAP_MOD_DELETE, t->lock, old);
    }
    ld_mods_text(mods, LDAP_MOD_ADD, t->lock,
                 apr_psprintf(mods->pool, "%ld",
                              enabled ? bits & ~t->lock_bit : bits | t->lock_bit));
}

/* A group needs a member: the configured placeholder, or the group itself. */
int ld_is_placeholder(const directory *d, const char *member_key, const char *group_key)
{
    return (d->placeholder_key && strcmp(member_key, d->placeholder_key) == 0) ||
           strcmp(member_key, group_key) == 0;
}
