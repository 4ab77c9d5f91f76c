/* Owns libsqlite3: three files, three roles, the write gate around every write. Must not know what
 * the statements mean. */
#include <apr_strings.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/db/driver.h"
#include "core/db/gate.h"
#include "core/db/sqlite_files.h"

#define BUSY_MS 10                       /* net for strangers who write without the gate */
#define APPLICATION_ID 0x49444131        /* "IDA1" in the header of every file */
#define LOG_BYTES_MAX (64 * 1024 * 1024) /* above: whoever writes checkpoints, worker or not */
#define LOG_BYTES_STEP \
    (4 * 1024 * 1024) /* growth before a checkpoint that readers held up is tried again */
#define LOG_WORTH_BYTES (1024 * 1024) /* below, the worker's checkpoint does nothing */
#define SYNC_COURTESY_MS                                                                        \
    20 /* a sync writes for long; what it lets in between is one transaction, on a machine that \
          may be busy */
#define OWN_CACHE_KB 2048
#define LOG_CUT_BYTES (16 * 1024 * 1024) /* above, the worker cuts the file */

typedef struct sqlite_db {
    db head;
    sqlite3 *handle;
    db_gate gate;
    const char *path;   /* of the file this role writes */
    const char *schema; /* its name in SQL */
    int64_t logged;     /* bytes of pages in its log after the last commit of this connection */
    int64_t log_limit;  /* above which this connection checkpoints */
    sqlite3_stmt *prepared[STMT_COUNT];
} sqlite_db;

static const db_file own_file[DB_ROLE_COUNT] = {
    [DB_REQUEST] = DB_MAIN, [DB_SYNC] = DB_CACHE, [DB_INGEST] = DB_AUDIT};

/* Of a new file; an older one keeps its own, and its log counts for more than it is. A sync writes
 * large parts of the cache at a time: half as many pages are a tenth less work. Elsewhere commits
 * are small. */
static const int page_bytes[DB_FILE_COUNT] = {
    [DB_MAIN] = 4096, [DB_CACHE] = 8192, [DB_AUDIT] = 4096};

/* --- failures --- */

static int is_busy(int rc)
{
    return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
}

static int is_conflict(int rc)
{
    return rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY ||
           rc == SQLITE_CONSTRAINT_FOREIGNKEY || rc == SQLITE_CONSTRAINT_ROWID;
}

/* Primary codes that speak of the machine or the file, not of our statement. */
static int is_environment(int rc)
{
    static const int codes[] = {SQLITE_IOERR,  SQLITE_FULL,     SQLITE_CANTOPEN, SQLITE_CORRUPT,
                                SQLITE_NOTADB, SQLITE_PROTOCOL, SQLITE_NOMEM,    SQLITE_PERM};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if ((rc & 0xff) == codes[i]) {
            return 1;
        }
    }
    return (rc & 0xff) == SQLITE_READONLY &&
           rc != SQLITE_READONLY; /* plain: a role that writes what is not its own */
}

static ida_kind busy(sqlite_db *s, ida_ctx *c, const char *what)
{
    ida_log(s->head.env, IDA_LOG_WARN, "IDA0101", "store: %s: %s is busy for more than %d s", what,
            s->path, DB_PATIENCE_MS / 1000);
    c->retry_after = 1;
    return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The store is busy. Try again in a moment.");
}

static ida_kind fault(sqlite_db *s, ida_ctx *c, const char *what, int rc)
{
    if (is_busy(rc)) {
        s->head.must_repeat = s->head.in_write || rc == SQLITE_BUSY_SNAPSHOT;
        return busy(s, c, what);
    }
    if (is_conflict(rc)) {
        return ida_fail(
            c, IDA_CONFLICT,
            "A row of that identity exists already, or one that it refers to does not.");
    }
    s->head.broken = (rc & 0xff) != SQLITE_CONSTRAINT;
    if (is_environment(rc)) {
        static _Atomic int64_t said[256]; /* by primary code: a full disk is told once a minute, not
                                             with each request, another fault at once */
        if (db_say_now(&said[rc & 0xff], 60000)) {
            ida_log(s->head.env, IDA_LOG_ERROR, "IDA0102", "store: %s: %s: %s (%d)", s->path, what,
                    sqlite3_errmsg(s->handle), rc);
        }
        c->retry_after = 1;
        return ida_fail(
            c, IDA_SERVICE_UNAVAILABLE,
            "The store cannot be used at the moment; the error log of the server has the "
            "reason.");
    }
    ida_log(s->head.env, IDA_LOG_ERROR, "IDA0103", "store: statement %s failed: %s (%d)", what,
            sqlite3_errmsg(s->handle), rc);
    return ida_fail(c, IDA_INTERNAL_ERROR, "The store refused a statement of ours (%s).", what);
}

static ida_kind take_gate(sqlite_db *s, ida_ctx *c, const char *what)
{
    int error = db_gate_take(&s->gate, DB_PATIENCE_MS);
    if (error == ETIMEDOUT) {
        return busy(s, c, what);
    }
    if (error) {
        s->head.broken = 1;
        ida_log(s->head.env, IDA_LOG_ERROR, "IDA0104",
                "store: the write gate %s.gate cannot be locked: %s", s->path, strerror(error));
        c->retry_after = 1;
        return ida_fail(
            c, IDA_SERVICE_UNAVAILABLE,
            "The store cannot be written at the moment; the error log of the server has "
            "the reason.");
    }
    return IDA_OK;
}

static int exec(sqlite_db *s, const char *sql)
{
    int64_t deadline = db_clock() + DB_PATIENCE_MS;
    int rc;
    do {
        rc = sqlite3_exec(s->handle, sql, NULL, NULL, NULL);
    } while (is_busy(rc) && rc != SQLITE_BUSY_SNAPSHOT && db_clock() < deadline);
    return rc;
}

/* --- checkpoints --- */

static int note_frames(void *baton, sqlite3 *handle, const char *schema, int frames)
{
    sqlite_db *s = baton;
    (void)handle;
    if (strcmp(schema, s->schema) == 0) {
        s->logged = (int64_t)frames * page_bytes[own_file[s->head.role]];
    }
    return SQLITE_OK;
}

/* Under the gate: SQLite before 3.51.3 can corrupt a file when writers and checkpointers meet, and
 * a gate holder meets nobody. */
static void relieve_log(sqlite_db *s)
{
    if (s->logged < LOG_BYTES_MAX) {
        s->log_limit = LOG_BYTES_MAX;
    } else if (s->logged >= s->log_limit) {
        static _Atomic int64_t said; /* under a heavy load of writes the log passes the mark between
                                        two rounds of the worker */
        if (s->head.role == DB_REQUEST &&
            db_say_now(&said, 600000)) { /* the other roles are the worker's own */
            ida_log(s->head.env, IDA_LOG_WARN, "IDA0105",
                    "store: the log of %s holds %lld MB: does idadmin-worker run?", s->path,
                    (long long)(s->logged >> 20));
        }
        sqlite3_wal_checkpoint_v2(s->handle, s->schema, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        s->log_limit = s->logged + LOG_BYTES_STEP;
    }
}

static ida_kind checkpoint(db *d, ida_ctx *c)
{
    sqlite_db *s = (sqlite_db *)d;
    struct stat st;
    if (stat(apr_pstrcat(c->pool, s->path, "-wal", NULL), &st) != 0 ||
        st.st_size < LOG_WORTH_BYTES) {
        return IDA_OK;
    }
    ida_kind kind = take_gate(s, c, "checkpoint");
    if (kind) {
        return kind;
    }
    int in_log = 0, written = 0;
    int rc = sqlite3_wal_checkpoint_v2(s->handle, s->schema, SQLITE_CHECKPOINT_PASSIVE, &in_log,
                                       &written);
    if (rc == SQLITE_OK && in_log == written && st.st_size >= LOG_CUT_BYTES) {
        rc = sqlite3_wal_checkpoint_v2(s->handle, s->schema, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                       NULL);
    }
    db_gate_leave(&s->gate);
    /* busy: a reader stands in the way, the next round gets it */
    return rc == SQLITE_OK || is_busy(rc) ? IDA_OK : fault(s, c, "checkpoint", rc);
}

#define COMPACT_TRIES 100 /* of 50 ms: how long readers are waited for */

static ida_kind compact(db *d, ida_ctx *c)
{
    sqlite_db *s = (sqlite_db *)d;
    ida_kind kind = take_gate(s, c, "compact");
    if (kind) {
        return kind;
    }
    int rc = sqlite3_exec(s->handle, apr_pstrcat(c->pool, "VACUUM ", s->schema, NULL), NULL, NULL,
                          NULL);
    for (int i = 0; rc == SQLITE_OK && i < COMPACT_TRIES; i++) {
        rc = sqlite3_wal_checkpoint_v2(s->handle, s->schema, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                       NULL);
        if (!is_busy(rc)) {
            break;
        }
        db_sleep(50);
        rc = i + 1 < COMPACT_TRIES ? SQLITE_OK : rc;
    }
    db_gate_leave(&s->gate);
    return rc == SQLITE_OK ? IDA_OK : fault(s, c, "compact", rc);
}

static ida_kind page_cache(db *d, ida_ctx *c, int kb)
{
    sqlite_db *s = (sqlite_db *)d;
    int rc = exec(s, apr_psprintf(c->pool, "PRAGMA %s.cache_size = -%d", s->schema,
                                  kb ? kb : OWN_CACHE_KB));
    return rc == SQLITE_OK ? IDA_OK : fault(s, c, "page cache", rc);
}

/* --- statements --- */

static int prepare(sqlite_db *s, db_statement statement, sqlite3_stmt **out)
{
    int rc = SQLITE_OK;
    int64_t deadline = db_clock() + DB_PATIENCE_MS;
    while (!s->prepared[statement]) {
        rc = sqlite3_prepare_v3(s->handle, db_statements[statement].sqlite, -1,
                                SQLITE_PREPARE_PERSISTENT, &s->prepared[statement], NULL);
        if (!is_busy(rc) || db_clock() >= deadline) {
            break;
        }
    }
    *out = s->prepared[statement];
    return *out || rc != SQLITE_OK ? rc : SQLITE_MISUSE; /* MISUSE: an empty text */
}

static int bind_all(sqlite3_stmt *stmt, const db_arg *args, size_t count)
{
    if ((size_t)sqlite3_bind_parameter_count(stmt) != count) {
        return SQLITE_RANGE;
    }
    for (size_t i = 0; i < count; i++) {
        int rc = args[i].kind == 'i'
                     ? sqlite3_bind_int64(stmt, (int)i + 1, args[i].number)
                     : sqlite3_bind_text(stmt, (int)i + 1, args[i].text, -1, SQLITE_STATIC);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    return SQLITE_OK;
}

/* Runs to the end and copies all rows. */
static int step_all(sqlite3_stmt *stmt, db_result *result, apr_pool_t *pool)
{
    db_rows rows = {result, pool, NULL, 0};
    int rc;
    result->rows = 0;
    result->columns = sqlite3_column_count(stmt);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        db_value *value = db_rows_add(&rows);
        for (int i = 0; i < result->columns; i++, value++) {
            int type = sqlite3_column_type(stmt, i);
            value->number = type == SQLITE_INTEGER ? sqlite3_column_int64(stmt, i) : 0;
            const char *text = type == SQLITE_NULL ? NULL
                                                   : (const char *)sqlite3_column_text(stmt, i);
            if (!text && type != SQLITE_NULL) {
                return SQLITE_NOMEM;
            }
            value->text = text ? apr_pstrmemdup(pool, text,
                                                (apr_size_t)sqlite3_column_bytes(stmt, i))
                               : NULL;
        }
    }
    return rc;
}

static ida_kind run(db *d, ida_ctx *c, db_statement statement, const db_arg *args, size_t count,
                    db_result *result)
{
    sqlite_db *s = (sqlite_db *)d;
    const char *name = db_statements[statement].name;
    sqlite3_stmt *stmt;
    int rc = prepare(s, statement, &stmt);
    if (rc != SQLITE_OK) {
        return fault(s, c, name, rc);
    }
    int writes = !sqlite3_stmt_readonly(stmt), gate = writes && !d->in_write;
    ida_kind kind = gate ? take_gate(s, c, name) : IDA_OK;
    if (kind) {
        return kind;
    }
    if ((rc = bind_all(stmt, args, count)) == SQLITE_OK) {
        int64_t deadline = db_clock() + DB_PATIENCE_MS;
        do {
            rc = step_all(stmt, result, c->pool);
            if (rc != SQLITE_DONE) {
                sqlite3_reset(stmt);
            }
        } while (is_busy(rc) && rc != SQLITE_BUSY_SNAPSHOT && db_clock() < deadline);
    }
    if (rc == SQLITE_DONE && writes) {
        result->changes = sqlite3_changes64(s->handle);
    }
    /* Before the reset: it keeps the error's text. */
    kind = rc == SQLITE_DONE ? IDA_OK : fault(s, c, name, rc);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    if (gate) {
        if (!kind) {
            relieve_log(s);
        }
        db_gate_leave(&s->gate);
    }
    return kind;
}

static ida_kind script(db *d, ida_ctx *c, const char *sql)
{
    int rc = exec((sqlite_db *)d, sql);
    return rc == SQLITE_OK ? IDA_OK : fault((sqlite_db *)d, c, "script", rc);
}

/* --- transactions --- */

static ida_kind begin(db *d, ida_ctx *c)
{
    sqlite_db *s = (sqlite_db *)d;
    ida_kind kind = take_gate(s, c, "begin");
    if (kind) {
        return kind;
    }
    int rc = exec(s, "BEGIN IMMEDIATE");
    if (rc != SQLITE_OK) {
        kind = fault(s, c, "begin", rc);
        db_gate_leave(&s->gate);
    }
    return kind;
}

static ida_kind commit(db *d, ida_ctx *c)
{
    sqlite_db *s = (sqlite_db *)d;
    int rc = exec(s, "COMMIT");
    if (rc != SQLITE_OK) {
        return fault(s, c, "commit", rc); /* the caller rolls back */
    }
    relieve_log(s);
    db_gate_leave(&s->gate);
    return IDA_OK;
}

static void rollback(db *d)
{
    sqlite_db *s = (sqlite_db *)d;
    if (!sqlite3_get_autocommit(s->handle) && exec(s, "ROLLBACK") != SQLITE_OK) {
        d->broken = 1;
    }
    db_gate_leave(&s->gate);
}

static ida_kind begin_read(db *d, ida_ctx *c)
{
    int rc = exec((sqlite_db *)d, "BEGIN");
    return rc == SQLITE_OK ? IDA_OK : fault((sqlite_db *)d, c, "begin read", rc);
}

static void end_read(db *d)
{
    sqlite_db *s = (sqlite_db *)d;
    if (!sqlite3_get_autocommit(s->handle) && exec(s, "ROLLBACK") != SQLITE_OK) {
        d->broken = 1;
    }
}

/* --- schema --- */

/* First column of the first row as a number. */
static int number_of(sqlite_db *s, const char *sql, int *number)
{
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(s->handle, sql, -1, &stmt, NULL);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        *number = sqlite3_column_int(stmt, 0);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return rc;
}

static ida_kind schema_version(db *d, ida_ctx *c, db_file file, int *version)
{
    sqlite_db *s = (sqlite_db *)d;
    const char *schema = db_file_name(file);
    int application = 0, tables = 0;
    *version = 0;
    int rc = number_of(s, apr_psprintf(c->pool, "PRAGMA %s.user_version", schema), version);
    if (rc == SQLITE_OK) {
        rc = number_of(s, apr_psprintf(c->pool, "PRAGMA %s.application_id", schema), &application);
    }
    if (rc == SQLITE_OK && application != APPLICATION_ID) {
        rc = number_of(s, apr_psprintf(c->pool, "SELECT count(*) FROM %s.sqlite_schema", schema),
                       &tables);
    }
    if (rc != SQLITE_OK) {
        return fault(s, c, "schema version", rc);
    }
    if (application != APPLICATION_ID && (tables || *version)) {
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The %s file of the store %s belongs to another program: give the store a "
                        "path of its own.",
                        schema, d->rest);
    }
    return IDA_OK;
}

static ida_kind schema_set_version(db *d, ida_ctx *c, db_file file, int version)
{
    const char *schema = db_file_name(file);
    return script(d, c,
                  apr_psprintf(c->pool,
                               "PRAGMA %s.user_version = %d; PRAGMA %s.application_id = %d", schema,
                               version, schema, APPLICATION_ID));
}

static ida_kind schema_wipe(db *d, ida_ctx *c, db_file file)
{
    sqlite_db *s = (sqlite_db *)d;
    const char *schema = db_file_name(file);
    sqlite3_stmt *stmt;
    char *drops = apr_pstrdup(c->pool, "");
    char *sql = apr_psprintf(
        c->pool,
        "SELECT name FROM %s.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%%' "
        "ESCAPE '\\'",
        schema);
    int rc = sqlite3_prepare_v2(s->handle, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) {
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
            char *drop = sqlite3_mprintf("DROP TABLE %s.\"%w\";", schema,
                                         sqlite3_column_text(stmt, 0));
            drops = apr_pstrcat(c->pool, drops, drop, NULL);
            sqlite3_free(drop);
        }
        sqlite3_finalize(stmt);
    }
    return rc == SQLITE_DONE ? script(d, c, drops) : fault(s, c, "schema wipe", rc);
}

/* --- opening --- */

/* Readers of the directory cache keep the index by UPN of 100,000 users in memory: one read from
 * the file less for each look-up. */
static int set_up(sqlite_db *s, apr_pool_t *pool, db_file file, int own)
{
    const char *schema = db_file_name(file);
    return exec(
        s,
        apr_psprintf(
            pool, "PRAGMA %s.cache_size = -%d; PRAGMA %s.mmap_size = 0; PRAGMA %s.synchronous = %s",
            schema, !own && file == DB_CACHE ? 8192 : OWN_CACHE_KB, schema, schema,
            !own              ? "NORMAL"
            : file == DB_MAIN ? "FULL"
                              : "NORMAL"));
}

static int attach(sqlite_db *s, const char *uri, const char *schema)
{
    char *sql = sqlite3_mprintf("ATTACH %Q AS %s", uri, schema);
    int rc = sql ? exec(s, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return rc;
}

static apr_status_t close_cleanup(void *baton)
{
    sqlite_db *s = baton;
    for (int i = 0; i < STMT_COUNT; i++) {
        sqlite3_finalize(s->prepared[i]);
        s->prepared[i] = NULL;
    }
    sqlite3_close_v2(s->handle);
    s->handle = NULL;
    db_gate_close(&s->gate);
    s->head.broken = 1;
    return APR_SUCCESS;
}

static void close_now(db *d)
{
    apr_pool_cleanup_run(d->pool, d, close_cleanup);
}

/* Attached by those who do not own a file, which must not even be able to write it. */
static ida_kind attach_others(sqlite_db *s, ida_ctx *c, apr_pool_t *pool, db_file own)
{
    for (int file = 0; file < DB_FILE_COUNT; file++) {
        if (file == (int)own || !(s->head.driver->files[s->head.role] & DB_SEES(file))) {
            continue;
        }
        const char *path = sqlite_path(pool, s->head.rest, file);
        ida_kind kind = sqlite_check(path, 0, c);
        if (kind) {
            return kind;
        }
        int rc = attach(s, sqlite_uri(pool, path, "ro"), db_file_name(file));
        if (rc == SQLITE_OK) {
            rc = set_up(s, pool, file, 0);
        }
        if (rc != SQLITE_OK) {
            return fault(s, c, apr_psprintf(pool, "opening of %s", path), rc);
        }
    }
    return IDA_OK;
}

/* Write-ahead logging is a property of the file: set once, by schema upgrade. */
static ida_kind make_wal(sqlite_db *s, ida_ctx *c)
{
    ida_kind kind = take_gate(s, c, "journal mode");
    if (!kind) {
        int rc = exec(s, apr_psprintf(c->pool,
                                      "PRAGMA %s.page_size = %d; PRAGMA %s.journal_mode = WAL",
                                      s->schema, page_bytes[own_file[s->head.role]], s->schema));
        kind = rc == SQLITE_OK ? IDA_OK : fault(s, c, "journal mode", rc);
        db_gate_leave(&s->gate);
    }
    return kind;
}

/* Statistics of memory are counted under a mutex of the whole process at every allocation: threads
 * that only read would queue there. Refused, and of no harm, when somebody else in the process has
 * begun to use the library. */
static void configure_library(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* holds(text, part): instr() for who does not ask where; that one goes from letter to letter, which
 * is half of a search's time. Bytes as they lie in the page: no copy is made. */
static void holds(sqlite3_context *call, int count, sqlite3_value **values)
{
    const void *text = sqlite3_value_blob(values[0]), *part = sqlite3_value_blob(values[1]);
    size_t text_len = (size_t)sqlite3_value_bytes(values[0]),
           part_len = (size_t)sqlite3_value_bytes(values[1]);
    (void)count;
    sqlite3_result_int(call, text && part && memmem(text, text_len, part, part_len));
}

static ida_kind open_sqlite(db **out, const char *rest, db_role role, int unchecked, ida_ctx *c,
                            apr_pool_t *pool)
{
    static const char common[] = "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA "
                                 "cell_size_check = ON; PRAGMA "
                                 "temp_store = MEMORY";
    static pthread_once_t configured = PTHREAD_ONCE_INIT;
    db_file own = own_file[role];
    sqlite_place place = {0};
    pthread_once(&configured, configure_library);

    sqlite_db *s = apr_pcalloc(pool, sizeof *s);
    s->head = (db){.driver = &db_sqlite,
                   .pool = pool,
                   .env = c->env,
                   .rest = apr_pstrdup(pool, rest),
                   .role = role};
    s->gate.fd = -1;
    s->gate.courtesy_ms = role == DB_SYNC ? SYNC_COURTESY_MS : 0;
    s->path = sqlite_path(pool, rest, own);
    s->schema = db_file_name(own);
    s->log_limit = LOG_BYTES_MAX;

    ida_kind kind = sqlite_placement(&place, s->path, c);
    if (!kind && unchecked) {
        kind = sqlite_create(s->path, &place, own, c);
    }
    if (!kind) {
        kind = sqlite_check(s->path, 1, c);
    }
    if (kind) {
        return kind;
    }
    apr_pool_cleanup_register(pool, s, close_cleanup, apr_pool_cleanup_null);
    int rc = sqlite3_open_v2(
        own == DB_MAIN ? sqlite_uri(pool, s->path, "rw") : ":memory:", &s->handle,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
        NULL);
    if (rc == SQLITE_OK) {
        sqlite3_busy_timeout(s->handle, BUSY_MS);
        sqlite3_db_config(s->handle, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
        sqlite3_db_config(s->handle, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
        sqlite3_db_config(s->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                          NULL); /* that one would go past the gate */
        /* Plans that look at bound values (partial indexes do) are thrown away with every new
         * binding. */
        sqlite3_db_config(s->handle, SQLITE_DBCONFIG_ENABLE_QPSG, 1, NULL);
        rc = exec(s, common);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_create_function_v2(s->handle, "holds", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                        NULL, holds, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK && own != DB_MAIN) {
        rc = attach(s, sqlite_uri(pool, s->path, "rw"), s->schema);
    }
    if (rc == SQLITE_OK) {
        rc = set_up(s, pool, own, 1);
    }
    if (rc != SQLITE_OK) {
        kind = fault(s, c, "opening", rc);
        goto failed;
    }
    sqlite3_wal_autocheckpoint(s->handle, 0);
    sqlite3_wal_hook(s->handle, note_frames, s);

    /* Whoever can open a gate can hold it for ever: that of a file which httpd's user only reads is
     * the owner's alone. */
    const char *gate = apr_pstrcat(pool, s->path, ".gate", NULL);
    int error = db_gate_open(&s->gate, gate, own == DB_MAIN ? sqlite_mode(&place, own) : 0600,
                             place.owner, place.group);
    if (error) {
        c->retry_after = 1;
        kind = ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The write gate %s of the store cannot be opened: %s.", gate,
                        strerror(error));
        goto failed;
    }
    kind = unchecked ? make_wal(s, c) : attach_others(s, c, pool, own);
    if (kind) {
        goto failed;
    }
    *out = &s->head;
    return IDA_OK;

failed:
    close_now(&s->head);
    return kind;
}

const db_driver db_sqlite = {
    .prefix = "sqlite3:",
    .migrations = ida_migrations_sqlite,
    .dsn_fault = sqlite_dsn_fault,
    .open = open_sqlite,
    .close = close_now,
    .cache_absent = sqlite_cache_absent,
    .run = run,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .begin_read = begin_read,
    .end_read = end_read,
    .script = script,
    .checkpoint = checkpoint,
    .compact = compact,
    .page_cache = page_cache,
    .schema_begin = begin,
    .schema_version = schema_version,
    .schema_set_version = schema_set_version,
    .schema_wipe = schema_wipe,
    .files = {[DB_REQUEST] = DB_SEES(DB_MAIN) | DB_SEES(DB_CACHE) | DB_SEES(DB_AUDIT),
              [DB_SYNC] = DB_SEES(DB_CACHE),
              [DB_INGEST] = DB_SEES(DB_AUDIT)},
};
