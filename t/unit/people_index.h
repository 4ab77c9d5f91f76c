/* Whether the index of terms, and the stored numbers of people of each kind, are correct. */
#ifndef T_UNIT_PEOPLE_INDEX_H
#define T_UNIT_PEOPLE_INDEX_H

#include "t/unit/behind_store.h"

/* The index contains each listed person once, at a rank in list order, and passes its integrity
 * check. */
static void check_sqlite_index(const char *dsn, const char *when, int64_t most)
{
    sqlite3 *file = cache_file(dsn);
    ok(sqlite3_exec(file, "INSERT INTO person_index (person_index) VALUES ('integrity-check')",
                    NULL, NULL, NULL) == SQLITE_OK,
       "%s: the index is sound", when);
    int64_t people = number_of(file, "SELECT count(*) FROM directory_user WHERE shadow = 0");
    ok(people >= most && people == number_of(file, "SELECT count(*) FROM person_index('\"_b\"*')"),
       "%s: it holds each of %lld", when, (long long)people);
    is_int(number_of(file, "SELECT count(*) FROM (SELECT place, lag(place) OVER (ORDER BY name_key,"
                           " id) AS before FROM directory_user WHERE shadow = 0)"
                           " WHERE place IS NULL OR place <= before"),
           0, "places grow in the order of lists");
    is_int(number_of(file, "SELECT count(*) FROM person_stale"), 0, "nothing waits");
    sqlite3_close(file);
}

/* The same for PostgreSQL: in the segment of the person's name, with the terms that follow from
 * the row. */
static void check_postgresql_index(const char *dsn, const char *when, int64_t most)
{
    PGconn *conn = PQconnectdb(dsn + strlen("pgsql:"));
    int64_t people = pg_number(conn, "SELECT count(*) FROM cache.directory_user WHERE shadow = 0");
    ok(people >= most && people == pg_number(conn, "SELECT count(*) FROM cache.person_index") &&
           people == pg_number(conn, "SELECT count(*) FROM cache.person_segment s"
                                     " CROSS JOIN LATERAL (SELECT 1 FROM cache.person_index k WHERE"
                                     " k.terms @@ CAST('''' || s.no || '/_b'':*' AS tsquery)) x"),
       "%s: the index holds each of %lld", when, (long long)people);
    is_int(pg_number(conn,
                     "SELECT count(*) FROM cache.person_index k LEFT JOIN cache.person_terms t"
                     " USING (tenant_id, directory, id) WHERE t.id IS NULL OR k.name_key <> "
                     "t.name_key OR k.segment <> (SELECT s.no FROM cache.person_segment s WHERE "
                     "s.tenant_id = t.tenant_id AND (s.name_key, s.id) <= (t.name_key, t.id) "
                     "ORDER BY s.name_key DESC, s.id DESC LIMIT 1) OR k.terms <> "
                     "array_to_tsvector(array_remove(string_to_array(replace(t.terms, '|', '|' || "
                     "k.segment || '/'), '|'), ''))"),
           0, "each in the right segment, with the terms of the row");
    is_int(pg_number(conn, "SELECT count(*) FROM (SELECT segment FROM cache.person_index"
                           " GROUP BY segment HAVING count(*) > 8192) x"),
           0, "no segment has grown too large");
    is_int(pg_number(conn, "SELECT count(*) FROM cache.person_stale"), 0, "nothing waits");
    PQfinish(conn);
}

static void check_index(int engine, const char *dsn, const char *when, int64_t most)
{
    (engine ? check_postgresql_index : check_sqlite_index)(dsn, when, most);
    is_int(wrongly_kept(engine, dsn), 0, "as many are kept of each kind as there are");
}

#endif
