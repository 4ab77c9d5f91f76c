/* Shared by the tests of the store's base: the current engine, counts of log ids, SQL of the
 * test's own. */
#ifndef T_UNIT_DB_SETUP_H
#define T_UNIT_DB_SETUP_H

#include <sqlite3.h>
#include <time.h>

#include "t/unit/store_setup.h"

static const char *engine;
static int is_sqlite;
static int logged[10000];

/* Counts log ids instead of printing the lines that the tests provoke. */
__attribute__((unused)) static void count_log(void *baton, ida_level level, const char *id,
                                              const char *message)
{
    (void)baton, (void)level, (void)message;
    if (id && strncmp(id, "IDA", 3) == 0) {
        logged[atoi(id + 3)]++;
    }
}

__attribute__((unused)) static int64_t clock_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Any SQL on an open connection. */
__attribute__((unused)) static ida_kind sql(store *s, ida_ctx *c, const char *text)
{
    ida_kind kind = store_connect(s, c);
    return kind ? kind : db_script(s->db, c, text);
}

__attribute__((unused)) static ida_kind sql_in_transaction(store *s, ida_ctx *c, void *text)
{
    return sql(s, c, text);
}

__attribute__((unused)) static ida_kind sql_write(store *s, const char *text)
{
    return store_transaction(s, fresh(), sql_in_transaction, (void *)text);
}

/* libsqlite3 without our driver: what another program can do to a file. */
__attribute__((unused)) static int stranger(const char *path, const char *text)
{
    sqlite3 *handle;
    int rc = sqlite3_open(path, &handle);
    rc = rc ? rc : sqlite3_exec(handle, text, NULL, NULL, NULL);
    sqlite3_close(handle);
    return rc;
}

__attribute__((unused)) static const char *cache_path(const char *dsn)
{
    const char *path = dsn + strlen("sqlite3:");
    return apr_psprintf(pool, "%.*s-cache.db", (int)strlen(path) - 3, path);
}

#endif
