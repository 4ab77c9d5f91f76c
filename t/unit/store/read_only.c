/* Every operation that reads, run over a connection on which the database itself refuses writes:
 * SQLite with query_only, PostgreSQL with read-only transactions. All of them succeed. A writing
 * operation fails, so the refusal is real. */
#include <limits.h>

#include "core/base/json.h"
#include "core/cache/sync.h"
#include "core/face/console.h"
#include "core/face/mcp.h"
#include "core/face/mcp_cut.h"
#include "core/operation/table.h"
#include "core/zone/zone.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

static const char *const company = "contoso";
static const ida_tenant tenant = {.id = "contoso",
                                  .time_zone = "Europe/Stockholm",
                                  .public_api = 1,
                                  .access_governance = 1,
                                  .stale_after_days = 90,
                                  .seat_limit = -1,
                                  .task_history_days = 365,
                                  .audit_days = 730,
                                  .username_format = "{firstname}.{surname}",
                                  .email_format = "{firstname}.{surname}",
                                  .display_name_format = "{firstname} {surname}",
                                  .upn_domain = "contoso.example",
                                  .email_domain = "contoso.example"};

static void fill(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    char id[16], upn[64], name[32];
    for (int i = 0; i < 9; i++) {
        cache_user u = {.id = id,
                        .upn = upn,
                        .display_name = name,
                        .department = "Sales",
                        .enabled = i != 3,
                        .guest = i == 4,
                        .created_at = 1000};
        apr_snprintf(id, sizeof id, "u-%d", i);
        apr_snprintf(upn, sizeof upn, "person%d@contoso.example", i);
        apr_snprintf(name, sizeof name, "Person %d", i);
        ok(cache_tell_user(s, fresh(), company, IDA_DIR_CLOUD, &u) == IDA_OK, "%s", upn);
    }
}

/* A connection that cannot write. */
static store *reader_of(const char *dsn)
{
    int lite = store_sqlite_path(dsn) != NULL;
    store *s = store_make(
        pool,
        lite ? dsn : apr_pstrcat(pool, dsn, " options='-c default_transaction_read_only=on'", NULL),
        DB_REQUEST);
    ok(store_connect(s, fresh()) == IDA_OK, "connected");
    if (lite) {
        ok(db_script(s->db, fresh(), "PRAGMA query_only=ON") == IDA_OK, "for reading alone");
    }
    return s;
}

static ida_call *make_call(store *s, const ida_operation *op, const ida_face *face,
                           json_t *arguments)
{
    static const ida_principal reads = {
        .company = "contoso", .username = "ai", .label = "", .access = IDA_ACCESS_READ_ONLY};
    static const ida_principal writes = {
        .company = "contoso", .username = "hr", .label = "", .access = IDA_ACCESS_FULL};
    static const ida_grant grants[] = {{IDA_ROLE_ADMINISTRATOR, "*"}};
    static ida_person person = {
        .user = "eva", .upn = "person1@contoso.example", .grants = grants, .grant_count = 1};
    person.links = ida_json_keep(pool, json_object());
    ida_question *asked = apr_pcalloc(pool, sizeof *asked);
    ida_call *call = apr_pcalloc(pool, sizeof *call);
    call->c = fresh();
    call->asked = asked;
    call->source = store_source_of(pool, s);
    asked->person = face == &ida_console_face ? &person : NULL;
    asked->roles = 1u << IDA_ROLE_ADMINISTRATOR;
    asked->operation = op;
    asked->face = face;
    asked->principal = op->scope == IDA_SCOPE_READ ? &reads : &writes;
    asked->tenant = &tenant;
    asked->synced = 1;
    asked->endpoint = "test";
    asked->arguments = arguments;
    return call;
}

/* Sample values of each argument, by its name; {} if none is needed. */
static json_t *samples_of(const ida_param *params, int all)
{
    static const struct {
        const char *name, *value;
    } values[] = {
        {"firstname", "\"Maja\""},
        {"surname", "\"Flera\""},
        {"user", "\"person1@contoso.example\""},
        {"userPrincipalName", "\"person1@contoso.example\""},
        {"resource", "\"All staff\""},
        {"roleTemplate", "\"Sales\""},
        {"workflow", "\"Joiner\""},
        {"id", "\"none\""},
        {"query", "\"per\""},
        {"department", "\"Sales\""},
        {"lastSignInBefore", "\"2026-01-01\""},
        {"from", "\"2026-01-01\""},
        {"to", "\"2026-12-01\""},
        {"limit", "2"},
        {"staleDays", "30"},
        {"actor", "\"ai\""},
        {"firstname", "\"Maja\""},
        {"surname", "\"Ek\""},
        {"order", "\"due\""},
        {"username", "\"hr\""},
        {"dueFrom", "\"2020-01-01\""},
        {"kind", "\"security\""},
        {"directory", "\"cloud\""},
        {"section", "\"staleAccounts\""},
        {"document", "\"{\\\"companyId\\\":\\\"contoso\\\"}\""},
    };
    json_t *out = json_object();
    for (const ida_param *p = params; p && p->name; p++) {
        for (size_t i = 0;
             i < sizeof values / sizeof *values && (all || (p->flags & IDA_PARAM_REQUIRED)); i++) {
            if (strcmp(values[i].name, p->name) == 0) {
                json_object_set_new(out, p->name,
                                    json_loads(values[i].value, JSON_DECODE_ANY, NULL));
            }
        }
    }
    return ida_json_keep(pool, out);
}

/* A valid answer, or not found, because the store may have no such row. */
static void read_with(store *s, const ida_operation *op, json_t *arguments, const char *how)
{
    ida_json_both texts;
    ida_call *call = make_call(s, op, op->tool ? &ida_mcp_face : &ida_console_face, arguments);
    ((ida_question *)call->asked)->body = samples_of(op->body, 1);
    ida_kind kind = op->tool ? ida_mcp_run_cut(call, 51200, &texts) : ida_operation_run(call);
    ok(kind == IDA_OK || kind == IDA_NOT_FOUND, "%s %s", op->name, how);
    if (kind && kind != IDA_NOT_FOUND) {
        printf("# %s %s\n", ida_json_text(pool, arguments), call->c->message);
    }
    const char *cursor = kind ? NULL : ida_json_string(call->result, "nextCursor");
    const char *way = op == &ida_op_events ? "after" : "cursor";
    if (cursor && !json_object_get(arguments, way)) {
        json_t *next = ida_json_keep(pool, json_copy(arguments));
        json_object_set_new(next, way, json_string(cursor));
        read_with(s, op, next, "on the next page");
    }
}

static int statements, leaves; /* the client disconnects after so many statements */

static int is_gone(void *baton)
{
    (void)baton;
    return ++statements > leaves;
}

static ida_kind read_once(store *s, const ida_operation *op)
{
    ida_call *call = make_call(s, op, &ida_console_face, samples_of(op->params, 0));
    ((ida_question *)call->asked)->body = samples_of(op->body, 1);
    statements = 0;
    return ida_operation_run(call);
}

/* No statement is run for a client that has disconnected, at the first, in the middle or at the
 * last one. */
static int read_for_nobody(store *s, const ida_operation *op)
{
    env.gone = is_gone;
    leaves = INT_MAX;
    read_once(s, op);
    const int all = statements, after[] = {0, all / 2, all - 1};
    for (size_t i = 0; all && i < sizeof after / sizeof *after; i++) {
        leaves = after[i];
        ida_kind kind = read_once(s, op);
        ok(kind == IDA_SERVICE_UNAVAILABLE && statements == leaves + 1,
           "%s ends after %d of %d statements, at number %d", op->name, leaves, all, statements);
    }
    env.gone = NULL;
    return all > 0;
}

static void test_engine(const char *dsn)
{
    json_t *steps = ida_json_keep(pool, json_array());
    if (!ok(store_schema_upgrade(dsn, fresh(), steps) == IDA_OK, "a store")) {
        return;
    }
    fill(dsn);
    store *s = reader_of(dsn);
    int reads = 0, tools = 0, asking = 0;
    for (int i = 0; ida_operations[i]; i++) {
        const ida_operation *op = ida_operations[i];
        tools += op->tool != NULL;
        if (op->scope != IDA_SCOPE_READ) {
            continue;
        }
        reads++;
        read_with(s, op, samples_of(op->params, 0), "with what it needs");
        read_with(s, op, samples_of(op->params, 1), "with all it takes");
        asking += read_for_nobody(s, op);
    }
    is_int(tools, 11, "eleven of them are tools");
    ok(reads > tools, "%d operations read", reads);
    ok(asking > reads - 5, "%d of them ask for each statement whether the client is there", asking);

    ida_call *call = make_call(s, &ida_op_user_create, &ida_rest_face,
                               ida_json_load(pool, "{\"firstname\":\"Eva\",\"surname\":\"Berg\"}"));
    ok(ida_operation_run(call) != IDA_OK, "a write is refused by the database: %s",
       call->c->message ? call->c->message : "");
}

int main(void)
{
    setup();
    zone_init(pool);
    for (int i = 0; ida_operations[i]; i++) {
        ok(!ida_operations[i]->tool || ida_operations[i]->scope == IDA_SCOPE_READ,
           "%s: a tool reads", ida_operations[i]->name);
    }
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_engine(i, &name);
        printf("# %s\n", name);
        test_engine(dsn);
    }
    return done();
}
