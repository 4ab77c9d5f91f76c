/* Stores for unit tests: a SQLite one in a temporary directory, and a PostgreSQL database when $IDADMIN_TEST_PGSQL names a server (a DSN
 * "pgsql:..." whose user may create databases) or t/unit/with-pg.sh starts one. Included after setup.h. */
#ifndef T_UNIT_STORE_SETUP_H
#define T_UNIT_STORE_SETUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char store_dir[64];

static void store_remove_dir(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", store_dir);
    if (system(command) != 0) {
        fprintf(stderr, "# could not remove %s\n", store_dir);
    }
}

static const char *store_sqlite_dsn(void)
{
    if (!*store_dir) {
        strcpy(store_dir, "/tmp/idadmin-unit-XXXXXX");
        if (!mkdtemp(store_dir)) {
            abort();
        }
        atexit(store_remove_dir);
    }
    return apr_pstrcat(pool, "sqlite3:", store_dir, "/idadmin.db", NULL);
}

__attribute__((unused)) static int store_engines(void)
{
    return 1;
}

__attribute__((unused)) static const char *store_engine(int i, const char **name)
{
    (void)i;
    *name = "SQLite";
    return store_sqlite_dsn();
}

#endif
