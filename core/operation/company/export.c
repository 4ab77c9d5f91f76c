/* Owns which lists are saved as files, and how their pages are read one after another. Must not
 * know how a file looks. */
#include "core/operation/export.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/person.h"
#include "core/operation/company/audit_json.h"
#include "core/operation/page.h"
#include "core/operation/table.h"
#include "core/store/audit.h"
#include "core/store/checkpoint.h"
#include "core/zone/zone.h"

#define PAGE IDA_PAGE_MAX

/* "contoso-stale-accounts-2026-11-23.csv", with the date in the company's zone. */
static ida_kind name_file(ida_call *call, const char *subject, const char *ending, const char **out)
{
    const zone_info *zone;
    zone_wall wall;
    ida_kind kind = zone_get(call->c, call->asked->tenant->time_zone, &zone);
    if (!kind) {
        zone_to_wall(zone, ida_now(call->c->env) / 1000, &wall);
        *out = ida_printf(call->c->pool, "%s-%s-%04d-%02d-%02d.%s", call->asked->tenant->id,
                          subject, wall.year, wall.month, wall.day, ending);
    }
    return kind;
}

static int64_t most_of(const ida_call *call)
{
    return call->asked->export_most ? call->asked->export_most : IDA_EXPORT_MAX;
}

/* The first page is read at once, to report the number of rows and any error. */
static ida_kind begin(ida_call *call, ida_export *x)
{
    call->exported = x;
    return x->read(call, call->c, x);
}

/* --- hygiene --- */

static const char *const section_names[] = {"staleAccounts",
                                            "emptyGroups",
                                            "inactiveGuests",
                                            "accountsWithoutManager",
                                            "disabledWithAccess",
                                            "reportsToLeavers",
                                            NULL};
#define LISTED(column, name, listed, ...) IDA_IF_##listed(name, )
#define PERSON_COLUMNS \
    "id", IDA_PERSON(LISTED) "status", "userType", "lastSignInAt", "lastSuccessfulSignInAt"
static const char *const people_columns[] = {PERSON_COLUMNS, "inactiveDays", NULL};
static const char *const holder_columns[] = {PERSON_COLUMNS, "membershipCount", "licenses", NULL};
static const char *const group_columns[] = {"id", "name", "kind", "directory", NULL};

typedef struct hygiene_state {
    const char *section, *cursor; /* cursor NULL: the first page */
} hygiene_state;

static ida_kind read_hygiene(ida_call *call, ida_ctx *c, ida_export *x)
{
    hygiene_state *h = x->state;
    ida_question asked = *call->asked;
    ida_call page = *call;
    static const char *const passed[] = {"staleDays", "department", "license", "company", NULL};
    page.c = c;
    page.asked = &asked;
    asked.operation = &ida_op_hygiene;
    page.arguments = ida_json_keep(c->pool, json_pack("{s:[s], s:i}", "sections", h->section,
                                                      "limit", PAGE));
    ida_json_put(page.arguments, "cursor", h->cursor);
    for (int i = 0; passed[i]; i++) {
        json_object_set(page.arguments, passed[i], json_object_get(call->arguments, passed[i]));
    }
    ida_kind kind = store_snapshot(call->store, c, ida_call_work, &page);
    ida_pages_load(&page);
    const json_t *found = json_object_get(json_object_get(page.result, "sections"), h->section),
                 *items = json_object_get(found, "items");
    if (!kind && !json_is_true(json_object_get(found, "available"))) {
        kind = ida_fail(c, IDA_NOT_FOUND, "%s", ida_json_string(found, "reason"));
    }
    if (kind) {
        return kind;
    }
    x->truncated = json_is_true(json_object_get(found, "countIsMinimum"));
    x->rows = ida_json_keep(c->pool, json_copy((json_t *)(uintptr_t)items));
    x->looked_at += (int64_t)json_array_size(items);
    h->cursor = apr_pstrdup(call->c->pool, ida_json_string(found, "nextCursor"));
    x->more = h->cursor && x->looked_at < most_of(call);
    return IDA_OK;
}

static ida_kind export_hygiene(ida_call *call)
{
    apr_pool_t *pool = call->c->pool;
    ida_export *x = apr_pcalloc(pool, sizeof *x);
    hygiene_state *h = x->state = apr_pcalloc(pool, sizeof *h);
    h->section = ida_json_string(call->arguments, "section");
    x->columns = strcmp(h->section, "emptyGroups") == 0          ? group_columns
                 : strcmp(h->section, "disabledWithAccess") == 0 ? holder_columns
                                                                 : people_columns;
    x->read = read_hygiene;
    ida_kind kind = name_file(call, ida_dashed(pool, h->section), "csv", &x->name);
    return kind ? kind : begin(call, x);
}

static const ida_param hygiene_params[] = {
    {"section", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .allowed = section_names,
     .about = "Which section of the report."},
    {"staleDays", IDA_PARAM_INTEGER, .min = 1, .max = 3650,
     .about = "Days without activity that make an account stale."},
    {"department", IDA_PARAM_STRING, .max = 256, .about = "Only people of this department."},
    {"license", IDA_PARAM_STRING, .max = 256, .about = "Only people with this licence."},
    {"company", IDA_PARAM_STRING, .max = 256, .about = "Only people of this company."},
    {0}};

const ida_operation ida_op_hygiene_export = {
    .name = "hygiene.export",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_HYGIENE_EXPORT,
    IDA_READS("/hygiene/export"),
    .needs_sync = 1,
    .params = hygiene_params,
    .run = export_hygiene,
    .summary = "A section of the hygiene report as a file.",
};

/* --- the audit log --- */

static const char *const audit_columns[] = {
    "id",       "at",         "category", "actor",  "label",   "action",        "target",
    "endpoint", "parameters", "outcome",  "detail", "address", "correlationId", NULL};

static ida_kind read_audit(ida_call *call, ida_ctx *c, ida_export *x)
{
    store_audit_filter *f = x->state;
    const audit_row *rows;
    int count;
    int64_t total = 0;
    ida_kind kind = store_audit_list(call->store, c, call->asked->tenant->id, f, &rows, &count,
                                     f->before_seq ? NULL : &total);
    if (kind) {
        return kind;
    }
    x->truncated = x->truncated || total > most_of(call);
    x->rows = ida_json_keep(c->pool, json_array());
    for (int i = 0; i < count; i++) {
        json_array_append_new(x->rows, ida_audit_line(&rows[i]));
        f->before_at = rows[i].record.at;
        f->before_seq = rows[i].seq;
    }
    x->looked_at += count;
    x->more = count == PAGE && x->looked_at < most_of(call);
    return IDA_OK;
}

/* This process cannot sign a checkpoint: the file names the worker's newest. */
static ida_kind name_checkpoint(ida_call *call, ida_export *x)
{
    const audit_checkpoint *newest;
    ida_kind kind = store_checkpoint_newest(call->store, call->c, call->asked->tenant->id, &newest);
    x->checkpoint = !kind && newest ? audit_checkpoint_line(call->c->pool, newest) : NULL;
    return kind;
}

static ida_kind export_audit(ida_call *call)
{
    apr_pool_t *pool = call->c->pool;
    ida_export *x = apr_pcalloc(pool, sizeof *x);
    store_audit_filter *f = x->state = apr_pcalloc(pool, sizeof *f);
    const char *format = ida_json_string(call->arguments, "format");
    int lines = format && strcmp(format, "jsonl") == 0;
    ida_kind kind = ida_audit_filter(call, f);
    if (kind) {
        return kind;
    }
    f->limit = PAGE;
    f->count_max = IDA_EXPORT_MAX + 1;
    x->columns = lines ? NULL : audit_columns;
    x->read = read_audit;
    kind = name_file(call, "audit", lines ? "jsonl" : "csv", &x->name);
    kind = kind ? kind : name_checkpoint(call, x);
    return kind ? kind : begin(call, x);
}

static const char *const formats[] = {"csv", "jsonl", NULL};

static const ida_param audit_params[] = {IDA_AUDIT_FILTER_PARAMS,
                                         {"format", IDA_PARAM_STRING, .allowed = formats,
                                          .about = "csv when left out."},
                                         {0}};

const ida_operation ida_op_audit_export = {
    .name = "audit.export",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_AUDIT_EXPORT,
    IDA_READS("/audit/export"),
    .commands = IDA_COMMANDS(
        {"audit", "export", .any_document = 1,
         .given = {{"format", "jsonl"}, {"includeReads", "true"}},
         .summary =
             "Print all audit records of a tenant, newest first, one JSON object on each line."}),
    .params = audit_params,
    .run = export_audit,
    .summary = "The audit log as a file, newest first.",
};
