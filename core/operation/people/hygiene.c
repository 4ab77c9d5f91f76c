/* Owns the hygiene report: which accounts and groups need a review, by the definitions of the
 * service. Must not know the cache's tables. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/search_key.h"
#include "core/cache/freshness.h"
#include "core/cache/reports.h"
#include "core/operation/export.h"
#include "core/operation/page.h"
#include "core/operation/people/known.h"
#include "core/operation/people/person_json.h"
#include "core/operation/table.h"
#include "core/queue/revoked.h"
#include "core/tenant/connector.h"

#define DAY_MS INT64_C(86400000)
#define REQUESTS_MAX 200 /* open requests that are looked at */
#define OWNED_MAX 10000

typedef ida_kind (*finder)(store *s, ida_ctx *c, cache_report *r, const cache_listed_person **rows);

/* A section of the report. Its positions begin with `now` and the total. */
typedef struct section {
    ida_page *page;
    store *s;
    ida_ctx *c;
    int64_t now; /* time of the report, the same on all pages */
    cache_report report;
    finder find; /* of by_name */
} section;

/* The total in a position: the number, and whether it is a minimum. */
static int64_t coded(const section *x)
{
    return 2 * x->report.total.number + x->report.total.more;
}

static cache_report_count decoded(int64_t number)
{
    return (cache_report_count){number / 2, (int)(number % 2)};
}

/* If a page is not full because enough people were examined, the next one begins after the last
 * of them. */
static void goes_on(section *x, int by_name)
{
    const cache_report_edge *e = &x->report.edge;
    if (e->id) {
        ida_page_goes_on(x->page, by_name ? ida_place("iiss", x->now, coded(x), e->name_key, e->id)
                                          : ida_place("iiis", x->now, coded(x), e->at, e->id));
    }
}

/* Whether row `i` exists and goes into the page. */
static int takes(section *x, ida_kind kind, int i)
{
    return !kind && i < x->report.count && ida_page_takes(x->page);
}

/* A file has whole texts. */
static void begin_row(const section *x, const cache_listed_person *p, ida_json_row *row)
{
    ida_person_row_begin(row, x->c->pool, p, x->page->call->exported ? 0 : IDA_TOOL_TEXT_MAX);
    if (p->active_at > 0) {
        ida_row_integer(row, IDA_ROW_NAME("inactiveDays"), (x->now - p->active_at) / DAY_MS);
    } else {
        ida_row_text_or_null(row, IDA_ROW_NAME("inactiveDays"), NULL);
    }
}

static json_t *idle_row(const section *x, const cache_listed_person *p)
{
    ida_json_row row;
    begin_row(x, p, &row);
    return ida_row_end(&row);
}

static ida_kind idle(section *x)
{
    const cache_listed_person *rows;
    ida_kind kind = cache_people_idle(x->s, x->c, &x->report, &rows);
    for (int i = 0; takes(x, kind, i); i++) {
        ida_page_add(x->page, idle_row(x, &rows[i]),
                     ida_place("iiis", x->now, coded(x), rows[i].active_at, rows[i].id));
    }
    goes_on(x, 0);
    return kind;
}

static ida_kind by_name(section *x)
{
    const cache_listed_person *rows;
    ida_kind kind = x->find(x->s, x->c, &x->report, &rows);
    for (int i = 0; takes(x, kind, i); i++) {
        ida_page_add(x->page, idle_row(x, &rows[i]),
                     ida_place("iiss", x->now, coded(x), rows[i].name_key, rows[i].id));
    }
    goes_on(x, 1);
    return kind;
}

/* A row of a section that is read as a whole, in the order of its keys. Takes the row over. */
static void add_whole(section *x, const char *key, json_t *row)
{
    x->report.total.number++;
    if (strcmp(key, x->report.after_text) > 0 && ida_page_takes(x->page)) {
        ida_page_add(x->page, row, ida_place("iiss", x->now, (int64_t)0, key, ""));
    } else {
        json_decref(row);
    }
}

/* Open requests none of whose approvers may decide: oldest first. */
static ida_kind undecidable(section *x)
{
    const ida_access_request *rows;
    int count = 0;
    ida_kind kind = x->page->call->asked->tenant->access_governance
                        ? governance_request_open(x->s, x->c, x->report.tenant, 0, "", REQUESTS_MAX,
                                                  &rows, &count)
                        : IDA_OK;
    x->report.total = (cache_report_count){0, count == REQUESTS_MAX};
    for (int i = 0; !kind && i < count; i++) {
        const ida_access_request *r = &rows[i];
        json_t *approvers = ida_json_keep(x->c->pool, json_array());
        kind = ida_op_eligible_approvers(x->page, r, approvers);
        if (!kind && !json_array_size(approvers)) {
            add_whole(x, ida_printf(x->c->pool, "%019lld %s", (long long)r->requested_at, r->id),
                      ida_json_texts("id", r->user_id, "userPrincipalName", r->upn, "requestId",
                                     r->id, "service", r->service, NULL));
        }
    }
    return kind;
}

static ida_kind owned_by_leavers(section *x)
{
    const queue_owned *rows;
    int count;
    ida_kind kind = queue_owned_list(x->s, x->c, x->report.tenant, "[]", OWNED_MAX, &rows, &count);
    x->report.total = (cache_report_count){0, count == OWNED_MAX};
    for (int i = 0; i < count; i++) {
        const queue_owned *o = &rows[i];
        add_whole(x, ida_printf(x->c->pool, "%s %s %s", o->task_id, o->directory, o->group_id),
                  ida_json_texts("id", o->user_id, "userPrincipalName", o->upn, "taskId",
                                 o->task_id, "group", o->group_name, "reason", o->reason, NULL));
    }
    return kind;
}

static ida_kind disabled_with_access(section *x)
{
    const cache_holder *rows;
    ida_kind kind = cache_people_holding(x->s, x->c, &x->report, &rows);
    for (int i = 0; takes(x, kind, i); i++) {
        const cache_listed_person *p = &rows[i].person;
        ida_json_row row;
        begin_row(x, p, &row);
        ida_row_integer(&row, IDA_ROW_NAME("membershipCount"), rows[i].memberships);
        ida_row_texts(&row, IDA_ROW_NAME("licenses"), ida_json_load(x->c->pool, rows[i].licenses));
        ida_page_add(x->page, ida_row_end(&row),
                     ida_place("iiss", x->now, coded(x), p->name_key, p->id));
    }
    goes_on(x, 1);
    return kind;
}

static ida_kind shared_addresses(section *x)
{
    const cache_sharer *rows;
    ida_kind kind = cache_people_sharing(x->s, x->c, &x->report, &rows);
    for (int i = 0; takes(x, kind, i); i++) {
        const cache_listed_person *p = &rows[i].person;
        ida_json_row row;
        begin_row(x, p, &row);
        ida_row_text(&row, IDA_ROW_NAME("sharedAddress"), rows[i].address);
        ida_page_add(x->page, ida_row_end(&row),
                     ida_place("iiss", x->now, coded(x), rows[i].address, p->id));
    }
    return kind;
}

static ida_kind empty_groups(section *x)
{
    const cache_empty_group *rows;
    ida_kind kind = cache_groups_empty(x->s, x->c, &x->report, &rows);
    for (int i = 0; takes(x, kind, i); i++) {
        const cache_empty_group *g = &rows[i];
        ida_page_add(x->page,
                     ida_json_texts("id", g->id, "name", g->name, "kind", g->kind, "directory",
                                    g->directory, NULL),
                     ida_place("iiss", x->now, coded(x), g->name_key, g->id));
    }
    return kind;
}

static const char *const section_names[] = {"staleAccounts",      "emptyGroups",
                                            "inactiveGuests",     "accountsWithoutManager",
                                            "disabledWithAccess", "sharedAddresses",
                                            "reportsToLeavers",   "undecidableRequests",
                                            "ownedByLeavers",     NULL};

static const struct {
    ida_kind (*make)(section *x);
    finder find;
    const char *form; /* of a place in it */
    int sign_ins;     /* 1: needs the directory's record of sign-ins */
    int guests;       /* 1: lists guests, whom not every directory has */
    int if_any;       /* 1: shown only if not empty, or if requested by name */
    int groups;       /* 1: lists no people, to which filters for people do not apply */
} sections[] = {
    {idle, .form = "iiis", .sign_ins = 1},
    {empty_groups, .form = "iiss", .groups = 1},
    {idle, .form = "iiis", .sign_ins = 1, .guests = 1},
    {by_name, .find = cache_people_unmanaged, .form = "iiss"},
    {disabled_with_access, .form = "iiss"},
    {shared_addresses, .form = "iiss", .if_any = 1},
    {by_name, .find = cache_people_orphaned, .form = "iiss", .if_any = 1},
    {undecidable, .form = "iiss", .if_any = 1, .groups = 1},
    {owned_by_leavers, .form = "iiss", .if_any = 1, .groups = 1},
};

static json_t *unavailable(void)
{
    return json_pack("{s:b, s:s}", "available", 0, "reason",
                     "Guests exist only in the cloud directory, and this tenant has none "
                     "configured. The other sections are complete.");
}

/* The names of the filters that cursors are bound to. */
static const char *const filters[] = {"department", "company", "license", NULL};

static int filtered(const ida_call *call)
{
    int any = 0;
    for (int i = 0; filters[i]; i++) {
        any |= json_object_get(call->arguments, filters[i]) != NULL;
    }
    return any;
}

/* The requested sections: by default all, or, with a filter for people, all that list people. */
static unsigned wanted_sections(const ida_call *call)
{
    const json_t *names = json_object_get(call->arguments, "sections"), *name;
    unsigned wanted = 0;
    size_t i;
    for (int n = 0; section_names[n]; n++) {
        wanted |= names || (sections[n].groups && filtered(call)) ? 0 : 1u << n;
        json_array_foreach (names, i, name) {
            wanted |= strcmp(json_string_value(name), section_names[n]) == 0 ? 1u << n : 0;
        }
    }
    return wanted;
}

static int may_have_guests(const ida_tenant *tenant)
{
    int may = 0;
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        may |= tenant->has_directory[d] && ida_connector_of((ida_directory_kind)d)->has_guests;
    }
    return may;
}

/* If the directory has no sign-ins, an account counts as unused since its creation: the note
 * says so, because otherwise active people would appear stale. */
static const char *note_of(ida_call *call, const cache_freshness *fresh, int n)
{
    if (sections[n].make == owned_by_leavers) {
        return "As each offboarding found it; owners are not synchronised. Accounts that were "
               "disabled in another way were not looked at.";
    }
    for (int d = 0; sections[n].sign_ins && d < IDA_DIR_COUNT; d++) {
        if (call->asked->tenant->has_directory[d] && !fresh->sign_ins[d] &&
            !(sections[n].guests && !ida_connector_of((ida_directory_kind)d)->has_guests)) {
            return apr_psprintf(
                call->c->pool,
                "The %s directory records no sign-ins for this service to read: inactivity of its "
                "accounts is counted from their creation, and some may well be in use.",
                d == IDA_DIR_CLOUD ? "cloud" : "on-premises");
        }
    }
    return NULL;
}

static const char *key_of(const ida_call *call, const char *argument)
{
    const char *text = ida_json_string(call->arguments, argument);
    const char *key = text ? ida_name_key(call->c->pool, text) : NULL;
    return text && !key ? text : key; /* a text without letters and digits matches no person */
}

static ida_kind put_section(ida_call *call, store *s, const cache_freshness *fresh, int days, int n,
                            json_t *out)
{
    ida_ctx *c = call->c;
    ida_page *page;
    json_t *binding = ida_json_keep(c->pool, json_pack("{s:s, s:i}", "section", section_names[n],
                                                       "staleDays", days));
    for (int i = 0; filters[i]; i++) {
        json_object_set(binding, filters[i], json_object_get(call->arguments, filters[i]));
    }
    if (sections[n].guests && !may_have_guests(call->asked->tenant)) {
        json_object_set_new(out, section_names[n], unavailable());
        return IDA_OK;
    }
    ida_kind kind = ida_page_open(call, binding, sections[n].form, &page);
    if (kind) {
        return kind;
    }
    section x = {.page = page,
                 .s = s,
                 .c = c,
                 .find = sections[n].find,
                 .now = page->from ? ida_place_number(page->from, 0) : ida_now(c->env)};
    cache_report *r = &x.report;
    *r = (cache_report){.tenant = call->asked->tenant->id,
                        .department = key_of(call, "department"),
                        .company = key_of(call, "company"),
                        .license = ida_json_string(call->arguments, "license"),
                        .guest = sections[n].guests,
                        .before = x.now - days * DAY_MS,
                        .after_at = ida_place_number(page->from, 2),
                        .after_id = ida_place_text(page->from, 3),
                        .limit = page->limit + 1,
                        /* the beginning of a file says whether it is complete */
                        .most = (call->exported ? IDA_EXPORT_MAX : IDA_COUNT_EXACT) + 1,
                        .most_filtered = (call->exported ? IDA_EXPORT_MAX : CACHE_REPORT_COUNTED) +
                                         1,
                        .look = (call->exported ? IDA_EXPORT_MAX : CACHE_REPORT_LOOK) + 1,
                        .total = decoded(ida_place_number(page->from, 1))};
    r->after_text = strcmp(sections[n].form, "iiis") == 0 ? "" : ida_place_text(page->from, 2);
    json_t *one = json_object();
    json_object_set_new(out, section_names[n], one);
    json_object_set_new(one, "available", json_true());
    json_object_set(one, "items", x.page->items);
    kind = sections[n].make(&x);
    if (kind) {
        return kind;
    }
    if (sections[n].if_any && !r->total.number && !json_object_get(call->arguments, "sections")) {
        json_object_del(out, section_names[n]);
        return IDA_OK;
    }
    json_object_set_new(one, "count", json_integer(r->total.number));
    json_object_set_new(one, "countIsMinimum", json_boolean(r->total.more));
    kind = ida_page_end(x.page, one);
    ida_json_put_or_null(one, "note", note_of(call, fresh, n));
    return kind;
}

static ida_kind make_report(ida_call *call, store *s, ida_ctx *c)
{
    const json_t *given = json_object_get(call->arguments, "staleDays");
    int days = given ? (int)json_integer_value(given) : call->asked->tenant->stale_after_days;
    unsigned wanted = wanted_sections(call);
    cache_freshness fresh;
    if (ida_json_string(call->arguments, "cursor") && (wanted & (wanted - 1))) {
        return ida_fail(c, IDA_BAD_REQUEST,
                        "cursor: belongs to one section; name it alone in sections");
    }
    if (filtered(call)) {
        for (int n = 0; section_names[n]; n++) {
            if (sections[n].groups && (wanted & (1u << n))) {
                return ida_fail(c, IDA_BAD_REQUEST,
                                "sections: %s lists no people by department, company or licence",
                                section_names[n]);
            }
        }
    }
    call->pages = NULL; /* reset if the snapshot is repeated */
    json_t *all = json_object();
    call->result = ida_json_keep(c->pool,
                                 json_pack("{s:i, s:o}", "staleAfterDays", days, "sections", all));
    ida_kind kind = cache_freshness_get(s, c, call->asked->tenant, &fresh);
    for (int n = 0; !kind && section_names[n]; n++) {
        kind = (wanted & (1u << n)) ? put_section(call, s, &fresh, days, n, all) : IDA_OK;
    }
    ida_json_put_time(call->result, "asOf", fresh.as_of);
    ida_json_put_time(call->result, "signInsAsOf", fresh.sign_ins_as_of);
    return kind;
}

static const ida_param params[] = {
    {"staleDays", IDA_PARAM_INTEGER, .min = 1, .max = 3650,
     .about =
         "Days without activity that make an account stale; the tenant's setting when left out."},
    {"sections", IDA_PARAM_LIST, .allowed = section_names,
     .about = "Only these sections; all when left out."},
    {"department", IDA_PARAM_STRING, .max = 256, .about = "Only its people, by its whole name."},
    {"company", IDA_PARAM_STRING, .max = 256, .about = "Only its people, by its whole name."},
    {"license", IDA_PARAM_STRING, .max = 256, .about = "Only people who have it, e.g. SPE_E3."},
    {"limit", IDA_PARAM_INTEGER, .min = 1, .max = IDA_PAGE_MAX, .fallback = IDA_PAGE_DEFAULT,
     .about = "Items of each section."},
    {"cursor", IDA_PARAM_STRING,
     .about = "nextCursor of one section; sections must name that section alone."},
    {0},
};

/* One schema for the rows of all sections, because the list of tools has little room. */
static const ida_field item[] = {OUT_INCLUDE_SOMETIMES(ida_person_row_members),
                                 OUT_TEXT("id", ALWAYS | OR_NULL),
                                 OUT_INTEGER("inactiveDays", OR_NULL),
                                 OUT_INTEGER("membershipCount", SOMETIMES),
                                 OUT_TEXTS("licenses", SOMETIMES),
                                 OUT_TEXT("sharedAddress", SOMETIMES),
                                 OUT_TEXT("name", SOMETIMES),
                                 OUT_TEXT("kind", SOMETIMES),
                                 OUT_TEXT("directory", SOMETIMES),
                                 OUT_TEXT("requestId", SOMETIMES),
                                 OUT_TEXT("service", SOMETIMES),
                                 OUT_TEXT("taskId", SOMETIMES),
                                 OUT_TEXT("group", SOMETIMES),
                                 OUT_TEXT("reason", SOMETIMES),
                                 OUT_END};
static const ida_field one_section[] = {
    OUT_BOOLEAN("available", ALWAYS),   OUT_TEXT("reason", SOMETIMES),
    OUT_INTEGER("count", SOMETIMES),    OUT_BOOLEAN("countIsMinimum", SOMETIMES),
    OUT_LIST("items", SOMETIMES, item), OUT_TEXT("nextCursor", OR_NULL),
    OUT_TEXT("note", OR_NULL),          OUT_END};
static const ida_field all_sections[] = {OUT_OBJECT("*", SOMETIMES, one_section), OUT_END};
static const ida_field result[] = {OUT_INTEGER("staleAfterDays", ALWAYS),
                                   OUT_OBJECT("sections", ALWAYS, all_sections),
                                   OUT_TIME("asOf", ALWAYS | OR_NULL),
                                   OUT_TIME("signInsAsOf", ALWAYS | OR_NULL), OUT_END};

const ida_operation ida_op_hygiene = {
    .name = "hygiene.report",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_HYGIENE_READ,
    IDA_READS("/hygiene"),
    .commands = IDA_COMMANDS(
        {"hygiene", .verb = NULL,
         .summary = "List stale accounts, empty groups, inactive guests and the like."}),
    .needs_sync = 1,
    .params = params,
    .work = make_report,
    .summary =
        "Stale accounts, empty groups, inactive guests, accounts without a manager, disabled "
        "accounts with access.",
    .schema = "HygieneReport",
    .tool = "get_hygiene_report",
    .title = "Hygiene report",
    .lists = 1,
    .description =
        "Accounts and groups to look at: stale accounts, empty groups, inactive guests, accounts "
        "without a manager, disabled accounts with memberships or licences, shared addresses, "
        "reports to people with disabled accounts, requests that nobody can decide, groups that "
        "leavers own, each with its count, exact unless countIsMinimum. department, company and "
        "license narrow "
        "people. Stale are enabled members whose last successful sign-in (else last sign-in, else "
        "creation) is older than staleDays, longest inactive first. Without a cloud directory the "
        "guest section says so; a note says when a directory records no sign-ins.",
    .output = result,
};
