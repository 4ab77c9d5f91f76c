/* Owns what a PostgreSQL session does: statements prepared by name at first use, transactions, a
 * bound on every wait, SQLSTATE turned into what the callers must do. Must not know what the
 * statements mean. */
#include <apr_strings.h>
#include <ctype.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/db/postgresql.h"

#define OID_INT8 20
#define OID_CAST 0 /* whatever the text casts it to */
#define PARAMS_MAX 64
/* what an answer is granted beyond its statement before the connection counts as dead */
#define ANSWER_MS 3000
#define SILENT_MS 5000 /* after so long it is not known that the other end is still there */

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

ida_kind pg_lost(pg_db *p, ida_ctx *c, const char *what, const char *why)
{
    /* A pooler takes connections while its server is away: each attempt would be such a line. */
    static _Atomic int64_t said;
    p->head.broken = 1;
    if (db_say_now(&said, 60000)) {
        ida_log(p->head.env, IDA_LOG_WARN, "IDA0120",
                "store: %s: the connection to PostgreSQL (%s) is lost: %s; said once a minute",
                what, p->head.rest, why);
    }
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
        kind = pg_lost(p, c, what, p->head.broken ? "no answer in time" : PQerrorMessage(p->conn));
        PQclear(result);
        return kind;
    }
    size_t i = 0;
    while (strncmp(state, states[i].state, strlen(states[i].state)) != 0) {
        i++;
    }
    kind = states[i].kind;
    p->head.broken |= states[i].broken || PQstatus(p->conn) == CONNECTION_BAD;
    p->head.must_repeat = states[i].repeat;
    if (kind == IDA_CONFLICT) {
        ida_fail(c, kind,
                 "A row of that identity exists already, or one that it refers to does not.");
    } else if (kind == IDA_SERVICE_UNAVAILABLE) {
        static _Atomic int64_t
            said[sizeof states /
                 sizeof *states]; /* a full disk is logged once a minute, not with each request */
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

static int64_t deadline_of(const pg_db *p)
{
    return db_clock() + p->statement_ms + ANSWER_MS;
}

static PGresult *next_result(pg_db *p, int64_t deadline)
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
            break; /* PQgetResult reports the failure */
        }
    }
    return PQgetResult(p->conn);
}

static PGresult *await(pg_db *p, int64_t deadline)
{
    PGresult *last = NULL;
    for (;;) {
        PGresult *result = next_result(p, deadline);
        if (!result) {
            if (p->head.broken) {
                PQclear(last);
                last = NULL;
            }
            return last;
        }
        PQclear(last);
        last = result;
        p->heard_at = db_clock();
        if (PQstatus(p->conn) == CONNECTION_BAD) {
            return last;
        }
    }
}

PGresult *pg_await(pg_db *p)
{
    return await(p, deadline_of(p));
}

/* A statement may take minutes. A dead server is noticed sooner: a command that needs no work is
 * answered at once. */
static ida_kind at_once(pg_db *p, ida_ctx *c, const char *what, const char *sql)
{
    PGresult *result = PQsendQuery(p->conn, sql) ? await(p, db_clock() + DB_PATIENCE_MS) : NULL;
    if (!pg_is_good(result)) {
        return pg_fault(p, c, what, result);
    }
    PQclear(result);
    return IDA_OK;
}

/* Outside of transactions, where BEGIN checks it: a connection that was idle for a while is
 * tested first. */
static ida_kind is_there(pg_db *p, ida_ctx *c, const char *what)
{
    int asked = db_clock() - p->heard_at < SILENT_MS ||
                PQtransactionStatus(p->conn) != PQTRANS_IDLE;
    return asked ? IDA_OK : at_once(p, c, what, "");
}

int pg_is_good(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY;
}

/* Runs text without arguments; several statements are allowed. `out`, if requested, must be
 * cleared by the caller. */
ida_kind pg_command(pg_db *p, ida_ctx *c, const char *what, const char *sql, PGresult **out)
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

char *pg_numbered(const char *from)
{
    size_t room = strlen(from) + 1;
    int highest = 0;
    char quote = 0;
    for (const char *at = from; *at; at++) {
        room += *at == '?' ? 3 : 0;
    }
    char *text = malloc(room), *to = text;
    if (!text) {
        abort();
    }
    while (*from) {
        if (quote || *from != '?') {
            quote = quote ? (*from == quote ? 0 : quote)
                          : (*from == '\'' || *from == '"' ? *from : 0);
            *to++ = *from++;
            continue;
        }
        char *end;
        int number = isdigit((unsigned char)from[1]) ? (int)strtol(from + 1, &end, 10)
                                                     : highest + 1;
        from = isdigit((unsigned char)from[1]) ? end : from + 1;
        highest = number > highest ? number : highest;
        to += apr_snprintf(to, room - (size_t)(to - text), "$%d", number);
    }
    *to = '\0';
    return text;
}

/* Made once in a process and kept. */
static const char *text_of(db_statement statement)
{
    static _Atomic(char *) texts[STMT_COUNT];
    char *text = atomic_load(&texts[statement]), *other = NULL;
    if (text) {
        return text;
    }
    text = pg_numbered(db_statements[statement].postgresql);
    if (!atomic_compare_exchange_strong(&texts[statement], &other, text)) {
        free(text); /* another thread was first */
        text = other;
    }
    return text;
}

Oid pg_parameter(const char *numbered, char kind, int number)
{
    char name[16];
    int len = snprintf(name, sizeof name, "$%d", number), uses = 0, casts = 0;
    for (const char *at = strstr(numbered, name); at; at = strstr(at + len, name)) {
        uses += !isdigit((unsigned char)at[len]);
        casts += strncmp(at + len, "::", 2) == 0;
    }
    return kind == 'i' ? OID_INT8 : uses && casts == uses ? OID_CAST : OID_TEXT;
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

static void types_of(db_statement statement, db_args args, Oid *types)
{
    for (size_t i = 0; i < args.count; i++) {
        types[i] = pg_parameter(text_of(statement), args.list[i].kind, (int)i + 1);
    }
}

static ida_kind prepare(pg_db *p, ida_ctx *c, db_statement statement, const char *name,
                        db_args args)
{
    Oid types[PARAMS_MAX];
    const int count = (int)args.count;
    if (p->prepared[statement]) {
        return IDA_OK;
    }
    types_of(statement, args, types);
    PGresult *result = PQsendPrepare(p->conn, name, text_of(statement), count, types) ? pg_await(p)
                                                                                      : NULL;
    if (!pg_is_good(result)) {
        return pg_fault(p, c, db_statements[statement].name, result);
    }
    PQclear(result);
    p->prepared[statement] = 1;
    return IDA_OK;
}

ida_kind pg_run(db *d, ida_ctx *c, db_statement statement, db_args args, db_result *out)
{
    pg_db *p = (pg_db *)d;
    const char *values[PARAMS_MAX];
    char numbers[PARAMS_MAX][24], name[16];
    Oid types[PARAMS_MAX];
    int count = (int)args.count;
    if (count > PARAMS_MAX) {
        return ida_fail(c, IDA_INTERNAL_ERROR,
                        "The statement %s has more arguments than this driver takes.",
                        db_statements[statement].name);
    }
    for (int i = 0; i < count; i++) {
        int number = args.list[i].kind == 'i';
        values[i] = number ? numbers[i] : args.list[i].text;
        if (number) {
            snprintf(numbers[i], sizeof numbers[i], "%lld", (long long)args.list[i].number);
        }
    }
    ida_kind there = is_there(p, c, db_statements[statement].name);
    if (there) {
        return there;
    }
    int sent;
    if (p->pooler) {
        types_of(statement, args, types);
        sent = PQsendQueryParams(p->conn, text_of(statement), count, types, values, NULL, NULL, 0);
    } else {
        snprintf(name, sizeof name, "s%d", (int)statement);
        ida_kind kind = prepare(p, c, statement, name, args);
        if (kind) {
            return kind;
        }
        sent = PQsendQueryPrepared(p->conn, name, count, values, NULL, NULL, 0);
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

ida_kind pg_script(db *d, ida_ctx *c, const char *sql)
{
    return pg_command((pg_db *)d, c, "script", sql, NULL);
}

/* --- transactions --- */

static ida_kind begin(db *d, ida_ctx *c, const char *what, const char *words)
{
    pg_db *p = (pg_db *)d;
    return at_once(p, c, what, apr_pstrcat(c->pool, words, p->settings, NULL));
}

ida_kind pg_begin(db *d, ida_ctx *c)
{
    return begin(d, c, "begin", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
}

ida_kind pg_begin_read(db *d, ida_ctx *c)
{
    return begin(d, c, "begin read", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
}

ida_kind pg_commit(db *d, ida_ctx *c)
{
    PGresult *result = NULL;
    ida_kind kind = pg_command((pg_db *)d, c, "commit", "COMMIT", &result);
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

void pg_rollback(db *d)
{
    pg_db *p = (pg_db *)d;
    if (d->broken || PQtransactionStatus(p->conn) == PQTRANS_IDLE) {
        return;
    }
    PGresult *result = PQsendQuery(p->conn, "ROLLBACK") ? await(p, db_clock() + DB_PATIENCE_MS)
                                                        : NULL;
    d->broken |= !pg_is_good(result);
    PQclear(result);
}
