/* Owns the staging of a SQLite connection: a database beside the cache file, so that a run's items
 * neither grow that file nor pass through its log. Its file has no name and is gone with the
 * connection, also after a crash. Must not know what is staged. */
#include <pthread.h>
#include <string.h>

#include "core/db/sqlite.h"

/* Keep nothing but the present transaction's old pages, in memory: a run ends with its connection,
 * so that staging cannot be read after a crash. */
#define MAKE                                                                             \
    "PRAGMA temp_store = FILE; ATTACH '' AS staged; PRAGMA temp_store = MEMORY; PRAGMA " \
    "staged.page_size = 8192; PRAGMA staged.journal_mode = MEMORY; PRAGMA staged.cache_size = -%d"

/* The library opens nameless files in the first directory that it can use, mostly /var/tmp;
 * people's data belongs beside the store. This is one variable of the process: the first connection
 * that may need it sets it. */
static void place(const char *path)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    const char *slash = strrchr(path, '/');
    pthread_mutex_lock(&turn);
    if (!sqlite3_temp_directory) {
        sqlite3_temp_directory = slash ? sqlite3_mprintf("%.*s", (int)(slash - path) + 1, path)
                                       : sqlite3_mprintf(".");
    }
    pthread_mutex_unlock(&turn);
}

/* Table and indexes as the cache file has them, where they stay empty. None: the file has no
 * schema yet. */
static int copy_form(sqlite_db *s)
{
    static const char forms[] = "SELECT replace(replace(sql, 'TABLE ', 'TABLE staged.'), 'INDEX ', "
                                "'INDEX staged.') FROM cache.sqlite_schema WHERE tbl_name = "
                                "'staging' ORDER BY type DESC";
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(s->handle, forms, -1, &stmt, NULL);
    if (rc != SQLITE_OK) {
        return rc;
    }
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        if ((rc = sqlite_exec(s, (const char *)sqlite3_column_text(stmt, 0))) != SQLITE_OK) {
            break;
        }
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int sqlite_make_staging(sqlite_db *s)
{
    place(s->path);
    char *sql = sqlite3_mprintf(MAKE, SQLITE_CACHE_KB + SQLITE_STAGING_KB(s));
    int rc = sql ? sqlite_exec(s, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return rc == SQLITE_OK ? copy_form(s) : rc;
}

ida_kind sqlite_empty_staging(db *d, ida_ctx *c)
{
    sqlite_db *s = (sqlite_db *)d;
    int rc = sqlite_exec(s, "DETACH staged");
    rc = rc == SQLITE_OK ? sqlite_make_staging(s) : rc;
    return rc == SQLITE_OK ? IDA_OK : sqlite_fault(s, c, "staging", rc);
}
