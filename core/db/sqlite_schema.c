/* Owns the version of a SQLite file: number and mark in its header. */
#include <apr_strings.h>

#include "core/db/sqlite.h"

#define APPLICATION_ID 0x49444131 /* "IDA1" in the header of every file */

static int ask(sqlite_db *s, const char *sql, int *number)
{
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(s->handle, sql, -1, &stmt, NULL);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        *number = sqlite3_column_int(stmt, 0);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* First column of the first row as a number. */
static int number_of(sqlite_db *s, const char *sql, int *number)
{
    int64_t deadline = db_clock() + DB_PATIENCE_MS;
    int rc;
    do {
        rc = ask(s, sql, number);
    } while (sqlite_again(rc, deadline));
    return rc;
}

ida_kind sqlite_schema_version(db *d, ida_ctx *c, db_file file, int *version)
{
    sqlite_db *s = (sqlite_db *)d;
    const char *schema = db_file_name(file);
    int application = 0, tables = 0;
    *version = 0;
    int rc = number_of(s, apr_psprintf(c->pool, "PRAGMA %s.user_version", schema), version);
    if (rc == SQLITE_OK) {
        rc = number_of(s, apr_psprintf(c->pool, "PRAGMA %s.application_id", schema), &application);
    }
    if (rc == SQLITE_OK && application != APPLICATION_ID) {
        rc = number_of(s, apr_psprintf(c->pool, "SELECT count(*) FROM %s.sqlite_schema", schema),
                       &tables);
    }
    if (rc != SQLITE_OK) {
        return sqlite_fault(s, c, "schema version", rc);
    }
    if (application != APPLICATION_ID && (tables || *version)) {
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The %s file of the store %s belongs to another program: give the store a "
                        "path of its own.",
                        schema, d->rest);
    }
    return IDA_OK;
}

ida_kind sqlite_schema_set_version(db *d, ida_ctx *c, db_file file, int version)
{
    const char *schema = db_file_name(file);
    return sqlite_script(d, c,
                         apr_psprintf(c->pool,
                                      "PRAGMA %s.user_version = %d; PRAGMA %s.application_id = %d",
                                      schema, version, schema, APPLICATION_ID));
}

ida_kind sqlite_schema_wipe(db *d, ida_ctx *c, db_file file)
{
    sqlite_db *s = (sqlite_db *)d;
    const char *schema = db_file_name(file);
    sqlite3_stmt *stmt;
    char *drops = apr_pstrdup(c->pool, "");
    char *sql = apr_psprintf(c->pool,
                             "SELECT iif(type = 'view', type, 'table'), name FROM "
                             "pragma_table_list WHERE schema = '%s' AND type <> 'shadow' AND name "
                             "NOT LIKE 'sqlite\\_%%' ESCAPE '\\'",
                             schema);
    int rc = sqlite3_prepare_v2(s->handle, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) {
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
            char *drop = sqlite3_mprintf("DROP %s %s.\"%w\";", sqlite3_column_text(stmt, 0), schema,
                                         sqlite3_column_text(stmt, 1));
            drops = apr_pstrcat(c->pool, drops, drop, NULL);
            sqlite3_free(drop);
        }
        sqlite3_finalize(stmt);
    }
    return rc == SQLITE_DONE ? sqlite_script(d, c, drops) : sqlite_fault(s, c, "schema wipe", rc);
}
