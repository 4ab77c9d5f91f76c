/* Owns the work of a SQLite connection: statements and transactions, each write under the gate.
 * Must not know the meaning of statements. */
#include <apr_strings.h>

#include "core/base/text.h"
#include "core/db/sqlite.h"

/* `which`: a statement, or STMT_COUNT plus a word. */
static int prepare(sqlite_db *s, int which, sqlite3_stmt **out)
{
    static const char *const words[] = {
        [SQLITE_WORD_READ] = "BEGIN",
        [SQLITE_WORD_WRITE] = "BEGIN IMMEDIATE",
        [SQLITE_WORD_COMMIT] = "COMMIT",
        [SQLITE_WORD_ROLLBACK] = "ROLLBACK",
    };
    int rc = SQLITE_OK;
    const char *sql = which < STMT_COUNT ? db_statements[which].sqlite : words[which - STMT_COUNT];
    int64_t deadline = db_clock() + DB_PATIENCE_MS;
    while (!s->prepared[which]) {
        rc = sqlite3_prepare_v3(s->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->prepared[which],
                                NULL);
        if (!sqlite_again(rc, deadline)) {
            break;
        }
    }
    *out = s->prepared[which];
    return *out || rc != SQLITE_OK ? rc : SQLITE_MISUSE; /* MISUSE: an empty text */
}

static int bind_all(sqlite3_stmt *stmt, db_args args)
{
    if ((size_t)sqlite3_bind_parameter_count(stmt) != args.count) {
        return SQLITE_RANGE;
    }
    for (size_t i = 0; i < args.count; i++) {
        const db_arg *arg = &args.list[i];
        int rc = arg->kind == 'i'
                     ? sqlite3_bind_int64(stmt, (int)i + 1, arg->number)
                     : sqlite3_bind_text(stmt, (int)i + 1, arg->text, -1, SQLITE_STATIC);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    return SQLITE_OK;
}

/* Copies a column. As bytes, not as text: SQLite would first make a copy of its own, to end it with
 * a NUL. */
static int copy_value(sqlite3_stmt *stmt, int i, db_value *value, apr_pool_t *pool)
{
    char digits[IDA_DIGITS_MAX];
    *value = (db_value){NULL, 0};
    switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_NULL: return SQLITE_OK;
    case SQLITE_INTEGER:
        value->number = sqlite3_column_int64(stmt, i);
        value->text = apr_pstrmemdup(pool, digits,
                                     (apr_size_t)(ida_digits(digits, value->number) - digits));
        return SQLITE_OK;
    default: break;
    }
    const char *bytes = sqlite3_column_blob(stmt, i); /* NULL: empty, or no memory */
    if (!bytes && sqlite3_errcode(sqlite3_db_handle(stmt)) == SQLITE_NOMEM) {
        return SQLITE_NOMEM;
    }
    value->text = apr_pstrmemdup(pool, bytes ? bytes : "",
                                 (apr_size_t)sqlite3_column_bytes(stmt, i));
    return SQLITE_OK;
}

/* Runs to the end and copies all rows. */
static int step_all(sqlite3_stmt *stmt, db_result *result, apr_pool_t *pool)
{
    db_rows rows = {result, pool, NULL, 0};
    int rc;
    result->rows = 0;
    result->columns = sqlite3_column_count(stmt);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        db_value *value = db_rows_add(&rows);
        for (int i = 0; i < result->columns; i++) {
            if (copy_value(stmt, i, &value[i], pool) != SQLITE_OK) {
                return SQLITE_NOMEM;
            }
        }
    }
    return rc;
}

ida_kind sqlite_run(db *d, ida_ctx *c, db_statement statement, db_args args, db_result *result)
{
    sqlite_db *s = (sqlite_db *)d;
    const char *name = db_statements[statement].name;
    sqlite3_stmt *stmt;
    int rc = prepare(s, statement, &stmt);
    if (rc != SQLITE_OK) {
        return sqlite_fault(s, c, name, rc);
    }
    int writes = !sqlite3_stmt_readonly(stmt), gate = writes && !d->in_write;
    ida_kind kind = gate ? sqlite_take_gate(s, c, name) : IDA_OK;
    if (kind) {
        return kind;
    }
    if ((rc = bind_all(stmt, args)) == SQLITE_OK) {
        int64_t now = db_clock(), deadline = now + DB_PATIENCE_MS;
        s->read_until = !writes && (d->role == DB_READ || d->role == DB_REQUEST)
                            ? now + db_statement_ms[d->role]
                            : 0;
        do {
            rc = step_all(stmt, result, c->pool);
            if (rc != SQLITE_DONE) {
                sqlite3_reset(stmt);
            }
        } while (sqlite_again(rc, deadline));
        s->read_until = 0;
    }
    if (rc == SQLITE_DONE && writes) {
        result->changes = sqlite3_changes64(s->handle);
    }
    /* Before the reset: it keeps the error's text. */
    kind = rc == SQLITE_DONE ? IDA_OK : sqlite_fault(s, c, name, rc);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    if (gate) {
        if (!kind) {
            sqlite_relieve_log(s);
        }
        db_gate_leave(&s->gate);
    }
    return kind;
}

ida_kind sqlite_script(db *d, ida_ctx *c, const char *sql)
{
    int rc = sqlite_exec((sqlite_db *)d, sql);
    return rc == SQLITE_OK ? IDA_OK : sqlite_fault((sqlite_db *)d, c, "script", rc);
}

/* --- transactions --- */

static int say(sqlite_db *s, sqlite_word word)
{
    int64_t deadline = db_clock() + DB_PATIENCE_MS;
    sqlite3_stmt *stmt;
    int rc = prepare(s, STMT_COUNT + (int)word, &stmt);
    if (rc != SQLITE_OK) {
        return rc;
    }
    do {
        sqlite3_step(stmt);
        rc = sqlite3_reset(stmt);
    } while (sqlite_again(rc, deadline));
    return rc;
}

ida_kind sqlite_begin(db *d, ida_ctx *c)
{
    sqlite_db *s = (sqlite_db *)d;
    ida_kind kind = sqlite_take_gate(s, c, "begin");
    if (kind) {
        return kind;
    }
    int rc = say(s, SQLITE_WORD_WRITE);
    if (rc != SQLITE_OK) {
        kind = sqlite_fault(s, c, "begin", rc);
        db_gate_leave(&s->gate);
    }
    return kind;
}

ida_kind sqlite_commit(db *d, ida_ctx *c)
{
    sqlite_db *s = (sqlite_db *)d;
    int rc = say(s, SQLITE_WORD_COMMIT);
    if (rc != SQLITE_OK) {
        return sqlite_fault(s, c, "commit", rc); /* the caller rolls back */
    }
    sqlite_relieve_log(s);
    db_gate_leave(&s->gate);
    return IDA_OK;
}

void sqlite_rollback(db *d)
{
    sqlite_db *s = (sqlite_db *)d;
    if (!sqlite3_get_autocommit(s->handle) && say(s, SQLITE_WORD_ROLLBACK) != SQLITE_OK) {
        d->broken = 1;
    }
    db_gate_leave(&s->gate);
}

ida_kind sqlite_begin_read(db *d, ida_ctx *c)
{
    int rc = say((sqlite_db *)d, SQLITE_WORD_READ);
    return rc == SQLITE_OK ? IDA_OK : sqlite_fault((sqlite_db *)d, c, "begin read", rc);
}

void sqlite_end_read(db *d)
{
    sqlite_db *s = (sqlite_db *)d;
    if (!sqlite3_get_autocommit(s->handle) && say(s, SQLITE_WORD_ROLLBACK) != SQLITE_OK) {
        d->broken = 1;
    }
}
