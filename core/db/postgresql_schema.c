/* Owns the versions of the three schemas of a PostgreSQL store. */
#include <apr_strings.h>
#include <stdlib.h>

#include "core/db/postgresql.h"

#define SCHEMA_LOCK 1229209905 /* advisory lock of schema upgrades: "IDA1" */

ida_kind pg_schema_begin(db *d, ida_ctx *c)
{
    ida_kind kind = pg_begin(d, c);
    if (kind) {
        return kind;
    }
    d->in_write = 1;
    kind = pg_script(d, c,
                     apr_psprintf(c->pool,
                                  "SELECT pg_advisory_xact_lock(%d); CREATE TABLE IF NOT EXISTS "
                                  "schema_version (file TEXT COLLATE \"C\" NOT NULL PRIMARY KEY, "
                                  "number BIGINT NOT NULL)",
                                  SCHEMA_LOCK));
    if (kind) {
        pg_rollback(d);
    }
    return kind;
}

ida_kind pg_schema_version(db *d, ida_ctx *c, db_file file, int *version)
{
    pg_db *p = (pg_db *)d;
    PGresult *result = NULL;
    *version = 0;
    /* to_regclass: a missing table is no error, which would be logged and end a transaction. */
    ida_kind kind = pg_command(p, c, "schema version", "SELECT to_regclass('schema_version')",
                               &result);
    if (kind) {
        return kind;
    }
    int missing = PQgetisnull(result, 0, 0);
    PQclear(result);
    if (missing) {
        return IDA_OK;
    }
    kind = pg_command(p, c, "schema version",
                      apr_psprintf(c->pool, "SELECT number FROM schema_version WHERE file = '%s'",
                                   db_file_name(file)),
                      &result);
    if (!kind) {
        *version = PQntuples(result) ? atoi(PQgetvalue(result, 0, 0)) : 0;
        PQclear(result);
    }
    return kind;
}

ida_kind pg_schema_set_version(db *d, ida_ctx *c, db_file file, int version)
{
    return pg_script(d, c,
                     apr_psprintf(c->pool,
                                  "INSERT INTO schema_version (file, number) VALUES ('%s', %d) ON "
                                  "CONFLICT (file) DO UPDATE SET number = excluded.number",
                                  db_file_name(file), version));
}

ida_kind pg_schema_wipe(db *d, ida_ctx *c, db_file file)
{
    return pg_script(d, c,
                     apr_psprintf(c->pool, "DROP SCHEMA IF EXISTS %s CASCADE", db_file_name(file)));
}
