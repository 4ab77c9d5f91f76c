/* Builds the tables of statements and rows from the domain files. Owns no SQL of its own. */
#include "schema/statements.h"

#include "schema/dialect.h"

#define TEXT_OF(...) #__VA_ARGS__
#define ROW(name, ...) [ROW_##name] = {TEXT_OF(__VA_ARGS__), sizeof(row_##name) / sizeof(db_value)},
#define QUERY(name, row, kinds, text)
#define STATEMENT(name, kinds, text)
const db_row_text db_row_texts[ROW_COUNT] = {
    [ROW_NONE] = {"", 0},
#include "schema/statements/all.def"
};
#undef ROW
#undef QUERY
#undef STATEMENT

/* The same texts twice, with different results of DIALECT(). */
#define ROW(name, ...)
#define QUERY(name, row, kinds, text) STATEMENT(name, kinds, text)

#define DIALECT(sqlite, postgresql) sqlite
#define STATEMENT(name, kinds, text) static const char sqlite_##name[] = text;
#include "schema/statements/all.def"
#undef DIALECT
#undef STATEMENT

#define DIALECT(sqlite, postgresql) postgresql
#define STATEMENT(name, kinds, text) static const char postgresql_##name[] = text;
#include "schema/statements/all.def"
#undef STATEMENT
#undef QUERY

#define LINE(name, row, kinds) {#name, kinds, ROW_##row, sqlite_##name, postgresql_##name},
#define QUERY(name, row, kinds, text) LINE(name, row, kinds)
#define STATEMENT(name, kinds, text) LINE(name, NONE, kinds)
const db_statement_text db_statements[STMT_COUNT] = {
#include "schema/statements/all.def"
};
