/* Owns the opening of a SQLite store: three files, each with the role that writes it. libsqlite3 is
 * known to this file and its siblings alone. */
#include <apr_strings.h>
#include <pthread.h>
#include <string.h>

#include "core/db/sqlite.h"
#include "core/db/sqlite_files.h"

#define BUSY_MS 10 /* for processes that write without the gate */
/* a sync writes for long; what it lets in between is one transaction, on a machine that may be busy
 */
#define SYNC_COURTESY_MS 20

const db_file sqlite_own_file[DB_ROLE_COUNT] = {
    [DB_READ] = DB_MAIN, [DB_REQUEST] = DB_MAIN, [DB_SYNC] = DB_CACHE, [DB_INGEST] = DB_AUDIT};

/* Of a new file; an older one keeps its own, and its log counts for more than it is. A sync writes
 * large parts of the cache at a time: half as many pages are a tenth less work. Elsewhere commits
 * are small. */
const int sqlite_page_bytes[DB_FILE_COUNT] = {
    [DB_MAIN] = 4096, [DB_CACHE] = 8192, [DB_AUDIT] = 4096};

/* Readers of the directory cache keep the index by UPN of 100,000 users in memory: one read from
 * the file less for each look-up. */
static int set_up(sqlite_db *s, apr_pool_t *pool, db_file file, int own)
{
    const char *schema = db_file_name(file);
    return sqlite_exec(
        s,
        apr_psprintf(
            pool, "PRAGMA %s.cache_size = -%d; PRAGMA %s.mmap_size = 0; PRAGMA %s.synchronous = %s",
            schema, !own && file == DB_CACHE ? 8192 : SQLITE_CACHE_KB, schema, schema,
            !own              ? "NORMAL"
            : file == DB_MAIN ? "FULL"
                              : "NORMAL"));
}

static int attach(sqlite_db *s, const char *uri, const char *schema)
{
    char *sql = sqlite3_mprintf("ATTACH %Q AS %s", uri, schema);
    int rc = sql ? sqlite_exec(s, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return rc;
}

static apr_status_t close_cleanup(void *baton)
{
    sqlite_db *s = baton;
    sqlite_run_over(s);
    for (int i = 0; i < STMT_COUNT + SQLITE_WORDS; i++) {
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

/* Attached by processes that do not own a file and must not even be able to write it. */
static ida_kind attach_others(sqlite_db *s, ida_ctx *c, apr_pool_t *pool, db_file own)
{
    for (int file = 0; file < DB_FILE_COUNT; file++) {
        if (file == (int)own || !(s->head.driver->files[s->head.role] & DB_SEES(file))) {
            continue;
        }
        const char *path = sqlite_path(pool, s->head.rest, file);
        ida_kind kind = sqlite_check(path, file, 0, c);
        if (kind) {
            return kind;
        }
        int rc = attach(s, sqlite_uri(pool, path, "ro"), db_file_name(file));
        if (rc == SQLITE_OK) {
            rc = set_up(s, pool, file, 0);
        }
        if (rc != SQLITE_OK) {
            return sqlite_fault(s, c, apr_psprintf(pool, "opening of %s", path), rc);
        }
    }
    return IDA_OK;
}

/* Write-ahead logging is a property of the file: set once by schema upgrade. */
static ida_kind make_wal(sqlite_db *s, ida_ctx *c)
{
    ida_kind kind = sqlite_take_gate(s, c, "journal mode");
    if (!kind) {
        int rc = sqlite_exec(
            s,
            apr_psprintf(c->pool, "PRAGMA %s.page_size = %d; PRAGMA %s.journal_mode = WAL",
                         s->schema, sqlite_page_bytes[sqlite_own_file[s->head.role]], s->schema));
        kind = rc == SQLITE_OK ? IDA_OK : sqlite_fault(s, c, "journal mode", rc);
        db_gate_leave(&s->gate);
    }
    return kind;
}

/* Memory statistics are counted under a mutex of the whole process at every allocation, where
 * reading threads would queue. Refused, without harm, if other code in the process has used the
 * library already. */
static void configure_library(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* holds(text, part): like instr(), without the position. instr() goes from character to
 * character, which is half of a search's time. Compares bytes in the page without a copy. */
static void holds(sqlite3_context *call, int count, sqlite3_value **values)
{
    const void *text = sqlite3_value_blob(values[0]), *part = sqlite3_value_blob(values[1]);
    size_t text_len = (size_t)sqlite3_value_bytes(values[0]),
           part_len = (size_t)sqlite3_value_bytes(values[1]);
    (void)count;
    sqlite3_result_int(call, text && part && memmem(text, text_len, part, part_len));
}

/* A process that can open the gate can hold it for ever: only those who write may open it. */
static ida_kind open_gate(sqlite_db *s, const sqlite_place *place, ida_ctx *c)
{
    const char *gate = apr_pstrcat(s->head.pool, s->path, ".gate", NULL);
    int error = db_gate_open(&s->gate, gate, 0600, place->owner, place->group);
    if (error) {
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The write gate %s of the store cannot be opened: %s.", gate,
                        strerror(error));
    }
    return IDA_OK;
}

/* Opens the file itself, or a database in memory to which the role's own file is attached. */
static int open_handle(sqlite_db *s, apr_pool_t *pool, db_file own, int reads)
{
    static const char common[] = "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA "
                                 "cell_size_check = ON; PRAGMA temp_store = MEMORY";
    int rc = sqlite3_open_v2(
        own == DB_MAIN ? sqlite_uri(pool, s->path, reads ? "ro" : "rw") : ":memory:", &s->handle,
        (reads ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_URI |
            SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
        NULL);
    if (rc != SQLITE_OK) {
        return rc;
    }
    sqlite3_busy_timeout(s->handle, BUSY_MS);
    sqlite3_db_config(s->handle, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(s->handle, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    sqlite3_db_config(s->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                      NULL); /* that one would go past the gate */
    /* Plans that depend on bound values (those with partial indexes do) would be discarded with
     * every new binding. */
    sqlite3_db_config(s->handle, SQLITE_DBCONFIG_ENABLE_QPSG, 1, NULL);
    sqlite3_progress_handler(s->handle, SQLITE_STEPS_LOOKED, sqlite_is_over, s);
    rc = sqlite_exec(s, common);
    if (rc == SQLITE_OK) {
        rc = sqlite3_create_function_v2(s->handle, "holds", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                        NULL, holds, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite_make_terms(s->handle);
    }
    if (rc == SQLITE_OK && own != DB_MAIN) {
        rc = attach(s, sqlite_uri(pool, s->path, "rw"), s->schema);
    }
    rc = rc == SQLITE_OK ? set_up(s, pool, own, 1) : rc;
    return rc == SQLITE_OK && own == DB_CACHE ? sqlite_make_staging(s) : rc;
}

static ida_kind open_sqlite(db **out, const char *rest, db_role role, int unchecked, ida_ctx *c,
                            apr_pool_t *pool)
{
    static pthread_once_t configured = PTHREAD_ONCE_INIT;
    db_file own = sqlite_own_file[role];
    int reads = role == DB_READ;
    sqlite_place place = {0};
    pthread_once(&configured, configure_library);

    sqlite_db *s = apr_pcalloc(pool, sizeof *s);
    s->head = (db){.driver = &db_sqlite,
                   .pool = pool,
                   .env = ida_env_lasting(c->env),
                   .rest = apr_pstrdup(pool, rest),
                   .role = role};
    s->gate.fd = -1;
    s->gate.courtesy_ms = role == DB_SYNC ? SYNC_COURTESY_MS : 0;
    s->path = sqlite_path(pool, rest, own);
    s->schema = db_file_name(own);

    ida_kind kind = sqlite_placement(&place, s->path, c);
    if (!kind && unchecked) {
        kind = sqlite_create(s->path, &place, c);
    }
    if (!kind) {
        kind = sqlite_check(s->path, own, !reads, c);
    }
    if (kind) {
        return kind;
    }
    apr_pool_cleanup_register(pool, s, close_cleanup, apr_pool_cleanup_null);
    int rc = open_handle(s, pool, own, reads);
    if (rc != SQLITE_OK) {
        kind = sqlite_fault(s, c, "opening", rc);
        goto failed;
    }
    sqlite3_wal_autocheckpoint(s->handle, 0);
    sqlite3_wal_hook(s->handle, sqlite_note_frames, s);

    kind = reads ? IDA_OK : open_gate(s, &place, c);
    if (kind) {
        goto failed;
    }
    kind = unchecked ? make_wal(s, c) : attach_others(s, c, pool, own);
    if (kind) {
        goto failed;
    }
    if (unchecked) {
        sqlite_settle(s->path, &place, own, pool);
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
    .run = sqlite_run,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .begin_read = sqlite_begin_read,
    .end_read = sqlite_end_read,
    .script = sqlite_script,
    .checkpoint = sqlite_checkpoint,
    .compact = sqlite_compact,
    .run_begins = sqlite_run_begins,
    .run_ends = sqlite_run_ends,
    .empty_staging = sqlite_empty_staging,
    .save = sqlite_save,
    .in_use = sqlite_in_use,
    .bring_back = sqlite_bring_back,
    .schema_begin = sqlite_begin,
    .schema_version = sqlite_schema_version,
    .schema_set_version = sqlite_schema_set_version,
    .schema_wipe = sqlite_schema_wipe,
    .files = {[DB_READ] = DB_SEES(DB_MAIN) | DB_SEES(DB_CACHE) | DB_SEES(DB_AUDIT),
              [DB_REQUEST] = DB_SEES(DB_MAIN) | DB_SEES(DB_CACHE) | DB_SEES(DB_AUDIT),
              [DB_SYNC] = DB_SEES(DB_CACHE),
              [DB_INGEST] = DB_SEES(DB_AUDIT)},
};
