/* Stores for unit tests, included after setup.h: a SQLite one in a temporary directory and a
 * PostgreSQL database of its own. The server is the one that $IDADMIN_TEST_PGSQL names
 * ("pgsql:host=... dbname=postgres", keyword form, its user may create databases), else one that
 * with-pg.sh starts. for (int i = 0; i < store_engines(); i++) { const char *dsn = store_engine(i,
 * &name); ... } */
#ifndef T_UNIT_STORE_SETUP_H
#define T_UNIT_STORE_SETUP_H

#include <apr_strings.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/audit/keys.h"
#include "core/store/store.h"
#include "t/unit/setup.h"

static struct {
    char dir[64], server[256],
        script[256];  /* dir: SQLite files; server: directory of a PostgreSQL that we started, or
                         "" */
    const char *base; /* libpq parameters of the server */
    pid_t owner;
    int databases;
} unit_store;

/* Preconditions of a test: a failed one counts as a failed test. */
static int unmet;
__attribute__((unused)) static void must(ida_kind kind, const ida_ctx *c, const char *what)
{
    if (kind) {
        unmet++;
        ok(0, "%s: %s", what, c->message ? c->message : ida_kind_text(kind));
    }
}

/* with-pg.sh is in this header's directory. */
static const char *unit_script(void)
{
    const char *src = getenv("IDADMIN_SRC");
    return src ? apr_pstrcat(pool, src, "/t/unit/with-pg.sh", NULL)
               : apr_pstrcat(pool,
                             apr_pstrmemdup(pool, __FILE__,
                                            (apr_size_t)(strrchr(__FILE__, '/') - __FILE__)),
                             "/with-pg.sh", NULL);
}

static void unit_store_clean(void)
{
    char command[600];
    if (getpid() != unit_store.owner) {
        return; /* a forked child: the parent cleans up */
    }
    if (*unit_store.dir) {
        snprintf(command, sizeof command, "rm -rf %s", unit_store.dir);
        if (system(command) != 0) {
            fprintf(stderr, "# could not remove %s\n", unit_store.dir);
        }
    }
    if (*unit_store.server) {
        snprintf(command, sizeof command, "%s stop %s", unit_store.script, unit_store.server);
        if (system(command) != 0) {
            fprintf(stderr, "# could not stop %s\n", unit_store.server);
        }
    }
}

static const char *unit_start_server(void)
{
    FILE *in = popen(apr_psprintf(pool, "%s start %d", unit_script(), (int)getpid()), "r");
    if (!in || !fgets(unit_store.server, sizeof unit_store.server, in)) {
        unit_store.server[0] = '\0';
    }
    if (in) {
        pclose(in);
    }
    unit_store.server[strcspn(unit_store.server, "\n")] = '\0';
    return *unit_store.server
               ? apr_psprintf(pool, "host=%s user=idadmin dbname=postgres", unit_store.server)
               : NULL;
}

static void unit_store_prepare(void)
{
    if (*unit_store.dir) {
        return;
    }
    const char *given = getenv("IDADMIN_TEST_PGSQL");
    unit_store.owner = getpid();
    const char *place = getenv("TMPDIR");
    snprintf(unit_store.dir, sizeof unit_store.dir, "%s/idadmin-unit-XXXXXX",
             place && strlen(place) < 40 ? place : "/tmp");
    if (!mkdtemp(unit_store.dir)) {
        abort();
    }
    snprintf(unit_store.script, sizeof unit_store.script, "%s", unit_script());
    atexit(unit_store_clean); /* runs before APR's pools are destroyed: registered later than
                                 apr_terminate */
    unit_store.base = given && strncmp(given, "pgsql:", 6) == 0 ? given + 6 : unit_start_server();
}

/* 1 or 2; without a PostgreSQL server the reason is printed on standard error and the tests
 * report it. */
__attribute__((unused)) static int store_engines(void)
{
    unit_store_prepare();
    if (!unit_store.base) {
        ok(1, "PostgreSQL # SKIP no PostgreSQL server: set IDADMIN_TEST_PGSQL or install one");
    }
    return unit_store.base ? 2 : 1;
}

/* DSN of a new, empty store of engine i. */
__attribute__((unused)) static const char *store_engine(int i, const char **name)
{
    unit_store_prepare();
    unit_store.databases++;
    if (i == 0) {
        *name = "SQLite";
        return apr_psprintf(pool, "sqlite3:%s/store%d.db", unit_store.dir, unit_store.databases);
    }
    *name = "PostgreSQL";
    /* A server that serves for hours sees numbers of processes again. */
    const char *database = apr_psprintf(pool, "idadmin_unit_%ld_%ld_%d", (long)getpid(),
                                        (long)time(NULL), unit_store.databases);
    PGconn *conn = PQconnectdb(unit_store.base);
    PGresult *result = PQexec(conn, apr_psprintf(pool, "CREATE DATABASE %s TEMPLATE template0",
                                                 database));
    ok(PQresultStatus(result) == PGRES_COMMAND_OK, "PostgreSQL: a database %s",
       PQerrorMessage(conn));
    PQclear(result);
    PQfinish(conn);
    /* A server that a busy machine lets wait is not away. */
    return apr_psprintf(pool, "pgsql:%s dbname=%s connect_timeout=%d", unit_store.base, database,
                        PATIENCE_MS / 1000);
}

/* The same with its schema. */
__attribute__((unused)) static const char *store_upgraded(int i, const char **name)
{
    const char *dsn = store_engine(i, name);
    ida_ctx *c = ida_ctx_make(&env, pool);
    is_int(store_schema_upgrade(dsn, c, NULL), IDA_OK, "schema upgrade");
    if (c->message) {
        printf("# %s\n", c->message);
    }
    return dsn;
}

/* A store that writes and verifies chains, all with the key in one file. */
__attribute__((unused)) static store *store_with_key(const char *dsn, db_role role)
{
    static const char *path;
    store *s = store_make(pool, dsn, role);
    if (!path) {
        audit_keys keys;
        unit_store_prepare();
        path = apr_psprintf(pool, "%s/audit.key", unit_store.dir);
        ida_ctx *c = ida_ctx_make(&env, pool);
        ok(!audit_keys_make(c, path, (uid_t)-1, (gid_t)-1) && !audit_keys_read(c, path, &keys) &&
               !audit_keys_set_new(c, path, &keys, 0),
           "an audit key %s", c->message ? c->message : "");
    }
    s->audit_key = path;
    return s;
}

#endif
