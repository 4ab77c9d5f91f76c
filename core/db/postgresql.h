/* What the files of the PostgreSQL driver share. Only they include this. */
#ifndef CORE_DB_POSTGRESQL_H
#define CORE_DB_POSTGRESQL_H

#include <libpq-fe.h>

#include "core/db/driver.h"

typedef struct pg_db {
    db head;
    PGconn *conn;
    int pooler;
    int statement_ms;
    const char *settings;  /* as a SET LOCAL list after BEGIN for poolers, otherwise "" */
    const char *listening; /* channel of LISTEN, NULL: none */
    int64_t heard_at;      /* by db_clock: when it answered last */
    unsigned char prepared[STMT_COUNT];
} pg_db;

#define OID_TEXT 25

/* --- core/db/postgresql_run.c --- */

/* The last result of what was sent; NULL with head.broken set if the answer did not arrive in
 * time or the connection was lost. We wait ourselves instead of libpq, because a stopped server
 * keeps its sockets open and would block us for ever. */
PGresult *pg_await(pg_db *p);
int pg_is_good(const PGresult *result);
/* A statement as PostgreSQL takes it, to be freed: ?7 becomes $7 and ? the next number, as in
 * SQLite, outside of quotes. */
char *pg_numbered(const char *text);
/* Type of a parameter (from 1) of such a text. One that is cast wherever it stands has the type of
 * the cast: as a text the server would read it twice for each plan, and not know how long a list
 * is. */
Oid pg_parameter(const char *numbered, char kind, int number);
/* What a result that is not good means. Consumes it. NULL: the connection is gone. */
ida_kind pg_fault(pg_db *p, ida_ctx *c, const char *what, PGresult *result);
ida_kind pg_lost(pg_db *p, ida_ctx *c, const char *what, const char *why);
/* Runs text without arguments; several statements are allowed. `out`, if requested, must be
 * cleared by the caller. */
ida_kind pg_command(pg_db *p, ida_ctx *c, const char *what, const char *sql, PGresult **out);
ida_kind pg_run(db *d, ida_ctx *c, db_statement statement, db_args args, db_result *out);
ida_kind pg_script(db *d, ida_ctx *c, const char *sql);
ida_kind pg_begin(db *d, ida_ctx *c);
ida_kind pg_begin_read(db *d, ida_ctx *c);
ida_kind pg_commit(db *d, ida_ctx *c);
void pg_rollback(db *d);

/* --- core/db/postgresql_notify.c --- */

ida_kind pg_notify(db *d, ida_ctx *c, const char *channel);
void pg_wait(db *d, ida_ctx *c, const char *channel, int ms);

/* --- core/db/postgresql_save.c --- */

ida_kind pg_save(db *d, ida_ctx *c, const char *directory, apr_array_header_t *names);
ida_kind pg_in_use(const char *rest, ida_ctx *c, apr_pool_t *pool, const char **by);
ida_kind pg_bring_back(const char *rest, ida_ctx *c, const db_return *from, const char **aside);

/* --- core/db/postgresql_schema.c --- */

ida_kind pg_schema_begin(db *d, ida_ctx *c);
ida_kind pg_schema_version(db *d, ida_ctx *c, db_file file, int *version);
ida_kind pg_schema_set_version(db *d, ida_ctx *c, db_file file, int version);
ida_kind pg_schema_wipe(db *d, ida_ctx *c, db_file file);

#endif
