/* The one table of SQL statements: identity, argument kinds, text for SQLite and, where it differs,
 * for PostgreSQL. The texts live in schema/statements/<domain>.def, one file for each store_*.c, as
 * lines STATEMENT(name, "kinds", "sqlite sql", "postgresql sql" or NULL when the same) kinds: one
 * letter an argument, t = text (NULL allowed), i = 64-bit integer. Arguments are written ?1, ?2 ...
 * in both texts (the PostgreSQL driver turns them into $1 and types them text and bigint). Tables
 * of cache and audit are always written cache.x, audit.x. Every SELECT that can give more than one
 * row has a LIMIT. Postgres-only syntax that both know (ON CONFLICT ... DO UPDATE, RETURNING, IS
 * NOT DISTINCT FROM is not one of them) is preferred, so that one text serves both. */
#ifndef SCHEMA_STATEMENTS_H
#define SCHEMA_STATEMENTS_H

#define STATEMENT(name, kinds, sqlite, postgresql) STMT_##name,
typedef enum db_statement {
#include "schema/statements/all.def"
    STMT_COUNT
} db_statement;
#undef STATEMENT

typedef struct db_statement_text {
    const char *name, *kinds, *sqlite, *postgresql;
} db_statement_text;

extern const db_statement_text db_statements[STMT_COUNT];

#endif
