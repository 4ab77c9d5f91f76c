/* Owns the calls of PostgreSQL's own programs that dump a store and bring a dump back. Must not
 * know what is in it. */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/db/postgresql.h"

#define DUMP "store.sql"
#define COMPLAINT_MAX 2000
#define LOOK_MS 100

extern char **environ;

/* The connection's parameters as the environment of a program of libpq: a password is not to be
 * read from a command line. */
static char **environment_of(pg_db *p, apr_pool_t *pool)
{
    apr_array_header_t *all = apr_array_make(pool, 64, sizeof(char *));
    PQconninfoOption *options = PQconninfo(p->conn);
    for (char **at = environ; *at; at++) {
        if (strncmp(*at, "PG", 2) != 0 || strncmp(*at, "PGCLUSTER", 9) == 0) {
            APR_ARRAY_PUSH(all, char *) = *at;
        }
    }
    for (const PQconninfoOption *o = options; o && o->keyword; o++) {
        if (o->envvar && o->val && *o->val && strcmp(o->keyword, "client_encoding") != 0) {
            APR_ARRAY_PUSH(all, char *) = apr_pstrcat(pool, o->envvar, "=", o->val, NULL);
        }
    }
    PQconninfoFree(options);
    APR_ARRAY_PUSH(all, char *) = NULL;
    return (char **)all->elts;
}

/* Its status; what it wrote to standard error, up to a limit, in *said. */
static int run(apr_pool_t *pool, const char *const *words, char **environment, char **said)
{
    int ends[2], status = -1;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    *said = apr_pcalloc(pool, COMPLAINT_MAX + 1);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    int error = posix_spawnp(&pid, words[0], &actions, NULL, (char *const *)words, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error) {
        *said = apr_pstrdup(pool, strerror(error));
        close(ends[0]);
        return -1;
    }
    char piece[512];
    size_t used = 0;
    ssize_t got;
    while ((got = read(ends[0], piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR)) {
        size_t room = COMPLAINT_MAX - used, len = got < 0 ? 0 : (size_t)got;
        memcpy(*said + used, piece, len < room ? len : room);
        used += len < room ? len : room;
    }
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return status;
}

static ida_kind run_tool(pg_db *p, ida_ctx *c, const char *const *words)
{
    char *said;
    if (run(c->pool, words, environment_of(p, c->pool), &said) == 0) {
        return IDA_OK;
    }
    return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                    "%s failed: %s. It is to be in PATH, of the server's version or a newer one.",
                    words[0], ida_clean(c->pool, said, strlen(said), 600));
}

/* One text of one row; "" when it is NULL. */
static ida_kind text_of(pg_db *p, ida_ctx *c, const char *what, const char *sql, const char **text)
{
    PGresult *result = NULL;
    ida_kind kind = pg_command(p, c, what, sql, &result);
    *text = "";
    if (!kind) {
        *text = PQntuples(result) ? apr_pstrdup(c->pool, PQgetvalue(result, 0, 0)) : "";
        PQclear(result);
    }
    return kind;
}

ida_kind pg_save(db *d, ida_ctx *c, const char *directory, apr_array_header_t *names)
{
    pg_db *p = (pg_db *)d;
    const char *snapshot, *others;
    /* The dump takes over the snapshot at once, but this transaction waits for its end. */
    ida_kind kind = pg_script(d, c, "SET LOCAL idle_in_transaction_session_timeout = 0");
    kind = kind ? kind : text_of(p, c, "snapshot", "SELECT pg_export_snapshot()", &snapshot);
    /* A dump that names the service's own schemas would create `public`, which is there. */
    kind = kind ? kind
                : text_of(p, c, "schemas",
                          "SELECT COALESCE(string_agg(format('\"%s\"', nspname), '|'), 'cache')"
                          " FROM pg_namespace WHERE nspname NOT IN (current_schema(), 'audit')"
                          " AND nspname !~ '^pg_' AND nspname <> 'information_schema'",
                          &others);
    if (kind) {
        return kind;
    }
    const char *words[] = {"pg_dump",
                           "--no-password",
                           "--format=plain",
                           "--no-owner",
                           "--no-privileges",
                           apr_pstrcat(c->pool, "--exclude-schema=", others, NULL),
                           apr_pstrcat(c->pool, "--snapshot=", snapshot, NULL),
                           apr_pstrcat(c->pool, "--file=", directory, "/" DUMP, NULL),
                           NULL};
    kind = run_tool(p, c, words);
    if (!kind) {
        APR_ARRAY_PUSH(names, const char *) = DUMP;
    }
    return kind;
}

/* A program that has ended, or a connection that this one has closed, may still be listed: its
 * process of the server goes when it has come to read that. */
ida_kind pg_in_use(const char *rest, ida_ctx *c, apr_pool_t *pool, const char **by)
{
    db *d;
    *by = NULL;
    ida_kind kind = db_postgresql.open(&d, rest, DB_REQUEST, 1, c, pool);
    if (kind) {
        return kind;
    }
    for (int waited = 0;; waited += LOOK_MS) {
        kind = text_of((pg_db *)d, c, "who is connected",
                       "SELECT string_agg(format('%s (%s, process %s)', application_name, usename,"
                       " pid), ', ' ORDER BY pid) FROM pg_stat_activity WHERE datname ="
                       " current_database() AND pid <> pg_backend_pid() AND application_name LIKE"
                       " 'idadmin %'",
                       by);
        if (kind || !**by || waited >= DB_PATIENCE_MS) {
            break;
        }
        apr_sleep((apr_interval_time_t)LOOK_MS * 1000);
    }
    *by = kind || !**by ? NULL : ida_printf(c->pool, "connected are %s", *by);
    d->driver->close(d);
    return kind;
}

/* Renames the store's three schemas, if they are there, so that the dump finds room. */
static const char *put_aside(apr_pool_t *pool, const char *main, const char *stamp)
{
    return apr_psprintf(
        pool,
        "DO $$ DECLARE name TEXT; BEGIN FOREACH name IN ARRAY ARRAY['%s', 'cache', 'audit'] LOOP"
        " IF EXISTS (SELECT 1 FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid"
        " WHERE n.nspname = name) THEN EXECUTE format('ALTER SCHEMA %%I RENAME TO %%I', name, name"
        " || '_before_%s'); ELSIF name <> 'public' THEN EXECUTE format('DROP SCHEMA IF EXISTS %%I',"
        " name); END IF; END LOOP; IF '%s' = 'public' AND NOT EXISTS (SELECT 1 FROM pg_namespace"
        " WHERE nspname = 'public') THEN CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO"
        " PUBLIC; END IF; END $$",
        main, stamp, main);
}

/* The dump names its main schema; the store's session must have the same one. */
static ida_kind main_schema(pg_db *p, ida_ctx *c, const char **main)
{
    ida_kind kind = text_of(p, c, "search path",
                            "SELECT CASE WHEN current_schema() IS NOT NULL THEN current_schema()"
                            " ELSE split_part(trim(current_setting('search_path')), ',', 1) END",
                            main);
    return kind || !strpbrk(*main, "'\\$\"")
               ? kind
               : ida_fail(c, IDA_CONFLICT,
                          "The schema %s has a name that this program does not "
                          "take.",
                          *main);
}

ida_kind pg_bring_back(const char *rest, ida_ctx *c, const db_return *from, const char **aside)
{
    db *d;
    const char *main = "";
    ida_kind kind = db_postgresql.open(&d, rest, DB_REQUEST, 1, c, c->pool);
    if (kind) {
        return kind;
    }
    kind = main_schema((pg_db *)d, c, &main);
    *aside = ida_printf(c->pool, "the schemas whose names end in _before_%s", from->stamp);
    if (!kind) {
        const char *words[] = {
            "psql", "--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1",
            "--single-transaction",
            apr_pstrcat(c->pool, "--command=", put_aside(c->pool, main, from->stamp), NULL),
            apr_pstrcat(c->pool, "--file=", from->directory, "/" DUMP, NULL),
            /* the dump has emptied the search path */
            apr_psprintf(c->pool,
                         "--command=DELETE FROM \"%s\".schema_version WHERE file = 'cache'", main),
            NULL};
        kind = run_tool((pg_db *)d, c, words);
    }
    d->driver->close(d);
    return kind;
}
