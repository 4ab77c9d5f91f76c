/* The drivers and the base of the store, on both engines: opening, schema, roles, transactions, lost connections, the gate
 * under many processes. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/db_gate.h"
#include "core/migrations.h"
#include "core/store_tenant.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#define WRITERS 8
#define ROUNDS 150

static const char *engine;
static int is_sqlite;
static int logged[10000];

/* Counts log ids instead of printing what the tests provoke. */
static void count_log(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton, (void)level, (void)message;
    if (id && strncmp(id, "IDA", 3) == 0) {
        logged[atoi(id + 3)]++;
    }
}

static int64_t clock_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Free SQL through an open connection. */
static ida_kind sql(store *s, ida_ctx *c, const char *text)
{
    ida_kind kind = store_connect(s, c);
    return kind ? kind : db_script(s->db, c, text);
}

static ida_kind sql_in_transaction(store *s, ida_ctx *c, void *text)
{
    return sql(s, c, text);
}

static ida_kind sql_write(store *s, const char *text)
{
    return store_transaction(s, fresh(), sql_in_transaction, (void *)text);
}

/* libsqlite3 past our driver: what a stranger can do to a file. */
static int stranger(const char *path, const char *text)
{
    sqlite3 *handle;
    int rc = sqlite3_open(path, &handle);
    rc = rc ? rc : sqlite3_exec(handle, text, NULL, NULL, NULL);
    sqlite3_close(handle);
    return rc;
}

static const char *cache_path(const char *dsn)
{
    const char *path = dsn + strlen("sqlite3:");
    return apr_psprintf(pool, "%.*s-cache.db", (int)strlen(path) - 3, path);
}

/* -- schema ----------------------------------------------------------------------------------------------------------------- */

/* How many there are of a file (NULL: of all), and the number of the last. */
static int migrations(const char *file, int *newest)
{
    int count = 0, last = 0;
    for (const ida_migration *m = ida_migrations_sqlite; m->number; m++) {
        if (!file || strcmp(m->file, file) == 0) {
            count++;
            last = m->number > last ? m->number : last;
        }
    }
    if (newest) {
        *newest = last;
    }
    return count;
}

static void test_missing(const char *dsn)
{
    ida_ctx *c = fresh();
    store *s = store_make(pool, dsn, DB_REQUEST);
    is_int(store_connect(s, c), IDA_SERVICE_UNAVAILABLE, "a store without schema is not there");
    says(c, "and the message names the command", "idadminctl schema upgrade", NULL);
    is_int(c->retry_after, 1, "with a time to wait");
    is_int(store_connect(s, c), IDA_SERVICE_UNAVAILABLE, "a second attempt in the same second");
    says(c, "is refused at once", "every second", NULL);
}

static void test_upgrade(const char *dsn)
{
    ida_ctx *c = fresh();
    json_t *steps = json_array();
    is_int(store_schema_upgrade(dsn, c, steps), IDA_OK, "schema upgrade");
    if (c->message) {
        printf("# %s\n", c->message);
    }
    is_int((int64_t)json_array_size(steps), migrations(NULL, NULL), "a step for each migration of each file");
    json_array_clear(steps);
    is_int(store_schema_upgrade(dsn, fresh(), steps), IDA_OK, "a second upgrade");
    is_int((int64_t)json_array_size(steps), 0, "does nothing");
    json_decref(steps);
    int newest;
    migrations(NULL, &newest);
    is_int(store_schema_version(), newest, "newest migration");
}

static void test_setting(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    unsigned char one[32], two[32];
    is_int(store_cursor_key(s, fresh(), one), IDA_OK, "cursor key is there");
    store *other = store_make(pool, dsn, DB_REQUEST);
    is_int(store_cursor_key(other, fresh(), two), IDA_OK, "from another connection");
    ok(memcmp(one, two, sizeof one) == 0, "the same");
    const char *value;
    is_int(store_setting_get(s, fresh(), "nothing", &value), IDA_NOT_FOUND, "unknown setting");
}

static ida_kind set_version(const char *dsn, db_file file, int version)
{
    db *d;
    ida_ctx *c = fresh();
    ida_kind kind = db_open_unchecked(&d, dsn, db_file_role(file), c, pool);
    if (!kind) {
        kind = db_schema_begin(d, c);
        kind = kind ? kind : db_schema_set_version(d, c, file, version);
        kind = kind ? kind : db_commit(d, c);
        db_close(d);
    }
    return kind;
}

static void test_versions(const char *dsn)
{
    db *d;
    ida_ctx *c = fresh();
    is_int(set_version(dsn, DB_MAIN, 99), IDA_OK, "a main schema of the future");
    is_int(db_open(&d, dsn, DB_REQUEST, c, pool), IDA_SERVICE_UNAVAILABLE, "is refused at opening");
    says(c, "as newer", "newer than this program", "main", "99", NULL);
    is_int(store_schema_upgrade(dsn, c, NULL), IDA_CONFLICT, "and by the upgrade");
    int newest;
    migrations("main", &newest);
    is_int(set_version(dsn, DB_MAIN, newest), IDA_OK, "back again");

    store *s = store_make(pool, dsn, DB_SYNC);
    is_int(sql_write(s, "INSERT INTO cache.counter (tenant_id, name, value) VALUES ('t', 'n', 1)"), IDA_OK, "a row in the cache");
    store_disconnect(s);
    is_int(set_version(dsn, DB_CACHE, 7), IDA_OK, "a cache of another version");
    is_int(db_open(&d, dsn, DB_REQUEST, c, pool), IDA_SERVICE_UNAVAILABLE, "is refused at opening");
    says(c, "as another version", "cache", "another version", "idadminctl schema upgrade", NULL);
    json_t *steps = json_array();
    is_int(store_schema_upgrade(dsn, c, steps), IDA_OK, "is made anew by the upgrade");
    is_int((int64_t)json_array_size(steps), 2, "in two steps");
    json_decref(steps);
    is_int(sql_write(s, "INSERT INTO cache.counter (tenant_id, name, value) VALUES ('t', 'n', 2)"), IDA_OK, "and is empty");
}

/* A full disk is told once a minute, not with each request that meets it. */
static void test_full(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    ida_ctx *c = fresh();
    int refused = 0, before = logged[102];
    for (int i = 0; i < 20; i++) {
        c = fresh();
        if (sql(s, c, "PRAGMA main.max_page_count = 1") == IDA_OK) { /* holds for a connection, which a full disk throws away */
            refused += store_transaction(s, c, sql_in_transaction,
                                         (void *)"CREATE TABLE filler (x TEXT); INSERT INTO filler VALUES (hex(randomblob(200000)))") ==
                       IDA_SERVICE_UNAVAILABLE;
        }
    }
    is_int(refused, 20, "writes to a full disk are refused");
    is_int(logged[102] - before, 1, "and one line says so");
    store_disconnect(s);
}

static void test_foreign_file(void)
{
    const char *path = apr_psprintf(pool, "%s/foreign.db", unit_store.dir);
    ida_ctx *c = fresh();
    is_int(stranger(path, "CREATE TABLE mine (a); PRAGMA user_version = 1"), SQLITE_OK, "a database of another program");
    ok(store_schema_upgrade(apr_pstrcat(pool, "sqlite3:", path, NULL), c, NULL) != IDA_OK, "is not taken over");
    says(c, "and the message says why", "belongs to another program", NULL);
}

/* -- roles ------------------------------------------------------------------------------------------------------------------ */

static void test_roles(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    is_int(sql(s, fresh(), "UPDATE cache.counter SET value = 3"), IDA_INTERNAL_ERROR,
           "a request connection cannot write the cache");
    is_int(sql(s, fresh(), "DELETE FROM audit.record"), IDA_INTERNAL_ERROR, "nor the audit record");
    s = store_make(pool, dsn, DB_SYNC);
    is_int(sql(s, fresh(), "DELETE FROM audit.record"), IDA_INTERNAL_ERROR,
           "a sync connection does not even see the audit record");
    s = store_make(pool, dsn, DB_INGEST);
    is_int(sql(s, fresh(), "DELETE FROM setting"), IDA_INTERNAL_ERROR, "an ingest connection not the main file");

}

static int mode_of(const char *path, const char *suffix)
{
    struct stat st;
    return stat(apr_pstrcat(pool, path, suffix, NULL), &st) == 0 ? (int)(st.st_mode & 07777) : -1;
}

/* A directory is shared by its group when that passes to what is made in it, or may make something. */
static void test_modes(const char *dsn)
{
    static const struct { mode_t directory; int main; } cases[] = {{0700, 0640}, {0755, 0640}, {02750, 0660}, {0770, 0660}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *directory = ida_printf(pool, "%s.modes.%zu", dsn + strlen("sqlite3:"), i), *path = ida_printf(pool, "%s/x.db", directory),
                   *own = ida_printf(pool, "sqlite3:%s", path);
        mkdir(directory, 0700);
        chmod(directory, cases[i].directory);
        is_int(store_schema_upgrade(own, fresh(), NULL), IDA_OK, "a store in a directory of its own");
        is_int(mode_of(path, ""), cases[i].main, "the main file is the group's where the directory is");
        is_int(mode_of(path, "-wal"), cases[i].main, "so is its log");
        is_int(mode_of(path, ".gate"), cases[i].main, "and its gate");
        is_int(mode_of(cache_path(own), ""), 0640, "the cache is read by the group");
        is_int(mode_of(cache_path(own), "-shm"), 0640, "as is the index of its log");
        is_int(mode_of(cache_path(own), ".gate"), 0600, "and its gate held by the owner alone");
    }
}

/* A connection that can only read the others must start when no log of them is left. */
static void test_without_log(const char *dsn)
{
    const char *path = cache_path(dsn);
    is_int(stranger(path, "PRAGMA wal_checkpoint(TRUNCATE)"), SQLITE_OK, "the cache is checkpointed and closed by a stranger");
    unlink(apr_pstrcat(pool, path, "-wal", NULL));
    unlink(apr_pstrcat(pool, path, "-shm", NULL));
    store *s = store_make(pool, dsn, DB_REQUEST);
    is_int(sql(s, fresh(), "SELECT value FROM cache.counter"), IDA_OK, "a read-only attached file without a log is read");
}

/* -- transactions ----------------------------------------------------------------------------------------------------------- */

typedef struct failing {
    ida_kind answer;
    int runs;
} failing;

static ida_kind add_and_answer(store *s, ida_ctx *c, void *baton)
{
    failing *f = baton;
    f->runs++;
    ida_kind kind = store_write(s, c, STMT_setting_add, DB_ARGS(DB_T("kept?"), DB_T("x")), NULL);
    return kind ? kind : f->answer ? ida_fail(c, f->answer, "as told") : IDA_OK;
}

static ida_kind swallow_conflict(store *s, ida_ctx *c, void *baton)
{
    ida_kind *seen = baton;
    *seen = sql(s, c, "INSERT INTO setting (name, value) VALUES ('cursor_key', 'again')");
    return store_write(s, c, STMT_setting_add, DB_ARGS(DB_T("after"), DB_T("x")), NULL);
}

static ida_kind ignore_all(store *s, ida_ctx *c, void *baton)
{
    (void)baton;
    (void)sql(s, c, "INSERT INTO setting (name, value) VALUES ('cursor_key', 'again')");
    return IDA_OK;
}

static void test_transactions(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    const char *value;
    db_result r;
    failing f = {IDA_FORBIDDEN, 0};
    is_int(store_transaction(s, fresh(), add_and_answer, &f), IDA_FORBIDDEN, "work that fails");
    is_int(f.runs, 1, "is not repeated");
    is_int(store_setting_get(s, fresh(), "kept?", &value), IDA_NOT_FOUND, "and leaves nothing");
    f.answer = IDA_OK;
    is_int(store_transaction(s, fresh(), add_and_answer, &f), IDA_OK, "work that holds");
    is_int(store_setting_get(s, fresh(), "kept?", &value), IDA_OK, "is kept");

    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("kept?"), DB_T("y")), &r), IDA_OK, "a writing statement alone");
    is_int(r.changes, 0, "that changes nothing");
    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("new"), DB_T("y")), &r), IDA_OK, "and one");
    is_int(r.changes, 1, "that changes a row");
    is_int(store_read(s, fresh(), STMT_setting_get, DB_ARGS(DB_T("new")), &r), IDA_OK, "a read");
    is_int(r.changes, 0, "changes nothing");

    ida_kind seen = IDA_OK;
    ida_kind kind = store_transaction(s, fresh(), swallow_conflict, &seen);
    is_int(seen, IDA_CONFLICT, "a unique constraint is a conflict");
    if (is_sqlite) {
        is_int(kind, IDA_OK, "SQLite goes on behind it");
    } else {
        is_int(kind, IDA_INTERNAL_ERROR, "PostgreSQL's transaction is lost by it");
        is_int(store_transaction(s, fresh(), ignore_all, NULL), IDA_INTERNAL_ERROR, "also when nobody looks");
        is_int(store_setting_get(s, fresh(), "after", &value), IDA_NOT_FOUND, "nothing is kept");
    }
    is_int(sql_write(s, "INSERT INTO api_key (tenant_id, username, key_hash, access_level, created_at) VALUES ('nobody', 'u', "
                        "'h', 'full', 1)"),
           IDA_CONFLICT, "a foreign key is one too");
    is_int(sql_write(s, "INSERT INTO setting (name, value) VALUES ('n', NULL)"), IDA_INTERNAL_ERROR,
           "a missing value is a fault of ours");
    is_int(store_setting_get(s, fresh(), "new", &value), IDA_OK, "the store goes on");

    int before = logged[100];
    is_int(store_read(s, fresh(), STMT_setting_get, DB_NONE, &r), IDA_INTERNAL_ERROR, "a statement without its arguments");
    is_int(store_read(s, fresh(), STMT_setting_get, DB_ARGS(DB_I(1)), &r), IDA_INTERNAL_ERROR, "and with the wrong kind");
    is_int(logged[100] - before, 2, "are logged");
    is_int(store_read(s, fresh(), STMT_tenant_list, DB_NONE, &r), IDA_OK, "no rows");
    is_int(r.rows, 0, "are none");
    ok(db_text(&r, 0, 0) == NULL && db_int(&r, 5, 5) == 0, "and reading beyond them is harmless");
}

static void test_types(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    db_result r;
    is_int(sql_write(s, "INSERT INTO tenant (id, document, seal, revision, created_at, updated_at) VALUES ('t', '{}', '', 1, 0, "
                        "0)"), IDA_OK, "a tenant");
    is_int(store_write(s, fresh(), STMT_key_create,
                       DB_ARGS(DB_T("t"), DB_T("u'\"?1 Å"), DB_T("h"), DB_T("full"), DB_T(""), DB_T(NULL), DB_I(INT64_MAX),
                               DB_I(-1), DB_T(NULL)), &r),
           IDA_OK, "texts, NULL and numbers go in");
    is_int(store_read(s, fresh(), STMT_key_list, DB_ARGS(DB_T("t")), &r), IDA_OK, "and come out");
    is_str(db_text(&r, 0, 0), "u'\"?1 Å", "text");
    is_str(db_text(&r, 0, 2), "", "empty text");
    ok(db_text(&r, 0, 3) == NULL, "NULL is not empty");
    is_int(db_int(&r, 0, 4), INT64_MAX, "largest number");
    is_str(db_text(&r, 0, 4), "9223372036854775807", "a number has its text too");
    is_int(db_int(&r, 0, 6), -1, "negative number");
    is_int(db_int(&r, 0, 0), 0, "text is no number");
}

static ida_kind read_twice(store *s, ida_ctx *c, void *baton)
{
    int *rows = baton;
    db_result r;
    store *other = store_make(pool, s->dsn, DB_REQUEST);
    ida_kind kind = store_read(s, c, STMT_setting_get, DB_ARGS(DB_T("later")), &r);
    kind = kind ? kind : store_write(other, c, STMT_setting_add, DB_ARGS(DB_T("later"), DB_T("x")), NULL);
    kind = kind ? kind : store_read(s, c, STMT_setting_get, DB_ARGS(DB_T("later")), &r);
    *rows = r.rows;
    return kind;
}

static void test_snapshot(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    const char *value;
    int rows = -1;
    is_int(store_snapshot(s, fresh(), read_twice, &rows), IDA_OK, "a snapshot");
    is_int(rows, 0, "does not see what came after its first read");
    is_int(store_setting_get(s, fresh(), "later", &value), IDA_OK, "which is there behind it");
}

/* -- lost connections ------------------------------------------------------------------------------------------------------- */

static void kill_others(const char *dsn)
{
    store *killer = store_make(pool, dsn, DB_REQUEST);
    sql(killer, fresh(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
                         "pg_backend_pid()");
    store_disconnect(killer);
}

static ida_kind killed_within(store *s, ida_ctx *c, void *baton)
{
    failing *f = baton;
    if (f->runs++ == 0) {
        kill_others(s->dsn);
    }
    return store_write(s, c, STMT_setting_add, DB_ARGS(DB_T("within"), DB_T("x")), NULL);
}

enum { COPIED = 3000 };

static ida_kind copy_rows(store *s, ida_ctx *c, void *baton)
{
    const db_arg fixed[] = {DB_T("copy\tter"), DB_T("cloud")};
    return db_copy(s->db, c, STMT_address_copy, fixed, 2, baton, 2, COPIED);
}

static ida_kind copy_wrongly(store *s, ida_ctx *c, void *baton)
{
    const db_arg fixed[] = {DB_I(1), DB_T("cloud")};
    return db_copy(s->db, c, STMT_address_copy, fixed, 2, baton, 2, 1);
}

static ida_kind copy_when_lost(store *s, ida_ctx *c, void *baton)
{
    kill_others(baton);
    const char *row[] = {"o", "a"};
    const db_arg fixed[] = {DB_T("t"), DB_T("cloud")};
    return db_copy(s->db, c, STMT_address_copy, fixed, 2, row, 2, 1);
}

/* More than a block of rows, with everything in them that the form of a copy has its own words for. */
static void test_copy(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    const char **rows = apr_palloc(pool, 2 * COPIED * sizeof *rows);
    char *filler = apr_palloc(pool, 200);
    memset(filler, 'x', 199);
    filler[199] = '\0';
    for (int i = 0; i < COPIED; i++) {
        rows[2 * i] = apr_psprintf(pool, "owner\n%d\r\\.", i);
        rows[2 * i + 1] = i ? apr_psprintf(pool, "%d\t%s\\N", i, filler) : "\\N";
    }
    store_connect(s, fresh());
    ok(db_copies(s->db), "PostgreSQL copies");
    is_int(store_transaction(s, fresh(), copy_rows, rows), IDA_OK, "rows are copied");
    is_int(sql(s, fresh(), "DO $$BEGIN IF (SELECT count(*) FROM generate_series(0, 2999) i JOIN cache.address a"
                           " ON a.owner_id = E'owner\\n' || i || E'\\r\\\\.'"
                           " AND a.address = CASE i WHEN 0 THEN E'\\\\N' ELSE i || E'\\t' || repeat('x', 199) || E'\\\\N' END"
                           " WHERE a.tenant_id = E'copy\\tter' AND a.directory = 'cloud') <> 3000"
                           " THEN RAISE 'not all'; END IF; END$$"),
           IDA_OK, "and come out as they were");
    is_int(store_transaction(s, fresh(), copy_rows, rows), IDA_CONFLICT, "rows that are there are refused");
    is_int(store_transaction(s, fresh(), copy_wrongly, rows), IDA_INTERNAL_ERROR, "an argument of the wrong kind");
    is_int(db_copy(s->db, fresh(), STMT_address_copy, NULL, 0, rows, 4, 1), IDA_INTERNAL_ERROR, "not outside of a transaction");
    rows[0] = NULL;
    is_int(store_transaction(s, fresh(), copy_rows, rows), IDA_INTERNAL_ERROR, "NULL where there must be a value");
    is_int(store_transaction(s, fresh(), copy_when_lost, (void *)dsn), IDA_SERVICE_UNAVAILABLE, "a lost connection is told");
    store_disconnect(s);
}

static void test_lost(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    const char *value;
    is_int(store_setting_get(s, fresh(), "new", &value), IDA_OK, "a connection");
    kill_others(dsn);
    is_int(store_setting_get(s, fresh(), "new", &value), IDA_OK, "killed: the read is repeated on a new one");
    kill_others(dsn);
    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("revived"), DB_T("x")), NULL), IDA_OK,
           "killed: a write begins on a new one");
    failing f = {IDA_OK, 0};
    is_int(store_transaction(s, fresh(), killed_within, &f), IDA_SERVICE_UNAVAILABLE,
           "killed within a transaction: nothing is claimed");
    is_int(f.runs, 1, "nor repeated in the dark");
    is_int(store_setting_get(s, fresh(), "within", &value), IDA_NOT_FOUND, "nothing is kept");

    int64_t start = clock_now();
    store_connect(s, fresh());
    db_wait(s->db, fresh(), "idadmin_test", 50);
    ok(clock_now() - start >= 45, "waiting without a notification lasts");
    store *other = store_make(pool, dsn, DB_REQUEST);
    store_connect(other, fresh());
    is_int(db_notify(other->db, fresh(), "idadmin_test"), IDA_OK, "notify");
    start = clock_now();
    db_wait(s->db, fresh(), "idadmin_test", 5000);
    ok(clock_now() - start < 1000, "a notification ends the wait");

    const char *pooled = apr_pstrcat(pool, dsn, " idadmin_pooler=1", NULL);
    ok(store_dsn_fault(pooled) == NULL, "the pooler switch is no fault");
    s = store_make(pool, pooled, DB_REQUEST);
    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("pooled"), DB_T("x")), NULL), IDA_OK,
           "a write as behind a pooler");
    is_int(store_setting_get(s, fresh(), "pooled", &value), IDA_OK, "and a read");
    is_int(sql(s, fresh(), "DO $$BEGIN IF EXISTS (SELECT 1 FROM pg_prepared_statements) THEN RAISE 'prepared'; END IF; END$$"),
           IDA_OK,
           "without named statements");
    is_int(sql_write(s, "DO $$BEGIN IF current_setting('statement_timeout') <> '10s' THEN RAISE 'unbounded'; END IF; END$$"),
           IDA_OK,
           "with a bound within the transaction");
    is_int(sql(s, fresh(), "DO $$BEGIN IF current_setting('statement_timeout') <> '0' THEN RAISE 'left behind'; END IF; END$$"),
           IDA_OK,
           "that it does not leave behind");
}

typedef struct row_lock {
    const char *own, *other;
    int pipe_out, pipe_in, runs;
} row_lock;

static ida_kind lock_crosswise(store *s, ida_ctx *c, void *baton)
{
    row_lock *l = baton;
    char byte = 'x';
    ida_kind kind = store_tenant_lock(s, c, l->own);
    if (!kind && l->runs++ == 0 && (write(l->pipe_out, &byte, 1) != 1 || read(l->pipe_in, &byte, 1) != 1)) {
        return IDA_INTERNAL_ERROR;
    }
    return kind ? kind : store_tenant_lock(s, c, l->other);
}

/* Two transactions that wait for each other: the engine ends one, which is repeated as a whole. */
static void test_deadlock(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    int there[2], back[2], status;
    is_int(sql_write(s, "INSERT INTO tenant (id, document, seal, revision, created_at, updated_at) VALUES ('a', '{}', '', 1, 0, "
                        "0), ('b', '{}', '', 1, 0, 0)"),
           IDA_OK, "two tenants");
    if (pipe(there) || pipe(back)) {
        abort();
    }
    store_disconnect(s);
    pid_t child = fork();
    if (child == 0) {
        row_lock l = {"b", "a", back[1], there[0], 0};
        _exit(store_transaction(store_make(pool, dsn, DB_REQUEST), fresh(), lock_crosswise, &l) ? 100 : l.runs);
    }
    row_lock l = {"a", "b", there[1], back[0], 0};
    is_int(store_transaction(s, fresh(), lock_crosswise, &l), IDA_OK, "crosswise locks: this one ends well");
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) < 100, "the other one too");
    /* The one that the engine ended may be back before the other has been woken: then once more. */
    ok(l.runs + WEXITSTATUS(status) >= 3, "because one of them was repeated");
}

/* -- the gate --------------------------------------------------------------------------------------------------------------- */

static ida_kind read_add_write(store *s, ida_ctx *c, void *baton)
{
    const char *value;
    (void)baton;
    ida_kind kind = store_tenant_lock(s, c, "t");
    kind = kind ? kind : store_setting_get(s, c, "count", &value);
    return kind ? kind : sql(s, c, apr_psprintf(c->pool, "UPDATE setting SET value = '%d' WHERE name = 'count'",
                                                atoi(value) + 1));
}

/* Reading, adding and writing back loses a count whenever two transactions overlap. */
static void test_many_writers(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    const char *value;
    pid_t writers[WRITERS];
    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("count"), DB_T("0")), NULL), IDA_OK, "a count");
    store_disconnect(s);
    int64_t start = clock_now();
    for (int i = 0; i < WRITERS; i++) {
        if ((writers[i] = fork()) == 0) {
            int bad = 0;
            store *own = store_make(pool, dsn, DB_REQUEST);
            for (int n = 0; n < ROUNDS; n++) {
                apr_pool_t *scratch;
                apr_pool_create(&scratch, pool);
                bad += store_transaction(own, ida_ctx_make(&env, scratch), read_add_write, NULL) != IDA_OK;
                apr_pool_destroy(scratch);
            }
            _exit(bad > 100 ? 100 : bad);
        }
    }
    int bad = 0;
    for (int i = 0; i < WRITERS; i++) {
        int status;
        waitpid(writers[i], &status, 0);
        bad += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    }
    int64_t took = clock_now() - start;
    is_int(bad, 0, "eight processes write without a failure");
    store_setting_get(s, fresh(), "count", &value);
    is_int(atoi(value), WRITERS * ROUNDS, "and no count is lost");
    printf("# %s: %d transactions by %d processes in %lld ms: %lld/s\n", engine, WRITERS * ROUNDS, WRITERS, (long long)took,
           (long long)WRITERS * ROUNDS * 1000 / (took ? took : 1));
}

typedef struct thread_work {
    store *s;
    apr_pool_t *pool;
    int bad;
} thread_work;

static void *write_in_thread(void *baton)
{
    thread_work *w = baton;
    for (int n = 0; n < ROUNDS; n++) {
        apr_pool_clear(w->pool);
        w->bad += store_transaction(w->s, ida_ctx_make(&env, w->pool), read_add_write, NULL) != IDA_OK;
    }
    return NULL;
}

static void test_threads(const char *dsn)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    thread_work work[THREADS];
    store *s = store_make(pool, dsn, DB_REQUEST);
    const char *value;
    int bad = 0;
    sql_write(s, "UPDATE setting SET value = '0' WHERE name = 'count'");
    for (int i = 0; i < THREADS; i++) {
        apr_allocator_t *allocator;
        apr_allocator_create(&allocator);
        work[i] = (thread_work){store_make(pool, dsn, DB_REQUEST), NULL, 0};
        apr_pool_create_unmanaged_ex(&work[i].pool, NULL, allocator);
        apr_allocator_owner_set(allocator, work[i].pool);
        pthread_create(&threads[i], NULL, write_in_thread, &work[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        bad += work[i].bad;
        apr_pool_destroy(work[i].pool);
    }
    is_int(bad, 0, "threads write without a failure");
    store_setting_get(s, fresh(), "count", &value);
    is_int(atoi(value), THREADS * ROUNDS, "and no count is lost");
}

static void test_killed_holder(const char *dsn)
{
    db_gate gate = {.fd = -1};
    const char *path = apr_pstrcat(pool, dsn + strlen("sqlite3:"), ".gate", NULL);
    int ready[2];
    char byte;
    if (pipe(ready)) {
        abort();
    }
    pid_t holder = fork();
    if (holder == 0) {
        if (db_gate_open(&gate, path, 0660, (uid_t)-1, (gid_t)-1) || db_gate_take(&gate, 1000) || write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        pause();
    }
    is_int(read(ready[0], &byte, 1), 1, "another process holds the gate");
    is_int(db_gate_open(&gate, path, 0660, (uid_t)-1, (gid_t)-1), 0, "gate opened");
    int64_t start = clock_now();
    is_int(db_gate_take(&gate, 300), ETIMEDOUT, "it is waited for");
    ok(clock_now() - start >= 290 && clock_now() - start < 2000, "and not longer than asked");

    pid_t killer = fork();
    if (killer == 0) {
        usleep(200000);
        kill(holder, SIGKILL);
        _exit(0);
    }
    start = clock_now();
    is_int(db_gate_take(&gate, 5000), 0, "kill -9 of the holder frees it");
    ok(clock_now() - start < 1500, "soon (%lld ms)", (long long)(clock_now() - start));
    db_gate_leave(&gate);
    db_gate_close(&gate);
    waitpid(holder, NULL, 0);
    waitpid(killer, NULL, 0);
}

/* A stranger that writes without the gate: our write waits beyond SQLite's own patience. */
static void test_stranger_writes(const char *dsn)
{
    int ready[2];
    char byte;
    if (pipe(ready)) {
        abort();
    }
    pid_t child = fork();
    if (child == 0) {
        sqlite3 *handle;
        int rc = sqlite3_open(dsn + strlen("sqlite3:"), &handle);
        rc = rc ? rc : sqlite3_exec(handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        if (rc || write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        usleep(400000);
        _exit(sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL) != SQLITE_OK);
    }
    is_int(read(ready[0], &byte, 1), 1, "a stranger holds SQLite's own lock");
    store *s = store_make(pool, dsn, DB_REQUEST);
    int64_t start = clock_now();
    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("patient"), DB_T("x")), NULL), IDA_OK, "our write waits");
    ok(clock_now() - start >= 300, "until it is gone");
    waitpid(child, NULL, 0);
}

static ida_kind write_a_lot(store *s, ida_ctx *c, void *baton)
{
    (void)baton;
    return sql(s, c, "INSERT INTO setting (name, value) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i "
                     "< 9000) "
                     "SELECT 'big' || i || hex(randomblob(8)), hex(randomblob(2000)) FROM n");
}

static void test_checkpoint(const char *dsn)
{
    struct stat st;
    store *s = store_make(pool, dsn, DB_REQUEST);
    const char *log = apr_pstrcat(pool, dsn + strlen("sqlite3:"), "-wal", NULL);
    int before = logged[105];
    is_int(store_transaction(s, fresh(), write_a_lot, NULL), IDA_OK, "36 MB in one transaction");
    stat(log, &st);
    ok(st.st_size > 30000000, "stand in the log");
    is_int(logged[105], before, "which is still small enough");
    is_int(store_transaction(s, fresh(), write_a_lot, NULL), IDA_OK, "and 36 MB more");
    ok(logged[105] > before, "a log above 64 MB is written back by whoever writes, and said");
    is_int(db_checkpoint(s->db, fresh()), IDA_OK, "the worker's checkpoint");
    stat(log, &st);
    is_int(st.st_size, 0, "cuts the log");
    is_int(sql_write(s, "DELETE FROM setting WHERE name LIKE 'big%'"), IDA_OK, "tidied");
}

static void test_dsn(void)
{
    ok(store_dsn_fault("sqlite3:/x/y.db") == NULL, "DSN of SQLite");
    ok(store_dsn_fault("pgsql:host=/tmp "
                       "dbname=x") == NULL &&
                           store_dsn_fault("pgsql:postgresql://h/db?idadmin_pooler=1&connect_timeout=5") == NULL,
       "DSNs of PostgreSQL");
    ok(store_dsn_fault("sqlite3:") && store_dsn_fault("sqlite3::memory:") && store_dsn_fault("sqlite3:/x/") &&
       store_dsn_fault("pgsql:nonsense") &&
       store_dsn_fault("mysql:x") && store_dsn_fault(""), "bad DSNs");
    is_str(store_default_seal_key(pool, "sqlite3:/var/x.d/idadmin.db"), "/var/x.d/idadmin.key", "seal key beside the store");
    is_str(store_default_seal_key(pool, "sqlite3:/var/x.d/idadmin"), "/var/x.d/idadmin.key", "also without an extension");
    ida_ctx *c = fresh();
    ok(store_schema_upgrade("sqlite3:/nonexistent/dir/x.db", c, NULL) != IDA_OK, "a directory that is not there");
    says(c, "is named", "/nonexistent/dir", "Make it", NULL);
    ok(store_connect(store_make(pool, "pgsql:host=/nonexistent dbname=x", DB_REQUEST), c) == IDA_SERVICE_UNAVAILABLE,
       "a server that is not there");
}

int main(void)
{
    setup();
    env.log = count_log;
    test_dsn();
    for (int i = 0, engines = store_engines(); i < engines; i++) {
        const char *dsn = store_engine(i, &engine);
        is_sqlite = i == 0;
        printf("# %s\n", engine);
        test_missing(dsn);
        test_upgrade(dsn);
        usleep(1100000); /* the store counts as away for a second */
        test_setting(dsn);
        test_versions(dsn);
        test_transactions(dsn);
        test_types(dsn);
        test_snapshot(dsn);
        test_many_writers(dsn);
        test_threads(dsn);
        if (is_sqlite) {
            test_full(dsn);
            test_foreign_file();
            test_roles(dsn);
            test_modes(dsn);
            test_without_log(dsn);
            test_killed_holder(dsn);
            test_stranger_writes(dsn);
            test_checkpoint(dsn);
        } else {
            test_lost(dsn);
            test_copy(dsn);
            test_deadlock(dsn);
        }
    }
    return done();
}
