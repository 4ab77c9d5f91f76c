/* Owns the opening of a PostgreSQL session: its parameters and settings. libpq is known to this
 * file and its siblings alone. */
#include <apr_strings.h>
#include <string.h>

#include "core/db/postgresql.h"

#define POOLER "idadmin_pooler="

#define UPGRADE_MS 3600000
#define MEMOIZE_SINCE 140000 /* server version */

/* Removes our own parameter, which libpq would refuse, from keyword text or URI. */
static char *conninfo_of(apr_pool_t *pool, const char *rest, int *pooler)
{
    char *text = apr_pstrdup(pool, rest), *at = text;
    *pooler = 0;
    while ((at = strstr(at, POOLER)) != NULL) {
        if (at != text && !strchr(" ?&", at[-1])) {
            at++;
            continue;
        }
        *pooler = at[strlen(POOLER)] == '1';
        char *end = at + strcspn(at, " &");
        end += *end != '\0'; /* removes the separator after it as well; one before it may stay */
        memmove(at, end, strlen(end) + 1);
    }
    size_t len = strlen(text);
    while (len && strchr("?& ", text[len - 1])) {
        text[--len] = '\0';
    }
    return text;
}

static const char *dsn_fault(const char *rest)
{
    apr_pool_t *pool;
    int pooler;
    apr_pool_create(&pool, NULL);
    PQconninfoOption *options = PQconninfoParse(conninfo_of(pool, rest, &pooler), NULL);
    apr_pool_destroy(pool);
    PQconninfoFree(options);
    return options ? NULL
                   : "must have libpq parameters behind pgsql: (\"host=... dbname=...\" or a "
                     "postgresql:// URI)";
}

static const char *dsn_option(apr_pool_t *pool, const char *rest, const char *keyword)
{
    int pooler;
    const char *value = NULL;
    PQconninfoOption *options = PQconninfoParse(conninfo_of(pool, rest, &pooler), NULL);
    for (const PQconninfoOption *o = options; o && o->keyword; o++) {
        if (o->val && *o->val && strcmp(o->keyword, keyword) == 0) {
            value = apr_pstrdup(pool, o->val);
        }
    }
    PQconninfoFree(options);
    return value;
}

static void on_notice(void *baton, const char *message)
{
    const pg_db *p = baton;
    ida_log(p->head.env, IDA_LOG_DEBUG, NULL, "PostgreSQL: %s", message);
}

static apr_status_t close_cleanup(void *baton)
{
    pg_db *p = baton;
    PQfinish(p->conn);
    p->conn = NULL;
    p->head.broken = 1;
    return APR_SUCCESS;
}

static void close_now(db *d)
{
    apr_pool_cleanup_run(d->pool, d, close_cleanup);
}

static ida_kind open_postgresql(db **out, const char *rest, db_role role, int unchecked, ida_ctx *c,
                                apr_pool_t *pool)
{
    static const char *const names[DB_ROLE_COUNT] = {"idadmin read", "idadmin request",
                                                     "idadmin sync", "idadmin ingest"};
    pg_db *p = apr_pcalloc(pool, sizeof *p);
    p->head = (db){.driver = &db_postgresql,
                   .pool = pool,
                   .env = ida_env_lasting(c->env),
                   .rest = "",
                   .role = role};
    p->statement_ms = unchecked ? UPGRADE_MS : db_statement_ms[role];

    /* A value before dbname is a default that the DSN may override. */
    const char *conninfo = conninfo_of(pool, rest, &p->pooler);
    const char *const keywords[] = {"connect_timeout",
                                    "tcp_user_timeout",
                                    "keepalives_idle",
                                    "fallback_application_name",
                                    "dbname",
                                    "client_encoding",
                                    NULL};
    const char *const values[] = {"3", "10000", "30", names[role], conninfo, "UTF8", NULL};
    p->conn = PQconnectdbParams(keywords, values, 1);
    apr_pool_cleanup_register(pool, p, close_cleanup, apr_pool_cleanup_null);
    ida_kind kind = IDA_OK;
    if (PQstatus(p->conn) != CONNECTION_OK) {
        char *reason = apr_pstrdup(c->pool, p->conn ? PQerrorMessage(p->conn) : "out of memory");
        for (char *at = reason; *at; at++) {
            *at = *at == '\n' || *at == '\t' ? ' ' : *at;
        }
        c->retry_after = 1;
        kind = ida_fail(c, IDA_SERVICE_UNAVAILABLE, "PostgreSQL cannot be reached: %s", reason);
        goto failed;
    }
    p->head.rest = apr_psprintf(pool, "host=%s dbname=%s", PQhost(p->conn), PQdb(p->conn));
    PQsetNoticeProcessor(p->conn, on_notice, p);

    /* A pooler shares the session with others: there settings are valid for one transaction. */
    const char *set = p->pooler ? "; SET LOCAL " : "; SET ";
    /* Compiling a plan takes longer than any of our statements; a server takes to it when
     * statistics are missing. A memory of inner rows (Memoize) is made anew for each row where the
     * inner side is a LATERAL with a LIMIT, which takes ten times as long as the look. */
    int memoizes = PQserverVersion(p->conn) >= MEMOIZE_SINCE;
    const char *plans = apr_pstrcat(pool, set, "jit = off", memoizes ? set : "",
                                    memoizes ? "enable_memoize = off" : "", NULL);
    /* Like SQLite's cache file, the cache does not wait for the disk, above all not under its
     * tenant's lock. There is one log, so any later commit that relies on the cache flushes it
     * too. */
    const char *wait = role == DB_SYNC ? apr_pstrcat(pool, set, "synchronous_commit = off", NULL)
                       : role == DB_READ
                           ? apr_pstrcat(pool, set, "default_transaction_read_only = on", NULL)
                           : "";
    p->settings = apr_psprintf(
        pool,
        "%sstatement_timeout = %d%slock_timeout = %d%sidle_in_transaction_session_timeout = "
        "60000%sclient_min_messages = warning%s%s",
        set, p->statement_ms, set, unchecked ? UPGRADE_MS : DB_PATIENCE_MS, set, set, plans, wait);
    if (!p->pooler) {
        kind = pg_command(p, c, "settings", p->settings + 2, NULL);
        p->settings = "";
    }
    if (kind) {
        goto failed;
    }
    *out = &p->head;
    return IDA_OK;

failed:
    close_now(&p->head);
    return kind;
}

#define ALL_FILES (DB_SEES(DB_MAIN) | DB_SEES(DB_CACHE) | DB_SEES(DB_AUDIT))

const db_driver db_postgresql = {
    .prefix = "pgsql:",
    .migrations = ida_migrations_postgresql,
    .roles = ida_roles_postgresql,
    .dsn_fault = dsn_fault,
    .dsn_option = dsn_option,
    .open = open_postgresql,
    .close = close_now,
    .run = pg_run,
    .begin = pg_begin,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .begin_read = pg_begin_read,
    .end_read = pg_rollback,
    .script = pg_script,
    .notify = pg_notify,
    .wait = pg_wait,
    .save = pg_save,
    .in_use = pg_in_use,
    .bring_back = pg_bring_back,
    .schema_begin = pg_schema_begin,
    .schema_version = pg_schema_version,
    .schema_set_version = pg_schema_set_version,
    .schema_wipe = pg_schema_wipe,
    .files = {[DB_READ] = ALL_FILES,
              [DB_REQUEST] = ALL_FILES,
              [DB_SYNC] = ALL_FILES,
              [DB_INGEST] = ALL_FILES},
};
