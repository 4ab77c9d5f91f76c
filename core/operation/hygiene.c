/* Owns the hygiene report: which accounts and groups deserve a look, by the definitions of the
 * service. Must not know the cache's tables. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/operation/op.h"
#include "core/operation/person_json.h"

#define DAY_MS INT64_C(86400000)

/* One section while it is made. */
typedef struct section {
    ida_call *call;
    store *s;
    int limit;
    int64_t now, before;    /* instant of the report, and of the threshold; the same on all pages */
    const json_t *position; /* NULL at the first page */
    int64_t total;
    json_t *items, *next; /* next: what identifies the last item, behind now and total; NULL on the
                             last page */
} section;

static json_t *idle_row(const section *x, const cache_listed_person *p)
{
    json_t *row = ida_person_row_json(p);
    json_object_set_new(row, "inactiveDays",
                        p->active_at > 0 ? json_integer((x->now - p->active_at) / DAY_MS)
                                         : json_null());
    return row;
}

static ida_kind idle(section *x, int guest)
{
    ida_ctx *c = x->call->c;
    const char *tenant = x->call->principal->company;
    const cache_listed_person *rows;
    int count;
    ida_kind kind = cache_people_idle(x->s, c, tenant, guest, x->before,
                                      ida_op_number_at(x->position, 2),
                                      ida_op_text_at(x->position, 3), x->limit + 1, &rows, &count);
    if (!kind && !x->position) {
        kind = cache_people_idle_count(x->s, c, tenant, guest, x->before, &x->total);
    }
    for (int i = 0; !kind && i < count && i < x->limit; i++) {
        json_array_append_new(x->items, idle_row(x, &rows[i]));
    }
    if (!kind && count > x->limit) {
        x->next = ida_op_place("is", rows[x->limit - 1].active_at, rows[x->limit - 1].id);
    }
    return kind;
}

static ida_kind stale_accounts(section *x)
{
    return idle(x, 0);
}

static ida_kind inactive_guests(section *x)
{
    return idle(x, 1);
}

static ida_kind without_manager(section *x)
{
    ida_ctx *c = x->call->c;
    const char *tenant = x->call->principal->company;
    const cache_listed_person *rows;
    int count;
    ida_kind kind = cache_people_unmanaged(x->s, c, tenant, ida_op_text_at(x->position, 2),
                                           ida_op_text_at(x->position, 3), x->limit + 1, &rows,
                                           &count);
    if (!kind && !x->position) {
        kind = cache_people_unmanaged_count(x->s, c, tenant, &x->total);
    }
    for (int i = 0; !kind && i < count && i < x->limit; i++) {
        json_array_append_new(x->items, idle_row(x, &rows[i]));
    }
    if (!kind && count > x->limit) {
        x->next = ida_op_place("ss", rows[x->limit - 1].name_key, rows[x->limit - 1].id);
    }
    return kind;
}

static ida_kind empty_groups(section *x)
{
    ida_ctx *c = x->call->c;
    const char *tenant = x->call->principal->company;
    const cache_empty_group *rows;
    int count;
    ida_kind kind = cache_groups_empty(x->s, c, tenant, ida_op_text_at(x->position, 2),
                                       ida_op_text_at(x->position, 3), x->limit + 1, &rows, &count);
    if (!kind && !x->position) {
        kind = cache_groups_empty_count(x->s, c, tenant, &x->total);
    }
    for (int i = 0; !kind && i < count && i < x->limit; i++) {
        json_array_append_new(x->items,
                              ida_json_texts("id", rows[i].id, "name", rows[i].name, "kind",
                                             rows[i].kind, "directory", rows[i].directory, NULL));
    }
    if (!kind && count > x->limit) {
        x->next = ida_op_place("ss", rows[x->limit - 1].name_key, rows[x->limit - 1].id);
    }
    return kind;
}

static const char *const section_names[] = {"staleAccounts", "emptyGroups", "inactiveGuests",
                                            "accountsWithoutManager", NULL};

static const struct {
    ida_kind (*make)(section *x);
    const char *form; /* of a position: now, total, then the section's own */
    int sign_ins;     /* 1: rests on sign-ins, where the directory records them */
    int cloud;        /* 1: needs the cloud directory */
} sections[] = {
    {stale_accounts, "iiis", 1, 0},
    {empty_groups, "iiss", 0, 0},
    {inactive_guests, "iiis", 1, 1},
    {without_manager, "iiss", 0, 0},
};

static json_t *unavailable(void)
{
    return json_pack("{s:b, s:s}", "available", 0, "reason",
                     "Guests exist only in the cloud directory, and this tenant has none "
                     "configured. The other sections are complete.");
}

/* Which sections were asked for: all when none is named. */
static unsigned wanted_sections(const ida_call *call)
{
    const json_t *names = json_object_get(call->arguments, "sections"), *name;
    unsigned wanted = 0;
    size_t i;
    for (int n = 0; section_names[n]; n++) {
        wanted |= names ? 0 : 1u << n;
        json_array_foreach (names, i, name) {
            wanted |= strcmp(json_string_value(name), section_names[n]) == 0 ? 1u << n : 0;
        }
    }
    return wanted;
}

/* Without sign-ins in the directory an account counts as unused since it was made: that must be
 * said, or people are called stale who are not. */
static const char *note_of(ida_call *call, const cache_freshness *fresh, int n)
{
    for (int d = 0; sections[n].sign_ins && d < IDA_DIR_COUNT; d++) {
        if (call->tenant->has_directory[d] && !fresh->sign_ins[d] &&
            !(sections[n].cloud && d != IDA_DIR_CLOUD)) {
            return apr_psprintf(call->c->pool,
                                "The %s directory records no sign-ins for this service to read: "
                                "inactivity of its accounts is counted "
                                "from their creation, and some may well be in use.",
                                d == IDA_DIR_CLOUD ? "cloud" : "on-premises");
        }
    }
    return NULL;
}

typedef struct report {
    ida_call *call;
    int days;
} report;

static ida_kind put_section(store *s, report *r, const cache_freshness *fresh, int n, json_t *out)
{
    ida_call *call = r->call;
    ida_ctx *c = call->c;
    const char *cursor;
    json_t *position,
        *binding = ida_json_keep(c->pool, json_pack("{s:s, s:i}", "section", section_names[n],
                                                    "staleDays", r->days));
    if (sections[n].cloud && !call->tenant->has_directory[IDA_DIR_CLOUD]) {
        json_object_set_new(out, section_names[n], unavailable());
        return IDA_OK;
    }
    ida_kind kind = ida_op_position(call, binding, sections[n].form, &position);
    if (kind) {
        return kind;
    }
    section x = {.call = call,
                 .s = s,
                 .limit = ida_op_limit(call),
                 .position = position,
                 .total = ida_op_number_at(position, 1),
                 .now = position ? ida_op_number_at(position, 0) : ida_now(c->env),
                 .items = json_array()};
    x.before = x.now - r->days * DAY_MS;
    json_t *one = json_object();
    json_object_set_new(out, section_names[n], one);
    json_object_set_new(one, "available", json_true());
    json_object_set_new(one, "items", x.items);
    kind = sections[n].make(&x);
    if (kind) {
        return kind;
    }
    if (x.next) {
        json_array_insert_new(x.next, 0, json_integer(x.now));
        json_array_insert_new(x.next, 1, json_integer(x.total));
    }
    kind = ida_op_next(call, binding, x.next, &cursor);
    json_object_set_new(one, "count", json_integer(x.total));
    ida_json_put_or_null(one, "nextCursor", cursor);
    ida_json_put_or_null(one, "note", note_of(call, fresh, n));
    return kind;
}

static ida_kind make_report(store *s, ida_ctx *c, void *baton)
{
    report *r = baton;
    ida_call *call = r->call;
    const json_t *days = json_object_get(call->arguments, "staleDays");
    unsigned wanted = wanted_sections(call);
    cache_freshness fresh;
    if (ida_json_string(call->arguments, "cursor") && (wanted & (wanted - 1))) {
        return ida_fail(c, IDA_BAD_REQUEST,
                        "cursor: belongs to one section; name it alone in sections");
    }
    r->days = days ? (int)json_integer_value(days) : call->tenant->stale_after_days;
    json_t *all = json_object();
    call->result = ida_json_keep(c->pool, json_pack("{s:i, s:o}", "staleAfterDays", r->days,
                                                    "sections", all));
    ida_kind kind = cache_freshness_get(s, c, call->tenant, &fresh);
    for (int n = 0; !kind && section_names[n]; n++) {
        kind = wanted & (1u << n) ? put_section(s, r, &fresh, n, all) : IDA_OK;
    }
    return kind;
}

static ida_kind run_hygiene(ida_call *call)
{
    report r = {.call = call};
    return store_snapshot(call->store, call->c, make_report, &r);
}

static const ida_param params[] = {
    {"staleDays", IDA_PARAM_INTEGER, 0, 1, 3650, NULL,
     "Days without activity that make an account stale; the tenant's setting when left out."},
    {"sections", IDA_PARAM_LIST, 0, 0, 0, section_names,
     "Only these sections; all four when left out."},
    {"limit", IDA_PARAM_INTEGER, 0, 1, IDA_PAGE_MAX, NULL, "Items of each section; default 50."},
    {"cursor", IDA_PARAM_STRING, 0, 0, 0, NULL,
     "nextCursor of one section; sections must name that section alone."},
    {0},
};

/* clang-format off */
#define SECTION(item) \
    OUT_OBJECT("\"available\"", OUT_IS("available", OUT_BOOLEAN) "," \
    OUT_IS("reason", OUT_TEXT) "," OUT_IS("count", OUT_INTEGER) "," \
    OUT_IS("items", OUT_LIST(item)) "," OUT_IS("nextCursor", OUT_TEXT_OR_NULL) "," \
    OUT_IS("note", OUT_TEXT_OR_NULL))
#define PEOPLE \
    SECTION(OUT_OBJECT("\"id\",\"status\",\"inactiveDays\"", OUT_PERSON_ROW "," \
    OUT_IS("inactiveDays", OUT_INTEGER_OR_NULL)))
#define GROUPS \
    SECTION(OUT_OBJECT("\"id\",\"name\",\"kind\"", OUT_IS("id", OUT_TEXT) "," \
    OUT_IS("name", OUT_TEXT) "," OUT_IS("kind", OUT_TEXT) "," OUT_IS("directory", OUT_TEXT)))
/* clang-format on */
/* Every other section lists people: said once, because the list of tools has little room. */
/* clang-format off */
#define SECTIONS \
    "{\"type\":\"object\",\"properties\":{" OUT_IS("emptyGroups", GROUPS) \
    "},\"additionalProperties\":" PEOPLE "}"
/* clang-format on */

const ida_operation ida_op_hygiene = {
    .name = "hygiene.report",
    .method = "GET",
    .path = "/v1/api/hygiene",
    .scope = IDA_SCOPE_READ,
    .needs_sync = 1,
    .params = params,
    .run = run_hygiene,
    .summary = "Stale accounts, empty groups, inactive guests, accounts without a manager.",
    .schema = "HygieneReport",
    .tool = "get_hygiene_report",
    .title = "Hygiene report",
    .paged = "sections.*.items",
    .description = "Reports accounts and groups that deserve a look: stale accounts, empty groups, "
                   "inactive guests, accounts without a manager, each "
                   "with its total count. Stale are enabled members whose last successful sign-in "
                   "(else last sign-in, else creation) is older than "
                   "staleDays; the longest inactive come first. The guest section is unavailable, "
                   "with a reason, for tenants without a cloud "
                   "directory; a note says when a directory records no sign-ins. For more of one "
                   "section name it alone in sections and pass its "
                   "nextCursor. Use search_users for other questions about sign-ins.",
    /* clang-format off */
    .output = OUT_OBJECT("\"staleAfterDays\",\"sections\"",
        OUT_IS("staleAfterDays", OUT_INTEGER) "," OUT_IS("sections", SECTIONS)),
    /* clang-format on */
};
