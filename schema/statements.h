/* The table of all SQL statements. schema/statements/ROOM.def contains them as
 *
 *     ROW(name, column, column ...)                  a row of a result
 *     QUERY(name, row, "kinds", text)                a statement that returns such rows
 *     STATEMENT(name, "kinds", text)                 one that returns none
 *
 * kinds: one letter for each argument, t = text (NULL allowed), i = 64-bit integer. Arguments are
 * written ?1, ?2 ..., or ?, which is the highest so far plus one (the PostgreSQL driver turns them
 * into $1 ... and types them text and bigint). Tables of cache and audit are always written
 * cache.x, audit.x. Each SELECT that can return more than one row has a LIMIT. One text serves both
 * engines: syntax that both know is preferred (ON CONFLICT ... DO UPDATE, RETURNING); where they
 * differ, words of schema/dialect.h are used.
 *
 * A row is a struct of its columns in the order in which the statement selects them, so that they
 * are read by name and a wrong name does not compile: DB_ROW(task, &result, 0)->due_at.number. A
 * column that is an expression is named with AS. t/unit/db/rows.c compares the names with the
 * columns that both engines report for the texts. */
#ifndef SCHEMA_STATEMENTS_H
#define SCHEMA_STATEMENTS_H

#include <stdint.h>

#include "schema/attributes.h"

typedef struct db_value {
    const char *text; /* NULL for NULL; for integers their decimal text */
    int64_t number;   /* value of an integer column; 0 for NULL */
} db_value;

#define QUERY(name, row, kinds, text)
#define STATEMENT(name, kinds, text)

#define ROW(name, ...)          \
    typedef struct row_##name { \
        db_value __VA_ARGS__;   \
    } row_##name;
#include "schema/statements/all.def"
#undef ROW

#define ROW(name, ...) row_##name name;
typedef union db_any_row {
#include "schema/statements/all.def"
} db_any_row;
#undef ROW

#define ROW(name, ...) ROW_##name,
typedef enum db_row_kind {
    ROW_NONE,
#include "schema/statements/all.def"
    ROW_COUNT
} db_row_kind;
#undef ROW

#undef QUERY
#undef STATEMENT

#define ROW(name, ...)
#define QUERY(name, row, kinds, text) STMT_##name,
#define STATEMENT(name, kinds, text) STMT_##name,
typedef enum db_statement {
#include "schema/statements/all.def"
    STMT_COUNT
} db_statement;
#undef ROW
#undef QUERY
#undef STATEMENT

typedef struct db_statement_text {
    const char *name, *kinds;
    db_row_kind row;
    const char *sqlite, *postgresql; /* empty: the engine does not need the statement */
} db_statement_text;

typedef struct db_row_text {
    const char *columns; /* "id, name" */
    int count;
} db_row_text;

extern const db_statement_text db_statements[STMT_COUNT];
extern const db_row_text db_row_texts[ROW_COUNT];

#endif
