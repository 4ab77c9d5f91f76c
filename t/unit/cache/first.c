/* First loads. How long one keeps others from writing: by steps that each end their transaction
 * when time is up, however much of one group or one buffer there is. The write gate counts who
 * leaves it, so that is asked of SQLite; what was loaded of both engines. And the indexes that it
 * lays aside: when, and that they are there again whatever becomes of it. */
#include <sqlite3.h>
#include <stdatomic.h>

#include "core/cache/cache.h"
#include "core/cache/person.h"
#include "core/db/driver.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

enum { USERS = 2500, MEMBERS = 12000, GROUPS = 120 };

static const char *const tenant = "contoso";
static int failures;
static int64_t clock_step; /* ms that each look at the clock takes */

static int64_t walking_clock(void *baton)
{
    static _Atomic int64_t ms;
    (void)baton;
    return ms += clock_step;
}

static void must(ida_kind kind, const ida_ctx *c, const char *what)
{
    if (kind) {
        failures++;
        printf("# %s: %s\n", what, c->message ? c->message : ida_kind_text(kind));
    }
}

/* How often the gate of the cache was left. */
static uint32_t departures(const char *dsn)
{
    uint32_t count = 0;
    const char *path = strchr(dsn, ':') + 1, *dot = strrchr(path, '.');
    FILE *f = fopen(apr_psprintf(pool, "%.*s-cache%s.gate", (int)(dot - path), path, dot), "r");
    if (!f || fread(&count, sizeof count, 1, f) != 1) {
        failures++;
    }
    if (f) {
        fclose(f);
    }
    return count;
}

/* Somebody of another tenant, so that the cache is not a load's own. */
static void load_other(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_summary summary;
    cache_user u = {
        .id = "other", .upn = "other@fabrikam.example", .display_name = "Other", .enabled = 1};
    must(cache_sync_begin(&run, s, c, pool, "fabrikam", IDA_DIR_CLOUD, 1), c, "begin");
    must(cache_sync_user(run, c, &u), c, "user");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    store_disconnect(s);
}

/* Everything in one buffer: people; a group with its list, told once more with a shorter one; one
 * whose members come in a single slice; one told and gone again; small ones. */
static void load(const char *dsn, cache_summary *summary)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_member *list = apr_pcalloc(pool, MEMBERS * sizeof *list);
    must(cache_reset(s, c, tenant, IDA_DIR_CLOUD), c, "reset");
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 1), c, "begin");
    must(run->at.first ? IDA_OK : IDA_CONFLICT, c, "a first load");
    run->first_bytes = 1 << 30;
    for (int i = 0; i < USERS; i++) {
        const char *id = apr_psprintf(pool, "u%d", i);
        cache_user u = {.id = id,
                        .upn = apr_psprintf(pool, "%s@contoso.example", id),
                        .display_name = apr_psprintf(pool, "Person %d", i * 7919 % USERS),
                        .enabled = 1};
        must(cache_sync_user(run, c, &u), c, "user");
    }
    for (int i = 0; i < MEMBERS; i++) {
        list[i] = (cache_member){.id = apr_psprintf(pool, "u%d", i), .kind = "user"};
    }
    cache_group listed = {.id = "listed", .name = "Listed", .kind = "security"},
                sliced = {.id = "sliced", .name = "Sliced", .kind = "security"},
                gone = {.id = "gone", .name = "Gone", .kind = "security"};
    must(cache_sync_group(run, c, &listed, list, MEMBERS), c, "group");
    must(cache_sync_group(run, c, &gone, list, MEMBERS), c, "group");
    must(cache_sync_group(run, c, &sliced, NULL, 0), c, "group");
    for (int i = 0; i < GROUPS; i++) {
        cache_group small = {.id = apr_psprintf(pool, "g%d", i),
                             .name = "Small",
                             .kind = "security"};
        must(cache_sync_group(run, c, &small, list + i, 2), c, "group");
    }
    must(cache_sync_flush(run, c), c, "flush");
    must(cache_sync_group(run, c, &listed, list, MEMBERS - 1), c, "group again");
    must(cache_sync_delete(run, c, "group", "gone"), c, "group gone");
    must(cache_sync_slice(run, c, "sliced", list, MEMBERS), c, "slice");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, summary), c, "commit");
    store_disconnect(s);
}

static int64_t members_of(const char *dsn, const char *id)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    ida_group *found;
    ida_kind kind = cache_group_find(s, c, tenant, id, &found);
    int64_t count = kind ? -1 : found->member_count;
    store_disconnect(s);
    return count;
}

static uint32_t load_and_look(const char *dsn, const char *name, int is_file)
{
    cache_summary summary;
    uint32_t before = is_file ? departures(dsn) : 0;
    load(dsn, &summary);
    uint32_t after = is_file ? departures(dsn) : 0;
    is_int(summary.users, USERS, "people");
    is_int(summary.groups, GROUPS + 2, "groups");
    is_int(members_of(dsn, "listed"), MEMBERS - 1, "the last list of a group holds");
    is_int(members_of(dsn, "sliced"), MEMBERS, "a single large slice is taken whole");
    is_int(members_of(dsn, "gone"), -1, "a group that went is gone");
    ok(!failures, "%s: a first load in which a look at the clock takes %d ms", name,
       (int)clock_step);
    return after - before;
}

/* --- indexes --- */

/* The indexes of the cache, name after name; in SQLite each with what its planner knows of it. */
static const char *indexes(const char *dsn)
{
    const char *text = "";
    if (strncmp(dsn, "sqlite3:", 8) == 0) {
        const char *path = dsn + 8, *dot = strrchr(path, '.');
        sqlite3 *file;
        sqlite3_stmt *stmt;
        sqlite3_open(apr_psprintf(pool, "%.*s-cache%s", (int)(dot - path), path, dot), &file);
        sqlite3_prepare_v2(
            file,
            "SELECT group_concat(t, ' ') FROM (SELECT name || tbl_name || sql || coalesce(stat, "
            "'') AS t FROM"
            " sqlite_schema LEFT JOIN sqlite_stat1 ON idx = name WHERE type = 'index' ORDER BY 1)",
            -1, &stmt, NULL);
        if (sqlite3_step(stmt) == SQLITE_ROW) {
            text = apr_pstrdup(pool, (const char *)sqlite3_column_text(stmt, 0));
        }
        sqlite3_finalize(stmt);
        sqlite3_close(file);
    } else {
        PGconn *conn = PQconnectdb(dsn + 6);
        PGresult *r = PQexec(conn,
                             "SELECT string_agg(indexdef, ' ' ORDER BY indexname) FROM pg_indexes"
                             " WHERE schemaname = 'cache'");
        text = PQntuples(r) ? apr_pstrdup(pool, PQgetvalue(r, 0, 0)) : "";
        PQclear(r);
        PQfinish(conn);
    }
    return text;
}

/* 1: two that every reader needs are laid aside; 0: both are there; -1: one of them, or the list of
 * indexes cannot be read. */
static int bare(const char *dsn)
{
    const char *there = indexes(dsn);
    int list = there && strstr(there, "directory_user_list") != NULL,
        member = there && strstr(there, "membership_member") != NULL;
    return !there || !*there || list != member ? -1 : !list;
}

/* A load that has brought people and a group, and is not over. */
static cache_sync *half(store *s, ida_ctx *c, const char *of, ida_directory_kind directory)
{
    cache_sync *run;
    cache_member member = {.id = "u1", .kind = "user"};
    cache_group group = {.id = "g", .name = "Group", .kind = "security"};
    must(cache_sync_begin(&run, s, c, pool, of, directory, 1), c, "begin");
    for (int i = 0; i < 10; i++) {
        const char *id = apr_psprintf(pool, "u%d", i);
        cache_user u = {.id = id,
                        .upn = apr_psprintf(pool, "%s@%s.example", id, of),
                        .display_name = id,
                        .enabled = 1};
        must(cache_sync_user(run, c, &u), c, "user");
    }
    must(cache_sync_group(run, c, &group, &member, 1), c, "group");
    must(cache_sync_flush(run, c), c, "flush");
    must(run->writer ? cache_writer_wait(run, c) : IDA_OK, c, "written");
    return run;
}

static void end_run(cache_sync *run, ida_ctx *c)
{
    cache_summary summary;
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    is_int(summary.users, 10, "all people are there");
}

static void empty(store *s, ida_ctx *c)
{
    must(cache_reset(s, c, tenant, IDA_DIR_CLOUD), c, "reset");
    must(cache_reset(s, c, tenant, IDA_DIR_ON_PREMISES), c, "reset");
    must(cache_reset(s, c, "fabrikam", IDA_DIR_CLOUD), c, "reset");
}

static int64_t one_number(const char *dsn, const char *sql)
{
    PGconn *conn = PQconnectdb(dsn + 6);
    PGresult *r = PQexec(conn, sql);
    int64_t number = PQntuples(r) ? atoll(PQgetvalue(r, 0, 0)) : -1;
    PQclear(r);
    PQfinish(conn);
    return number;
}

static void tell(cache_sync *run, ida_ctx *c, int from, int to, const char *title)
{
    for (int i = from; i < to; i++) {
        const char *id = apr_psprintf(pool, "u%d", i);
        cache_user u = {.id = id,
                        .upn = apr_psprintf(pool, "%s@contoso.example", id),
                        .mail = apr_psprintf(pool, "%s@mail.example", id),
                        .display_name = id,
                        .job_title = title,
                        .enabled = 1,
                        .dn = id,
                        .dn_key = id,
                        .manager_dn = "u1",
                        .manager_dn_key = "u1"};
        must(cache_sync_user(run, c, &u), c, "user");
    }
    must(cache_sync_flush(run, c), c, "flush");
    must(cache_writer_wait(run, c), c, "written");
}

/* PostgreSQL takes the rows of a first load for new and copies them. What is there already costs
 * that transaction a second try, and a few such cost the load its copying; what is in the cache in
 * the end is the same. */
static void test_copying(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_SYNC), *other = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_summary summary;
    cache_sync *run;
    cache_user written = {.id = "u15",
                          .upn = "u15@contoso.example",
                          .display_name = "Written",
                          .enabled = 1,
                          .dn = "u15",
                          .dn_key = "u15"};
    cache_member members[] = {{.dn_key = "u1"}, {.dn_key = "u15"}, {.dn_key = "u29"}};
    cache_group group = {.id = "g", .name = "Group", .kind = "security"};
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_ON_PREMISES, 1), c, "begin");
    tell(run, c, 0, 10, "Clerk");
    int copies = run->copies;
    ok(run->at.copying && copies > 1, "rows of a first load are copied");
    is_int(one_number(dsn, "SELECT count(*) FROM cache.directory_user WHERE manager_id = 'u1'"), 0,
           "those of one buffer do not see each other's DNs");
    must(cache_tell_user(other, c, tenant, IDA_DIR_ON_PREMISES, &written), c, "write-through");
    must(cache_sync_group(run, c, &group, members, 2), c,
         "group"); /* makes the number of one who is written only now */
    tell(run, c, 10, 20, "Clerk");
    is_int(run->copies, copies - 1, "somebody is there already: this transaction is done again");
    ok(run->at.copying, "and the next ones copy again");
    is_int(one_number(dsn, "SELECT count(*) FROM cache.directory_user WHERE manager_id = 'u1'"), 9,
           "managers of earlier buffers are found, but of whoever the worker wrote");
    is_int(one_number(
               dsn,
               "SELECT count(*) FROM cache.directory_user WHERE late IS NOT NULL AND id = 'u15'"),
           1, "what contradicts a write-through is held back");
    must(cache_sync_group(run, c, &group, members, 3), c, "group again");
    tell(run, c, 20, 30, "Clerk");
    for (int i = 0; i < copies; i++) {
        tell(run, c, 0, 5, i ? "Director" : "Chief");
    }
    ok(!run->at.copying && !run->copies, "who is told again and again is put in his row");
    tell(run, c, 30, 40, "Clerk");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    is_int(summary.users, 40, "everybody is there");
    is_int(one_number(dsn,
                      "SELECT count(*) FROM cache.directory_user WHERE job_title = 'Director'"),
           5, "as told last");
    is_int(one_number(dsn, "SELECT count(*) FROM cache.directory_user WHERE manager_id = 'u1'"), 39,
           "everybody has his manager, but the one held back");
    is_int(one_number(
               dsn,
               "SELECT value FROM cache.counter WHERE name = 'users' AND tenant_id = 'contoso'"),
           40, "counted once each");
    is_int(one_number(dsn, "SELECT value FROM cache.counter WHERE name = 'enabled_members' AND "
                           "tenant_id = 'contoso'"),
           40, "as enabled members too");
    is_int(one_number(dsn, "SELECT count(*) FROM cache.address"), 39,
           "each address once, but of the one held back");
    is_int(one_number(dsn, "SELECT member_count FROM cache.directory_group WHERE id = 'g'"), 3,
           "the group's last list holds");
    is_int(one_number(dsn, "SELECT count(*) FROM cache.entry"),
           one_number(dsn, "SELECT count(DISTINCT id) FROM cache.entry"), "each has one number");
    empty(s, c);
    store_disconnect(s);
    store_disconnect(other);
}

static _Atomic int busy_lines;

static void note_busy(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton;
    (void)level;
    if (id && strcmp(id, "IDA0101") == 0) {
        atomic_fetch_add(&busy_lines, 1);
    } else if (id) {
        printf("# %s: %s\n", id, message);
    }
}

/* Whoever makes a large index holds the gate for longer than the store is patient: the load waits
 * for it. Of SQLite alone. */
static void test_patience(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_SYNC), *holder = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_sync *run = half(s, c, tenant, IDA_DIR_CLOUD);
    cache_user late = {
        .id = "u10", .upn = "u10@contoso.example", .display_name = "Late", .enabled = 1};
    cache_summary summary;
    env.log = note_busy;
    must(store_connect(holder, c), c, "connect");
    must(db_begin(holder->db, c), c, "the gate is taken");
    must(cache_sync_user(run, c, &late), c, "user");
    must(cache_sync_flush(run, c), c, "flush");
    for (int ms = 0; !atomic_load(&busy_lines) && ms < 4 * DB_PATIENCE_MS; ms += 20) {
        apr_sleep(20000);
    }
    ok(atomic_load(&busy_lines) > 0, "the gate was held for longer than the store's patience");
    db_rollback(holder->db);
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    is_int(summary.users, 11, "the load waited and brought everybody");
    empty(s, c);
    store_disconnect(s);
    store_disconnect(holder);
}

static void test_indexes(const char *dsn)
{
    const char *all = indexes(dsn);
    store *s = store_make(pool, dsn, DB_SYNC), *other = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    ok(strstr(all, "directory_user_list") && strstr(all, "membership_member"),
       "an empty cache has its indexes");

    cache_sync *run = half(s, c, tenant, IDA_DIR_CLOUD);
    ok(run->bare && bare(dsn) == 1, "a first load into an empty cache lays some aside");
    end_run(run, c);
    is_str(indexes(dsn), all, "they are there again when it is over, with their figures");

    run = half(s, c, "fabrikam", IDA_DIR_CLOUD);
    ok(!run->bare && bare(dsn) == 0,
       "beside somebody else's entries a first load lays nothing aside");
    end_run(run, c);
    empty(s, c);

    run = half(s, c, tenant, IDA_DIR_CLOUD);
    cache_sync *beside = half(other, c, "fabrikam", IDA_DIR_CLOUD);
    ok(run->bare && beside->bare && bare(dsn) == 1, "two first loads at once share that");
    end_run(run, c);
    is_str(indexes(dsn), all, "whichever ends first makes the indexes again");
    end_run(beside, c);
    is_str(indexes(dsn), all, "and the other one goes on with them");
    empty(s, c);

    run = half(s, c, tenant, IDA_DIR_CLOUD);
    beside = half(other, c, tenant, IDA_DIR_ON_PREMISES);
    ok(!beside->bare && bare(dsn) == 0,
       "the other directory of a tenant needs them: they are made again while the first one loads");
    end_run(run, c);
    end_run(beside, c);
    empty(s, c);

    run = half(s, c, tenant, IDA_DIR_CLOUD);
    must(cache_sync_delete(run, c, "user", "u1"), c, "delete");
    must(cache_sync_flush(run, c), c, "flush");
    must(cache_writer_wait(run, c), c, "written");
    ok(!run->bare && bare(dsn) == 0, "an entry that goes needs them");
    must(cache_sync_abort(run, c, "enough"), c, "abort");
    empty(s, c);

    run = half(s, c, tenant, IDA_DIR_CLOUD);
    cache_writer_stop(run); /* as if it had been killed there */
    ok(bare(dsn) == 1, "a load that was killed leaves them aside");
    beside = half(other, c, tenant, IDA_DIR_CLOUD);
    ok(!beside->at.first, "the next one is no first load");
    is_str(indexes(dsn), all, "it made the indexes again");
    end_run(beside, c);
    empty(s, c);
    store_disconnect(s);
    store_disconnect(other);
}

/* Users told, groups still to come: what lists of users need is made index by index, sign-ins
 * before; who comes late is in it too. */
static void test_users_told(const char *dsn)
{
    const char *all = indexes(dsn);
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    const cache_sign_in_list times = {1000, 2000, 3000};
    cache_summary summary;
    cache_sync *run;
    ida_user *found = NULL;
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 1), c, "begin");
    must(cache_sync_sign_ins(run, c, "u3", &times), c, "sign-ins");
    tell(run, c, 0, 10, "told");
    must(cache_sync_users_told(run, c), c, "users told");
    ok(bare(dsn) == 1, "until groups come the indexes are aside");
    for (int i = 0; i < 20; i++) {
        const char *id = apr_psprintf(pool, "g%d", i);
        cache_group group = {.id = id, .name = id, .kind = "security"};
        cache_member member = {.id = apr_psprintf(pool, "u%d", i / 2), .kind = "user"};
        must(cache_sync_group(run, c, &group, NULL, 0), c, "group");
        must(cache_sync_slice(run, c, id, &member, 1), c, "slice");
        must(cache_sync_flush(run, c), c, "flush");
        must(cache_writer_wait(run, c), c, "written");
        if (i == 0) {
            const char *there = indexes(dsn);
            ok(run->bare && strcmp(there, all) != 0 && !strstr(there, "membership_member"),
               "one buffer does not bring all of them back");
        }
    }
    const char *there = indexes(dsn);
    ok(strstr(there, "directory_user_list") && strstr(there, "address_key") &&
           strstr(there, "directory_user_upn") && !strstr(there, "membership_member"),
       "those of users are there before the load is over, that of members is not");
    tell(run, c, 10, 11, "late");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    is_int(summary.users, 11, "all people are in, the late one too");
    is_str(indexes(dsn), all, "and all indexes");
    must(cache_user_by_upn(s, c, tenant, "u3@contoso.example", &found), c, "look-up");
    ok(found && found->last_success_at == 3000, "with the sign-in that was told first");
    empty(s, c);
    store_disconnect(s);
}

/* Whole tables at once when a directory is alone in the cache, else what is its own. */
static void test_reset(const char *dsn)
{
    static const struct {
        const char *tenant;
        ida_directory_kind directory;
    } others[] = {{"aardvark", IDA_DIR_CLOUD},
                  {"zebra", IDA_DIR_CLOUD},
                  {"contoso", IDA_DIR_ON_PREMISES}};
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    ida_user *found;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        end_run(half(s, c, tenant, IDA_DIR_CLOUD), c);
        end_run(half(s, c, others[i].tenant, others[i].directory), c);
        must(cache_reset(s, c, tenant, IDA_DIR_CLOUD), c, "reset");
        must(cache_user_by_upn(s, c, others[i].tenant,
                               apr_psprintf(pool, "u4@%s.example", others[i].tenant), &found),
             c, "look-up");
        ok(found != NULL, "what another directory (%s) holds stays", others[i].tenant);
        must(cache_reset(s, c, others[i].tenant, others[i].directory), c, "reset");
        found = NULL;
        cache_user_by_upn(s, c, others[i].tenant,
                          apr_psprintf(pool, "u4@%s.example", others[i].tenant), &found);
        ok(found == NULL, "the last one is emptied");
    }
    cache_user u = {
        .id = "w", .upn = "w@fabrikam.example", .display_name = "Written", .enabled = 1};
    end_run(half(s, c, tenant, IDA_DIR_CLOUD), c);
    must(cache_tell_user(s, c, "fabrikam", IDA_DIR_CLOUD, &u), c,
         "written through before its first sync");
    must(cache_reset(s, c, tenant, IDA_DIR_CLOUD), c, "reset");
    must(cache_user_by_upn(s, c, "fabrikam", u.upn, &found), c, "look-up");
    ok(found != NULL, "somebody who was written through stays");
    empty(s, c);
    end_run(half(s, c, tenant, IDA_DIR_CLOUD), c); /* counts ten people, not twenty */
    empty(s, c);
    store_disconnect(s);
}

int main(void)
{
    setup();
    env.monotonic = walking_clock;
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        int is_file = strncmp(dsn, "sqlite3:", 8) == 0;
        clock_step = 0;
        test_indexes(dsn);
        test_users_told(dsn);
        test_reset(dsn);
        if (is_file) {
            test_patience(dsn);
        }
        ok(!failures, "%s: indexes laid aside and made again", name);
        if (!is_file) {
            test_copying(dsn);
        }
        load_other(dsn);
        clock_step = CACHE_FIRST_BUDGET_MS;
        uint32_t slow = load_and_look(dsn, name, is_file);
        clock_step = 0;
        uint32_t quick = load_and_look(dsn, name, is_file);
        if (is_file) {
            /* Steps of at most 500 people and 5,000 members: lists and slices three times, dropped
             * lists twice. */
            uint32_t steps = USERS / 500 + 3 * ((MEMBERS + 4999) / 5000) + 2 * (MEMBERS / 5000);
            ok(slow >= quick + steps - 4,
               "when time is up after each step, each gives the gate back");
            printf("# gate left %u times, %u when time stands still, %u steps at least\n", slow,
                   quick, steps);
        }
    }
    return done();
}
