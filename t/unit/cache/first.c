/* A first load: how long it keeps others from writing, in steps that each end their transaction
 * when the time is up, however large a group is. The write gate counts departures, so the steps
 * are checked on SQLite; the loaded data on both engines. And the reset, which keeps the rows of
 * others, and what a run has staged, which is gone with its process. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/cache/freshness.h"
#include "core/cache/people.h"
#include "core/cache/person.h"
#include "core/cache/run.h"
#include "core/db/postgresql.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

enum { USERS = 1000, MEMBERS = 5000, GROUPS = 60 };

static const char *const tenant = "contoso";
static int64_t clock_step; /* ms that each reading of the clock adds */

static int64_t walking_clock(void *baton)
{
    static _Atomic int64_t ms;
    (void)baton;
    return atomic_fetch_add(&ms, clock_step) + clock_step;
}

/* How often the cache's gate was left. */
static uint32_t departures(const char *dsn)
{
    uint32_t count = 0;
    const char *path = strchr(dsn, ':') + 1, *dot = strrchr(path, '.');
    FILE *f = fopen(apr_psprintf(pool, "%.*s-cache%s.gate", (int)(dot - path), path, dot), "r");
    if (!f || fread(&count, sizeof count, 1, f) != 1) {
        unmet++;
    }
    if (f) {
        fclose(f);
    }
    return count;
}

/* A person of another tenant, so that the load does not have the cache alone. */
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

/* People; a group with its list, reported again with a shorter one; one whose members come in a
 * single slice; one reported and removed again; small ones. */
static void load(const char *dsn, cache_summary *summary)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_member *list = apr_pcalloc(pool, MEMBERS * sizeof *list);
    must(cache_reset(s, c, tenant, IDA_DIR_CLOUD), c, "reset");
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 1), c, "begin");
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
    must(cache_run_flush(run, c), c, "flush");
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
    ok(!unmet, "%s: a first load in which a look at the clock takes %d ms", name, (int)clock_step);
    return after - before;
}

/* A load that has brought people and a group, and has not ended. */
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
    must(cache_run_flush(run, c), c, "flush");
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

/* A reset removes a tenant's own rows only. */
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
    ok(found != NULL, "a person who was written through stays");
    empty(s, c);
    end_run(half(s, c, tenant, IDA_DIR_CLOUD), c); /* counts ten people, not twenty */
    empty(s, c);
    store_disconnect(s);
}

/* --- staging outside the cache file --- */

enum { LARGE = 4000, LARGE_TEXT = 3000 }; /* more than the connection keeps in memory */

/* MB of files without a name that this process has open in the directory. */
static int nameless_mb(const char *directory)
{
    int64_t bytes = 0;
    for (int fd = 0; fd < 100; fd++) {
        char path[PATH_MAX + 1] = "";
        struct stat st;
        const char *link = apr_psprintf(pool, "/proc/self/fd/%d", fd);
        if (readlink(link, path, PATH_MAX) > 0 &&
            strncmp(path, directory, strlen(directory)) == 0 && strstr(path, " (deleted)") &&
            fstat(fd, &st) == 0) {
            bytes += st.st_size;
        }
    }
    return (int)(bytes >> 20);
}

static int names_in(const char *directory)
{
    int count = 0;
    DIR *all = opendir(directory);
    while (all && readdir(all)) {
        count++;
    }
    if (all) {
        closedir(all);
    }
    return count;
}

/* In a process of its own: stages much, says how much of it lies beside the store, and waits to be
 * killed. */
static void stage_much(const char *dsn, const char *directory, int out)
{
    char text[LARGE_TEXT + 1];
    cache_sync *run;
    ida_ctx *c = fresh();
    store *s = store_make(pool, dsn, DB_SYNC);
    memset(text, 'x', LARGE_TEXT);
    text[LARGE_TEXT] = '\0';
    must(cache_sync_begin(&run, s, c, pool, "staged", IDA_DIR_CLOUD, 1), c, "begin");
    for (int i = 0; i < LARGE; i++) {
        cache_user u = {.id = apr_psprintf(pool, "u%d", i), .office = text, .enabled = 1};
        must(cache_sync_user(run, c, &u), c, "user");
    }
    must(cache_run_flush(run, c), c, "flush");
    int mb = nameless_mb(directory);
    if (write(out, &mb, sizeof mb) != sizeof mb) {
        _exit(1);
    }
    pause();
}

static void test_staging(const char *dsn)
{
    int ends[2], mb = 0;
    const char *path = strchr(dsn, ':') + 1;
    char *directory = realpath(apr_pstrndup(pool, path, (apr_size_t)(strrchr(path, '/') - path)),
                               NULL);
    struct stat before, after;
    const char *file = apr_psprintf(pool, "%.*s-cache.db", (int)strlen(path) - 3, path);
    is_int(stat(file, &before), 0, "the cache file");
    int names = names_in(directory);
    is_int(pipe(ends), 0, "a pipe");
    pid_t child = fork();
    if (!child) {
        stage_much(dsn, directory, ends[1]);
    }
    ok(read(ends[0], &mb, sizeof mb) == sizeof mb && mb > 0,
       "staging lies in a file without a name beside the store: %d MB", mb);
    is_int(names_in(directory), names, "no name more than before");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    is_int(names_in(directory), names, "nor after a crash");
    ok(stat(file, &after) == 0 && after.st_size <= before.st_size + (1 << 20),
       "the cache file has not grown by it");
    int64_t users = -1, groups = -1;
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    must(cache_sync_progress(s, c, "staged", IDA_DIR_CLOUD, &users, &groups), c, "progress");
    is_int(users, LARGE, "how many came can be read by others");
    end_run(half(s, c, "staged", IDA_DIR_CLOUD), c); /* holds ten people, not more */
    must(cache_sync_progress(s, c, "staged", IDA_DIR_CLOUD, &users, &groups), c, "progress");
    is_int(users + groups, 0, "none is at work");
    store_disconnect(s);
    close(ends[0]);
    close(ends[1]);
    free(directory);
}

static PGresult *run_text(PGconn *conn, const char *before, db_statement statement, int count,
                          const char *const *args)
{
    char *text = pg_numbered(db_statements[statement].postgresql);
    PGresult *r = PQexecParams(conn, apr_pstrcat(pool, before, text, NULL), count, NULL, args, NULL,
                               NULL, 0);
    free(text);
    return r;
}

/* PostgreSQL has no statistics during a first load. Accounts with the same address must be looked
 * up address by address all the same: each batch would otherwise read everybody loaded so far. */
static void test_plan(const char *dsn)
{
    const char *const args[] = {tenant, "cloud", "[\"a@contoso.example\", \"b@contoso.example\"]"};
    int by_address = 0;
    PGconn *conn = PQconnectdb(dsn + strlen("pgsql:"));
    PQclear(PQexec(conn, "BEGIN"));
    PQclear(run_text(conn, "", STMT_cache_lock, 1, args));
    PGresult *r = run_text(conn, "EXPLAIN ", STMT_shared_find, 3, args);
    for (int row = 0; row < PQntuples(r); row++) {
        const char *line = PQgetvalue(r, row, 0);
        by_address += strstr(line, "Index Cond:") && strstr(line, "= x");
        printf("# %s\n", line);
    }
    PQclear(r);
    PQfinish(conn);
    is_int(by_address, 2, "who shares an address is looked up by it, as UPN and as another");
}

/* --- a gate that others keep --- */

static _Atomic int said_busy;

static void note_busy(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton, (void)level, (void)message;
    said_busy |= id && strcmp(id, "IDA0101") == 0;
}

/* Keeps the gate, as other loads at the same time may, until the run has said that it waits. */
static void *keep_gate(void *baton)
{
    const char *path = baton;
    int fd = open(path, O_RDWR);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) {
        return NULL;
    }
    said_busy = 2; /* kept */
    while (!(said_busy & 1)) {
        usleep(10000);
    }
    close(fd);
    return NULL;
}

static void test_busy(const char *dsn)
{
    const char *path = strchr(dsn, ':') + 1, *dot = strrchr(path, '.');
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_summary summary;
    pthread_t keeper;
    void (*log)(void *, ida_level, const char *, const char *) = env.log;
    env.log = note_busy;
    cache_user u = {
        .id = "late", .upn = "late@waits.example", .display_name = "Late", .enabled = 1};
    must(cache_sync_begin(&run, s, c, pool, "waits", IDA_DIR_CLOUD, 1), c, "begin");
    must(cache_sync_user(run, c, &u), c, "user");
    pthread_create(&keeper, NULL, keep_gate,
                   apr_psprintf(pool, "%.*s-cache%s.gate", (int)(dot - path), path, dot));
    while (!said_busy) {
        usleep(10000);
    }
    is_int(cache_run_flush(run, c), IDA_OK, "a run waits on when others keep the gate");
    pthread_join(keeper, NULL);
    is_int(said_busy, 3, "which took longer than a caller would wait");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    is_int(summary.users, 1, "and nothing was lost or done twice");
    store_disconnect(s);
    env.log = log;
}

int main(void)
{
    setup();
    env.monotonic = walking_clock;
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        int is_file = strncmp(dsn, "sqlite3:", 8) == 0;
        clock_step = 0;
        if (!is_file) {
            test_plan(dsn);
        }
        test_reset(dsn);
        ok(!unmet, "%s: resets", name);
        load_other(dsn);
        clock_step = 1000;
        uint32_t slow = load_and_look(dsn, name, is_file);
        clock_step = 0;
        uint32_t quick = load_and_look(dsn, name, is_file);
        if (is_file) {
            /* Steps of 500 people and 2,000 members at most; lists are dropped in the same
             * steps. */
            uint32_t steps = USERS / 500 + 2 * (MEMBERS / 2000) + GROUPS / 50;
            ok(slow >= quick + steps - 4,
               "when time is up after each step, each gives the gate back");
            printf("# gate left %u times, %u when time stands still, %u steps at least\n", slow,
                   quick, steps);
            test_staging(dsn);
            test_busy(dsn);
        }
    }
    return done();
}
