/* Owns the operations on role templates. What a template grants is told by the document's names
 * and, where the directory has them, by IDs. */
#include <apr_hash.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/people.h"
#include "core/cache/person.h"
#include "core/governance/governance.h"
#include "core/operation/op.h"
#include "core/operation/schema.h"
#include "core/store/tenant.h"

/* Groups as documents name them -> ida_group, without ID where the directory has none or several of
 * that name. */
static void name_groups(apr_hash_t *known, const json_t *named, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const char *name = json_string_value(json_array_get(named, i));
        if (name) {
            apr_hash_set(known, name, APR_HASH_KEY_STRING, "");
        }
    }
}

static ida_kind find_groups(ida_call *call, apr_hash_t *known)
{
    ida_ctx *c = call->c;
    int count = 0;
    const char **names = apr_palloc(c->pool, (apr_hash_count(known) + 1) * sizeof *names);
    ida_group **found = apr_palloc(c->pool, (apr_hash_count(known) + 1) * sizeof *found);
    for (apr_hash_index_t *i = apr_hash_first(c->pool, known); i; i = apr_hash_next(i)) {
        names[count++] = apr_hash_this_key(i);
    }
    ida_kind kind = cache_groups_find(call->store, c, call->principal->company, names, count,
                                      found);
    for (int i = 0; !kind && i < count; i++) {
        if (!found[i]) {
            found[i] = apr_pcalloc(c->pool, sizeof **found);
            found[i]->name = names[i];
        }
        apr_hash_set(known, names[i], APR_HASH_KEY_STRING, found[i]);
    }
    return kind;
}

/* {id, name} and, on demand, kind of each. */
static json_t *groups_json(apr_hash_t *known, const json_t *named, size_t from, size_t to,
                           int with_kind)
{
    json_t *out = json_array();
    for (size_t i = from; i < to; i++) {
        const char *name = json_string_value(json_array_get(named, i));
        const ida_group *group = name ? apr_hash_get(known, name, APR_HASH_KEY_STRING) : NULL;
        if (group) {
            json_t *one = json_object();
            ida_json_put_or_null(one, "id", group->id);
            ida_json_put_or_null(one, "name", group->name);
            if (with_kind) {
                ida_json_put_or_null(one, "kind", group->kind);
            }
            json_array_append_new(out, one);
        }
    }
    return out;
}

static ida_kind list(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    const ida_role_template *rows;
    apr_hash_t *known = apr_hash_make(c->pool);
    cache_freshness fresh;
    json_t *position, *next = NULL, *items = ida_json_keep(c->pool, json_array());
    int count = 0, limit = ida_op_limit(call);
    int64_t total = 0;
    ida_kind kind = ida_op_position(call, NULL, "s", &position);
    if (!kind) {
        kind = governance_template_list(s, c, call->principal->company, ida_op_text_at(position, 0),
                                        limit + 1, &rows, &count);
    }
    if (!kind) {
        kind = governance_template_count(s, c, call->principal->company, &total);
    }
    if (!kind) {
        kind = cache_freshness_get(s, c, call->tenant, &fresh);
    }
    for (int i = 0; !kind && i < count && i < limit; i++) {
        name_groups(known, rows[i].groups, 0, json_array_size(rows[i].groups));
    }
    kind = kind ? kind : find_groups(call, known);
    if (kind) {
        return kind;
    }
    for (int i = 0; i < count && i < limit; i++) {
        json_t *item = ida_json_texts("id", rows[i].id, "name", rows[i].name, "description",
                                      rows[i].description, NULL);
        json_object_set_new(item, "groups",
                            groups_json(known, rows[i].groups, 0, json_array_size(rows[i].groups),
                                        0));
        json_array_append_new(items, item);
    }
    if (count > limit) {
        next = ida_op_place("s", rows[limit - 1].name);
    }
    return ida_op_list(call, json_incref(items), total, next, fresh.as_of);
}

static ida_kind run_list(ida_call *call)
{
    return store_snapshot(call->store, call->c, list, call);
}

static const ida_param list_params[] = {IDA_LIST_PARAMS, {0}};

#define GROUP_MEMBERS OUT_IS("id", OUT_TEXT_OR_NULL) "," OUT_IS("name", OUT_TEXT)
#define TEMPLATE_ALWAYS "\"id\",\"name\",\"description\",\"groups\""
/* clang-format off */
#define TEMPLATE(groups) \
    OUT_IS("id", OUT_TEXT) "," OUT_IS("name", OUT_TEXT) "," \
    OUT_IS("description", OUT_TEXT) "," OUT_IS("groups", OUT_LIST(groups))
/* clang-format on */

const ida_operation ida_op_role_templates = {
    .name = "role.list",
    .method = "GET",
    .path = "/v1/api/role-templates",
    .scope = IDA_SCOPE_READ,
    .params = list_params,
    .run = run_list,
    .summary = "Role templates with the groups each grants.",
    .schema = "RoleTemplateList",
    .tool = "list_role_templates",
    .title = "List role templates",
    .paged = "items",
    .description = "Lists the tenant's role templates with the groups each of them grants, ordered "
                   "by name. Use get_role_template for licences, group "
                   "kinds and the number of people a template is assigned to, and get_user_access "
                   "to see which of somebody's groups come from a "
                   "template. A group whose id is null is named by the template but not (or not "
                   "uniquely) found in the directory.",
    /* clang-format off */
    .output = OUT_PAGE(OUT_OBJECT(TEMPLATE_ALWAYS,
        TEMPLATE(OUT_OBJECT("\"id\",\"name\"", GROUP_MEMBERS))), "", ""),
    /* clang-format on */
};

/* --- one --- */

static ida_kind get(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    const char *wanted = ida_json_string(call->arguments, "roleTemplate"), *cursor;
    ida_role_template *t;
    int64_t assigned;
    json_t *position, *next = NULL;
    ida_kind kind = governance_template_find(s, c, call->principal->company, wanted, &t);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, kind, "roleTemplate: No role template has the ID or name \"%s\"%s",
                        ida_clean(c->pool, wanted, strlen(wanted), 128),
                        call->face == IDA_FACE_MCP ? "; list_role_templates shows them." : ".");
    }
    if (!kind) {
        kind = store_template_assigned(s, c, call->principal->company, t->id, &assigned);
    }
    if (kind) {
        return kind;
    }
    /* Pages go by place in the list, so a cursor holds for this very list. */
    json_t *binding = ida_json_keep(c->pool, json_pack("{s:s, s:O}", "roleTemplate", t->id,
                                                       "groups", (json_t *)(uintptr_t)t->groups));
    kind = ida_op_position(call, binding, "i", &position);
    if (kind) {
        return kind;
    }
    size_t size = json_array_size(t->groups), from = (size_t)ida_op_number_at(position, 0),
           to = from + (size_t)ida_op_limit(call);
    if (to < size) {
        next = ida_op_place("i", (int64_t)to);
    }
    json_t *one = ida_json_texts("id", t->id, "name", t->name, "description", t->description, NULL);
    call->result = ida_json_keep(c->pool, json_pack("{s:o}", "roleTemplate", one));
    call->target = t->name;
    apr_hash_t *known = apr_hash_make(c->pool);
    to = to < size ? to : size;
    name_groups(known, t->groups, from, to);
    kind = find_groups(call, known);
    if (kind) {
        return kind;
    }
    json_object_set_new(one, "groups", groups_json(known, t->groups, from, to, 1));
    json_object_set_new(one, "licenses", json_copy((json_t *)(uintptr_t)t->licenses));
    json_object_set_new(one, "licenseCount",
                        json_integer((json_int_t)json_array_size(t->licenses)));
    json_object_set_new(one, "assignedUserCount", json_integer(assigned));
    kind = ida_op_next(call, binding, next, &cursor);
    ida_json_put_or_null(call->result, "nextCursor", cursor);
    return kind;
}

static ida_kind run_get(ida_call *call)
{
    return store_snapshot(call->store, call->c, get, call);
}

static const ida_param get_params[] = {
    {"roleTemplate", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, 0, 256, NULL,
     "ID or exact name of the template, e.g. \"Sales\"."},
    {"limit", IDA_PARAM_INTEGER, 0, 1, IDA_PAGE_MAX, NULL, "Page size; default 50."},
    {"cursor", IDA_PARAM_STRING, 0, 0, 0, NULL, "nextCursor of the page before."},
    {0},
};

const ida_operation ida_op_role_template = {
    .name = "role.get",
    .method = "GET",
    .path = "/v1/api/role-template",
    .scope = IDA_SCOPE_READ,
    .params = get_params,
    .run = run_get,
    .summary = "One role template with its groups, licences and number of assigned people.",
    .schema = "RoleTemplateResult",
    .tool = "get_role_template",
    .title = "Get role template",
    .paged = "roleTemplate.groups",
    .description =
        "Returns one role template, by ID or exact name: its groups with kind, licences, "
        "licenseCount and assignedUserCount. Find the name "
        "with list_role_templates. Groups come in pages of up to 200; pass nextCursor as cursor "
        "for more. It does not list the people: "
        "get_resource_access with source role_template shows who has a group by a template.",
    /* clang-format off */
    .output = OUT_OBJECT("\"roleTemplate\",\"nextCursor\"",
        OUT_IS("roleTemplate", OUT_OBJECT(TEMPLATE_ALWAYS
        ",\"licenses\",\"licenseCount\",\"assignedUserCount\"",
        TEMPLATE(OUT_OBJECT("\"id\",\"name\",\"kind\"", GROUP_MEMBERS ","
        OUT_IS("kind", OUT_TEXT_OR_NULL))) "," OUT_IS("licenses", OUT_LIST(OUT_TEXT)) ","
        OUT_IS("licenseCount", OUT_INTEGER) "," OUT_IS("assignedUserCount", OUT_INTEGER))) ","
        OUT_IS("nextCursor", OUT_TEXT_OR_NULL)),
    /* clang-format on */
};
