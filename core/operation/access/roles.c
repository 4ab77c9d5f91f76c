/* Owns the operations on role templates. Answers show a template's groups by the names in the
 * document and, if the directory has them, by IDs. */
#include <apr_hash.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/freshness.h"
#include "core/cache/people.h"
#include "core/cache/person.h"
#include "core/governance/governance.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/schema.h"
#include "core/operation/table.h"
#include "core/store/tenant.h"

/* Groups as documents name them -> ida_group, without ID if the directory has none or several
 * with that name. */
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
    ida_kind kind = cache_groups_find(call->store, c, call->asked->tenant->id, names, count, found);
    for (int i = 0; !kind && i < count; i++) {
        if (!found[i]) {
            found[i] = apr_pcalloc(c->pool, sizeof **found);
            found[i]->name = names[i];
        }
        apr_hash_set(known, names[i], APR_HASH_KEY_STRING, found[i]);
    }
    return kind;
}

static const ida_group *group_named(apr_hash_t *known, const json_t *name)
{
    const char *text = json_string_value(name);
    return text ? apr_hash_get(known, text, APR_HASH_KEY_STRING) : NULL;
}

static json_t *groups_json(apr_hash_t *known, const json_t *named)
{
    json_t *out = json_array(), *name;
    size_t i;
    json_array_foreach ((json_t *)named, i, name) {
        const ida_group *group = group_named(known, name);
        if (group) {
            json_array_append_new(out, ida_json_texts("id", group->id, "name", group->name, NULL));
        }
    }
    return out;
}

static ida_kind list(ida_call *call, store *s, ida_ctx *c)
{
    const ida_role_template *rows;
    apr_hash_t *known = apr_hash_make(c->pool);
    const json_t *missing;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "s", &page);
    if (kind) {
        return kind;
    }
    kind = governance_template_list(s, c, call->asked->tenant->id, ida_place_text(page->from, 0),
                                    page->limit + 1, &rows, &page->count);
    kind = kind ? kind : governance_template_count(s, c, call->asked->tenant->id, &page->total);
    kind = kind ? kind : ida_page_as_of(page, s);
    if (kind) {
        return kind;
    }
    for (int i = 0; i < page->count && i < page->limit; i++) {
        name_groups(known, rows[i].groups, 0, json_array_size(rows[i].groups));
    }
    kind = find_groups(call, known);
    kind = kind ? kind : governance_template_missing(s, c, call->asked->tenant->id, &missing);
    if (kind) {
        return kind;
    }
    for (int i = 0; ida_page_row(page, i); i++) {
        const ida_role_template *t = &rows[i];
        json_t *item = ida_json_texts("id", t->id, "name", t->name, "description", t->description,
                                      NULL);
        json_object_set_new(item, "groups", groups_json(known, t->groups));
        if (json_object_get(missing, t->id)) {
            json_object_set(item, "missing", json_object_get(missing, t->id));
        }
        ida_page_add(page, item, ida_place("s", t->name));
    }
    return ida_page_result(page);
}

static const ida_field list_group[] = {OUT_TEXT("id", ALWAYS | OR_NULL), OUT_TEXT("name", ALWAYS),
                                       OUT_END};
static const ida_field list_item[] = {OUT_TEXT("id", ALWAYS),
                                      OUT_TEXT("name", ALWAYS),
                                      OUT_TEXT("description", ALWAYS),
                                      OUT_LIST("groups", ALWAYS, list_group),
                                      OUT_INTEGER("missing", SOMETIMES),
                                      OUT_END};

const ida_operation ida_op_role_templates = {
    .name = "role.list",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_ACCESS_READ,
    IDA_READS("/role-templates"),
    .commands = IDA_COMMANDS(
        {"role", "templates", .columns = "name groups description id",
         .summary = "List the role templates with the groups that each grants."}),
    .params = ida_list_params,
    .work = list,
    .summary = "Role templates with the groups each grants.",
    .schema = "RoleTemplateList",
    .tool = "list_role_templates",
    .title = "List role templates",
    .lists = 1,
    .description = "Lists the tenant's role templates with the groups each of them grants, ordered "
                   "by name. Use get_role_template for licences, group kinds and the number of "
                   "people a template is assigned to, and get_user_access to see which of a "
                   "person's groups come from a template. A group whose id is null is named by "
                   "the template but not (or not uniquely) found in the directory. missing: how "
                   "many memberships it granted were taken by hand since.",
    .item = list_item,
};

/* --- one --- */

static ida_kind get(ida_call *call, store *s, ida_ctx *c)
{
    const char *wanted = ida_json_string(call->arguments, "roleTemplate");
    ida_role_template *t;
    cache_freshness fresh;
    int64_t assigned;
    ida_kind kind = governance_template_find(s, c, call->asked->tenant->id, wanted, &t);
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, kind, "roleTemplate: No role template has the ID or name \"%s\"%s",
                        ida_clean(c->pool, wanted, strlen(wanted), 128),
                        call->asked->face->tools ? "; list_role_templates shows them." : ".");
    }
    kind = kind ? kind : store_template_assigned(s, c, call->asked->tenant->id, t->id, &assigned);
    kind = kind ? kind : cache_freshness_get(s, c, call->asked->tenant, &fresh);
    if (kind) {
        return kind;
    }
    /* Pages go by position in the list, so a cursor is valid only for this exact list. */
    json_t *binding = ida_json_keep(c->pool, json_pack("{s:s, s:O}", "roleTemplate", t->id,
                                                       "groups", (json_t *)(uintptr_t)t->groups));
    ida_page *page;
    kind = ida_page_open(call, binding, "i", &page);
    if (kind) {
        return kind;
    }
    size_t from = (size_t)ida_place_number(page->from, 0);
    apr_hash_t *known = apr_hash_make(c->pool);
    name_groups(known, t->groups, from, from + (size_t)page->limit);
    kind = find_groups(call, known);
    if (kind) {
        return kind;
    }
    for (size_t i = from; i < json_array_size(t->groups) && ida_page_takes(page); i++) {
        const ida_group *group = group_named(known, json_array_get(t->groups, i));
        if (group) {
            ida_page_add(page,
                         ida_json_texts("id", group->id, "name", group->name, "kind", group->kind,
                                        NULL),
                         ida_place("i", (int64_t)i + 1));
        }
    }
    json_t *told = ida_json_texts("id", t->id, "name", t->name, "description", t->description,
                                  NULL);
    call->result = ida_json_keep(c->pool, json_pack("{s:o}", "roleTemplate", told));
    call->target = t->name;
    json_object_set(told, "groups", page->items);
    json_object_set_new(told, "licenses", json_copy((json_t *)(uintptr_t)t->licenses));
    json_object_set_new(told, "licenseCount",
                        json_integer((json_int_t)json_array_size(t->licenses)));
    json_object_set_new(told, "assignedUserCount", json_integer(assigned));
    ida_json_put_time(call->result, "asOf", fresh.as_of);
    return ida_page_end(page, call->result);
}

static const ida_param get_params[] = {
    {"roleTemplate", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 256,
     .about = "ID or name of the template, e.g. \"Sales\"."},
    IDA_LIST_PARAMS,
    {0},
};

static const ida_field one_group[] = {OUT_TEXT("id", ALWAYS | OR_NULL), OUT_TEXT("name", ALWAYS),
                                      OUT_TEXT("kind", ALWAYS | OR_NULL), OUT_END};
static const ida_field one[] = {OUT_TEXT("id", ALWAYS),
                                OUT_TEXT("name", ALWAYS),
                                OUT_TEXT("description", ALWAYS),
                                OUT_LIST("groups", ALWAYS, one_group),
                                OUT_TEXTS("licenses", ALWAYS),
                                OUT_INTEGER("licenseCount", ALWAYS),
                                OUT_INTEGER("assignedUserCount", ALWAYS),
                                OUT_END};
static const ida_field get_result[] = {OUT_OBJECT("roleTemplate", ALWAYS, one),
                                       OUT_TEXT("nextCursor", ALWAYS | OR_NULL),
                                       OUT_TIME("asOf", ALWAYS | OR_NULL), OUT_END};

const ida_operation ida_op_role_template = {
    .name = "role.get",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_ACCESS_READ,
    IDA_READS("/role-template"),
    .commands = IDA_COMMANDS(
        {"role", "show", .at = {{"roleTemplate", "TEMPLATE"}}, .shown = "roleTemplate",
         .summary = "Show a role template (ID or name) with its groups and licences."}),
    .params = get_params,
    .work = get,
    .summary = "One role template with its groups, licences and number of assigned people.",
    .schema = "RoleTemplateResult",
    .tool = "get_role_template",
    .title = "Get role template",
    .lists = 1,
    .description = "Returns one role template, by ID or name: its groups with kind, licences, "
                   "licenseCount and assignedUserCount. Find the name with list_role_templates. "
                   "For the people "
                   "use get_resource_access with source role_template.",
    .output = get_result,
};
