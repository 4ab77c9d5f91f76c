/* The driver interface: one connection to one engine, statements from the table in
 * schema/statements.h. The drivers core/db/sqlite*.c (libsqlite3) and core/db/postgresql*.c
 * (libpq) implement it; all other code uses core/store. */
#ifndef CORE_DB_DB_H
#define CORE_DB_DB_H

#include <apr_tables.h>
#include <stddef.h>

#include "core/base/context.h"
#include "schema/statements.h"

typedef struct db db; /* one thread at a time; not usable after a fork */

/* What a connection may write. On SQLite one file each (the others attached read-only); on
 * PostgreSQL only a name. */
typedef enum db_role {
    DB_READ,    /* nothing: httpd's children */
    DB_REQUEST, /* main; cache and audit read-only: the writer, worker runs, idadminctl */
    DB_SYNC,    /* cache alone, attached as cache */
    DB_INGEST,  /* audit alone, attached as audit */
    DB_ROLE_COUNT
} db_role;

typedef struct db_arg {
    char kind; /* 't' or 'i' */
    const char *text;
    int64_t number;
} db_arg;

#define DB_T(value)     \
    {                   \
        't', (value), 0 \
    }
#define DB_I(value)                 \
    {                               \
        'i', NULL, (int64_t)(value) \
    }

/* Arguments of a statement: DB_ARGS(DB_T(id), DB_I(now)), DB_NONE, or the first `n` of an array. */
typedef struct db_args {
    const db_arg *list;
    size_t count;
} db_args;
#define DB_FIRST(args, n) ((db_args){(args), (n)})
#define DB_ARGS(...)                          \
    DB_FIRST(((const db_arg[]){__VA_ARGS__}), \
             sizeof((const db_arg[]){__VA_ARGS__}) / sizeof(db_arg))
#define DB_NONE DB_FIRST(NULL, 0)

/* All rows of one answer, copied into the context's pool: no cursor stays open. */
typedef struct db_result {
    db_row_kind kind; /* the statement's */
    int rows, columns;
    int64_t changes; /* rows touched by INSERT, UPDATE, DELETE */
    const db_value *values;
} db_result;

/* A row of a result as the struct of its columns: DB_ROW(task, &r, 0)->due_at.number. All of it is
 * NULL when there is no such row. A result of another kind ends the process: its columns would be
 * read under wrong names. */
#define DB_ROW(name, result, row) ((const row_##name *)db_row((result), (row), ROW_##name))
const void *db_row(const db_result *r, int row, db_row_kind kind);

/* Number of a column, for code that reads rows of several kinds alike: DB_COLUMN(task, id). NULL
 * for NULL. */
#define DB_COLUMN(name, column) ((int)(offsetof(row_##name, column) / sizeof(db_value)))
const char *db_text(const db_result *r, int row, int column);

/* NULL if this program can use the form of the DSN, otherwise the broken rule ("must be ...").
 * Does not connect. */
const char *db_dsn_fault(const char *dsn);
/* 1 if it contains a password itself rather than the name of a file with one. */
int db_dsn_has_password(const char *dsn);

/* The value of a libpq parameter that it gives; NULL: none. */
const char *db_dsn_option(apr_pool_t *pool, const char *dsn, const char *keyword);

/* Opens a connection. DSN: "sqlite3:PATH" or "pgsql:<libpq parameters>". IDA_SERVICE_UNAVAILABLE
 * when the store is away, its schema is missing, older or newer than this program knows; the
 * message names the command to run. `pool` owns the connection (a cleanup closes it). */
ida_kind db_open(db **out, const char *dsn, db_role role, ida_ctx *c, apr_pool_t *pool);
/* Like db_open without the schema check: for `schema upgrade`. */
ida_kind db_open_unchecked(db **out, const char *dsn, db_role role, ida_ctx *c, apr_pool_t *pool);
void db_close(db *d);
/* 1 when the store is there but its cache is not, or is empty (SQLite), and this process may make
 * it. */
int db_cache_absent(const char *dsn);

int db_is_postgresql(const db *d);

/* 1 after a failure other than busy or constraint: the connection must be closed and not be used
 * again. */
int db_is_broken(const db *d);

/* Runs one statement. result may be NULL. IDA_CONFLICT: a unique or foreign key constraint
 * refused it (in PostgreSQL the transaction is then lost: prefer ON CONFLICT).
 * IDA_SERVICE_UNAVAILABLE: store unreachable or busy for too long; inside a transaction
 * db_must_repeat returns whether the whole transaction may be tried again. IDA_INTERNAL_ERROR: a
 * fault in the service, logged with the statement's name, never with its values. Outside a
 * transaction a writing statement takes the gate itself; the caller (store) repeats a read once
 * on a new connection. */
ida_kind db_run(db *d, ida_ctx *c, db_statement statement, db_args args, db_result *result);

/* Write transaction: gate (SQLite: flock, waited for at most 5 s), then BEGIN IMMEDIATE;
 * PostgreSQL: BEGIN. */
ida_kind db_begin(db *d, ida_ctx *c);
ida_kind db_commit(db *d, ida_ctx *c);
void db_rollback(db *d);
int db_in_transaction(const db *d);
/* The engine rolled back what failed last, a transaction or a single statement: busy snapshot,
 * 40001, 40P01. */
int db_must_repeat(const db *d);

/* Begins a read transaction for several statements that must see one state (SQLite: deferred
 * BEGIN; PostgreSQL: REPEATABLE READ, READ ONLY). */
ida_kind db_begin_read(db *d, ida_ctx *c);
void db_end_read(db *d);

/* Free SQL text without arguments: migrations, savepoints. */
ida_kind db_script(db *d, ida_ctx *c, const char *sql);

/* Wakes workers that wait (PostgreSQL: NOTIFY; SQLite: nothing, they poll). Call inside the writing
 * transaction. */
ida_kind db_notify(db *d, ida_ctx *c, const char *channel);
/* Waits up to ms for a notification on the channel; returns early when one arrives. SQLite:
 * sleeps. */
void db_wait(db *d, ida_ctx *c, const char *channel, int ms);

/* SQLite: writes the log of this connection's own file back under the gate when it is worth it, and
 * cuts it when it grew large (worker only); PostgreSQL: nothing. */
ida_kind db_checkpoint(db *d, ida_ctx *c);

/* SQLite: rewrites this connection's own file, so that neither it nor its log contains deleted
 * rows; writers wait meanwhile. PostgreSQL: nothing, because its own vacuum does that.
 * IDA_SERVICE_UNAVAILABLE if readers prevent it. */
ida_kind db_compact(db *d, ida_ctx *c);

/* SQLite: while a run of a synchronisation is at work, its connection may keep more pages in memory
 * (all runs of a process share one budget), and the cache's log may grow longer. PostgreSQL:
 * nothing. */
ida_kind db_run_begins(db *d, ida_ctx *c);
ida_kind db_run_ends(db *d, ida_ctx *c);
/* SQLite: empties the connection's own staging and gives its room back. PostgreSQL: nothing,
 * because its staging is a table that all runs share. */
ida_kind db_empty_staging(db *d, ida_ctx *c);

/* --- backup (core/store/save.c) --- */

/* Inside a read transaction, copies main and audit file as it sees them into new files of the
 * directory, and appends their names. Main was read first in it: a record on its way from the
 * outbox to the audit is in one of the two then, or in both. PostgreSQL: by pg_dump. */
ida_kind db_save(db *d, ida_ctx *c, const char *directory, apr_array_header_t *names);

/* *by: who has the store open, for people; NULL: no other program of ours. SQLite: its files leave
 * the mode of a log by it. */
ida_kind db_in_use(const char *dsn, ida_ctx *c, apr_pool_t *pool, const char **by);

typedef struct db_return {
    const char *directory; /* with the files of db_save */
    const char *stamp;     /* letters, digits and '_': a name for what is put aside */
} db_return;
/* Puts copies in the place of the store, which no program may have open. What is there is put
 * aside: *aside is where. There is no cache then: a schema upgrade makes it. PostgreSQL: by psql,
 * in one transaction. */
ida_kind db_bring_back(const char *dsn, ida_ctx *c, const db_return *from, const char **aside);

/* The DSN parameter `idadmin_pooler=1` of a pgsql: DSN declares a transaction pooler in between:
 * no named statements, no LISTEN, settings by SET LOCAL. */

/* --- schema upgrade (core/store/schema.c) --- */

/* SQLite files; on PostgreSQL the first schema of the search path, `cache`, `audit`. */
typedef enum db_file { DB_MAIN, DB_CACHE, DB_AUDIT, DB_FILE_COUNT } db_file;

const char *db_file_name(db_file file); /* "main", "cache", "audit" */
db_role db_file_role(db_file file);     /* role of the connections that write it */
const struct ida_migration *db_migrations(const db *d);
/* Script that makes the engine's users and what each may do; NULL: it knows no users. */
const char *db_roles(const db *d);
/* Number of the newest migration of a file that this program knows for the engine. */
int db_known_version(const db *d, db_file file);

/* A write transaction that no other upgrade shares. Ended by db_commit or db_rollback. */
ida_kind db_schema_begin(db *d, ida_ctx *c);
/* Number of the newest migration applied; 0: none. Refuses a file that belongs to another program.
 */
ida_kind db_schema_version(db *d, ida_ctx *c, db_file file, int *version);
ida_kind db_schema_set_version(db *d, ida_ctx *c, db_file file, int version);
/* Drops everything in the file: for the cache. */
ida_kind db_schema_wipe(db *d, ida_ctx *c, db_file file);

#endif
