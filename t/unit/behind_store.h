/* Reads the cache's tables without the store. */
#ifndef T_UNIT_BEHIND_STORE_H
#define T_UNIT_BEHIND_STORE_H

#include <libpq-fe.h>
#include <sqlite3.h>

#include "t/unit/access_setup.h"

static int64_t number_of(sqlite3 *file, const char *sql)
{
    sqlite3_stmt *st = NULL;
    int64_t number = sqlite3_prepare_v2(file, sql, -1, &st, NULL) == SQLITE_OK &&
                             sqlite3_step(st) == SQLITE_ROW
                         ? sqlite3_column_int64(st, 0)
                         : -1;
    sqlite3_finalize(st);
    return number;
}

/* The cache's file, attached under that name. */
static sqlite3 *cache_file(const char *dsn)
{
    sqlite3 *file = NULL;
    const char *path = store_sqlite_path(dsn);
    path = apr_psprintf(pool, "%.*s-cache.db", (int)(strlen(path) - 3), path);
    ok(sqlite3_open(path, &file) == SQLITE_OK &&
           sqlite3_exec(file, apr_psprintf(pool, "ATTACH '%s' AS cache", path), NULL, NULL, NULL) ==
               SQLITE_OK,
       "the cache");
    return file;
}

static int64_t pg_number(PGconn *conn, const char *sql)
{
    PGresult *r = PQexec(conn, sql);
    int64_t number = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1
                         ? strtoll(PQgetvalue(r, 0, 0), NULL, 10)
                         : -1;
    if (number < 0) {
        printf("# %s: %s\n", sql, PQerrorMessage(conn));
    }
    PQclear(r);
    return number;
}

/* On either engine; -1: the statement failed. */
static int64_t number_behind(int engine, const char *dsn, const char *sql)
{
    int64_t number;
    if (engine) {
        PGconn *conn = PQconnectdb(dsn + strlen("pgsql:"));
        number = pg_number(conn, sql);
        PQfinish(conn);
    } else {
        sqlite3 *file = cache_file(dsn);
        number = number_of(file, sql);
        sqlite3_close(file);
    }
    return number;
}

/* How many kinds of people have a stored number that differs from their count. */
static int64_t wrongly_kept(int engine, const char *dsn)
{
    return number_behind(
        engine, dsn,
        "SELECT count(*) FROM (SELECT tenant_id, enabled, guest, managed, sum(n) AS left_over"
        " FROM (SELECT tenant_id, enabled, guest, managed, people AS n FROM cache.people_count"
        " UNION ALL SELECT tenant_id, enabled, guest, CASE WHEN manager_id IS NULL AND"
        " manager_ref IS NULL THEN 0 ELSE 1 END, -1 FROM cache.directory_user WHERE shadow = 0) x"
        " GROUP BY tenant_id, enabled, guest, managed HAVING sum(n) <> 0) y");
}

#endif
