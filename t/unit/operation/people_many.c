/* Totals at their limit: exact up to 10,000, above that a minimum, for searches, for groups
 * whose members are found by walking the list, for the sections of the hygiene report; and that a
 * small group is found by its members. On both engines. */
#include "core/cache/reports.h"
#include "core/db/postgresql.h"
#include "core/operation/table.h"
#include "t/unit/access_setup.h"
#include "t/unit/store_setup.h"

enum {
    EXACT = 10000,
    ROWS = 1000,
    DISABLED = 11,
    ALL = EXACT + 1 + DISABLED,
    SLICE = 500,
    FEW = 5
};
#define DAY INT64_C(86400000)

static const char *id_of(int n)
{
    return apr_psprintf(pool, "id-%05d", n);
}

/* The last people are disabled; the first one may be as well. */
static void send_person(cache_sync *run, ida_ctx *c, int n, int first_enabled)
{
    cache_user u = {.id = id_of(n),
                    .display_name = apr_psprintf(pool, "Anna %05d", n * 7919 % ALL),
                    .upn = apr_psprintf(pool, "u%d@contoso.example", n),
                    .department = n < EXACT ? "Sales" : "IT",
                    .company = "Nordic AB",
                    .employee_id = apr_psprintf(pool, "E%d", n),
                    .created_at = test_now_ms - 1000 * DAY,
                    .last_success_at = n < ALL - DISABLED ? 0 : test_now_ms - 100 * DAY,
                    .manager_id = n < ALL - DISABLED ? NULL : id_of(0),
                    .enabled = n ? n < ALL - DISABLED : first_enabled};
    must(cache_sync_user(run, c, &u), c, "user");
}

/* People from `from` to `to`, or another group. */
static void send_group(cache_sync *run, ida_ctx *c, const char *id, int from, int to,
                       const char *within)
{
    cache_group group = {.id = id, .name = id, .kind = "security"};
    cache_member list[SLICE] = {{.id = within, .kind = "group"}};
    must(cache_sync_group(run, c, &group, list, within ? 1 : 0), c, "group");
    for (; from < to; from += SLICE) {
        int some = to - from < SLICE ? to - from : SLICE;
        for (int i = 0; i < some; i++) {
            list[i] = (cache_member){.id = id_of(from + i), .kind = "user"};
        }
        must(cache_sync_slice(run, c, id, list, some), c, "members");
    }
}

static void synchronise(store *sync, int first)
{
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_summary summary;
    const cache_guard guard = {.accept = 1};
    must(cache_sync_begin(&run, sync, c, pool, COMPANY, IDA_DIR_ON_PREMISES, first), c, "begin");
    for (int n = 0; n < (first ? ALL : 1); n++) {
        send_person(run, c, n, first);
    }
    if (first) {
        send_group(run, c, "everybody", 0, ALL, NULL);
        send_group(run, c, "most", 0, EXACT, NULL);
        send_group(run, c, "above", 0, 1, "everybody");
        send_group(run, c, "few", 0, FEW, NULL);
        must(cache_sync_complete(run, c, "user"), c, "users");
        must(cache_sync_complete(run, c, "group"), c, "groups");
    }
    must(cache_sync_commit(run, c, "{}", "test", &guard, 1, &summary), c, "commit");
}

static int64_t number(const json_t *of, const char *name)
{
    return json_integer_value(json_object_get(of, name));
}

/* The total of a search, and whether it is exact. */
static void counts(store *s, const char *arguments, int total, int minimum)
{
    asked a = ask_in(pool, s, tenant_of(s, COMPANY), &ida_op_users_search, arguments);
    ok(!a.kind && number(a.result, "totalCount") == total &&
           json_is_true(json_object_get(a.result, "totalCountIsMinimum")) == minimum,
       "%s: %s%d (%lld)", arguments, minimum ? "more than " : "", total,
       a.kind ? -1LL : (long long)number(a.result, "totalCount"));
}

static const json_t *section(store *s, const char *name)
{
    asked a = ask_in(pool, s, tenant_of(s, COMPANY), &ida_op_hygiene,
                     apr_psprintf(pool, "{'sections':['%s'],'limit':200}", name));
    return a.kind ? NULL : json_object_get(json_object_get(a.result, "sections"), name);
}

static void deserve_a_look(store *s, const char *name, int count, int minimum)
{
    const json_t *found = section(s, name);
    ok(found && number(found, "count") == count &&
           json_is_true(json_object_get(found, "countIsMinimum")) == minimum,
       "%s: %s%d", name, minimum ? "more than " : "", count);
}

/* With a filter: of a department of many a count examines some, of one of few those alone. */
static void in_department(store *s, const char *name, const char *department, int least,
                          int minimum)
{
    asked a = ask_in(pool, s, tenant_of(s, COMPANY), &ida_op_hygiene,
                     apr_psprintf(pool, "{'sections':['%s'],'department':'%s','limit':5}", name,
                                  department));
    const json_t *found = json_object_get(json_object_get(a.result, "sections"), name);
    int64_t count = found ? number(found, "count") : -1;
    ok(count >= least && (minimum || count == least) &&
           json_is_true(json_object_get(found, "countIsMinimum")) == minimum &&
           json_array_size(json_object_get(found, "items")) == (size_t)(least < 5 ? least : 5),
       "%s, %s: %lld", name, department, (long long)count);
}

/* Page after page to the end. */
static void pages(store *s, const char *group, int count)
{
    apr_pool_t *outer = pool;
    const ida_tenant *t = tenant_of(s, COMPANY);
    json_t *a = ida_json_keep(outer, json_pack("{s:s, s:i}", "group", group, "limit", 200));
    const char *last = "";
    int seen = 0, wrong = 0;
    for (int more = 1; more && !wrong;) {
        asked answer = ask_json(outer, s, t, &ida_op_users_search, a);
        json_t *item, *next = json_object_get(answer.result, "nextCursor");
        size_t i;
        wrong = answer.kind != IDA_OK;
        json_array_foreach (json_object_get(answer.result, "items"), i, item) {
            const char *name = ida_json_string(item, "displayName");
            wrong |= strcmp(name, last) <= 0;
            last = name;
            seen++;
        }
        more = !wrong && json_is_string(next);
        json_object_set(a, "cursor", next);
    }
    ok(!wrong && seen == count, "%s: %d of %d come in their order", group, seen, count);
}

/* PostgreSQL expects as many members of a small group as of any other: it must look them up all the
 * same, and not read all entries for a few of them. */
static void members_by_number(const char *dsn)
{
    static const db_statement by_members[] = {STMT_people_in_group, STMT_people_in_group_count};
    PGconn *conn = PQconnectdb(dsn + strlen("pgsql:"));
    PGresult *r = PQexec(conn, "SELECT '[' || no || ']' FROM cache.directory_group"
                               " WHERE name = 'few'");
    const char *group = apr_pstrdup(pool, PQgetvalue(r, 0, 0));
    PQclear(r);
    for (size_t i = 0; i < sizeof by_members / sizeof *by_members; i++) {
        const db_statement_text *text = &db_statements[by_members[i]];
        const char *args[32] = {0};
        int count = (int)strlen(text->kinds), all = 0;
        char *numbered = pg_numbered(text->postgresql);
        for (int n = 0; n < count; n++) {
            args[n] = text->kinds[n] == 'i' ? "-1" : NULL;
        }
        args[0] = COMPANY;
        args[22] = group;
        args[count - 1] = "51";
        r = PQexecParams(conn, apr_pstrcat(pool, "EXPLAIN ", numbered, NULL), count, NULL, args,
                         NULL, NULL, 0);
        free(numbered);
        for (int row = 0; row < PQntuples(r); row++) {
            all += strstr(PQgetvalue(r, row, 0), "Seq Scan on entry") != NULL;
        }
        ok(PQntuples(r) && !all, "%s reads no entry but the members'%s%s", text->name,
           PQntuples(r) ? "" : ": ", PQresultErrorMessage(r));
        PQclear(r);
    }
    PQfinish(conn);
}

static const struct {
    const char *arguments;
    int total, minimum;
} searches[] = {
    {"{}", EXACT, 1},
    {"{'status':'active'}", EXACT, 1},
    {"{'status':'disabled'}", DISABLED, 0},
    {"{'query':'anna'}", EXACT, 1},
    {"{'query':'contoso.example'}", ROWS, 1}, /* the sign is looked at row by row */
    {"{'department':'Sales'}", EXACT, 0},
    {"{'department':'IT'}", ALL - EXACT, 0},
    {"{'group':'everybody'}", EXACT, 1},
    {"{'group':'above'}", EXACT, 1},
    {"{'group':'most'}", EXACT, 0},
    {"{'group':'few'}", FEW, 0},
    {"{'group':'everybody','status':'active'}", EXACT, 1},
    {"{'group':'everybody','status':'disabled'}", DISABLED, 0},
    {"{'group':'above','department':'IT'}", ALL - EXACT, 0},
};

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        store *s = store_make(pool, dsn, DB_REQUEST), *sync = store_make(pool, dsn, DB_SYNC);
        printf("# %s\n", name);
        put_tenant(s, COMPANY, 0);
        synchronise(sync, 1);
        for (size_t n = 0; n < sizeof searches / sizeof *searches; n++) {
            counts(s, searches[n].arguments, searches[n].total, searches[n].minimum);
        }
        if (store_is_postgresql(s)) {
            members_by_number(dsn);
        }
        pages(s, "everybody", ALL);
        pages(s, "above", ALL);
        deserve_a_look(s, "accountsWithoutManager", EXACT, 1);
        deserve_a_look(s, "staleAccounts", EXACT, 1);
        deserve_a_look(s, "disabledWithAccess", DISABLED, 0);
        const json_t *row = json_array_get(
            json_object_get(section(s, "disabledWithAccess"), "items"), 0);
        ok(row && json_is_string(json_object_get(row, "lastSuccessfulSignInAt")) &&
               json_is_integer(json_object_get(row, "inactiveDays")) &&
               json_is_object(json_object_get(row, "manager")) &&
               strcmp(ida_json_string(row, "company"), "Nordic AB") == 0 &&
               *ida_json_string(row, "employeeId") == 'E',
           "is listed as in a search: %s", row ? ida_json_text(pool, row) : "nobody");
        in_department(s, "accountsWithoutManager", "Sales", CACHE_REPORT_COUNTED, 1);
        in_department(s, "staleAccounts", "Sales", CACHE_REPORT_COUNTED, 1);
        in_department(s, "accountsWithoutManager", "IT", 1, 0);
        in_department(s, "staleAccounts", "IT", 1, 0);
        in_department(s, "disabledWithAccess", "IT", DISABLED, 0);
        in_department(s, "disabledWithAccess", "Sales", 0, 0);
        synchronise(sync, 0);
        counts(s, "{'status':'active'}", EXACT, 0);
        counts(s, "{'group':'everybody','status':'active'}", EXACT, 0);
        deserve_a_look(s, "accountsWithoutManager", EXACT, 0);
        deserve_a_look(s, "staleAccounts", EXACT, 0);
        deserve_a_look(s, "disabledWithAccess", DISABLED + 1, 0);
    }
    return done();
}
