/* Owns the operations on people for assistants: search, one person in detail. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/freshness.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/people/filter.h"
#include "core/operation/people/person_json.h"
#include "core/operation/table.h"

/* --- search_users --- */

/* A person whose UPN is exactly the query comes first: otherwise user5@... would be hard to find
 * among user50@... and five hundred others. */
typedef struct named {
    const char *from, *before; /* UPNs, folded; NULL: the query is not a UPN */
    const cache_listed_person *rows;
    int count;
} named;

static named named_by(ida_call *call)
{
    const char *query = ida_json_string(call->arguments, "query");
    const char *key = query ? ida_fold_address(call->c->pool, query) : "";
    named n = {0};
    if (*key && !strchr(key, ' ')) {
        apr_pool_t *pool = call->c->pool;
        int whole = strchr(key, '@') != NULL;
        n.from = whole ? key : apr_pstrcat(pool, key, "@", NULL);
        n.before = whole ? apr_pstrcat(pool, key, "\x01", NULL)
                         : apr_pstrcat(pool, key, "A", NULL); /* the sign behind @ */
    }
    return n;
}

static int is_named(const named *n, const cache_listed_person *p)
{
    int found = 0;
    for (int i = 0; !found && i < n->count; i++) {
        found = strcmp(n->rows[i].id, p->id) == 0 &&
                strcmp(n->rows[i].directory, p->directory) == 0;
    }
    return found;
}

static void add_row(ida_page *page, const cache_listed_person *p, int64_t total, int others)
{
    ida_json_row row;
    ida_person_row_begin(&row, page->call->c->pool, p, IDA_TOOL_TEXT_MAX);
    ida_page_add(page, ida_row_end(&row),
                 ida_place("iiss", total, (int64_t)others, p->name_key, p->id));
}

/* A position contains the total, which was counted once, whether it comes after the exact match,
 * name and ID. */
static ida_kind search(ida_call *call, store *s, ida_ctx *c)
{
    const char *tenant = call->asked->tenant->id;
    const cache_listed_person *rows;
    cache_people_filter filter;
    cache_freshness fresh;
    int count = 0, taken = 1;
    ida_page *page;
    named first = named_by(call);
    ida_kind kind = ida_page_open(call, NULL, "iiss", &page);
    kind = kind ? kind : ida_people_filter(call, &filter);
    kind = kind ? kind : cache_freshness_get(s, c, call->asked->tenant, &fresh);
    if (kind) {
        return kind;
    }
    filter.limit = IDA_PAGE_MAX;
    if (first.from) {
        kind = cache_people_exact(s, c, tenant, &filter, first.from, first.before, &first.rows,
                                  &first.count);
    }
    int others = (int)ida_place_number(page->from, 1);
    if (others) {
        filter.after_name = ida_place_text(page->from, 2);
        filter.after_id = ida_place_text(page->from, 3);
    }
    /* one more, to know whether there is a next page */
    filter.limit = page->limit + 1 + first.count;
    kind = kind ? kind : cache_people_search(s, c, tenant, &filter, &rows, &count);
    int64_t total = page->from ? ida_place_number(page->from, 0) : count;
    if (!kind && !page->from && count == filter.limit) {
        int more;
        kind = cache_people_count(s, c, tenant, &filter, IDA_COUNT_MOST, &total, &more);
        total = more ? -total : total;
    }
    if (kind) {
        return kind;
    }
    for (int i = 0; !others && taken && i < first.count; i++) {
        const cache_listed_person *p = &first.rows[i];
        int order = page->from ? strcmp(p->name_key, ida_place_text(page->from, 2)) : 1;
        order = order ? order : strcmp(p->id, ida_place_text(page->from, 3));
        if (order > 0 && (taken = ida_page_takes(page)) != 0) {
            add_row(page, p, total, 0);
        }
    }
    for (int i = 0; taken && i < count; i++) {
        if (!is_named(&first, &rows[i]) && (taken = ida_page_takes(page)) != 0) {
            add_row(page, &rows[i], total, 1);
        }
    }
    page->total = total;
    page->as_of = fresh.as_of;
    kind = ida_page_result(page);
    ida_json_put_time(call->result, "signInsAsOf", fresh.sign_ins_as_of);
    return kind;
}

static const ida_field search_result[] = {OUT_TIME("signInsAsOf", ALWAYS | OR_NULL), OUT_END};
static const ida_param search_params[] = {IDA_PEOPLE_PARAMS, IDA_LIST_PARAMS, {0}};

const ida_operation ida_op_users_search = {
    .name = "users.search",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_PEOPLE_READ,
    IDA_READS("/users"),
    .commands = IDA_COMMANDS(
        {"user", "search", .at = {{"query", "WORDS"}},
         .columns = "userPrincipalName displayName status department jobTitle employeeId manager "
                    "lastSignInAt id",
         .summary = "Find people by words, department, manager, group, licence, status or dates."}),
    .needs_sync = 1,
    .params = search_params,
    .work = search,
    .summary = "Users by words, job, manager, group, licence, status and dates, by display name.",
    .schema = "UserList",
    .tool = "search_users",
    .title = "Search users",
    .lists = 1,
    .description =
        "Lists users of the directory, filtered by words, job, manager, group, licence, status and "
        "dates (all that is given must hold), ordered by display name; whose UPN is the query "
        "comes first. Use it to find a person's exact UPN, who reports to whom, or to count people "
        "(totalCount, exact up to 10,000 unless totalCountIsMinimum); use get_user for all details "
        "of one person.",
    .item = ida_person_row_members,
    .output = search_result,
};
