/* How many members a group has after a first load that reports them separately from their
 * groups, in any order. On both engines. */
#include <sqlite3.h>

#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "core/cache/run.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

enum { USERS = 600, SLICE = 250 /* members that are staged together */ };

static const char *const tenant = "contoso";
static const char *engine, *dsn;
static cache_member list[USERS];
static store *s;
static ida_ctx *c;

static int64_t one_number(const char *sql)
{
    int64_t number = -1;
    if (strncmp(dsn, "sqlite3:", 8) == 0) {
        const char *path = dsn + 8, *dot = strrchr(path, '.');
        sqlite3 *file;
        sqlite3_stmt *stmt;
        sqlite3_open(":memory:", &file);
        sqlite3_exec(file,
                     apr_psprintf(pool, "ATTACH '%.*s-cache%s' AS cache", (int)(dot - path), path,
                                  dot),
                     NULL, NULL, NULL);
        sqlite3_prepare_v2(file, sql, -1, &stmt, NULL);
        number = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : -1;
        sqlite3_finalize(stmt);
        sqlite3_close(file);
    } else {
        PGconn *conn = PQconnectdb(dsn + 6);
        PGresult *r = PQexec(conn, sql);
        number = PQntuples(r) ? atoll(PQgetvalue(r, 0, 0)) : -1;
        PQclear(r);
        PQfinish(conn);
    }
    return number;
}

static int64_t members_of(const char *id)
{
    ida_group *found = NULL;
    ida_kind kind = cache_group_find(s, c, tenant, id, &found);
    int64_t there = one_number(apr_psprintf(
        pool,
        "SELECT count(*) FROM cache.membership m JOIN cache.directory_group g ON "
        "g.tenant_id = m.tenant_id AND g.no = m.group_no WHERE g.id = '%s' AND m.removed = 0",
        id));
    return kind || !found || found->member_count != there ? -1 : there;
}

static void written(cache_sync *run)
{
    must(cache_run_flush(run, c), c, "flush");
}

/* Sign-ins come before users, as a directory reports them. */
static cache_sync *begin(void)
{
    cache_sync *run;
    const cache_sign_in_list times = {1000, 2000, 3000};
    must(cache_reset(s, c, tenant, IDA_DIR_CLOUD), c, "reset");
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 1), c, "begin");
    must(cache_sync_sign_ins(run, c, list[7].id, &times), c, "sign-ins");
    for (int i = 0; i < USERS; i++) {
        cache_user u = {.id = list[i].id,
                        .upn = apr_psprintf(pool, "%s@contoso.example", list[i].id),
                        .display_name = list[i].id,
                        .enabled = 1};
        must(cache_sync_user(run, c, &u), c, "user");
        if (i % 50 == 0) {
            written(run);
        }
    }
    return run;
}

static void group(cache_sync *run, const char *id)
{
    cache_group g = {.id = id, .name = id, .kind = "security"};
    must(cache_sync_group(run, c, &g, NULL, 0), c, "group");
}

static void slice(cache_sync *run, const char *id, int from, int to)
{
    must(cache_sync_slice(run, c, id, list + from, to - from), c, "slice");
}

static void end(cache_sync *run)
{
    cache_summary summary;
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    is_int(summary.users, USERS, "everybody is there");
}

/* Blocks of one statement, a remainder, and groups as members; nothing is counted twice. */
static void test_counted(void)
{
    cache_sync *run = begin();
    cache_member nested[] = {{.id = "small", .kind = "group"},
                             {.id = "block", .kind = "group"},
                             {.id = list[3].id, .kind = "user"}};
    group(run, "small");
    slice(run, "small", 0, 3);
    group(run, "block");
    slice(run, "block", 0, SLICE);
    group(run, "large");
    slice(run, "large", 0, 2 * SLICE + 1);
    written(run);
    group(run, "large"); /* continues in another buffer */
    slice(run, "large", 2 * SLICE + 1, USERS);
    group(run, "nests");
    must(cache_sync_slice(run, c, "nests", nested, 3), c, "slice");
    group(run, "nobody");
    written(run);
    end(run);
    is_int(members_of("small"), 3, "a few");
    is_int(members_of("block"), SLICE, "as many as are staged together");
    is_int(members_of("large"), USERS, "more, over two buffers");
    is_int(members_of("nests"), 3, "groups and a person");
    is_int(members_of("nobody"), 0, "nobody");
}

/* Ways in which members could be counted wrongly, each in a load of its own. */
static void before_group(cache_sync *run)
{
    slice(run, "g", 0, 10);
    slice(run, "never", 0, 10);
    written(run);
    group(run, "g");
    slice(run, "g", 10, 12);
}

static void told_twice(cache_sync *run)
{
    group(run, "g");
    slice(run, "g", 0, 100);
    written(run);
    slice(run, "g", 50, 150);
}

static void removed_again(cache_sync *run)
{
    group(run, "g");
    slice(run, "g", 0, 10);
    written(run);
    must(cache_sync_member(run, c, "g", &list[4], 1), c, "removed");
}

static void list_instead(cache_sync *run)
{
    cache_group g = {.id = "g", .name = "g", .kind = "security"};
    group(run, "g");
    slice(run, "g", 0, 10);
    written(run);
    must(cache_sync_group(run, c, &g, list + 5, 8), c, "a whole list");
    written(run);
    slice(run, "g", 20, 22);
}

static void test_uncounted(void)
{
    static const struct {
        void (*tell)(cache_sync *run);
        int members;
        const char *what;
    } cases[] = {
        {before_group, 12, "members reported before their group count"},
        {told_twice, 150, "members reported twice count once"},
        {removed_again, 9, "a member who was removed again does not count"},
        {list_instead, 10, "a whole list takes the place of what came before it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cache_sync *run = begin();
        cases[i].tell(run);
        end(run);
        is_int(members_of("g"), cases[i].members, cases[i].what);
        is_int(
            one_number(
                "SELECT count(*) FROM cache.membership m WHERE NOT EXISTS (SELECT 1 FROM "
                "cache.directory_group g WHERE g.tenant_id = m.tenant_id AND g.no = m.group_no)"),
            0, "and no group that never came has any");
    }
}

/* Another company's run analyzes the same tables and does not end: no statement of this run may
 * wait for a lock of that one, or a time limit would end it. */
static void beside_another(void)
{
    PGconn *conn = PQconnectdb(dsn + 6);
    PQclear(PQexec(conn, "BEGIN; SELECT pg_advisory_xact_lock(7317); ANALYZE cache.staging,"
                         " cache.directory_user, cache.membership"));
    ok(PQtransactionStatus(conn) == PQTRANS_INTRANS, "another run analyzes");
    cache_sync *run = begin();
    group(run, "g");
    slice(run, "g", 0, 10);
    end(run);
    is_int(unmet, 0, "this one goes on without");
    PQfinish(conn);
}

int main(void)
{
    setup();
    for (int i = 0; i < USERS; i++) {
        list[i] = (cache_member){.id = apr_psprintf(pool, "u%03d", i * 7919 % USERS),
                                 .kind = "user"};
    }
    for (int i = 0; i < store_engines(); i++) {
        dsn = store_upgraded(i, &engine);
        s = store_make(pool, dsn, DB_SYNC);
        c = fresh();
        test_counted();
        test_uncounted();
        if (strncmp(dsn, "pgsql:", 6) == 0) {
            beside_another();
        }
        ok(!unmet, "%s: member counts of first loads", engine);
        store_disconnect(s);
    }
    return done();
}
