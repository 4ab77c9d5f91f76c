/* Owns memberships: which can be changed here, leaving and joining groups. Must not know users
 * beyond their ID. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "worker/graph/url.h"
#include "worker/graph/user.h"

#define CHECK_MAX 20 /* groups in one checkMemberGroups */
#define BIND_MAX 20  /* members in one members@odata.bind */

static directory_class read_group(graph_call *k, const char *group_id, graph_answer *answer)
{
    const graph_request get = {.method = "GET",
                               .url = graph_url(k->g, k->pool,
                                                "/groups/%s?$select=" GRAPH_GROUP_SELECT, group_id),
                               .doing = "reading a group"};
    return graph_needs(k, graph_read(k, &get, answer), "GroupMember.Read.All", 0);
}

/* A change of members was refused. For groups whose members cannot be changed here the API only
 * answers "insufficient privileges", and for a missing object it does not say whether that is
 * the group: read the group itself. */
static directory_class explain(graph_call *k, const char *group_id, directory_class class)
{
    if (class != DIRECTORY_FORBIDDEN && class != DIRECTORY_INVALID &&
        class != DIRECTORY_NOT_FOUND) {
        return class;
    }
    directory_error refused = *k->e;
    graph_answer answer;
    directory_class looked = read_group(k, group_id, &answer);
    const char *reason = looked ? NULL : graph_group_retained(answer.json);
    const char *name = looked ? NULL : ida_json_string(answer.json, "displayName");
    *k->e = refused;
    if (class == DIRECTORY_NOT_FOUND) {
        k->e->field = looked == DIRECTORY_NOT_FOUND ? "group" : k->e->field;
        return class;
    }
    return !reason ? class
                   : graph_fail(k, DIRECTORY_INVALID, "group",
                                "members of %s cannot be changed here: %s", name ? name : group_id,
                                reason);
}

/* --- which groups hold a user --- */

typedef struct gathering {
    apr_pool_t *pool;
    apr_array_header_t *rows; /* directory_membership */
    apr_hash_t *seen;         /* ID, lower case */
} gathering;

static gathering gathering_in(apr_pool_t *pool)
{
    return (gathering){pool, apr_array_make(pool, 16, sizeof(directory_membership)),
                       apr_hash_make(pool)};
}

static const char *key_of(apr_pool_t *pool, const char *id)
{
    char *key = apr_pstrdup(pool, id);
    for (char *c = key; *c; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
    }
    return key;
}

/* Why a container of this type cannot be left here; NULL: it is a group. */
static const char *no_group(const json_t *item)
{
    static const char prefix[] = "#microsoft.graph.";
    const char *type = ida_json_string(item, "@odata.type");
    if (!type || strncasecmp(type, prefix, sizeof prefix - 1) != 0 ||
        strcasecmp(type + sizeof prefix - 1, "group") == 0) {
        return NULL;
    }
    type += sizeof prefix - 1;
    return strcasecmp(type, "directoryRole") == 0
               ? "directory role: the assignment is removed in the directory's roles"
           : strcasecmp(type, "administrativeUnit") == 0
               ? "administrative unit: membership is changed there"
               : "no group";
}

static directory_class gather(void *baton, json_t *item)
{
    gathering *g = baton;
    cache_group group;
    if (!graph_group_value(graph_keep(g->pool, item), &group) ||
        apr_hash_get(g->seen, key_of(g->pool, group.id), APR_HASH_KEY_STRING)) {
        return DIRECTORY_OK;
    }
    const char *other = no_group(item);
    directory_membership *row = apr_array_push(g->rows);
    row->group_id = group.id;
    row->group_name = group.name ? group.name : group.id;
    row->retained = other ? other : graph_group_retained(item);
    if (!other && group.rule && row->retained) {
        row->retained = apr_pstrcat(g->pool, row->retained, ": ", group.rule, NULL);
    }
    apr_hash_set(g->seen, key_of(g->pool, group.id), APR_HASH_KEY_STRING, row->group_id);
    return DIRECTORY_OK;
}

static directory_class gather_listed(graph_call *k, const char *user_id, gathering *g)
{
    graph_list list = {
        .request = {.method = "GET",
                    .url = graph_user_url(k->g, k->pool, user_id,
                                          "/memberOf?$top=999&$select=" GRAPH_GROUP_SELECT),
                    .doing = "listing the user's groups"}};
    return graph_needs(k, graph_each(k, &list, gather, g), "GroupMember.Read.All", 0);
}

static directory_class gather_one(graph_call *k, const char *group_id, gathering *g)
{
    graph_answer answer;
    directory_class class = read_group(k, group_id, &answer);
    if (!class) {
        class = gather(g, answer.json);
    }
    return class == DIRECTORY_NOT_FOUND ? DIRECTORY_OK : class;
}

/* Groups that the cache knows and the list does not show: hidden memberships, or a list that
 * lags. Ask the directory about each. */
static directory_class gather_asked(graph_call *k, const char *user_id, json_t *group_ids,
                                    gathering *g)
{
    const graph_request post = {.method = "POST",
                                .url = graph_user_url(k->g, k->pool, user_id, "/checkMemberGroups"),
                                .json = ida_json_keep(k->pool,
                                                      json_pack("{s:O}", "groupIds", group_ids)),
                                .cost = 4,
                                .doing = "looking into groups"};
    graph_answer answer;
    const json_t *id;
    size_t i;
    directory_class class = graph_needs(k, graph_read(k, &post, &answer), "GroupMember.Read.All",
                                        0);
    json_array_foreach (class ? NULL : json_object_get(answer.json, "value"), i, id) {
        class = class || !json_string_value(id) ? class : gather_one(k, json_string_value(id), g);
    }
    return class;
}

directory_class graph_memberships(directory *d, apr_pool_t *pool, const char *id,
                                  const char *const *candidates, int candidate_count,
                                  const directory_membership **rows, int *count, directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    gathering g = gathering_in(pool);
    *rows = NULL;
    *count = 0;
    directory_class class = gather_listed(&k, id, &g);
    json_t *ask = ida_json_keep(pool, json_array());
    for (int i = 0; !class && i < candidate_count; i++) {
        if (!apr_hash_get(g.seen, key_of(pool, candidates[i]), APR_HASH_KEY_STRING)) {
            json_array_append_new(ask, json_string(candidates[i]));
        }
        if (json_array_size(ask) &&
            (json_array_size(ask) == CHECK_MAX || i == candidate_count - 1)) {
            class = gather_asked(&k, id, ask, &g);
            ask = ida_json_keep(pool, json_array());
        }
    }
    if (!class) {
        *rows = (const directory_membership *)g.rows->elts;
        *count = g.rows->nelts;
    }
    return graph_end(&k, class);
}

/* --- ownership --- */

#define LOOKED_MAX 50 /* groups whose other owners are looked at */

typedef struct owners {
    apr_pool_t *pool;
    const char *own; /* ID of the user */
    directory_membership *row;
} owners;

static directory_class take_owned(void *baton, json_t *item)
{
    apr_array_header_t *rows = baton;
    cache_group group;
    if (!no_group(item) && graph_group_value(graph_keep(rows->pool, item), &group)) {
        APR_ARRAY_PUSH(rows, directory_membership) = (directory_membership){
            group.id, group.name ? group.name : group.id, NULL};
    }
    return DIRECTORY_OK;
}

static directory_class take_owner(void *baton, json_t *item)
{
    const owners *o = baton;
    const char *id = ida_json_string(item, "id"), *upn = ida_json_string(item, "userPrincipalName");
    if (id && strcasecmp(id, o->own) != 0) {
        directory_owner_add(o->row, o->pool, upn ? upn : id);
    }
    return DIRECTORY_OK;
}

directory_class graph_owned(directory *d, apr_pool_t *pool, const char *id,
                            apr_array_header_t *rows, directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    graph_list list = {.request = {.method = "GET",
                                   .url = graph_user_url(k.g, pool, id,
                                                         "/ownedObjects?$select=id,displayName"
                                                         "&$top=999"),
                                   .doing = "listing what the user owns"}};
    apr_array_clear(rows);
    directory_class class = graph_needs(&k, graph_each(&k, &list, take_owned, rows),
                                        "Directory.Read.All", 0);
    for (int i = 0; !class && i < rows->nelts; i++) {
        directory_membership *row = &APR_ARRAY_IDX(rows, i, directory_membership);
        owners o = {pool, id, row};
        if (i >= LOOKED_MAX) {
            row->retained = "perhaps others, who were not looked at";
            continue;
        }
        list = (graph_list){.request = {.method = "GET",
                                        .url = graph_url(k.g, pool,
                                                         "/groups/%s/owners?$select=id,"
                                                         "userPrincipalName&$top=20",
                                                         row->group_id),
                                        .doing = "reading who else owns a group"}};
        class = graph_needs(&k, graph_each(&k, &list, take_owner, &o), "GroupMember.Read.All", 0);
    }
    return graph_end(&k, class);
}

/* --- leaving --- */

/* The directory answered that there is no such membership. If a replica still shows it, that is
 * not certain. DIRECTORY_NOT_FOUND: the user is gone. */
static directory_class surely_left(graph_call *k, const char *group_id, const char *user_id)
{
    gathering g = gathering_in(k->pool);
    directory_class class = gather_listed(k, user_id, &g);
    if (!class && apr_hash_get(g.seen, key_of(k->pool, group_id), APR_HASH_KEY_STRING)) {
        return graph_fail(k, DIRECTORY_LAG, NULL,
                          "removing the member: the group does not know the user, but the user's "
                          "groups still list it");
    }
    return class ? class : DIRECTORY_ALREADY;
}

directory_class graph_remove_member(directory *d, apr_pool_t *pool, const char *group_id,
                                    const char *user_id, directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    const graph_request remove = {.method = "DELETE",
                                  .url = graph_member_ref_url(k.g, pool, group_id, user_id),
                                  .doing = "removing the member"};
    graph_answer answer;
    if (!remove.url) {
        return graph_fail(&k, DIRECTORY_INVALID, NULL,
                          "removing the member: \"%s\" or \"%s\" is no object ID", group_id,
                          user_id);
    }
    directory_class class = graph_guard(&k, user_id);
    if (class) {
        return class;
    }
    class = graph_needs(&k, graph_write(&k, &remove, &answer), "GroupMember.ReadWrite.All", 0);
    if (class != DIRECTORY_NOT_FOUND) {
        return graph_end(&k, explain(&k, group_id, class));
    }
    class = surely_left(&k, group_id, user_id);
    return graph_end(&k, class == DIRECTORY_ALREADY && answer.sent_before ? DIRECTORY_OK : class);
}

/* --- joining --- */

typedef struct joining {
    graph_call *k;
    const char *group_id;
    const char *const *user_ids;
    directory_class *each;
} joining;

static const char *object_url(const joining *j, int i)
{
    return graph_url(j->k->g, j->k->pool, "/directoryObjects/%s", j->user_ids[i]);
}

/* What a refusal means for the ones it is about. */
static directory_class joined(graph_call *k, directory_class class, const graph_answer *answer)
{
    if (class == DIRECTORY_INVALID &&
        graph_answer_says(answer, "added object references already exist")) {
        return answer->sent_before ? DIRECTORY_OK
                                   : DIRECTORY_ALREADY; /* the membership may be our own work */
    }
    if (class == DIRECTORY_INVALID && graph_missing_reference(answer)) {
        return k->e->class = DIRECTORY_LAG;
    }
    return class;
}

static directory_class join_one(const joining *j, int i)
{
    const graph_request post = {.method = "POST",
                                .url = graph_url(j->k->g, j->k->pool, "/groups/%s/members/$ref",
                                                 j->group_id),
                                .json = graph_reference(j->k, object_url(j, i)),
                                .doing = "adding the member"};
    graph_answer answer;
    directory_class class = graph_needs(j->k, graph_write(j->k, &post, &answer),
                                        "GroupMember.ReadWrite.All", 0);
    return explain(j->k, j->group_id, joined(j->k, class, &answer));
}

/* All of them in one request, or none. */
static directory_class join_together(const joining *j, int from, int count)
{
    json_t *list = json_array();
    for (int i = from; i < from + count; i++) {
        json_array_append_new(list, json_string(object_url(j, i)));
    }
    const graph_request patch = {
        .method = "PATCH",
        .url = graph_url(j->k->g, j->k->pool, "/groups/%s", j->group_id),
        .json = ida_json_keep(j->k->pool, json_pack("{s:o}", "members@odata.bind", list)),
        .doing = "adding the members"};
    graph_answer answer;
    return graph_needs(j->k, graph_write(j->k, &patch, &answer), "GroupMember.ReadWrite.All", 0);
}

/* 1 when the refusal of many may be about one of them. */
static int concerns_one(directory_class class)
{
    return class == DIRECTORY_INVALID || class == DIRECTORY_NOT_FOUND ||
           class == DIRECTORY_CONFLICT;
}

/* Accounts that must never be changed are not added to a group either; returns their number. */
static int guarded(const joining *j, int from, int count, directory_error *first)
{
    int refused = 0;
    for (int i = from; i < from + count; i++) {
        j->each[i] = graph_guard(j->k, j->user_ids[i]);
        refused += j->each[i] != DIRECTORY_OK;
        if (j->each[i] && !first->class) {
            *first = *j->k->e;
            first->class = j->each[i];
        }
    }
    return refused;
}

directory_class graph_add_members(directory *d, apr_pool_t *pool, const char *group_id,
                                  const char *const *user_ids, int count, directory_class *each,
                                  directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    joining j = {&k, group_id, user_ids, each};
    directory_error first = {0};
    int already = 0;
    for (int from = 0; from < count; from += BIND_MAX) {
        int size = count - from < BIND_MAX ? count - from : BIND_MAX;
        // cppcheck-suppress knownConditionTrueFalse ; the last part may be of one
        directory_class all = guarded(&j, from, size, &first) || size == 1
                                  ? DIRECTORY_INVALID
                                  : join_together(&j, from, size);
        for (int i = from; i < from + size; i++) {
            each[i] = each[i] ? each[i] : concerns_one(all) ? join_one(&j, i) : all;
            already += each[i] == DIRECTORY_ALREADY;
            if (each[i] && each[i] != DIRECTORY_ALREADY && !first.class) {
                first = *e;
                first.class = each[i];
            }
        }
    }
    if (first.class) {
        *e = first;
        return first.class;
    }
    return graph_end(&k, count && already == count ? DIRECTORY_ALREADY : DIRECTORY_OK);
}
