/* The drivers and the base of the store, on both engines: transactions, types, lost connections,
 * the gate under many processes. Opening and upgrading: schema.c. */
#include "core/db/gate.h"
#include "core/store/tenant.h"
#include "t/unit/db_setup.h"
#include "t/unit/setup.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WRITERS 8
#define ROUNDS 150

typedef struct failing {
    ida_kind answer;
    int runs;
} failing;

static ida_kind add_and_answer(store *s, ida_ctx *c, void *baton)
{
    failing *f = baton;
    f->runs++;
    ida_kind kind = store_write(s, c, STMT_setting_add, DB_ARGS(DB_T("kept?"), DB_T("x")), NULL);
    return kind ? kind : f->answer ? ida_fail(c, f->answer, "as reported") : IDA_OK;
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

    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("kept?"), DB_T("y")), &r), IDA_OK,
           "a writing statement alone");
    is_int(r.changes, 0, "that changes nothing");
    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("new"), DB_T("y")), &r), IDA_OK,
           "and one");
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
        is_int(store_transaction(s, fresh(), ignore_all, NULL), IDA_INTERNAL_ERROR,
               "also without readers");
        is_int(store_setting_get(s, fresh(), "after", &value), IDA_NOT_FOUND, "nothing is kept");
    }
    is_int(sql_write(s, "INSERT INTO api_key (tenant_id, username, key_hash, access_level, "
                        "created_at) VALUES ('nobody', 'u', 'h', 'full', 1)"),
           IDA_CONFLICT, "a foreign key is one too");
    is_int(sql_write(s, "INSERT INTO setting (name, value) VALUES ('n', NULL)"), IDA_INTERNAL_ERROR,
           "a missing value is a fault of ours");
    is_int(store_setting_get(s, fresh(), "new", &value), IDA_OK, "the store goes on");

    int before = logged[100];
    is_int(store_read(s, fresh(), STMT_setting_get, DB_NONE, &r), IDA_INTERNAL_ERROR,
           "a statement without its arguments");
    is_int(store_read(s, fresh(), STMT_setting_get, DB_ARGS(DB_I(1)), &r), IDA_INTERNAL_ERROR,
           "and with the wrong kind");
    is_int(logged[100] - before, 2, "are logged");
    is_int(store_read(s, fresh(), STMT_tenant_list, DB_NONE, &r), IDA_OK, "no rows");
    is_int(r.rows, 0, "are none");
    ok(DB_ROW(tenant_listed, &r, 0)->id.text == NULL && db_text(&r, 5, 5) == NULL,
       "and reading beyond them is harmless");
}

static void test_types(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    db_result r;
    is_int(sql_write(s, "INSERT INTO tenant (id, document, seal, revision, created_at, updated_at) "
                        "VALUES ('t', '{}', '', 1, 0, 0)"),
           IDA_OK, "a tenant");
    is_int(store_write(s, fresh(), STMT_key_create,
                       DB_ARGS(DB_T("t"), DB_T("u'\"?1 Å"), DB_T("h"), DB_T("full"), DB_T(""),
                               DB_T(NULL), DB_I(INT64_MAX), DB_I(-1), DB_T(NULL), DB_T(NULL),
                               DB_T(NULL), DB_I(0), DB_I(0)),
                       &r),
           IDA_OK, "texts, NULL and numbers go in");
    is_int(store_read(s, fresh(), STMT_key_list, DB_ARGS(DB_T("t"), DB_T(""), DB_I(100)), &r),
           IDA_OK, "and come out");
    const row_key_listed *row = DB_ROW(key_listed, &r, 0);
    is_str(row->username.text, "u'\"?1 Å", "text");
    is_str(row->label.text, "", "empty text");
    ok(row->rate_limit.text == NULL, "NULL is not empty");
    is_int(row->expires_at.number, INT64_MAX, "largest number");
    is_str(row->expires_at.text, "9223372036854775807", "a number has its text too");
    is_int(row->created_at.number, -1, "negative number");
    is_int(row->username.number, 0, "text is no number");
}

static ida_kind read_twice(store *s, ida_ctx *c, void *baton)
{
    int *rows = baton;
    db_result r;
    store *other = store_make(pool, s->dsn, DB_REQUEST);
    ida_kind kind = store_read(s, c, STMT_setting_get, DB_ARGS(DB_T("later")), &r);
    kind = kind ? kind
                : store_write(other, c, STMT_setting_add, DB_ARGS(DB_T("later"), DB_T("x")), NULL);
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

/* --- lost connections --- */

static void kill_others(const char *dsn)
{
    store *killer = store_make(pool, dsn, DB_REQUEST);
    sql(killer, fresh(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid()");
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

/* A pooler takes connections while its server is away, so one may be lost each half second. */
static void test_lost_is_said_once(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    const char *value;
    time_t begun = time(NULL);
    int before = logged[120];
    for (int i = 0; i < 4; i++) {
        is_int(store_setting_get(s, fresh(), "new", &value), IDA_OK, "a connection");
        kill_others(dsn);
    }
    int said = logged[120] - before;
    ok(logged[120] > 0, "a lost connection is said");
    ok(said <= 1 + (time(NULL) - begun) / 60, "several: once a minute (%d)", said);
    store_disconnect(s);
}

static void test_lost(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    const char *value;
    is_int(store_setting_get(s, fresh(), "new", &value), IDA_OK, "a connection");
    kill_others(dsn);
    is_int(store_setting_get(s, fresh(), "new", &value), IDA_OK,
           "killed: the read is repeated on a new one");
    kill_others(dsn);
    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("revived"), DB_T("x")), NULL),
           IDA_OK, "killed: a write begins on a new one");
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
    db_wait(s->db, fresh(), "idadmin_test", PATIENCE_MS);
    ok(clock_now() - start < PATIENCE_MS, "a notification ends the wait");

    const char *pooled = apr_pstrcat(pool, dsn, " idadmin_pooler=1", NULL);
    ok(store_dsn_fault(pooled) == NULL, "the pooler switch is no fault");
    s = store_make(pool, pooled, DB_REQUEST);
    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("pooled"), DB_T("x")), NULL),
           IDA_OK, "a write as behind a pooler");
    is_int(store_setting_get(s, fresh(), "pooled", &value), IDA_OK, "and a read");
    is_int(sql(s, fresh(),
               "DO $$BEGIN IF EXISTS (SELECT 1 FROM pg_prepared_statements) THEN RAISE 'prepared'; "
               "END IF; END$$"),
           IDA_OK, "without named statements");
    is_int(sql_write(s, "DO $$BEGIN IF current_setting('statement_timeout') <> '10s' THEN RAISE "
                        "'unbounded'; END IF; END$$"),
           IDA_OK, "with a bound within the transaction");
    is_int(sql(s, fresh(),
               "DO $$BEGIN IF current_setting('statement_timeout') <> '0' THEN RAISE 'left "
               "behind'; END IF; END$$"),
           IDA_OK, "that it does not leave behind");
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
    if (!kind && l->runs++ == 0 &&
        (write(l->pipe_out, &byte, 1) != 1 || read(l->pipe_in, &byte, 1) != 1)) {
        return IDA_INTERNAL_ERROR;
    }
    return kind ? kind : store_tenant_lock(s, c, l->other);
}

/* Two transactions that wait for each other: the engine aborts one, which is repeated as a
 * whole. */
static void test_deadlock(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    int there[2], back[2], status;
    int64_t (*real)(void *) = env.monotonic;
    env.monotonic = test_monotonic; /* what is repeated for a while must not be out of time */
    is_int(sql_write(s, "INSERT INTO tenant (id, document, seal, revision, created_at, updated_at) "
                        "VALUES ('a', '{}', '', 1, 0, 0), ('b', '{}', '', 1, 0, 0)"),
           IDA_OK, "two tenants");
    if (pipe(there) || pipe(back)) {
        abort();
    }
    store_disconnect(s);
    pid_t child = fork();
    if (child == 0) {
        row_lock l = {"b", "a", back[1], there[0], 0};
        _exit(store_transaction(store_make(pool, dsn, DB_REQUEST), fresh(), lock_crosswise, &l)
                  ? 100
                  : l.runs);
    }
    row_lock l = {"a", "b", there[1], back[0], 0};
    is_int(store_transaction(s, fresh(), lock_crosswise, &l), IDA_OK,
           "crosswise locks: this one ends well");
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) < 100, "the other one too");
    /* The aborted one may return before the other has been woken: then it is repeated once more. */
    ok(l.runs + WEXITSTATUS(status) >= 3, "because one of them was repeated");
    env.monotonic = real;
}

/* --- the gate --- */

static ida_kind read_add_write(store *s, ida_ctx *c, void *baton)
{
    const char *value;
    (void)baton;
    ida_kind kind = store_tenant_lock(s, c, "t");
    kind = kind ? kind : store_setting_get(s, c, "count", &value);
    return kind ? kind
                : sql(s, c,
                      apr_psprintf(c->pool, "UPDATE setting SET value = '%d' WHERE name = 'count'",
                                   atoi(value) + 1));
}

/* Adds one; 0 when it failed. The gate has no order: on a busy machine a writer may wait for longer
 * than it has patience, is refused, which leaves nothing behind, and asks again like a client. */
static int add_one(store *s, apr_pool_t *scratch)
{
    ida_kind kind = IDA_SERVICE_UNAVAILABLE;
    for (int tries = 0; kind == IDA_SERVICE_UNAVAILABLE && tries < 50; tries++) {
        apr_pool_clear(scratch);
        kind = store_transaction(s, ida_ctx_make(&env, scratch), read_add_write, NULL);
    }
    return kind == IDA_OK;
}

/* Reading, adding and writing back loses a count whenever two transactions overlap. */
static void test_many_writers(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    const char *value;
    pid_t writers[WRITERS];
    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("count"), DB_T("0")), NULL),
           IDA_OK, "a count");
    store_disconnect(s);
    int64_t start = clock_now();
    for (int i = 0; i < WRITERS; i++) {
        if ((writers[i] = fork()) == 0) {
            int bad = 0;
            apr_pool_t *scratch;
            apr_pool_create(&scratch, pool);
            store *own = store_make(pool, dsn, DB_REQUEST);
            for (int n = 0; n < ROUNDS; n++) {
                bad += !add_one(own, scratch);
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
    printf("# %s: %d transactions by %d processes in %lld ms: %lld/s\n", engine, WRITERS * ROUNDS,
           WRITERS, (long long)took, (long long)WRITERS * ROUNDS * 1000 / (took ? took : 1));
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
        w->bad += !add_one(w->s, w->pool);
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
        if (db_gate_open(&gate, path, 0660, (uid_t)-1, (gid_t)-1) ||
            db_gate_take(&gate, PATIENCE_MS) || write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        pause();
    }
    is_int(read(ready[0], &byte, 1), 1, "another process holds the gate");
    is_int(db_gate_open(&gate, path, 0660, (uid_t)-1, (gid_t)-1), 0, "gate opened");
    int64_t start = clock_now();
    is_int(db_gate_take(&gate, 300), ETIMEDOUT, "it is waited for");
    ok(clock_now() - start >= 290, "for as long as asked");

    pid_t killer = fork();
    if (killer == 0) {
        usleep(200000);
        kill(holder, SIGKILL);
        _exit(0);
    }
    is_int(db_gate_take(&gate, PATIENCE_MS), 0, "kill -9 of the holder frees it");
    db_gate_leave(&gate);
    db_gate_close(&gate);
    waitpid(holder, NULL, 0);
    waitpid(killer, NULL, 0);
}

/* A process that writes without the gate: our write waits longer than SQLite's own timeout. */
static void test_stranger_writes(const char *dsn)
{
    int ready[2];
    char byte;
    atomic_int *gone = mmap(NULL, sizeof *gone, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                            -1, 0);
    if (pipe(ready) || gone == MAP_FAILED) {
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
        *gone = 1;
        _exit(sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL) != SQLITE_OK);
    }
    is_int(read(ready[0], &byte, 1), 1, "a stranger holds SQLite's own lock");
    store *s = store_make(pool, dsn, DB_REQUEST);
    is_int(store_write(s, fresh(), STMT_setting_add, DB_ARGS(DB_T("patient"), DB_T("x")), NULL),
           IDA_OK, "our write waits");
    ok(*gone, "until it is gone");
    munmap(gone, sizeof *gone);
    waitpid(child, NULL, 0);
}

/* From here on permissions bind this thread even if it is root's. */
static void obey_permissions(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2];
    if (syscall(SYS_capget, &head, caps)) {
        abort();
    }
    caps[0].effective &= ~(1u << CAP_DAC_OVERRIDE);
    if (syscall(SYS_capset, &head, caps)) {
        abort();
    }
}

/* The log's header is in the shared index twice, 48 bytes each. Tears it all the time, as a writer
 * does between the two, until it is killed. */
static void tear_header(const char *dsn, int ready)
{
    char second[48], torn[48];
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_kind kind = sql_write(s, "INSERT INTO sync_state (tenant_id, directory) VALUES ('x', 'x')");
    int fd = open(apr_pstrcat(pool, cache_path(dsn), "-shm", NULL), O_RDWR);
    if (kind || fd < 0 || pread(fd, second, 48, 48) != 48) {
        _exit(1);
    }
    memcpy(torn, second, 48);
    torn[8] ^= 1;
    if (fchmod(fd, 0444) || pwrite(fd, torn, 48, 48) != 48 || write(ready, "x", 1) != 1) {
        _exit(1);
    }
    while (pwrite(fd, second, 48, 48) == 48 && pwrite(fd, torn, 48, 48) == 48) {}
    _exit(1);
}

/* httpd reads the cache, and must not write it. A process that has once opened it for writing
 * shares that among its connections: therefore a store of its own. */
static void test_torn_header(void)
{
    int ready[2], status, answered = 0;
    char byte;
    db_result r;
    const char *dsn = store_upgraded(0, &engine);
    if (pipe(ready)) {
        abort();
    }
    pid_t child = fork();
    if (child == 0) {
        tear_header(dsn, ready[1]);
    }
    close(ready[1]);
    is_int(read(ready[0], &byte, 1), 1, "a sync is in the middle of its commit");
    obey_permissions();
    int before = logged[102];
    for (int i = 0; i < 30; i++) { /* opens, asks for the schemas' versions, reads */
        store *s = store_make(pool, dsn, DB_REQUEST);
        answered += !store_read(s, fresh(), STMT_user_by_upn, DB_ARGS(DB_T("x"), DB_T("nobody")),
                                &r);
    }
    is_int(answered, 30, "each request waits for it, whatever of its work meets it");
    is_int(logged[102], before, "and nothing is said");
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    is_int(status, SIGKILL, "the header was torn meanwhile");
}

static ida_kind write_a_lot(store *s, ida_ctx *c, void *baton)
{
    (void)baton;
    return sql(s, c,
               "INSERT INTO setting (name, value) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL "
               "SELECT i + 1 FROM n WHERE i < 9000) SELECT 'big' || i || hex(randomblob(8)), "
               "hex(randomblob(2000)) FROM n");
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
    ok(logged[105] > before, "a log above 64 MB is written back by the next writer, and logged");
    is_int(db_checkpoint(s->db, fresh()), IDA_OK, "the worker's checkpoint");
    stat(log, &st);
    is_int(st.st_size, 0, "cuts the log");
    is_int(sql_write(s, "DELETE FROM setting WHERE name LIKE 'big%'"), IDA_OK, "tidied");
}

static void test_dsn(void)
{
    ok(store_dsn_fault("sqlite3:/x/y.db") == NULL, "DSN of SQLite");
    ok(store_dsn_fault("pgsql:host=/tmp dbname=x") == NULL &&
           store_dsn_fault("pgsql:postgresql://h/db?idadmin_pooler=1&connect_timeout=5") == NULL,
       "DSNs of PostgreSQL");
    ok(store_dsn_fault("sqlite3:") && store_dsn_fault("sqlite3::memory:") &&
           store_dsn_fault("sqlite3:/x/") && store_dsn_fault("pgsql:nonsense") &&
           store_dsn_fault("mysql:x") && store_dsn_fault(""),
       "bad DSNs");
    is_str(store_default_seal_key(pool, "sqlite3:/var/x.d/idadmin.db"), "/var/x.d/idadmin.key",
           "seal key beside the store");
    is_str(store_default_seal_key(pool, "sqlite3:/var/x.d/idadmin"), "/var/x.d/idadmin.key",
           "also without an extension");
    ida_ctx *c = fresh();
    ok(store_schema_upgrade("sqlite3:/nonexistent/dir/x.db", c, NULL) != IDA_OK,
       "a directory that is not there");
    says(c, "is named", "/nonexistent/dir", "Make it", NULL);
    ok(store_connect(store_make(pool, "pgsql:host=/nonexistent dbname=x", DB_REQUEST), c) ==
           IDA_SERVICE_UNAVAILABLE,
       "a server that is not there");
}

int main(void)
{
    setup();
    env.log = count_log;
    test_dsn();
    for (int i = 0, engines = store_engines(); i < engines; i++) {
        const char *dsn = store_upgraded(i, &engine);
        is_sqlite = i == 0;
        printf("# %s\n", engine);
        test_transactions(dsn);
        test_types(dsn);
        test_snapshot(dsn);
        test_many_writers(dsn);
        test_threads(dsn);
        if (is_sqlite) {
            test_killed_holder(dsn);
            test_stranger_writes(dsn);
            test_torn_header();
            test_checkpoint(dsn);
        } else {
            test_lost(dsn);
            test_lost_is_said_once(dsn);
            test_deadlock(dsn);
        }
    }
    return done();
}
