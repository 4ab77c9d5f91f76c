/* Opening, creating and upgrading a store, on both engines: schema and versions, roles and modes
 * of its files, stores that are refused. */
#include "core/base/web_user.h"
#include "core/db/migrations.h"
#include "t/unit/db_setup.h"
#include "t/unit/setup.h"
#include <sys/stat.h>
#include <unistd.h>

/* How many migrations a file has (NULL: all files), and the number of the last. */
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
    is_int((int64_t)json_array_size(steps), migrations(NULL, NULL),
           "a step for each migration of each file");
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
    is_int(sql_write(s, "INSERT INTO cache.counter (tenant_id, name, value) VALUES ('t', 'n', 1)"),
           IDA_OK, "a row in the cache");
    store_disconnect(s);
    migrations("cache", &newest);
    is_int(set_version(dsn, DB_CACHE, newest + 1), IDA_OK, "a cache of another version");
    is_int(db_open(&d, dsn, DB_REQUEST, c, pool), IDA_SERVICE_UNAVAILABLE, "is refused at opening");
    says(c, "as another version", "cache", "another version", "idadminctl schema upgrade", NULL);
    json_t *steps = json_array();
    is_int(store_schema_upgrade(dsn, c, steps), IDA_OK, "is made anew by the upgrade");
    is_int((int64_t)json_array_size(steps), 1 + migrations("cache", NULL),
           "emptied, then each migration anew");
    json_decref(steps);
    is_int(sql_write(s, "INSERT INTO cache.counter (tenant_id, name, value) VALUES ('t', 'n', 2)"),
           IDA_OK, "and is empty");
}

/* A full disk is logged once a minute, not with each request that meets it. */
static void test_full(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    ida_ctx *c = fresh();
    int refused = 0, before = logged[102];
    for (int i = 0; i < 20; i++) {
        c = fresh();
        if (sql(s, c, "PRAGMA main.max_page_count = 1") ==
            IDA_OK) { /* a limit on one connection, which is closed when its disk is full */
            refused += store_transaction(s, c, sql_in_transaction,
                                         (void *)"CREATE TABLE filler (x TEXT); INSERT INTO filler "
                                                 "VALUES (hex(randomblob(200000)))") ==
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
    is_int(stranger(path, "CREATE TABLE mine (a); PRAGMA user_version = 1"), SQLITE_OK,
           "a database of another program");
    ok(store_schema_upgrade(apr_pstrcat(pool, "sqlite3:", path, NULL), c, NULL) != IDA_OK,
       "is not taken over");
    says(c, "and the message says why", "belongs to another program", NULL);
}

/* --- roles --- */

static void test_roles(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    is_int(sql(s, fresh(), "UPDATE cache.counter SET value = 3"), IDA_INTERNAL_ERROR,
           "a request connection cannot write the cache");
    is_int(sql(s, fresh(), "DELETE FROM audit.record"), IDA_INTERNAL_ERROR, "nor the audit record");
    s = store_make(pool, dsn, DB_SYNC);
    is_int(sql(s, fresh(), "DELETE FROM audit.record"), IDA_INTERNAL_ERROR,
           "a sync connection does not even see the audit record");
    s = store_with_key(dsn, DB_INGEST);
    is_int(sql(s, fresh(), "DELETE FROM setting"), IDA_INTERNAL_ERROR,
           "an ingest connection not the main file");
}

static int mode_of(const char *path, const char *suffix)
{
    struct stat st;
    return stat(apr_pstrcat(pool, path, suffix, NULL), &st) == 0 ? (int)(st.st_mode & 07777) : -1;
}

/* Where the writer has a group of its own, the main file is its, in a directory that others cannot
 * enter; log, index and gate follow, also those that root made; and back when there is no such
 * group. */
static void test_writer_group(const char *dsn)
{
    static const char *const parts[] = {"", "-wal", "-shm", ".gate"};
    const char *directory = ida_printf(pool, "%s.writer", dsn + strlen("sqlite3:")),
               *path = ida_printf(pool, "%s/x.db", directory),
               *own = ida_printf(pool, "sqlite3:%s", path);
    struct stat st;
    mkdir(directory, 0750);
    for (int round = 0; round < 4; round++) {
        int shared = round != 0 && round != 3, gone = round == 2;
        ida_writer_group_set(shared ? "64797" : "none");
        chmod(directory, round == 3 ? 0755 : 0750);
        is_int(store_schema_upgrade(own, fresh(), NULL), IDA_OK, "an upgrade");
        if (gone) { /* as a stranger's program leaves them */
            is_int(chown(apr_pstrcat(pool, path, "-wal", NULL), (uid_t)-1, getegid()), 0,
                   "a log of another group");
            chmod(apr_pstrcat(pool, path, ".gate", NULL), 0600);
            unlink(apr_pstrcat(pool, path, "-shm", NULL));
            store *s = store_make(pool, own, DB_REQUEST);
            is_int(sql(s, fresh(), "SELECT value FROM setting"), IDA_OK, "opened");
            store_disconnect(s);
        }
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            mode_t mode = i == 3 ? shared ? 0660 : 0600 : shared ? 0664 : 0640;
            ok(stat(apr_pstrcat(pool, path, parts[i], NULL), &st) == 0, "x.db%s", parts[i]);
            is_int(st.st_mode & 07777, mode, "its mode");
            is_int(st.st_gid, shared ? 64797 : getegid(), "its group");
        }
        is_int(mode_of(cache_path(own), ""), 0640, "the cache stays the worker's");
        ok(stat(cache_path(own), &st) == 0 && st.st_gid == getegid(), "with its group");
    }
    ida_writer_group_set("64797");
    is_int(store_schema_upgrade(own, fresh(), NULL), IDA_OK, "in a directory open to others");
    is_int(mode_of(path, ""), 0640, "nothing is given");
    ida_writer_group_set("none");
}

/* The owner writes, the group reads, whatever the directory's own mode permits. */
static void test_modes(const char *dsn)
{
    static const mode_t directories[] = {0700, 0755, 02750};
    const char *open = ida_printf(pool, "%s.modes.open", dsn + strlen("sqlite3:"));
    ida_ctx *c = fresh();
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        const char *directory = ida_printf(pool, "%s.modes.%zu", dsn + strlen("sqlite3:"), i),
                   *path = ida_printf(pool, "%s/x.db", directory),
                   *own = ida_printf(pool, "sqlite3:%s", path);
        const char *files[] = {path, cache_path(own)};
        mkdir(directory, 0700);
        chmod(directory, directories[i]);
        is_int(store_schema_upgrade(own, fresh(), NULL), IDA_OK,
               "a store in a directory of its own");
        for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
            is_int(mode_of(files[f], ""), 0640, "a file is read by the group");
            is_int(mode_of(files[f], "-wal"), 0640, "as is its log");
            is_int(mode_of(files[f], "-shm"), 0640, "and the index of the log");
            is_int(mode_of(files[f], ".gate"), 0600, "the gate is the owner's alone");
        }
        chmod(path, 0660);
        is_int(store_schema_upgrade(own, fresh(), NULL), IDA_OK, "upgraded again");
        is_int(mode_of(path, ""), 0640, "what the group could write before it cannot any more");
    }
    if (geteuid() == 0) {
        test_writer_group(dsn);
    }
    mkdir(open, 0700);
    chmod(open, 0770);
    is_int(store_schema_upgrade(ida_printf(pool, "sqlite3:%s/x.db", open), c, NULL),
           IDA_SERVICE_UNAVAILABLE, "a directory that its group may write is refused");
    ok(c->message && strstr(c->message, "g-w"), "and what to do is said");
}

/* A connection that can only read the other files must start when they have no log left. */
static void test_without_log(const char *dsn)
{
    const char *path = cache_path(dsn);
    is_int(stranger(path, "PRAGMA wal_checkpoint(TRUNCATE)"), SQLITE_OK,
           "the cache is checkpointed and closed by a stranger");
    unlink(apr_pstrcat(pool, path, "-wal", NULL));
    unlink(apr_pstrcat(pool, path, "-shm", NULL));
    store *s = store_make(pool, dsn, DB_REQUEST);
    is_int(sql(s, fresh(), "SELECT value FROM cache.counter"), IDA_OK,
           "a read-only attached file without a log is read");
}

int main(void)
{
    setup();
    env.log = count_log;
    env.monotonic = test_monotonic;
    for (int i = 0, engines = store_engines(); i < engines; i++) {
        const char *dsn = store_engine(i, &engine);
        is_sqlite = i == 0;
        printf("# %s\n", engine);
        test_missing(dsn);
        test_upgrade(dsn);
        test_monotonic_ms += 1100; /* the store counts as unavailable for a second */
        test_setting(dsn);
        test_versions(dsn);
        if (is_sqlite) {
            test_full(dsn);
            test_foreign_file();
            test_roles(dsn);
            test_modes(dsn);
            test_without_log(dsn);
        }
    }
    return done();
}
