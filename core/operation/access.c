/* Owns the access operations: every membership of a person, everyone in a group, with source and
 * way. Must not know how they are told. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/access.h"
#include "core/operation/find.h"
#include "core/operation/op.h"
#include "core/operation/person_json.h"

static json_t *group_ref(const access_group *g)
{
    return ida_json_texts("id", g->id, "name", g->name, NULL);
}

/* Members that a row has from either side. */
static void put_grant(json_t *out, const access_row *row)
{
    static const char *const types[] = {"dynamicGroup", "accessRequest", "roleTemplate", NULL};
    const access_grant *grant = &row->grant;
    json_t *via = json_array(), *by = json_null();
    for (int i = 0; i < row->via_count; i++) {
        json_array_append_new(via, group_ref(row->via[i]));
    }
    if (types[grant->source]) {
        by = json_object();
        ida_json_put(by, "type", types[grant->source]);
        ida_json_put(by, "id", grant->id);
        ida_json_put(by, "name", grant->name);
    }
    ida_json_put(out, "source", governance_access_source_words[grant->source]);
    ida_json_put_time(out, "grantedAt", grant->at);
    json_object_set_new(out, "grantedBy", by);
    json_object_set_new(out, "via", via);
}

/* A list with one more member, the subject, in front. */
static ida_kind list_of(ida_call *call, const char *name, json_t *subject, json_t *items,
                        int64_t total, json_t *next, int64_t as_of)
{
    ida_json_keep(call->c->pool, subject);
    ida_kind kind = ida_op_list(call, items, total, next, as_of);
    if (!kind) {
        json_object_set(call->result, name, subject);
    }
    return kind;
}

/* --- get_user_access --- */

/* Whether a row stands behind the position (inherited, name, ID). */
static int behind(const access_row *row, const json_t *position)
{
    int64_t inherited = ida_op_number_at(position, 0);
    int order = strcmp(row->group->name_key, ida_op_text_at(position, 1));
    order = order ? order : strcmp(row->group->id, ida_op_text_at(position, 2));
    return !position || row->inherited > inherited || (row->inherited == inherited && order > 0);
}

static ida_kind user_access(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    const char *word = ida_json_string(call->arguments, "source");
    const access_row *rows, *last = NULL;
    const ida_user *user = call->input;
    cache_freshness fresh;
    json_t *position, *next = NULL;
    int count, source = governance_access_source_parse(word), limit = ida_op_limit(call), more = 0;
    int64_t total = 0;
    ida_kind kind = ida_op_position(call, NULL, "iss", &position);
    if (!kind) {
        kind = governance_access_of_user(s, c, call->principal->company, user, &rows, &count);
    }
    if (!kind) {
        kind = cache_freshness_get(s, c, call->tenant, &fresh);
    }
    if (kind) {
        return kind;
    }
    json_t *items = json_array();
    for (int i = 0; i < count; i++) {
        const access_row *row = &rows[i];
        if (source >= 0 && (int)row->grant.source != source) {
            continue;
        }
        total++;
        if (!behind(row, position)) {
            continue;
        }
        if ((int)json_array_size(items) == limit) {
            more = 1;
            continue;
        }
        json_t *item = json_object();
        json_object_set_new(item, "resource",
                            ida_json_texts("id", row->group->id, "name", row->group->name, "kind",
                                           row->group->kind, NULL));
        put_grant(item, row);
        json_array_append_new(items, item);
        last = row;
    }
    if (more) {
        next = ida_op_place("iss", (int64_t)last->inherited, last->group->name_key,
                            last->group->id);
    }
    return list_of(call, "user", ida_person_json(user->id, user->upn, user->display_name), items,
                   total, next, fresh.as_of);
}

static ida_kind run_user_access(ida_call *call)
{
    ida_user *user;
    ida_kind kind = ida_op_find_user(call, &user, NULL);
    call->input = kind ? NULL : user;
    return kind ? kind : store_snapshot(call->store, call->c, user_access, call);
}

#define SOURCE_PARAM                                                         \
    {                                                                        \
        "source", IDA_PARAM_STRING, 0, 0, 0, governance_access_source_words, \
            "Only memberships of this source."                               \
    }

static const ida_param user_params[] = {
    {"user", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, 0, 256, NULL,
     "Object ID or UPN, e.g. eva.berg@contoso.example."},
    SOURCE_PARAM,
    IDA_LIST_PARAMS,
    {0},
};

#define GROUP_REF OUT_OBJECT("\"id\",\"name\"", OUT_IS("id", OUT_TEXT) "," OUT_IS("name", OUT_TEXT))
/* clang-format off */
#define RESOURCE \
    OUT_OBJECT("\"id\",\"name\",\"kind\"", OUT_IS("id", OUT_TEXT) "," \
    OUT_IS("name", OUT_TEXT) "," OUT_IS("kind", OUT_TEXT))
#define ANYBODY \
    OUT_OBJECT("\"id\"", OUT_IS("id", OUT_TEXT) "," \
    OUT_IS("userPrincipalName", OUT_TEXT_OR_NULL) "," OUT_IS("displayName", OUT_TEXT_OR_NULL))
/* clang-format on */
#define GRANT_ALWAYS ",\"source\",\"grantedAt\",\"grantedBy\",\"via\""
/* clang-format off */
#define GRANT \
    "," \
    OUT_IS("source", \
    OUT_ENUM("\"dynamic_group\",\"iga_request\",\"role_template\",\"direct\"")) "," \
    OUT_IS("grantedAt", OUT_TIME_OR_NULL) "," \
    OUT_IS("grantedBy", OUT_OBJECT_OR_NULL(OUT_IS("type", OUT_TEXT) "," \
    OUT_IS("id", OUT_TEXT) "," OUT_IS("name", OUT_TEXT))) "," OUT_IS("via", OUT_LIST(GROUP_REF))
/* clang-format on */

const ida_operation ida_op_user_access = {
    .name = "user.access",
    .method = "GET",
    .path = "/v1/api/user/access",
    .scope = IDA_SCOPE_READ,
    .needs_sync = 1,
    .params = user_params,
    .run = run_user_access,
    .summary = "Every group of one user with source, grant time, what granted it, and the way.",
    .schema = "UserAccess",
    .tool = "get_user_access",
    .title = "Access of a user",
    .paged = "items",
    .description = "Lists every group one user is in, directly or over nested groups, each with "
                   "its source: dynamic_group (a rule of the directory), "
                   "iga_request (an approved access request), role_template (an assigned template) "
                   "or direct. Direct memberships come first; via "
                   "names the groups between for inherited ones, whose source is that of the first "
                   "membership on the way. grantedAt is known "
                   "for iga_request only. user is an object ID or UPN; find it with search_users. "
                   "For everyone in one group use "
                   "get_resource_access.",
    /* clang-format off */
    .output = OUT_PAGE(OUT_OBJECT("\"resource\"" GRANT_ALWAYS,
        OUT_IS("resource", RESOURCE) GRANT), ",\"user\"", "," OUT_IS("user", ANYBODY)),
    /* clang-format on */
};

/* --- get_resource_access --- */

static ida_kind find_resource(ida_call *call, store *s, ida_group **group)
{
    ida_ctx *c = call->c;
    const char *wanted = ida_json_string(call->arguments, "resource"),
               *shown = ida_clean(c->pool, wanted, strlen(wanted), 128);
    ida_kind kind = cache_group_find(s, c, call->principal->company, wanted, group);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, kind,
                        "resource: No group has the ID or name \"%s\". The list of what a member "
                        "can reach shows the exact name and ID.",
                        shown);
    }
    if (kind == IDA_CONFLICT) {
        return ida_fail(c, IDA_BAD_REQUEST,
                        "resource: Several groups are named \"%s\"; give the group's ID.", shown);
    }
    return kind;
}

static ida_kind resource_access(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    ida_group *group;
    const access_member *rows;
    cache_freshness fresh;
    json_t *position, *next = NULL;
    int count, more;
    int64_t total;
    ida_kind kind = ida_op_position(call, NULL, "iii", &position);
    if (!kind) {
        kind = find_resource(call, s, &group);
    }
    if (kind) {
        return kind;
    }
    call->target = group->name;
    const access_query query = {
        .tenant = call->principal->company,
        .resource = group,
        .source = governance_access_source_parse(ida_json_string(call->arguments, "source")),
        .inherited = (int)ida_op_number_at(position, 1),
        .after = ida_op_number_at(position, 2),
        .limit = ida_op_limit(call),
        .want_total = !position,
        .gone = call->gone,
        .gone_baton = call->gone_baton,
    };
    kind = governance_access_to_resource(s, c, &query, &rows, &count, &more, &total);
    if (!kind) {
        kind = cache_freshness_get(s, c, call->tenant, &fresh);
    }
    if (kind) {
        return kind;
    }
    total = position ? ida_op_number_at(position, 0) : total;
    json_t *items = json_array();
    for (int i = 0; i < count; i++) {
        json_t *item = json_object();
        json_object_set_new(item, "user",
                            ida_person_json(rows[i].id, rows[i].upn, rows[i].display_name));
        put_grant(item, &rows[i].row);
        json_array_append_new(items, item);
    }
    if (more) {
        next = ida_op_place("iii", total, (int64_t)rows[count - 1].row.inherited,
                            rows[count - 1].number);
    }
    return list_of(call, "resource",
                   ida_json_texts("id", group->id, "name", group->name, "kind", group->kind, NULL),
                   items, total, next, fresh.as_of);
}

static ida_kind run_resource_access(ida_call *call)
{
    return store_snapshot(call->store, call->c, resource_access, call);
}

static const ida_param resource_params[] = {
    {"resource", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, 0, 256, NULL,
     "Group ID, or a group name that is unique, e.g. \"CRM admins\"."},
    SOURCE_PARAM,
    IDA_LIST_PARAMS,
    {0},
};

const ida_operation ida_op_resource_access = {
    .name = "resource.access",
    .method = "GET",
    .path = "/v1/api/resource/access",
    .scope = IDA_SCOPE_READ,
    .needs_sync = 1,
    .params = resource_params,
    .run = run_resource_access,
    .summary = "Everyone with access to one group, with source and way.",
    .schema = "ResourceAccess",
    .tool = "get_resource_access",
    .title = "Access to a resource",
    .paged = "items",
    .description = "Lists everyone in one group, directly or over groups nested in it, each person "
                   "once, with the source of the membership "
                   "(dynamic_group, iga_request, role_template, direct), what granted it and via "
                   "which groups. resource is a group ID or a unique "
                   "group name. Direct members come first; totalCount answers \"how many have "
                   "access\". Disabled accounts are listed too: "
                   "get_user tells the status. For all groups of one person use get_user_access.",
    /* clang-format off */
    .output = OUT_PAGE(OUT_OBJECT("\"user\"" GRANT_ALWAYS,
        OUT_IS("user", ANYBODY) GRANT), ",\"resource\"", "," OUT_IS("resource", RESOURCE)),
    /* clang-format on */
};
