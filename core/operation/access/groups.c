/* Owns the list of groups. */
#include "core/base/json.h"
#include "core/base/search_key.h"
#include "core/cache/people.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/table.h"

static ida_kind list(ida_call *call, store *s, ida_ctx *c)
{
    const json_t *a = call->arguments, *empty = json_object_get(a, "empty");
    const char *tenant = call->asked->tenant->id;
    const cache_listed_group *rows;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "ss", &page);
    cache_group_filter filter = {
        .words = ida_name_key(c->pool, ida_json_string(a, "query")),
        .kind = ida_json_string(a, "kind"),
        .directory = ida_json_string(a, "directory"),
        .empty = !empty                ? CACHE_EMPTY_OR_NOT
                 : json_is_true(empty) ? CACHE_EMPTY
                                       : CACHE_NOT_EMPTY,
        .after_name = ida_place_text(page->from, 0),
        .after_id = ida_place_text(page->from, 1),
        .limit = page->limit + 1,
        .count_max = IDA_COUNT_MOST,
    };
    kind = kind ? kind : cache_group_list(s, c, tenant, &filter, &rows, &page->count);
    kind = kind ? kind : cache_group_count(s, c, tenant, &filter, &page->total);
    kind = kind ? kind : ida_page_as_of(page, s);
    for (int i = 0; !kind && ida_page_row(page, i); i++) {
        const cache_listed_group *g = &rows[i];
        json_t *item = ida_json_texts("id", g->id, "name", g->name, "kind", g->kind, "directory",
                                      g->directory, "description", g->description, NULL);
        json_object_set_new(item, "memberCount", json_integer(g->member_count));
        json_object_set_new(item, "otherMembers", json_boolean(g->others));
        ida_page_add(page, item, ida_place("ss", g->name_key, g->id));
    }
    return kind ? kind : ida_page_result(page);
}

static const char *const kinds[] = {"security",     "mailEnabledSecurity",
                                    "microsoft365", "distribution",
                                    "dynamic",      NULL};

static const ida_param params[] = {
    {"query", IDA_PARAM_STRING, .max = 256, .about = "A part of the name."},
    {"kind", IDA_PARAM_STRING, .allowed = kinds, .about = "Only groups of this kind."},
    {"directory", IDA_PARAM_STRING, .allowed = ida_directory_names,
     .about = "Only of this directory."},
    {"empty", IDA_PARAM_BOOLEAN, .about = "true: only groups without members; false: the others."},
    IDA_LIST_PARAMS,
    {0},
};

static const ida_field item[] = {OUT_TEXT("id", ALWAYS),
                                 OUT_TEXT("name", ALWAYS),
                                 OUT_WORD("kind", ALWAYS, kinds),
                                 OUT_WORD("directory", ALWAYS, ida_directory_names),
                                 OUT_TEXT("description", OR_NULL),
                                 OUT_INTEGER("memberCount", ALWAYS),
                                 OUT_BOOLEAN("otherMembers", ALWAYS),
                                 OUT_END};

const ida_operation ida_op_groups = {
    .name = "group.list",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_ACCESS_READ,
    IDA_READS("/groups"),
    .commands = IDA_COMMANDS(
        {"group", "list", .at = {{"query", "WORDS"}},
         .columns = "name kind directory memberCount otherMembers description id",
         .summary = "List groups by name, those whose names hold the words."}),
    .needs_sync = 1,
    .lists = 1,
    .params = params,
    .work = list,
    .summary = "Groups of the directories, by name.",
    .item = item,
};
