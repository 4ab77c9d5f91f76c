/* Owns the console's operations that belong to no single company: who is signed in, and in which
 * companies with which roles. Must not know how a person signed in. */
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/operation/op.h"
#include "core/operation/page.h"
#include "core/operation/table.h"
#include "core/store/tenant.h"

#define COMPANIES_SHOWN 50 /* in the session; others are found by name */

static int by_name(const void *a, const void *b)
{
    const store_tenant_name *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->id, y->id);
}

/* Companies in which the person has a role and whose name or ID contains the words; NULL: any.
 * By name. */
static ida_kind companies_of(ida_call *call, const char *words, store_tenant_name **out, int *count)
{
    ida_ctx *c = call->c;
    const store_tenant_name *all;
    int total, kept = 0;
    ida_kind kind = store_tenant_names(call->store, c, &all, &total);
    if (kind) {
        return kind;
    }
    store_tenant_name *mine = apr_palloc(c->pool, sizeof *mine * (size_t)(total + 1));
    const char *folded = words ? ida_fold_search(c->pool, words) : "";
    for (int i = 0; i < total; i++) {
        if (ida_person_roles(call->asked->person, all[i].id) &&
            (strstr(ida_fold_search(c->pool, all[i].name), folded) ||
             strstr(ida_fold_search(c->pool, all[i].id), folded))) {
            mine[kept++] = all[i];
        }
    }
    qsort(mine, (size_t)kept, sizeof *mine, by_name);
    *out = mine;
    *count = kept;
    return IDA_OK;
}

static json_t *company_json(const ida_call *call, const store_tenant_name *company)
{
    unsigned roles = ida_person_roles(call->asked->person, company->id);
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "companyId", company->id, "name", company->name,
                     "timeZone", company->time_zone, "roles", ida_roles_json(roles), "rights",
                     ida_rights_json(roles));
}

static ida_kind run_session(ida_call *call)
{
    const ida_person *person = call->asked->person;
    store_tenant_name *mine;
    int count;
    ida_kind kind = companies_of(call, NULL, &mine, &count);
    if (kind) {
        return kind;
    }
    json_t *companies = json_array();
    for (int i = 0; i < count && i < COMPANIES_SHOWN; i++) {
        json_array_append_new(companies, company_json(call, &mine[i]));
    }
    call->result = ida_json_keep(call->c->pool,
                                 json_pack("{s:s, s:{s:s?}, s:o, s:i, s:O, s:s}", "user",
                                           person->user, "person", "userPrincipalName", person->upn,
                                           "companies", companies, "companyCount", count, "links",
                                           person->links, "version", IDA_VERSION));
    return IDA_OK;
}

static ida_kind run_companies(ida_call *call)
{
    store_tenant_name *mine;
    int count;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "ss", &page);
    kind = kind ? kind
                : companies_of(call, ida_json_string(call->arguments, "query"), &mine, &count);
    if (kind) {
        return kind;
    }
    const store_tenant_name behind = {.name = ida_place_text(page->from, 0),
                                      .id = ida_place_text(page->from, 1)};
    for (int i = 0; i < count; i++) {
        if (page->from && by_name(&mine[i], &behind) <= 0) {
            continue;
        }
        if (!ida_page_takes(page)) {
            break;
        }
        ida_page_add(page, company_json(call, &mine[i]), ida_place("ss", mine[i].name, mine[i].id));
    }
    page->total = count;
    return ida_page_result(page);
}

static const ida_param companies_params[] = {
    {"query", IDA_PARAM_STRING, .max = 100, .about = "Part of a company's name or ID."},
    IDA_LIST_PARAMS,
    {0},
};

const ida_operation ida_op_session = {
    .name = "session.get",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_RIGHT_ANY,
    .no_company = 1,
    .method = "GET",
    .path = "/session",
    .params = ida_no_params,
    .run = run_session,
    .summary = "Who is signed in, and their companies.",
};

const ida_operation ida_op_companies = {
    .name = "company.list",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_RIGHT_ANY,
    .no_company = 1,
    .method = "GET",
    .path = "/companies",
    .params = companies_params,
    .run = run_companies,
    .summary = "Companies in which the person has a role.",
};
