/* Owns the access operations: every membership of a person, everyone in a group, each with
 * source and path. Must not know how faces show them. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/groups.h"
#include "core/governance/access.h"
#include "core/governance/governance.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/people/find.h"
#include "core/operation/people/person_json.h"
#include "core/operation/table.h"
#include "core/queue/revoked.h"

#define SERVICES_MAX 10000
#define OWNED_MAX 200

static json_t *group_ref(const access_group *g)
{
    return ida_json_texts("id", g->id, "name", g->name, NULL);
}

/* What granted the membership, with the members of its kind. A direct membership comes from a
 * task or from an unknown source. */
static json_t *granted_by_json(const access_grant *grant)
{
    static const char *const types[] = {"dynamicGroup", "accessRequest", "roleTemplate",
                                        "workflow"};
    if (!grant->id && !grant->task_id) {
        return json_null();
    }
    json_t *by = ida_json_texts("type", grant->id ? types[grant->source] : "restore", NULL);
    ida_json_put(by, grant->source == ACCESS_DIRECT ? "runId" : "id", grant->id);
    ida_json_put(by, "name", grant->name);
    ida_json_put(by, "rule", grant->rule);
    ida_json_put(by, "taskId", grant->task_id);
    if (grant->source == ACCESS_REQUEST) {
        ida_json_put_or_null(by, "approvedBy", grant->approved_by);
        ida_json_put_time(by, "approvedAt", grant->at);
    } else if (grant->task_id) {
        ida_json_put_time(by, "at", grant->at);
    }
    return by;
}

/* Members that a row has in both kinds of list. */
static void put_grant(json_t *out, const access_row *row)
{
    const access_grant *grant = &row->grant;
    json_t *via = json_array();
    for (int i = 0; i < row->via_count; i++) {
        json_array_append_new(via, group_ref(row->via[i]));
    }
    ida_json_put(out, "source", governance_access_source_words[grant->source]);
    ida_json_put_time(out, "grantedAt", grant->source == ACCESS_REQUEST ? grant->at : 0);
    json_object_set_new(out, "grantedBy", granted_by_json(grant));
    json_object_set_new(out, "via", via);
}

/* A list with one additional member, the subject. */
static ida_kind list_of(ida_page *page, const char *name, json_t *subject)
{
    ida_kind kind = ida_page_result(page);
    json_object_set_new(page->call->result, name, subject);
    return kind;
}

/* --- get_user_access --- */

/* Whether a row comes after the position (inherited, name, ID). */
static int behind(const access_row *row, const json_t *position)
{
    int64_t inherited = ida_place_number(position, 0);
    int order = strcmp(row->group->name_key, ida_place_text(position, 1));
    order = order ? order : strcmp(row->group->id, ida_place_text(position, 2));
    return !position || row->inherited > inherited || (row->inherited == inherited && order > 0);
}

static ida_kind missing_json(store *s, ida_ctx *c, const char *tenant, const char *accounts,
                             json_t **out)
{
    const governance_missing *rows;
    int count;
    ida_kind kind = governance_membership_missing(s, c, tenant, accounts, &rows, &count);
    *out = ida_json_keep(c->pool, json_array());
    for (int i = 0; !kind && i < count; i++) {
        int of_template = strcmp(rows[i].source, "template") == 0;
        json_t *by = ida_json_texts("type", of_template ? "roleTemplate" : "accessRequest", "name",
                                    rows[i].source_name, NULL);
        json_t *one = ida_json_texts("id", rows[i].id, "name", rows[i].name, NULL);
        json_object_set_new(one, "grantedBy", by);
        json_array_append_new(*out, one);
    }
    return kind;
}

static ida_kind owned_json(store *s, ida_ctx *c, const char *tenant, const char *accounts,
                           json_t **out)
{
    const queue_owned *rows;
    int count;
    ida_kind kind = queue_owned_list(s, c, tenant, accounts, OWNED_MAX, &rows, &count);
    *out = ida_json_keep(c->pool, json_array());
    for (int i = 0; i < count; i++) {
        json_array_append_new(*out, ida_json_texts("name", rows[i].group_name, "directory",
                                                   rows[i].directory, "reason", rows[i].reason,
                                                   "taskId", rows[i].task_id, NULL));
    }
    return kind;
}

static ida_kind user_access(ida_call *call, store *s, ida_ctx *c)
{
    const char *word = ida_json_string(call->arguments, "source");
    const access_row *rows;
    const ida_user *user = call->input;
    int count, source = governance_access_source_parse(word);
    json_t *missing, *owned;
    const char *const ids[] = {user->id, user->other_id},
                      *accounts = governance_access_list(c->pool, ids, user->other_id ? 2 : 1);
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "iss", &page);
    kind = kind ? kind
                : governance_access_of_user(s, c, call->asked->tenant->id, user, &rows, &count);
    kind = kind ? kind : missing_json(s, c, call->asked->tenant->id, accounts, &missing);
    kind = kind ? kind : owned_json(s, c, call->asked->tenant->id, accounts, &owned);
    kind = kind ? kind : ida_page_as_of(page, s);
    if (kind) {
        return kind;
    }
    for (int i = 0; i < count; i++) {
        const access_row *row = &rows[i];
        const access_group *group = row->group;
        if (source >= 0 && (int)row->grant.source != source) {
            continue;
        }
        page->total++;
        if (!behind(row, page->from) || !ida_page_takes(page)) {
            continue;
        }
        json_t *item = json_object();
        json_object_set_new(item, "resource",
                            ida_json_texts("id", group->id, "name", group->name, "kind",
                                           group->kind, NULL));
        put_grant(item, row);
        ida_page_add(page, item,
                     ida_place("iss", (int64_t)row->inherited, group->name_key, group->id));
    }
    json_t *subject = ida_person_json(user->id, user->upn, user->display_name);
    ida_person_standing(subject, 1, user->enabled, user->guest, user->department);
    kind = list_of(page, "user", subject);
    if (json_array_size(missing)) {
        json_object_set(call->result, "missing", missing);
    }
    if (json_array_size(owned)) {
        json_object_set(call->result, "owned", owned);
    }
    return kind;
}

static ida_kind find_user(ida_call *call)
{
    ida_user *user = NULL;
    ida_kind kind = ida_op_find_user(call, &user, NULL);
    call->input = user;
    return kind;
}

#define SOURCE_PARAM                                                            \
    {                                                                           \
        "source", IDA_PARAM_STRING, .allowed = governance_access_source_words,  \
                                    .about = "Only memberships of this source." \
    }

static const ida_param user_params[] = {
    {"user", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 256,
     .about = "Object ID or UPN, e.g. eva.berg@contoso.example."},
    SOURCE_PARAM,
    IDA_LIST_PARAMS,
    {0},
};

static const ida_field group_members[] = {OUT_TEXT("id", ALWAYS), OUT_TEXT("name", ALWAYS),
                                          OUT_END};
static const ida_field resource[] = {OUT_TEXT("id", ALWAYS), OUT_TEXT("name", ALWAYS),
                                     OUT_TEXT("kind", ALWAYS), OUT_END};
static const ida_field granted_by[] = {
    OUT_TEXT("type", ALWAYS),        OUT_TEXT("id", SOMETIMES),
    OUT_TEXT("name", SOMETIMES),     OUT_TEXT("rule", SOMETIMES),
    OUT_TEXT("approvedBy", OR_NULL), OUT_TIME("approvedAt", OR_NULL),
    OUT_TEXT("runId", SOMETIMES),    OUT_TEXT("taskId", SOMETIMES),
    OUT_TIME("at", SOMETIMES),       OUT_END};
static const ida_field grant_members[] = {
    OUT_WORD("source", ALWAYS, governance_access_source_words),
    OUT_TIME("grantedAt", ALWAYS | OR_NULL), OUT_OBJECT("grantedBy", ALWAYS | OR_NULL, granted_by),
    OUT_LIST("via", ALWAYS, group_members), OUT_END};

static const ida_field user_item[] = {OUT_OBJECT("resource", ALWAYS, resource),
                                      OUT_INCLUDE(grant_members), OUT_END};
static const ida_field missing_by[] = {OUT_TEXT("type", ALWAYS), OUT_TEXT("name", ALWAYS | OR_NULL),
                                       OUT_END};
static const ida_field missing[] = {OUT_TEXT("id", ALWAYS), OUT_TEXT("name", ALWAYS),
                                    OUT_OBJECT("grantedBy", ALWAYS, missing_by), OUT_END};
static const ida_field owned[] = {OUT_TEXT("name", ALWAYS), OUT_TEXT("directory", ALWAYS),
                                  OUT_TEXT("reason", ALWAYS), OUT_TEXT("taskId", ALWAYS), OUT_END};
static const ida_field user_result[] = {OUT_OBJECT("user", ALWAYS, ida_person_standing_members),
                                        OUT_LIST("missing", SOMETIMES, missing),
                                        OUT_LIST("owned", SOMETIMES, owned), OUT_END};

const ida_operation ida_op_user_access = {
    .name = "user.access",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_ACCESS_READ,
    IDA_READS("/user/access"),
    .commands = IDA_COMMANDS(
        {"user", "access", .at = {{"user", "UPN"}},
         .columns = "resource source via grantedAt grantedBy",
         .summary =
             "List every group of a user (UPN or object ID), what granted it, and the path."}),
    .needs_sync = 1,
    .params = user_params,
    .run = find_user,
    .work = user_access,
    .summary = "Every group of one user with source, grant time, what granted it, and the path.",
    .schema = "UserAccess",
    .tool = "get_user_access",
    .title = "Access of a user",
    .lists = 1,
    .description =
        "Lists every group one user is in, directly or over nested groups, each with its source: "
        "dynamic_group (a rule of the directory), iga_request (an approved access request), "
        "role_template (an assigned template) or direct. grantedBy names the rule, approver and "
        "time, template, or the workflow run or restore that gave a direct one; null: not known, "
        "also for one removed and added again by hand. Direct memberships come first; via names "
        "the groups between for inherited ones, whose source is that of the first membership on "
        "the way. missing: granted by a template or request, and taken by hand since. owned: "
        "groups that a leaver owned when the offboarding looked. user is an "
        "object ID or UPN. For everyone in one group use get_resource_access.",
    .item = user_item,
    .output = user_result,
};

/* --- get_resource_access --- */

/* The service of the access catalog with this name, compared without case. */
static ida_kind find_service(ida_call *call, store *s, const char *wanted,
                             const ida_access_service **service)
{
    const ida_access_service *rows;
    const char *key = ida_fold_search(call->c->pool, wanted);
    int count = 0;
    int64_t total;
    ida_kind kind = call->asked->tenant->access_governance
                        ? governance_service_list(s, call->c, call->asked->tenant->id, "",
                                                  SERVICES_MAX, &rows, &count, &total)
                        : IDA_OK;
    *service = NULL;
    for (int i = 0; !kind && i < count && !*service; i++) {
        *service = strcmp(ida_fold_search(call->c->pool, rows[i].name), key) == 0 ? &rows[i] : NULL;
    }
    return kind;
}

/* A group, or a service of the access catalog, which means its group. A group with that name has
 * precedence. */
static ida_kind find_resource(ida_call *call, store *s, ida_group **group, const char **service)
{
    ida_ctx *c = call->c;
    const ida_access_service *found;
    const char *wanted = ida_json_string(call->arguments, "resource");
    *service = NULL;
    ida_kind kind = cache_group_find(s, c, call->asked->tenant->id, wanted, group);
    if (kind != IDA_NOT_FOUND && kind != IDA_CONFLICT) {
        return kind;
    }
    int absent = kind == IDA_NOT_FOUND;
    ida_ctx_clear(c);
    kind = absent ? find_service(call, s, wanted, &found) : IDA_OK;
    if (kind || !absent || !found) {
        return kind ? kind : ida_op_find_group(call, s, "resource", group);
    }
    *service = found->name;
    kind = cache_group_find(s, c, call->asked->tenant->id, found->group, group);
    return kind == IDA_NOT_FOUND || kind == IDA_CONFLICT
               ? ida_fail(
                     c, IDA_NOT_FOUND,
                     "resource: The service \"%s\" of the access catalog is given by the group "
                     "\"%s\", %s.",
                     found->name, ida_clean(c->pool, found->group, strlen(found->group), 64),
                     kind == IDA_NOT_FOUND ? "which no directory has"
                                           : "a name that several groups have")
               : kind;
}

static ida_kind resource_access(ida_call *call, store *s, ida_ctx *c)
{
    const char *service;
    ida_group *group;
    const access_member *rows;
    int count, others = 0;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "iii", &page);
    kind = kind ? kind : find_resource(call, s, &group, &service);
    if (kind) {
        return kind;
    }
    call->target = group->name;
    const access_query query = {
        .tenant = call->asked->tenant->id,
        .resource = group,
        .source = governance_access_source_parse(ida_json_string(call->arguments, "source")),
        .inherited = (int)ida_place_number(page->from, 1),
        .after = ida_place_number(page->from, 2),
        .limit = page->limit,
        .count_max = page->from ? 0 : IDA_COUNT_MOST,
    };
    kind = governance_access_to_resource(s, c, &query, &rows, &count, &page->more, &page->total);
    kind = kind ? kind : cache_group_others(s, c, query.tenant, group, &others);
    kind = kind ? kind : ida_page_as_of(page, s);
    if (kind) {
        return kind;
    }
    page->total = page->from ? ida_place_number(page->from, 0) : page->total;
    for (int i = 0; i < count; i++) {
        const access_member *m = &rows[i];
        json_t *item = json_object();
        json_t *person = ida_person_json(m->id, m->upn, m->display_name);
        ida_person_standing(person, m->known, m->enabled, m->guest, m->department);
        json_object_set_new(item, "user", person);
        put_grant(item, &m->row);
        ida_page_add(page, item,
                     ida_place("iii", page->total, (int64_t)m->row.inherited, m->number));
    }
    json_t *subject = ida_json_texts("id", group->id, "name", group->name, "kind", group->kind,
                                     "description", group->description, NULL);
    json_object_set_new(subject, "memberCount", json_integer(group->member_count));
    json_object_set_new(subject, "otherMembers", json_boolean(others));
    ida_json_put(subject, "service", service);
    return list_of(page, "resource", subject);
}

static const ida_param resource_params[] = {
    {"resource", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 256,
     .about = "Group ID, unique group name or catalog service, e.g. \"CRM admins\"."},
    SOURCE_PARAM,
    IDA_LIST_PARAMS,
    {0},
};

static const ida_field resource_item[] = {OUT_OBJECT("user", ALWAYS, ida_person_standing_members),
                                          OUT_INCLUDE(grant_members), OUT_END};
static const ida_field whole_resource[] = {OUT_INCLUDE(resource),
                                           OUT_TEXT("description", OR_NULL),
                                           OUT_INTEGER("memberCount", ALWAYS),
                                           OUT_BOOLEAN("otherMembers", ALWAYS),
                                           OUT_TEXT("service", SOMETIMES),
                                           OUT_END};
static const ida_field resource_result[] = {OUT_OBJECT("resource", ALWAYS, whole_resource),
                                            OUT_END};

const ida_operation ida_op_resource_access = {
    .name = "resource.access",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_ACCESS_READ,
    IDA_READS("/resource/access"),
    .commands = IDA_COMMANDS(
        {"group", "members", .at = {{"resource", "GROUP"}},
         .columns = "user source via grantedAt grantedBy",
         .summary =
             "List everyone with access to a group (ID or name) or a service of the catalog.",
         .help = "Members of groups in it are listed too, with the way."},
        {"group", "show", .at = {{"resource", "GROUP"}}, .shown = "resource",
         .given = {{"limit", "1"}, {"cursor", NULL}, {"source", NULL}},
         .summary = "Show a group (ID or name) and how many members it has."}),
    .needs_sync = 1,
    .params = resource_params,
    .work = resource_access,
    .summary = "Everyone with access to one group, with source and way.",
    .schema = "ResourceAccess",
    .tool = "get_resource_access",
    .title = "Access to a resource",
    .lists = 1,
    .description =
        "Lists everyone in one group, directly or over groups nested in it, each person once, with "
        "source (dynamic_group, iga_request, role_template, direct), what granted it and via which "
        "groups. resource is a group ID, a unique group name or a service of the access catalog; "
        "other words are answered with the groups whose names hold them, e.g. \"VPN\". Direct "
        "members come first; disabled accounts are listed too, with their status. For all groups "
        "of one person use get_user_access.",
    .item = resource_item,
    .output = resource_result,
};
