/* Owns libpq: sessions with bounds on every wait, statements prepared by name at first use,
 * SQLSTATE turned into what the callers must do. Must not know what the statements mean. */
#include <apr_strings.h>
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/db/postgresql.h"

#define OID_TEXT 25
#define OID_INT8 20
#define PARAMS_MAX 64
#define SCHEMA_LOCK 1229209905 /* advisory lock of schema upgrades: "IDA1" */
#define POOLER "idadmin_pooler="

/* What the server may take for one statement, and what we grant its answer beyond that before the
 * connection counts as dead. */
static const int statement_ms[DB_ROLE_COUNT] = {
    [DB_REQUEST] = 10000, [DB_SYNC] = 300000, [DB_INGEST] = 60000};
#define UPGRADE_MS 3600000
#define ANSWER_MS 3000

/* --- failures --- */

/* First match of a prefix of the SQLSTATE decides. */
static const struct {
    const char *state;
    ida_kind kind;
    int broken, repeat;
} states[] = {
    {"40001", IDA_SERVICE_UNAVAILABLE, 0, 1}, /* serialization failure */
    {"40P01", IDA_SERVICE_UNAVAILABLE, 0, 1}, /* deadlock */
    {"55P03", IDA_SERVICE_UNAVAILABLE, 0, 0}, /* lock_timeout */
    {"57014", IDA_SERVICE_UNAVAILABLE, 0, 0}, /* statement_timeout */
    {"23505", IDA_CONFLICT, 0, 0},            /* unique */
    {"23503", IDA_CONFLICT, 0, 0},            /* foreign key */
    {"25006", IDA_SERVICE_UNAVAILABLE, 1, 0}, /* a standby: the primary moved */
    {"25P03", IDA_SERVICE_UNAVAILABLE, 1, 0}, /* idle in transaction for too long */
    {"08", IDA_SERVICE_UNAVAILABLE, 1, 0},    /* connection */
    {"53", IDA_SERVICE_UNAVAILABLE, 1, 0},    /* out of connections, disk, memory */
    {"57P0", IDA_SERVICE_UNAVAILABLE, 1, 0},  /* shutdown, crash, starting up */
    {"58", IDA_SERVICE_UNAVAILABLE, 1, 0},    /* input/output error of the server */
    {"", IDA_INTERNAL_ERROR, 1, 0},
};

static ida_kind lost(pg_db *p, ida_ctx *c, const char *what, const char *why)
{
    p->head.broken = 1;
    ida_log(p->head.env, IDA_LOG_WARN, "IDA0120",
            "store: %s: the connection to PostgreSQL (%s) is lost: %s", what, p->head.rest, why);
    c->retry_after = 1;
    return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The connection to the store is lost.");
}

ida_kind pg_fault(pg_db *p, ida_ctx *c, const char *what, PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    ida_kind kind;
    p->head.poisoned = p->head.in_write || p->head.in_read;
    if (!state) {
        kind = lost(p, c, what, p->head.broken ? "no answer in time" : PQerrorMessage(p->conn));
        PQclear(result);
        return kind;
    }
    size_t i = 0;
    while (strncmp(state, states[i].state, strlen(states[i].state)) != 0) {
        i++;
    }
    kind = states[i].kind;
    p->head.broken |= states[i].broken || PQstatus(p->conn) == CONNECTION_BAD;
    p->head.must_repeat = states[i].repeat && p->head.poisoned;
    if (kind == IDA_CONFLICT) {
        ida_fail(c, kind,
                 "A row of that identity exists already, or one that it refers to does not.");
    } else if (kind == IDA_SERVICE_UNAVAILABLE) {
        static _Atomic int64_t
            said[sizeof states /
                 sizeof *states]; /* a full disk is told once a minute, not with each request */
        if (!p->head.must_repeat && (!states[i].broken || db_say_now(&said[i], 60000))) {
            ida_log(p->head.env, IDA_LOG_WARN, "IDA0121",
                    "store: %s: PostgreSQL cannot do it now: %s (%s)", what, text ? text : "",
                    state);
        }
        c->retry_after = 1;
        ida_fail(c, kind, "The store is busy or not available. Try again in a moment.");
    } else {
        const char *hint = strcmp(state, "26000") == 0 || strcmp(state, "42P05") == 0
                               ? "; behind a transaction pooler the DSN needs idadmin_pooler=1"
                               : "";
        ida_log(p->head.env, IDA_LOG_ERROR, "IDA0122", "store: statement %s failed: %s (%s)%s",
                what, text ? text : "", state, hint);
        ida_fail(c, kind, "The store refused a statement of ours (%s).", what);
    }
    PQclear(result);
    return kind;
}

/* --- talking --- */

int64_t pg_deadline(const pg_db *p)
{
    return db_clock() + p->statement_ms + ANSWER_MS;
}

PGresult *pg_next(pg_db *p, int64_t deadline)
{
    while (PQisBusy(p->conn)) {
        int64_t left = deadline - db_clock();
        struct pollfd fd = {PQsocket(p->conn), POLLIN, 0};
        int ready = left > 0 ? poll(&fd, 1, (int)left) : 0;
        if (ready == 0) {
            p->head.broken = 1;
            return NULL;
        }
        if (ready > 0 && !PQconsumeInput(p->conn)) {
            break; /* PQgetResult tells how it failed */
        }
    }
    return PQgetResult(p->conn);
}

PGresult *pg_await(pg_db *p)
{
    int64_t deadline = pg_deadline(p);
    PGresult *last = NULL;
    for (;;) {
        PGresult *result = pg_next(p, deadline);
        if (!result) {
            if (p->head.broken) {
                PQclear(last);
                last = NULL;
            }
            return last;
        }
        PQclear(last);
        last = result;
        if (PQstatus(p->conn) == CONNECTION_BAD) {
            return last;
        }
    }
}

int pg_is_good(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY;
}

/* Text without arguments, several statements allowed. `out`, when asked for, is the caller's to
 * clear. */
static ida_kind command(pg_db *p, ida_ctx *c, const char *what, const char *sql, PGresult **out)
{
    PGresult *result = PQsendQuery(p->conn, sql) ? pg_await(p) : NULL;
    if (!pg_is_good(result)) {
        return pg_fault(p, c, what, result);
    }
    if (out) {
        *out = result;
    } else {
        PQclear(result);
    }
    return IDA_OK;
}

/* --- statements --- */

/* ?1 -> $1 outside of quotes; made once a process and kept for good. */
const char *pg_text(db_statement statement)
{
    static _Atomic(char *) texts[STMT_COUNT];
    char *text = atomic_load(&texts[statement]);
    if (text) {
        return text;
    }
    const db_statement_text *from = &db_statements[statement];
    text = strdup(from->postgresql ? from->postgresql : from->sqlite);
    if (!text) {
        abort();
    }
    char quote = 0;
    for (char *at = text; *at; at++) {
        if (quote) {
            quote = *at == quote ? 0 : quote;
        } else if (*at == '\'' || *at == '"') {
            quote = *at;
        } else if (*at == '?' && isdigit((unsigned char)at[1])) {
            *at = '$';
        }
    }
    char *other = NULL;
    if (!atomic_compare_exchange_strong(&texts[statement], &other, text)) {
        free(text); /* another thread was first */
        text = other;
    }
    return text;
}

static int is_number(Oid type)
{
    static const Oid types[] = {20 /* int8 */, 23 /* int4 */, 21 /* int2 */,
                                1700 /* numeric: sum() of int8 */};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i] == type) {
            return 1;
        }
    }
    return 0;
}

static void copy_rows(const PGresult *from, db_result *result, apr_pool_t *pool)
{
    db_rows rows = {result, pool, NULL, 0};
    int count = PQntuples(from);
    result->columns = PQnfields(from);
    for (int row = 0; row < count; row++) {
        db_value *value = db_rows_add(&rows);
        for (int i = 0; i < result->columns; i++, value++) {
            int null = PQgetisnull(from, row, i);
            const char *text = PQgetvalue(from, row, i);
            value->text = null ? NULL
                               : apr_pstrmemdup(pool, text, (apr_size_t)PQgetlength(from, row, i));
            value->number = !null && is_number(PQftype(from, i)) ? strtoll(text, NULL, 10) : 0;
        }
    }
}

static ida_kind prepare(pg_db *p, ida_ctx *c, db_statement statement, const char *name,
                        const Oid *types, int count)
{
    if (p->prepared[statement]) {
        return IDA_OK;
    }
    PGresult *result = PQsendPrepare(p->conn, name, pg_text(statement), count, types) ? pg_await(p)
                                                                                      : NULL;
    if (!pg_is_good(result)) {
        return pg_fault(p, c, db_statements[statement].name, result);
    }
    PQclear(result);
    p->prepared[statement] = 1;
    return IDA_OK;
}

static ida_kind run(db *d, ida_ctx *c, db_statement statement, const db_arg *args, size_t count,
                    db_result *out)
{
    pg_db *p = (pg_db *)d;
    const char *values[PARAMS_MAX];
    char numbers[PARAMS_MAX][24], name[16];
    Oid types[PARAMS_MAX];
    if (count > PARAMS_MAX) {
        return ida_fail(c, IDA_INTERNAL_ERROR,
                        "The statement %s has more arguments than this driver takes.",
                        db_statements[statement].name);
    }
    for (size_t i = 0; i < count; i++) {
        int number = args[i].kind == 'i';
        types[i] = number ? OID_INT8 : OID_TEXT;
        values[i] = number ? numbers[i] : args[i].text;
        if (number) {
            snprintf(numbers[i], sizeof numbers[i], "%lld", (long long)args[i].number);
        }
    }
    int sent;
    if (p->pooler) {
        sent = PQsendQueryParams(p->conn, pg_text(statement), (int)count, types, values, NULL, NULL,
                                 0);
    } else {
        snprintf(name, sizeof name, "s%d", (int)statement);
        ida_kind kind = prepare(p, c, statement, name, types, (int)count);
        if (kind) {
            return kind;
        }
        sent = PQsendQueryPrepared(p->conn, name, (int)count, values, NULL, NULL, 0);
    }
    PGresult *result = sent ? pg_await(p) : NULL;
    if (!pg_is_good(result)) {
        return pg_fault(p, c, db_statements[statement].name, result);
    }
    copy_rows(result, out, c->pool);
    if (strncmp(PQcmdStatus(result), "SELECT", 6) != 0) {
        out->changes = strtoll(PQcmdTuples(result), NULL, 10);
    }
    PQclear(result);
    return IDA_OK;
}

static ida_kind script(db *d, ida_ctx *c, const char *sql)
{
    return command((pg_db *)d, c, "script", sql, NULL);
}

/* --- transactions --- */

static ida_kind begin(db *d, ida_ctx *c)
{
    pg_db *p = (pg_db *)d;
    return command(p, c, "begin",
                   apr_pstrcat(c->pool, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
                               p->settings, NULL),
                   NULL);
}

static ida_kind begin_read(db *d, ida_ctx *c)
{
    pg_db *p = (pg_db *)d;
    return command(p, c, "begin read",
                   apr_pstrcat(c->pool, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                               p->settings, NULL),
                   NULL);
}

static ida_kind commit(db *d, ida_ctx *c)
{
    PGresult *result = NULL;
    ida_kind kind = command((pg_db *)d, c, "commit", "COMMIT", &result);
    if (!kind) {
        /* A server that finds the transaction lost answers COMMIT with ROLLBACK, and calls that a
         * success. */
        if (strcmp(PQcmdStatus(result), "COMMIT") != 0) {
            ida_log(d->env, IDA_LOG_ERROR, "IDA0123", "store: PostgreSQL answered COMMIT with %s",
                    PQcmdStatus(result));
            kind = ida_fail(c, IDA_INTERNAL_ERROR, "The store did not keep the transaction.");
        }
        PQclear(result);
    }
    return kind;
}

static void rollback(db *d)
{
    pg_db *p = (pg_db *)d;
    if (d->broken || PQtransactionStatus(p->conn) == PQTRANS_IDLE) {
        return;
    }
    PGresult *result = PQsendQuery(p->conn, "ROLLBACK") ? pg_await(p) : NULL;
    d->broken |= !pg_is_good(result);
    PQclear(result);
}

/* --- notifications --- */

static ida_kind notify(db *d, ida_ctx *c, const char *channel)
{
    pg_db *p = (pg_db *)d;
    Oid type = OID_TEXT;
    int sent = PQsendQueryParams(p->conn, "SELECT pg_notify($1, '')", 1, &type, &channel, NULL,
                                 NULL, 0);
    PGresult *result = sent ? pg_await(p) : NULL;
    if (!pg_is_good(result)) {
        return pg_fault(p, c, "notify", result);
    }
    PQclear(result);
    return IDA_OK;
}

static int take_notification(pg_db *p)
{
    int any = 0;
    for (PGnotify *n; (n = PQnotifies(p->conn)) != NULL; any = 1) {
        PQfreemem(n);
    }
    return any;
}

static ida_kind listen_to(pg_db *p, ida_ctx *c, const char *channel)
{
    if (p->listening && strcmp(p->listening, channel) == 0) {
        return IDA_OK;
    }
    char *name = PQescapeIdentifier(p->conn, channel, strlen(channel));
    ida_kind kind = command(p, c, "listen",
                            apr_psprintf(c->pool, "UNLISTEN *; LISTEN %s", name ? name : "idadmin"),
                            NULL);
    PQfreemem(name);
    if (!kind) {
        p->listening = apr_pstrdup(p->head.pool, channel);
    }
    return kind;
}

static void wait_for(db *d, ida_ctx *c, const char *channel, int ms)
{
    pg_db *p = (pg_db *)d;
    int64_t deadline = db_clock() + ms;
    if (p->pooler || d->in_write || d->in_read || listen_to(p, c, channel) != IDA_OK) {
        db_sleep(ms);
        return;
    }
    while (!take_notification(p)) {
        int64_t left = deadline - db_clock();
        struct pollfd fd = {PQsocket(p->conn), POLLIN, 0};
        if (left <= 0) {
            return;
        }
        int ready = poll(&fd, 1, (int)left);
        if (ready < 0) {
            return; /* a signal: the caller looks at its flags */
        }
        if (ready > 0 && !PQconsumeInput(p->conn)) {
            lost(p, c, "wait", PQerrorMessage(p->conn));
            left = deadline - db_clock();
            db_sleep(left > 0 ? (int)left : 0);
            return;
        }
    }
}

/* --- schema --- */

static ida_kind schema_begin(db *d, ida_ctx *c)
{
    ida_kind kind = begin(d, c);
    d->in_write = !kind;
    if (!kind) {
        kind = script(
            d, c,
            apr_psprintf(
                c->pool,
                "SELECT pg_advisory_xact_lock(%d); CREATE TABLE IF NOT EXISTS schema_version "
                "(file TEXT COLLATE \"C\" NOT NULL PRIMARY KEY, number BIGINT NOT NULL)",
                SCHEMA_LOCK));
    }
    if (kind) {
        db_rollback(d);
    }
    return kind;
}

static ida_kind schema_version(db *d, ida_ctx *c, db_file file, int *version)
{
    pg_db *p = (pg_db *)d;
    PGresult *result = NULL;
    *version = 0;
    /* to_regclass: a missing table is no error, which would be logged and end a transaction. */
    ida_kind kind = command(p, c, "schema version", "SELECT to_regclass('schema_version')",
                            &result);
    if (kind) {
        return kind;
    }
    int missing = PQgetisnull(result, 0, 0);
    PQclear(result);
    if (missing) {
        return IDA_OK;
    }
    kind = command(p, c, "schema version",
                   apr_psprintf(c->pool, "SELECT number FROM schema_version WHERE file = '%s'",
                                db_file_name(file)),
                   &result);
    if (!kind) {
        *version = PQntuples(result) ? atoi(PQgetvalue(result, 0, 0)) : 0;
        PQclear(result);
    }
    return kind;
}

static ida_kind schema_set_version(db *d, ida_ctx *c, db_file file, int version)
{
    return script(d, c,
                  apr_psprintf(c->pool,
                               "INSERT INTO schema_version (file, number) VALUES ('%s', %d) "
                               "ON CONFLICT (file) DO UPDATE SET number = excluded.number",
                               db_file_name(file), version));
}

static ida_kind schema_wipe(db *d, ida_ctx *c, db_file file)
{
    return script(d, c,
                  apr_psprintf(c->pool, "DROP SCHEMA IF EXISTS %s CASCADE", db_file_name(file)));
}

/* --- opening --- */

/* Our own parameter taken out of keyword text or URI, which libpq would refuse. */
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
        end += *end != '\0'; /* the separator behind it goes too; one before it may stay */
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

static int dsn_has_password(const char *rest)
{
    static const char *const secrets[] = {"password", "sslpassword"};
    apr_pool_t *pool;
    int pooler, found = 0;
    apr_pool_create(&pool, NULL);
    PQconninfoOption *options = PQconninfoParse(conninfo_of(pool, rest, &pooler), NULL);
    for (const PQconninfoOption *o = options; o && o->keyword; o++) {
        for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
            found |= o->val && *o->val && strcmp(o->keyword, secrets[i]) == 0;
        }
    }
    apr_pool_destroy(pool);
    PQconninfoFree(options);
    return found;
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
    static const char *const names[DB_ROLE_COUNT] = {"idadmin request", "idadmin sync",
                                                     "idadmin ingest"};
    pg_db *p = apr_pcalloc(pool, sizeof *p);
    p->head = (db){.driver = &db_postgresql, .pool = pool, .env = c->env, .rest = "", .role = role};
    p->statement_ms = unchecked ? UPGRADE_MS : statement_ms[role];

    /* What stands before dbname is a default that the DSN may override. */
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

    /* A pooler hands the session to others: there the settings hold for a transaction. */
    const char *set = p->pooler ? "; SET LOCAL " : "; SET ";
    /* Compiling a plan takes longer than any of our statements; a server takes to it when
     * statistics are missing. */
    const char *plans = apr_pstrcat(pool, set, "jit = off", NULL);
    /* As SQLite's cache file does, the cache does not wait for the disk, above all not under the
     * lock of its tenant: the log is one, so whatever is committed later on what the cache was told
     * takes it to the disk along. */
    const char *wait = role == DB_SYNC ? apr_pstrcat(pool, set, "synchronous_commit = off", NULL)
                                       : "";
    p->settings = apr_psprintf(
        pool,
        "%sstatement_timeout = %d%slock_timeout = %d%sidle_in_transaction_session_timeout = "
        "60000%sclient_min_messages = warning%s%s",
        set, p->statement_ms, set, unchecked ? UPGRADE_MS : DB_PATIENCE_MS, set, set, plans, wait);
    if (!p->pooler) {
        kind = command(p, c, "settings", p->settings + 2, NULL);
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
    .dsn_fault = dsn_fault,
    .dsn_has_password = dsn_has_password,
    .open = open_postgresql,
    .close = close_now,
    .run = run,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .begin_read = begin_read,
    .end_read = rollback,
    .script = script,
    .notify = notify,
    .wait = wait_for,
    .schema_begin = schema_begin,
    .schema_version = schema_version,
    .schema_set_version = schema_set_version,
    .schema_wipe = schema_wipe,
    .files = {[DB_REQUEST] = ALL_FILES, [DB_SYNC] = ALL_FILES, [DB_INGEST] = ALL_FILES},
};
