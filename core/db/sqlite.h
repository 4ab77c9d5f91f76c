/* What the files of the SQLite driver share. Only they include this. */
#ifndef CORE_DB_SQLITE_H
#define CORE_DB_SQLITE_H

#include <sqlite3.h>

#include "core/db/driver.h"
#include "core/db/gate.h"

#define SQLITE_CACHE_KB 2048 /* pages of its own file that a connection keeps */
/* Above this size of a log every writer makes a checkpoint; the second number holds for the
 * cache while a run is at work, because each checkpoint writes the same pages again. */
#define SQLITE_LOG_MAX (64 * 1024 * 1024)
#define SQLITE_LOG_MAX_RUN (256 * 1024 * 1024)

/* Statements that control transactions, prepared like the others: each snapshot runs two of
 * them. */
typedef enum sqlite_word {
    SQLITE_WORD_READ,
    SQLITE_WORD_WRITE,
    SQLITE_WORD_COMMIT,
    SQLITE_WORD_ROLLBACK,
    SQLITE_WORDS
} sqlite_word;

typedef struct sqlite_db {
    db head;
    sqlite3 *handle;
    db_gate gate;
    const char *path;    /* of the file this role writes */
    const char *schema;  /* its name in SQL */
    int64_t read_until;  /* db_clock at which the statement that runs is ended; 0: no limit */
    int64_t logged;      /* bytes of pages in its log after the last commit of this connection */
    int64_t log_tried;   /* its length at a checkpoint that readers held up; 0: none was */
    int at_work, run_kb; /* a run is; KB of pages that it keeps beyond SQLITE_CACHE_KB each */
    sqlite3_stmt *prepared[STMT_COUNT + SQLITE_WORDS]; /* statements, then the transaction words
                                                          above */
} sqlite_db;

/* The part of a run's pages that is for staging. */
#define SQLITE_STAGING_KB(s) ((s)->run_kb / 8)

/* The file that a role writes, and the page size of a new one. */
extern const db_file sqlite_own_file[DB_ROLE_COUNT];
extern const int sqlite_page_bytes[DB_FILE_COUNT];

/* --- core/db/sqlite_fault.c --- */

int sqlite_is_busy(int rc);
/* 1 if the same call may succeed a moment later. A connection that only reads a file, as httpd's
 * children do, takes the header of the log for one left torn by a crash if it meets a writer in
 * the middle of it (SQLITE_READONLY_RECOVERY): the next attempt decides. */
int sqlite_again(int rc, int64_t deadline);
/* Hook of the library, called every SQLITE_STEPS_LOOKED steps of a statement: 1 ends it. */
#define SQLITE_STEPS_LOOKED 20000
int sqlite_is_over(void *baton);
/* What a result code means for the caller. */
ida_kind sqlite_fault(sqlite_db *s, ida_ctx *c, const char *what, int rc);
ida_kind sqlite_take_gate(sqlite_db *s, ida_ctx *c, const char *what);
/* Text without arguments, tried again while strangers keep the file busy; a result code. */
int sqlite_exec(sqlite_db *s, const char *sql);

/* --- core/db/sqlite_run.c --- */

ida_kind sqlite_run(db *d, ida_ctx *c, db_statement statement, db_args args, db_result *result);
ida_kind sqlite_script(db *d, ida_ctx *c, const char *sql);
ida_kind sqlite_begin(db *d, ida_ctx *c);
ida_kind sqlite_commit(db *d, ida_ctx *c);
void sqlite_rollback(db *d);
ida_kind sqlite_begin_read(db *d, ida_ctx *c);
void sqlite_end_read(db *d);

/* --- core/db/sqlite_log.c --- */

/* Hook of the library: how long the log is after a commit. */
int sqlite_note_frames(void *baton, sqlite3 *handle, const char *schema, int frames);
/* Under the gate, after a commit: writes a log back that has grown too long. */
void sqlite_relieve_log(sqlite_db *s);
ida_kind sqlite_checkpoint(db *d, ida_ctx *c);
ida_kind sqlite_compact(db *d, ida_ctx *c);
ida_kind sqlite_run_begins(db *d, ida_ctx *c);
ida_kind sqlite_run_ends(db *d, ida_ctx *c);
/* Gives back what a run may use, without a statement. */
void sqlite_run_over(sqlite_db *s);

/* --- core/db/sqlite_staging.c --- */

/* Attaches an empty staging to a new connection of the cache; a result code. */
int sqlite_make_staging(sqlite_db *s);
ida_kind sqlite_empty_staging(db *d, ida_ctx *c);

/* --- core/db/sqlite_terms.c --- */

int sqlite_make_terms(sqlite3 *handle);

/* --- core/db/sqlite_save.c --- */

ida_kind sqlite_save(db *d, ida_ctx *c, const char *directory, apr_array_header_t *names);
ida_kind sqlite_in_use(const char *rest, ida_ctx *c, apr_pool_t *pool, const char **by);
ida_kind sqlite_bring_back(const char *rest, ida_ctx *c, const db_return *from, const char **aside);

/* --- core/db/sqlite_schema.c --- */

ida_kind sqlite_schema_version(db *d, ida_ctx *c, db_file file, int *version);
ida_kind sqlite_schema_set_version(db *d, ida_ctx *c, db_file file, int version);
ida_kind sqlite_schema_wipe(db *d, ida_ctx *c, db_file file);

#endif
