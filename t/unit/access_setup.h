/* A tenant's directories invented for the tests of reading: rows are put into the cache the way
 * syncs do it, and kept in memory for an independent calculation. Included after setup.h and
 * store_setup.h. */
#ifndef T_UNIT_ACCESS_SETUP_H
#define T_UNIT_ACCESS_SETUP_H

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/person.h"
#include "core/cache/sync.h"
#include "core/face/mcp.h"
#include "core/operation/operation.h"
#include "core/operation/page.h"
#include "core/store/tenant.h"
#include "core/tenant/tenant.h"
#include "t/unit/store_setup.h"

#define COMPANY "contoso"

static uint32_t seed = 1;
__attribute__((unused)) static int dice(int sides)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)sides);
}

/* The test's own statements, run inside a transaction of the role's file. */
static const char *free_sql;
static ida_kind run_free(store *s, ida_ctx *c, void *baton)
{
    (void)baton;
    return db_script(s->db, c, free_sql);
}
__attribute__((unused)) static void script(store *s, const char *sql)
{
    ida_ctx *c = fresh();
    free_sql = sql;
    must(store_transaction(s, c, run_free, NULL), c, sql);
}

/* --- calling operations as a face does --- */

__attribute__((unused)) static ida_tenant *tenant_of(store *s, const char *id)
{
    ida_tenant *t = NULL;
    ida_ctx *c = fresh();
    must(store_tenant_get(s, c, id, &t, NULL), c, "tenant");
    return t;
}

typedef struct asked {
    ida_kind kind;
    const char *message;
    json_t *result;
} asked;

__attribute__((unused)) static asked ask_json(apr_pool_t *in, store *s, const ida_tenant *t,
                                              const ida_operation *op, json_t *arguments)
{
    ida_principal who = {
        .company = t->id, .username = "reader", .label = "", .access = IDA_ACCESS_READ_ONLY};
    const ida_question question = {.operation = op,
                                   .face = &ida_mcp_face,
                                   .principal = &who,
                                   .tenant = t,
                                   .synced = 1,
                                   .endpoint = "test",
                                   .arguments = arguments};
    ida_call call = {.c = ida_ctx_make(&env, in),
                     .asked = &question,
                     .source = store_source_of(in, s)};
    asked a = {.kind = ida_operation_admit(&call)};
    if (!a.kind) {
        a.kind = ida_operation_run(&call);
        ida_pages_load(&call);
    }
    a.message = call.c->message ? call.c->message : "";
    a.result = a.kind ? NULL : call.result;
    return a;
}

/* `arguments` is a JSON object as text, with single quotes for double ones. */
__attribute__((unused)) static asked ask_in(apr_pool_t *in, store *s, const ida_tenant *t,
                                            const ida_operation *op, const char *arguments)
{
    char *text = apr_pstrdup(in, arguments);
    for (char *p = text; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    return ask_json(in, s, t, op, ida_json_load(in, text));
}

/* A tenant with an on-premises directory and, if `cloud` says so, one in the cloud. */
__attribute__((unused)) static void put_tenant(store *s, const char *company, int cloud)
{
    ida_tenant *t;
    char *canonical;
    ida_ctx *c = fresh();
    const char *text = apr_pstrcat(
        pool, "{\"companyId\":\"", company,
        "\",\"name\":\"X\",\"upnDomain\":\"contoso.example\",\"createUsersIn\":\"onPremises\","
        "\"directories\":{",
        cloud ? "\"cloud\":{\"directoryId\":\"11111111-1111-1111-1111-111111111111\",\"clientId\":"
                "\"11111111-1111-1111-1111-111111111111\",\"clientSecretFile\":\"/x\"},"
              : "",
        "\"onPremises\":{\"urls\":[\"ldaps://"
        "x\"],\"dialect\":\"activeDirectory\",\"bindDn\":\"cn=x\",\"bindPasswordFile\":\"/"
        "x\",\"userBase\":\"dc=x\",\"groupBase\":\"dc=x\"}}}",
        NULL);
    must(ida_tenant_apply(c, text, strlen(text), NULL, &t, &canonical), c, "document");
    must(store_tenant_put(s, c, t, &(ida_stored_tenant){canonical, "seal", 1}), c, "tenant");
}

#endif
