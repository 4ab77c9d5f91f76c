/* What the files of the PostgreSQL driver share. Nobody else includes this. */
#ifndef CORE_DB_POSTGRESQL_H
#define CORE_DB_POSTGRESQL_H

#include <libpq-fe.h>

#include "core/db/driver.h"

typedef struct pg_db {
    db head;
    PGconn *conn;
    int pooler;
    int statement_ms;
    const char *settings;  /* as SET LOCAL list behind BEGIN for poolers, else "" */
    const char *listening; /* channel of LISTEN, NULL: none */
    unsigned char prepared[STMT_COUNT];
} pg_db;

/* Text of a statement as the server takes it. */
const char *pg_text(db_statement statement);

/* Waits are ours, not libpq's: a server that is stopped keeps its sockets open and would hold us
 * for good. */

/* When the answer to what is sent now must have come. */
int64_t pg_deadline(const pg_db *p);
/* The next result; NULL: there is none, or, with head.broken set, it did not come in time. */
PGresult *pg_next(pg_db *p, int64_t deadline);
/* The last result of what was sent; NULL with head.broken set when the answer did not come in time
 * or the connection went away. */
PGresult *pg_await(pg_db *p);
int pg_is_good(const PGresult *result);
/* What a result that is not good means. Consumes it. NULL: the connection is gone. */
ida_kind pg_fault(pg_db *p, ida_ctx *c, const char *what, PGresult *result);

ida_kind pg_copy(db *d, ida_ctx *c, db_statement statement, const db_arg *fixed, size_t fixed_count,
                 const char *const *values, int columns, int rows);

#endif
