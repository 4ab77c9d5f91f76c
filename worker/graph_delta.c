/* Owns what an item of a delta page says about a user or a group and its members. Must not know links, rounds or tokens.
 *
 * Members that are neither user nor group (devices, service principals, contacts) are left out on purpose: the cache knows people
 * and what gives them access. Users and groups that are not in the cache (yet) keep their edge by ID and resolve when they
 * appear. */
#include "worker/graph_delta.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "core/json.h"
#include "core/param.h"
#include "worker/graph_calls.h"

#define SLICE 1000 /* members given to the cache at once */

directory_class graph_stored(graph_call *k, const ida_ctx *c, ida_kind kind)
{
    return kind == IDA_OK
               ? DIRECTORY_OK
               : graph_fail(k, DIRECTORY_LOCAL, NULL, "the cache refuses: %s", c->message ? c->message : ida_kind_text(kind));
}

int64_t graph_text_time(const char *text)
{
    int64_t at;
    return text && ida_param_time(text, &at) && at > 0 ? at : 0;
}

static directory_class unnamed(graph_delta *d, const char *what)
{
    return graph_fail(d->k, DIRECTORY_TRANSIENT, NULL, "the directory sent a %s without an ID", what);
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
        if (strcmp(name, "id") == 0) {
            l.id = graph_read_text(r);
        } else if (strcmp(name, "@odata.type") == 0) {
            l.type = graph_read_text(r);
        } else {
            l.removed |= strcmp(name, "@removed") == 0;
            graph_skip(r);
        }
    }
    return l;
}

/* --- users --- */

static const struct {
    const char *name;
    size_t offset;
} user_texts[] = {
    {"id", offsetof(sync_user, id)},
    {"userPrincipalName", offsetof(sync_user, upn)},
    {"displayName", offsetof(sync_user, display_name)},
    {"givenName", offsetof(sync_user, given_name)},
    {"surname", offsetof(sync_user, surname)},
    {"department", offsetof(sync_user, department)},
    {"jobTitle", offsetof(sync_user, job_title)},
    {"mail", offsetof(sync_user, mail)},
    {"companyName", offsetof(sync_user, company)},
    {"officeLocation", offsetof(sync_user, office)},
    {"city", offsetof(sync_user, city)},
    {"country", offsetof(sync_user, country)},
    {"employeeId", offsetof(sync_user, employee_id)},
    {"onPremisesImmutableId", offsetof(sync_user, anchor)},
};

/* "SMTP:a@b" and "smtp:a@b" are mail addresses; other kinds (X500, SIP, EUM) are not. */
static const char **read_addresses(graph_delta *d, graph_reader *r)
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
    return (const char **)out->elts;
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

static const char **read_licenses(graph_delta *d, graph_reader *r)
{
    apr_array_header_t *out = apr_array_make(d->item_pool, 4, sizeof(const char *));
    for (int more = graph_array_begin(r); more; more = graph_array_next(r)) {
        const char *name, *sku = NULL;
        for (int inner = graph_object_begin(r, &name); inner; inner = graph_object_next(r, &name)) {
            if (strcmp(name, "skuId") == 0) {
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
    return (const char **)out->elts;
}

/* The new manager beside the one that went; nobody when only that is told. */
static void read_manager(graph_reader *r, sync_user *u)
{
    for (int more = graph_array_begin(r); more; more = graph_array_next(r)) {
        edge l = read_edge(r);
        u->manager_untold = 0;
        if (l.id && !l.removed) {
            u->manager_id = l.id;
        }
    }
}

/* 0 when no text's name is this. */
static int read_user_text(graph_reader *r, const char *name, sync_user *u)
{
    for (size_t i = 0; i < sizeof user_texts / sizeof *user_texts; i++) {
        if (strcmp(name, user_texts[i].name) == 0) {
            *(const char **)((char *)u + user_texts[i].offset) = graph_read_text(r);
            return 1;
        }
    }
    return 0;
}

directory_class graph_delta_user(graph_delta *d, graph_reader *r)
{
    static const char *none[] = {NULL};
    const char *name, *type = NULL;
    int removed = 0;
    sync_user u = {.licenses = none, .sign_ins_untold = 1, .manager_untold = 1};
    for (int more = graph_object_begin(r, &name); more; more = graph_object_next(r, &name)) {
        if (read_user_text(r, name, &u)) {
            continue;
        }
        if (strcmp(name, "accountEnabled") == 0) {
            u.enabled = graph_read_true(r);
        } else if (strcmp(name, "userType") == 0) {
            type = graph_read_text(r);
        } else if (strcmp(name, "createdDateTime") == 0) {
            u.created_at = graph_text_time(graph_read_text(r));
        } else if (strcmp(name, "assignedLicenses") == 0) {
            u.licenses = read_licenses(d, r);
        } else if (strcmp(name, "proxyAddresses") == 0) {
            u.addresses = read_addresses(d, r);
        } else if (strcmp(name, "manager@delta") == 0) {
            read_manager(r, &u);
        } else {
            removed |= strcmp(name, "@removed") == 0;
            graph_skip(r);
        }
    }
    if (!u.id || r->fault) {
        return unnamed(d, "user");
    }
    u.guest = (type && strcasecmp(type, "Guest") == 0) || (u.upn && strstr(u.upn, "#EXT#"));
    if (removed) {
        apr_hash_set(d->gone, apr_pstrdup(d->pool, u.id), APR_HASH_KEY_STRING, "");
    } else if (apr_hash_count(d->gone)) {
        apr_hash_set(d->gone, u.id, APR_HASH_KEY_STRING, NULL);
    }
    directory_class class =
        graph_stored(d->k, d->c, removed ? sync_run_delete(d->run, d->c, "user", u.id) : sync_run_user(d->run, d->c, &u));
    apr_pool_clear(d->item_pool);
    return class;
}

/* --- groups --- */

typedef struct member {
    sync_member member;
    int removed;
} member;

const char *graph_member_kind(const char *type)
{
    const char *dot = type ? strrchr(type, '.') : NULL;
    return !type || (dot && strcasecmp(dot, ".user") == 0) ? "user" : dot && strcasecmp(dot, ".group") == 0 ? "group" : NULL;
}

static void read_members(graph_delta *d, graph_reader *r, apr_array_header_t *members)
{
    for (int more = graph_array_begin(r); more; more = graph_array_next(r)) {
        edge l = read_edge(r);
        const char *kind = graph_member_kind(l.type);
        if (l.id && !l.removed && apr_hash_get(d->gone, l.id, APR_HASH_KEY_STRING)) {
            continue;
        }
        if (l.id && kind) {
            APR_ARRAY_PUSH(members, member) = (member){{.id = l.id, .kind = kind}, l.removed};
        } else {
            d->foreign++;
        }
    }
}

/* Who was told to be no member of a group that is new to the cache. */
static void note_none(graph_delta *d, const char *group_id, const apr_array_header_t *members)
{
    apr_hash_t *none = d->appeared ? apr_hash_get(d->appeared, group_id, APR_HASH_KEY_STRING) : NULL;
    for (int i = 0; none && i < members->nelts; i++) {
        const member *m = &APR_ARRAY_IDX(members, i, member);
        if (m->removed) {
            apr_hash_set(none, apr_pstrdup(d->pool, m->member.id), APR_HASH_KEY_STRING, "");
        } else if (apr_hash_count(none)) {
            apr_hash_set(none, m->member.id, APR_HASH_KEY_STRING, NULL);
        }
    }
}

/* In the order they came: of two words for a member the last one holds. */
static ida_kind stage_members(graph_delta *d, const char *group_id, const apr_array_header_t *members)
{
    sync_member slice[SLICE];
    ida_kind kind = IDA_OK;
    for (int i = 0; !kind && i < members->nelts;) {
        int count = 0;
        const member *m = &APR_ARRAY_IDX(members, i, member);
        if (m->removed) {
            kind = sync_run_member(d->run, d->c, group_id, &m->member, 1);
            i++;
            continue;
        }
        while (i < members->nelts && count < SLICE && !(m = &APR_ARRAY_IDX(members, i, member))->removed) {
            slice[count++] = m->member;
            i++;
        }
        kind = sync_run_slice(d->run, d->c, group_id, slice, count);
    }
    return kind;
}

/* Any other member of the item, for graph_group_kind. */
static void read_property(graph_reader *r, const char *name, json_t *properties)
{
    const char *from = r->at;
    graph_skip(r);
    json_t *value = r->fault ? NULL : json_loadb(from, (size_t)(r->at - from), JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
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
    ida_kind kind = sync_run_settled(d->run, c, id, d->settled, &known);
    if (!known && !kind) {
        apr_hash_set(d->appeared, apr_pstrdup(d->pool, id), APR_HASH_KEY_STRING, apr_hash_make(d->pool));
    }
    return kind ? ida_fail(d->c, kind, "%s", c->message ? c->message : ida_kind_text(kind)) : IDA_OK;
}

static ida_kind stage_group(graph_delta *d, const char *id, const json_t *properties)
{
    const char *kind = graph_group_kind(properties);
    const sync_group group = {
        .id = id,
        .name = ida_json_string(properties, "displayName"),
        .kind = kind,
        .description = ida_json_string(properties, "description"),
        .rule = strcmp(kind, "dynamic") == 0 ? ida_json_string(properties, "membershipRule") : NULL,
        .synced = json_is_true(json_object_get(properties, "onPremisesSyncEnabled")),
    };
    return sync_run_group(d->run, d->c, &group, NULL, 0);
}

directory_class graph_delta_group(graph_delta *d, graph_reader *r)
{
    apr_array_header_t *members = apr_array_make(d->item_pool, 64, sizeof(member));
    json_t *properties = ida_json_keep(d->item_pool, json_object());
    const char *name, *id = NULL;
    int removed = 0;
    for (int more = graph_object_begin(r, &name); more; more = graph_object_next(r, &name)) {
        if (strcmp(name, "id") == 0) {
            id = graph_read_text(r);
        } else if (strcmp(name, "members@delta") == 0) {
            read_members(d, r, members);
        } else if (*name == '@' || strchr(name, '@')) {
            removed |= strcmp(name, "@removed") == 0;
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
        kind = sync_run_delete(d->run, d->c, "group", id);
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
