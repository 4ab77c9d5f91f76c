/* The columns in the table of statements are those that both engines report: every statement is
 * prepared and its columns are compared with its row. SQLite plans none with an index or a filter
 * that it would make of a whole table for each run; PostgreSQL finds records of one person by their
 * index. */
#include <sqlite3.h>
#include <stdlib.h>

#include "core/db/postgresql.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

static void compare(int statement, const char *columns, const char *fault)
{
    const db_statement_text *text = &db_statements[statement];
    if (fault) {
        ok(0, "%s is prepared and planned: %s", text->name, fault);
    } else {
        is_str(columns, db_row_texts[text->row].columns, text->name);
    }
}

static const char *add(const char *columns, const char *name)
{
    return apr_pstrcat(pool, columns, *columns ? ", " : "", name, NULL);
}

static void no_function(sqlite3_context *call, int count, sqlite3_value **values)
{
    (void)call, (void)count, (void)values; /* nothing is run */
}

/* Step of the plan that reads a whole table before the statement begins; NULL: there is none. */
static const char *made_for_the_run(sqlite3 *file, const char *sql)
{
    sqlite3_stmt *plan = NULL;
    const char *found = NULL;
    sqlite3_prepare_v2(file, apr_pstrcat(pool, "EXPLAIN QUERY PLAN ", sql, NULL), -1, &plan, NULL);
    while (sqlite3_step(plan) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(plan, 3);
        if (strstr(step, "BLOOM FILTER") || strstr(step, "AUTOMATIC")) {
            found = apr_pstrdup(pool, step);
        }
    }
    sqlite3_finalize(plan);
    return found;
}

static void in_sqlite(const char *dsn)
{
    sqlite3 *file;
    const char *path = dsn + strlen("sqlite3:");
    const char *stem = apr_pstrmemdup(pool, path, strlen(path) - strlen(".db"));
    is_int(sqlite3_open(path, &file), SQLITE_OK, "the file is opened");
    sqlite3_create_function(file, "holds", 2, SQLITE_UTF8, NULL, no_function, NULL, NULL);
    sqlite3_create_function(file, "index_terms", 1, SQLITE_UTF8, NULL, no_function, NULL, NULL);
    is_int(
        sqlite3_exec(file,
                     apr_psprintf(pool,
                                  "ATTACH '%s-cache.db' AS cache; ATTACH '%s-audit.db' AS audit; "
                                  "ATTACH '%s-cache.db' AS staged",
                                  stem, stem, stem),
                     NULL, NULL, NULL),
        SQLITE_OK, "with those beside it");
    for (int i = 0; i < STMT_COUNT; i++) {
        if (!*db_statements[i].sqlite) {
            continue; /* the engine does not need the statement */
        }
        sqlite3_stmt *prepared;
        const char *columns = "", *fault = NULL;
        if (sqlite3_prepare_v2(file, db_statements[i].sqlite, -1, &prepared, NULL) != SQLITE_OK) {
            fault = sqlite3_errmsg(file);
        }
        for (int k = 0; k < sqlite3_column_count(prepared); k++) {
            columns = add(columns, sqlite3_column_name(prepared, k));
        }
        sqlite3_finalize(prepared);
        fault = fault ? fault : made_for_the_run(file, db_statements[i].sqlite);
        compare(i, columns, fault);
    }
    sqlite3_close(file);
}

static PGresult *prepare(PGconn *conn, const char *name, const db_statement_text *text)
{
    Oid types[64];
    int count = 0;
    char *numbered = pg_numbered(text->postgresql);
    for (const char *kind = text->kinds; *kind; kind++, count++) {
        types[count] = pg_parameter(numbered, *kind, count + 1);
    }
    PGresult *prepared = PQprepare(conn, name, numbered, count, types);
    free(numbered);
    return prepared;
}

static void in_postgresql(const char *dsn)
{
    PGconn *conn = PQconnectdb(dsn + strlen("pgsql:"));
    is_int(PQstatus(conn), CONNECTION_OK, "a connection");
    for (int i = 0; i < STMT_COUNT; i++) {
        const db_statement_text *text = &db_statements[i];
        const char *columns = "", *fault = NULL;
        if (!*text->postgresql) {
            continue;
        }
        PGresult *prepared = prepare(conn, "", text);
        if (PQresultStatus(prepared) != PGRES_COMMAND_OK) {
            fault = apr_pstrdup(pool, PQerrorMessage(conn));
        }
        PQclear(prepared);
        PGresult *described = PQdescribePrepared(conn, "");
        for (int k = 0; k < PQnfields(described); k++) {
            columns = add(columns, PQfname(described, k));
        }
        PQclear(described);
        compare(i, columns, fault);
    }
    PQfinish(conn);
}

int main(void)
{
    setup();
    char *numbered = pg_numbered("?2 ? '?' \"?\" ?1 ? ?12 ?");
    is_str(numbered, "$2 $3 '?' \"?\" $1 $4 $12 $13", "arguments as PostgreSQL counts them");
    free(numbered);
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        printf("# %s\n", name);
        (i == 0 ? in_sqlite : in_postgresql)(dsn);
    }
    return done();
}
