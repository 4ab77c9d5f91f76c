/* Owns what no delta round reports: the links of restored users and groups, and of those that
 * appeared late. Each entry's links are read separately. Must not know rounds or tokens. */
#include <string.h>

#include "worker/graph/sync.h"
#include "worker/graph/url.h"

#define SLICE 100 /* users at once */

/* Links of one entry: to the groups it is in, to the members of a group, to the people a user
 * leads. */
typedef struct links {
    graph_delta *d;
    const char *id, *kind; /* of the entry */
    apr_hash_t *none;      /* members that the round reported as removed: it may be newer than a
                              list */
} links;

static directory_class staged(const links *l, ida_kind kind)
{
    return graph_stored(l->d->k, l->d->c, kind);
}

static directory_class member_of(void *baton, json_t *item)
{
    const links *l = baton;
    const cache_member member = {.id = l->id, .kind = l->kind};
    cache_member group;
    if (!graph_member_value(item, &group) || !group.kind || strcmp(group.kind, "group") != 0) {
        return DIRECTORY_OK;
    }
    return staged(l, cache_sync_member(l->d->run, l->d->c, group.id, &member, 0));
}

static directory_class has_member(void *baton, json_t *item)
{
    const links *l = baton;
    cache_member member;
    if (!graph_member_value(item, &member) ||
        apr_hash_get(l->none, member.id ? member.id : member.dn_key, APR_HASH_KEY_STRING)) {
        return DIRECTORY_OK;
    }
    return staged(l, cache_sync_member(l->d->run, l->d->c, l->id, &member, 0));
}

static directory_class leads(void *baton, json_t *item)
{
    const links *l = baton;
    cache_member report;
    if (!graph_member_value(item, &report) || !report.kind || strcmp(report.kind, "user") != 0) {
        return DIRECTORY_OK;
    }
    return staged(l, cache_sync_report(l->d->run, l->d->c, report.id, l->id));
}

/* An entry that is not found has been deleted again, or the replica does not have it yet. It is
 * recorded, because the next round could not know that its links must be read. */
static directory_class read_links(links *l, const char *url, graph_item each)
{
    graph_list list = {.request = {.method = "GET",
                                   .url = url,
                                   .sync = 1,
                                   .doing = "reading what belongs to a new or restored entry"}};
    directory_class class = graph_each(l->d->k, &list, each, l);
    if (class == DIRECTORY_NOT_FOUND) {
        json_object_set_new(l->d->unread, l->id, json_string(l->kind));
        return DIRECTORY_OK;
    }
    return class;
}

/* When a member is deleted and restored, its groups do not change, nor do the people whose
 * manager it was: no delta reports them, so the entry is read. */
static directory_class returned_user(graph_delta *d, const char *id)
{
    const graph *g = d->k->g;
    apr_pool_t *pool = d->item_pool;
    links l = {.d = d, .id = id, .kind = "user"};
    directory_class class = read_links(
        &l, graph_url(g, pool, "/users/%s/memberOf?$select=id&$top=999", id), member_of);
    return class ? class
                 : read_links(&l,
                              graph_url(g, pool, "/users/%s/directReports?$select=id&$top=999", id),
                              leads);
}

/* A group that is new to the cache was created or restored; only for a created one the round
 * reports all members. (Groups that can be restored are not members of another group.) */
static directory_class appeared_group(graph_delta *d, const char *id, apr_hash_t *none)
{
    links l = {.d = d, .id = id, .kind = "group", .none = none};
    return read_links(
        &l, graph_url(d->k->g, d->item_pool, "/groups/%s/members?$select=id&$top=999", id),
        has_member);
}

directory_class graph_appeared_groups(graph_delta *d)
{
    directory_class class = DIRECTORY_OK;
    for (apr_hash_index_t *i = apr_hash_first(d->pool, d->appeared); i && !class;
         i = apr_hash_next(i)) {
        class = appeared_group(d, apr_hash_this_key(i), apr_hash_this_val(i));
        apr_pool_clear(d->item_pool);
    }
    return class;
}

static int is_kind(const json_t *kind, const char *name)
{
    return json_is_string(kind) && strcmp(json_string_value(kind), name) == 0;
}

void graph_unread_groups(graph_delta *d, const json_t *unread)
{
    const char *id;
    json_t *kind;
    json_object_foreach ((json_t *)(uintptr_t)unread, id, kind) {
        if (is_kind(kind, "group")) {
            apr_hash_set(d->appeared, id, APR_HASH_KEY_STRING, apr_hash_make(d->pool));
        }
    }
}

/* Entries that the last round did not find, without those reported as deleted since. */
static directory_class unread_users(graph_delta *d, const json_t *unread)
{
    const char *id;
    json_t *kind;
    directory_class class = DIRECTORY_OK;
    json_object_foreach ((json_t *)(uintptr_t)unread, id, kind) {
        if (!class && is_kind(kind, "user") && !apr_hash_get(d->gone, id, APR_HASH_KEY_STRING)) {
            class = returned_user(d, id);
            apr_pool_clear(d->item_pool);
        }
    }
    return class;
}

directory_class graph_returned_users(graph_delta *d, int64_t made_before, const json_t *unread)
{
    const char **ids, *after = "";
    int count;
    do {
        ida_kind kind = cache_sync_returned(d->run, d->c, d->settled, made_before, after, SLICE,
                                            &ids, &count);
        directory_class class = graph_stored(d->k, d->c, kind);
        for (int i = 0; !class && i < count; i++) {
            class = returned_user(d, ids[i]);
            apr_pool_clear(d->item_pool);
        }
        if (class) {
            return class;
        }
        after = count ? ids[count - 1] : after;
    } while (count == SLICE);
    return unread_users(d, unread);
}
