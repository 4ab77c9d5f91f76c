/* Owns what an item of a delta page says about a user or a group and its members. Must not know
 * links, rounds or tokens.
 *
 * Members that are neither user nor group (devices, service principals, contacts) are kept as
 * members whom the cache does not know. Users and groups that are not in the cache (yet) keep their
 * edge by ID and resolve when they appear. */
#include "worker/graph/delta.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/time.h"
#include "worker/graph/calls.h"

#define SLICE 1000 /* members given to the cache at once */

/* The member's name that was read last is this literal: most of them differ in length already. */
#define NAMED(reader, name, literal) \
    ((reader)->len == sizeof literal - 1 && memcmp(name, literal, sizeof literal - 1) == 0)

directory_class graph_stored(graph_call *k, const ida_ctx *c, ida_kind kind)
{
    return kind == IDA_OK ? DIRECTORY_OK
                          : graph_fail(k, DIRECTORY_LOCAL, NULL, "the cache refuses: %s",
                                       c->message ? c->message : ida_kind_text(kind));
}

int64_t graph_text_time(const char *text)
{
    int64_t at;
    return text && ida_time_parse(text, &at) && at > 0 ? at : 0;
}

static directory_class unnamed(graph_delta *d, const char *what)
{
    return graph_fail(d->k, DIRECTORY_TRANSIENT, NULL, "the directory sent a %s without an ID",
                      what);
}

/* --- links: members@delta, manager@delta --- */

typedef struct edge {
    const char *id, *type;
    int removed;
} edge;

static edge read_edge(graph_reader *r)
{
    edge l = {0};
    const char *name;
    for (int more = graph_object_begin(r, &name); more; more = graph_object_next(r, &name)) {
        if (NAMED(r, name, "id")) {
            l.id = graph_read_text(r);
        } else if (NAMED(r, name, "@odata.type")) {
            l.type = graph_read_text(r);
        } else {
            l.removed |= NAMED(r, name, "@removed");
            graph_skip(r);
        }
    }
    return l;
}

/* --- users --- */

/* What an item says of a user. */
typedef struct told {
    cache_user user;
    const char *type;
    int removed;
} told;

/* "SMTP:a@b" and "smtp:a@b" are mail addresses; other kinds (X500, SIP, EUM) are not. */
static void read_addresses(graph_delta *d, graph_reader *r, told *t)
{
    apr_array_header_t *out = apr_array_make(d->item_pool, 4, sizeof(const char *));
    for (int more = graph_array_begin(r); more; more = graph_array_next(r)) {
        const char *address = graph_read_text(r);
        if (address && strncasecmp(address, "smtp:", 5) == 0) {
            address += 5;
        } else if (address && strchr(address, ':')) {
            address = NULL;
        }
        if (address) {
            APR_ARRAY_PUSH(out, const char *) = address;
        }
    }
    APR_ARRAY_PUSH(out, const char *) = NULL;
    t->user.addresses = (const char **)out->elts;
}

static const char *sku_name(graph_delta *d, const char *sku)
{
    const char *name = apr_hash_get(d->skus, sku, APR_HASH_KEY_STRING);
    if (!name) {
        name = graph_license_name(d->k->g, d->pool, sku);
        d->unnamed_skus += strcmp(name, sku) == 0;
        name = apr_pstrdup(d->pool, name);
        apr_hash_set(d->skus, apr_pstrdup(d->pool, sku), APR_HASH_KEY_STRING, name);
    }
    return name;
}

static void read_licenses(graph_delta *d, graph_reader *r, told *t)
{
    apr_array_header_t *out = apr_array_make(d->item_pool, 4, sizeof(const char *));
    for (int more = graph_array_begin(r); more; more = graph_array_next(r)) {
        const char *name, *sku = NULL;
        for (int inner = graph_object_begin(r, &name); inner; inner = graph_object_next(r, &name)) {
            if (NAMED(r, name, "skuId")) {
                sku = graph_read_text(r);
            } else {
                graph_skip(r);
            }
        }
        if (sku) {
            APR_ARRAY_PUSH(out, const char *) = sku_name(d, sku);
        }
    }
    APR_ARRAY_PUSH(out, const char *) = NULL;
    t->user.licenses = (const char **)out->elts;
}

/* The new manager beside the one that went; nobody when only that is told. */
static void read_manager(graph_delta *d, graph_reader *r, told *t)
{
    (void)d;
    for (int more = graph_array_begin(r); more; more = graph_array_next(r)) {
        edge l = read_edge(r);
        t->user.manager_untold = 0;
        if (l.id && !l.removed) {
            t->user.manager_id = l.id;
        }
    }
}

static void read_enabled(graph_delta *d, graph_reader *r, told *t)
{
    (void)d;
    t->user.enabled = graph_read_true(r);
}

static void read_created(graph_delta *d, graph_reader *r, told *t)
{
    (void)d;
    t->user.created_at = graph_text_time(graph_read_text(r));
}

static void read_removed(graph_delta *d, graph_reader *r, told *t)
{
    (void)d;
    t->removed = 1;
    graph_skip(r);
}

static const struct {
    const char *name;
    size_t len, offset;                                     /* offset: of a text in `told` */
    void (*read)(graph_delta *d, graph_reader *r, told *t); /* NULL: it is a text */
} user_members[] = {
#define TEXT(name, place)                                  \
    {                                                      \
        name, sizeof name - 1, offsetof(told, place), NULL \
    }
#define OTHER(name, read)              \
    {                                  \
        name, sizeof name - 1, 0, read \
    }
    TEXT("id", user.id),
    TEXT("userPrincipalName", user.upn),
    TEXT("displayName", user.display_name),
    TEXT("givenName", user.given_name),
    TEXT("surname", user.surname),
    TEXT("department", user.department),
    TEXT("jobTitle", user.job_title),
    TEXT("mail", user.mail),
    TEXT("companyName", user.company),
    TEXT("officeLocation", user.office),
    TEXT("city", user.city),
    TEXT("country", user.country),
    TEXT("employeeId", user.employee_id),
    TEXT("onPremisesImmutableId", user.anchor),
    TEXT("userType", type),
    OTHER("accountEnabled", read_enabled),
    OTHER("createdDateTime", read_created),
    OTHER("assignedLicenses", read_licenses),
    OTHER("proxyAddresses", read_addresses),
    OTHER("manager@delta", read_manager),
    OTHER("@removed", read_removed),
#undef TEXT
#undef OTHER
};

static void read_user_member(graph_delta *d, graph_reader *r, const char *name, told *t)
{
    size_t i = 0, count = sizeof user_members / sizeof *user_members;
    while (i < count &&
           !(r->len == user_members[i].len && memcmp(name, user_members[i].name, r->len) == 0)) {
        i++;
    }
    if (i == count) {
        graph_skip(r);
    } else if (user_members[i].read) {
        user_members[i].read(d, r, t);
    } else {
        *(const char **)((char *)t + user_members[i].offset) = graph_read_text(r);
    }
}

directory_class graph_delta_user(graph_delta *d, graph_reader *r)
{
    static const char *none[] = {NULL};
    const char *name;
    told t = {.user = {.licenses = none, .sign_ins_untold = 1, .manager_untold = 1}};
    for (int more = graph_object_begin(r, &name); more; more = graph_object_next(r, &name)) {
        read_user_member(d, r, name, &t);
    }
    cache_user *u = &t.user;
    if (!u->id || r->fault) {
        return unnamed(d, "user");
    }
    u->guest = (t.type && strcasecmp(t.type, "Guest") == 0) || (u->upn && strstr(u->upn, "#EXT#"));
    if (t.removed) {
        apr_hash_set(d->gone, apr_pstrdup(d->pool, u->id), APR_HASH_KEY_STRING, "");
    } else if (apr_hash_count(d->gone)) {
        apr_hash_set(d->gone, u->id, APR_HASH_KEY_STRING, NULL);
    }
    directory_class class = graph_stored(d->k, d->c,
                                         t.removed ? cache_sync_delete(d->run, d->c, "user", u->id)
                                                   : cache_sync_user(d->run, d->c, u));
    apr_pool_clear(d->item_pool);
    return class;
}

/* --- groups --- */

typedef struct member {
    cache_member member;
    int removed;
} member;

const char *graph_member_kind(const char *type)
{
    const char *dot = type ? strrchr(type, '.') : NULL;
    return !type || (dot && strcasecmp(dot, ".user") == 0) ? "user"
           : dot && strcasecmp(dot, ".group") == 0         ? "group"
                                                           : NULL;
}

cache_member graph_member_of(const char *id, const char *type)
{
    const char *kind = graph_member_kind(type);
    return kind ? (cache_member){.id = id, .kind = kind} : (cache_member){.dn_key = id};
}

/* By which it is told from others of its group. */
static const char *name_of(const cache_member *m)
{
    return m->id ? m->id : m->dn_key;
}

static void read_members(graph_delta *d, graph_reader *r, apr_array_header_t *members)
{
    for (int more = graph_array_begin(r); more; more = graph_array_next(r)) {
        edge l = read_edge(r);
        if (l.id && !l.removed && apr_hash_count(d->gone) &&
            apr_hash_get(d->gone, l.id, APR_HASH_KEY_STRING)) {
            continue;
        }
        if (l.id) {
            APR_ARRAY_PUSH(members, member) = (member){graph_member_of(l.id, l.type), l.removed};
        }
    }
}

/* Who was told to be no member of a group that is new to the cache. */
static void note_none(graph_delta *d, const char *group_id, const apr_array_header_t *members)
{
    apr_hash_t *none = d->appeared ? apr_hash_get(d->appeared, group_id, APR_HASH_KEY_STRING)
                                   : NULL;
    for (int i = 0; none && i < members->nelts; i++) {
        const member *m = &APR_ARRAY_IDX(members, i, member);
        if (m->removed) {
            apr_hash_set(none, apr_pstrdup(d->pool, name_of(&m->member)), APR_HASH_KEY_STRING, "");
        } else if (apr_hash_count(none)) {
            apr_hash_set(none, name_of(&m->member), APR_HASH_KEY_STRING, NULL);
        }
    }
}

/* In the order they came: of two words for a member the last one holds. */
static ida_kind stage_members(graph_delta *d, const char *group_id,
                              const apr_array_header_t *members)
{
    cache_member slice[SLICE];
    ida_kind kind = IDA_OK;
    for (int i = 0; !kind && i < members->nelts;) {
        int count = 0;
        const member *m = &APR_ARRAY_IDX(members, i, member);
        if (m->removed) {
            kind = cache_sync_member(d->run, d->c, group_id, &m->member, 1);
            i++;
            continue;
        }
        while (i < members->nelts && count < SLICE &&
               !(m = &APR_ARRAY_IDX(members, i, member))->removed) {
            slice[count++] = m->member;
            i++;
        }
        kind = cache_sync_slice(d->run, d->c, group_id, slice, count);
    }
    return kind;
}

/* Any other member of the item, for graph_group_kind. */
static void read_property(graph_reader *r, const char *name, json_t *properties)
{
    const char *from = r->at;
    graph_skip(r);
    json_t *value = r->fault ? NULL
                             : json_loadb(from, (size_t)(r->at - from),
                                          JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (value && json_object_set_new(properties, name, value) != 0) {
        r->fault = 1;
    }
}

/* Notes groups that are new to the cache. */
static ida_kind note_new(graph_delta *d, const char *id)
{
    int known = 1;
    if (!d->appeared || apr_hash_get(d->appeared, id, APR_HASH_KEY_STRING)) {
        return IDA_OK;
    }
    ida_ctx *c = ida_ctx_make(d->c->env, d->item_pool);
    ida_kind kind = cache_sync_settled(d->run, c, id, d->settled, &known);
    if (!known && !kind) {
        apr_hash_set(d->appeared, apr_pstrdup(d->pool, id), APR_HASH_KEY_STRING,
                     apr_hash_make(d->pool));
    }
    return kind ? ida_fail(d->c, kind, "%s", c->message ? c->message : ida_kind_text(kind))
                : IDA_OK;
}

static ida_kind stage_group(graph_delta *d, const char *id, const json_t *properties)
{
    const char *kind = graph_group_kind(properties);
    const cache_group group = {
        .id = id,
        .name = ida_json_string(properties, "displayName"),
        .kind = kind,
        .description = ida_json_string(properties, "description"),
        .rule = strcmp(kind, "dynamic") == 0 ? ida_json_string(properties, "membershipRule") : NULL,
        .synced = json_is_true(json_object_get(properties, "onPremisesSyncEnabled")),
    };
    return cache_sync_group(d->run, d->c, &group, NULL, 0);
}

directory_class graph_delta_group(graph_delta *d, graph_reader *r)
{
    apr_array_header_t *members = apr_array_make(d->item_pool, 64, sizeof(member));
    json_t *properties = ida_json_keep(d->item_pool, json_object());
    const char *name, *id = NULL;
    int removed = 0;
    for (int more = graph_object_begin(r, &name); more; more = graph_object_next(r, &name)) {
        if (NAMED(r, name, "id")) {
            id = graph_read_text(r);
        } else if (NAMED(r, name, "members@delta")) {
            read_members(d, r, members);
        } else if (*name == '@' || strchr(name, '@')) {
            removed |= NAMED(r, name, "@removed");
            graph_skip(r);
        } else {
            read_property(r, name, properties);
        }
    }
    if (!id || r->fault) {
        return unnamed(d, "group");
    }
    ida_kind kind = IDA_OK;
    if (removed) {
        kind = cache_sync_delete(d->run, d->c, "group", id);
        if (d->appeared) {
            apr_hash_set(d->appeared, id, APR_HASH_KEY_STRING, NULL);
        }
    } else {
        /* A further slice may come without the group's properties. */
        kind = json_object_size(properties) ? stage_group(d, id, properties) : IDA_OK;
        kind = kind ? kind : note_new(d, id);
        note_none(d, id, members);
        kind = kind ? kind : stage_members(d, id, members);
    }
    apr_pool_clear(d->item_pool);
    return graph_stored(d->k, d->c, kind);
}
