/* Owns the effect of one item of a delta round on the cache. Must not know links, rounds or tokens,
 * or the encoding of an item.
 *
 * Members that are neither user nor group (devices, service principals, contacts) are stored as
 * members that the cache does not know. The membership of users and groups that are not in the
 * cache yet is stored by ID and resolved when they appear. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#include "core/base/json.h"
#include "worker/graph/sync.h"

#define SLICE 1000 /* members given to the cache in one call */

directory_class graph_stored(graph_call *k, const ida_ctx *c, ida_kind kind)
{
    return kind == IDA_OK ? DIRECTORY_OK
                          : graph_fail(k, DIRECTORY_LOCAL, NULL, "the cache refuses: %s",
                                       c->message ? c->message : ida_kind_text(kind));
}

static int removed(const json_t *json)
{
    return json_object_get(json, "@removed") != NULL;
}

static directory_class unnamed(graph_delta *d, const char *what)
{
    return graph_fail(d->k, DIRECTORY_TRANSIENT, NULL, "the directory sent a %s without an ID",
                      what);
}

static int is_gone(const graph_delta *d, const char *id)
{
    return apr_hash_count(d->gone) && apr_hash_get(d->gone, id, APR_HASH_KEY_STRING);
}

/* --- users --- */

/* A licence without a name shows as its ID. */
static void note_unnamed(graph_delta *d, const json_t *item, const char **licenses)
{
    const json_t *license;
    size_t i, told = 0;
    json_array_foreach (json_object_get(item, "assignedLicenses"), i, license) {
        const char *sku = ida_json_string(license, "skuId");
        if (sku && strcmp(licenses[told++], sku) == 0) {
            apr_hash_set(d->unnamed, apr_pstrdup(d->pool, sku), APR_HASH_KEY_STRING, "");
        }
    }
}

directory_class graph_delta_user(void *baton, json_t *item)
{
    static const char *none[] = {NULL};
    graph_delta *d = baton;
    cache_user user;
    if (!graph_user_value(d->k->g, d->item_pool, item, &user)) {
        return unnamed(d, "user");
    }
    if (user.licenses) {
        note_unnamed(d, item, user.licenses);
    } else {
        user.licenses = none; /* an item contains all requested properties: a missing one has no
                                 value */
    }
    ida_kind kind;
    if (removed(item)) {
        apr_hash_set(d->gone, apr_pstrdup(d->pool, user.id), APR_HASH_KEY_STRING, "");
        kind = cache_sync_delete(d->run, d->c, "user", user.id);
    } else {
        apr_hash_set(d->gone, user.id, APR_HASH_KEY_STRING, NULL);
        kind = cache_sync_user(d->run, d->c, &user);
    }
    apr_pool_clear(d->item_pool);
    return graph_stored(d->k, d->c, kind);
}

/* --- groups --- */

typedef struct member {
    cache_member member;
    int removed;
} member;

/* The name that distinguishes it within its group. */
static const char *name_of(const cache_member *m)
{
    return m->id ? m->id : m->dn_key;
}

static apr_array_header_t *members_of(const graph_delta *d, const json_t *item)
{
    const json_t *list = json_object_get(item, "members@delta"), *one;
    apr_array_header_t *members = apr_array_make(d->item_pool, (int)json_array_size(list) + 1,
                                                 sizeof(member));
    size_t i;
    json_array_foreach (list, i, one) {
        member m = {.removed = removed(one)};
        if (graph_member_value(one, &m.member) && (m.removed || !is_gone(d, name_of(&m.member)))) {
            APR_ARRAY_PUSH(members, member) = m;
        }
    }
    return members;
}

/* Records removed members of a group that is new to the cache. */
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

/* In order of arrival: the last item for a member counts. */
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

/* A further part of a group's members may come without the group's properties. */
static int has_properties(json_t *item)
{
    const char *name;
    json_t *value;
    json_object_foreach (item, name, value) {
        if (strcmp(name, "id") != 0 && !strchr(name, '@')) {
            return 1;
        }
    }
    return 0;
}

directory_class graph_delta_group(void *baton, json_t *item)
{
    graph_delta *d = baton;
    cache_group group;
    ida_kind kind = IDA_OK;
    if (!graph_group_value(item, &group)) {
        return unnamed(d, "group");
    }
    if (removed(item)) {
        kind = cache_sync_delete(d->run, d->c, "group", group.id);
        if (d->appeared) {
            apr_hash_set(d->appeared, group.id, APR_HASH_KEY_STRING, NULL);
        }
    } else {
        const apr_array_header_t *members = members_of(d, item);
        kind = has_properties(item) ? cache_sync_group(d->run, d->c, &group, NULL, 0) : IDA_OK;
        kind = kind ? kind : note_new(d, group.id);
        note_none(d, group.id, members);
        kind = kind ? kind : stage_members(d, group.id, members);
    }
    apr_pool_clear(d->item_pool);
    return graph_stored(d->k, d->c, kind);
}
