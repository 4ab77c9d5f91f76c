/* Owns the failures of SQLite: what each means, when to try again, and taking the gate. Must not
 * know statements. */
#include <stdatomic.h>
#include <string.h>

#include "core/db/sqlite.h"

int sqlite_is_busy(int rc)
{
    return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
}

int sqlite_is_over(void *baton)
{
    const sqlite_db *s = baton;
    return s->read_until && db_clock() > s->read_until;
}

static ida_kind over(sqlite_db *s, ida_ctx *c, const char *what)
{
    ida_log(s->head.env, IDA_LOG_WARN, "IDA0106", "store: %s took longer than %d s and was ended",
            what, db_statement_ms[s->head.role] / 1000);
    c->retry_after = 1;
    return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                    "The store took too long for this. Try again in a moment, or ask for less.");
}

static int is_conflict(int rc)
{
    return rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY ||
           rc == SQLITE_CONSTRAINT_FOREIGNKEY || rc == SQLITE_CONSTRAINT_ROWID;
}

/* Primary codes that concern the machine or the file, not our statement. */
static int is_environment(int rc)
{
    static const int codes[] = {SQLITE_IOERR,  SQLITE_FULL,     SQLITE_CANTOPEN, SQLITE_CORRUPT,
                                SQLITE_NOTADB, SQLITE_PROTOCOL, SQLITE_NOMEM,    SQLITE_PERM};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if ((rc & 0xff) == codes[i]) {
            return 1;
        }
    }
    return (rc & 0xff) == SQLITE_READONLY &&
           rc != SQLITE_READONLY; /* plain: a role that writes what is not its own */
}

static ida_kind busy(sqlite_db *s, ida_ctx *c, const char *what)
{
    ida_log(s->head.env, IDA_LOG_WARN, "IDA0101", "store: %s: %s is busy for more than %d s", what,
            s->path, DB_PATIENCE_MS / 1000);
    c->retry_after = 1;
    return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The store is busy. Try again in a moment.");
}

ida_kind sqlite_fault(sqlite_db *s, ida_ctx *c, const char *what, int rc)
{
    if (sqlite_is_busy(rc)) {
        s->head.must_repeat = s->head.in_write || rc == SQLITE_BUSY_SNAPSHOT;
        return busy(s, c, what);
    }
    if (rc == SQLITE_INTERRUPT) {
        return over(s, c, what);
    }
    if (is_conflict(rc)) {
        return ida_fail(
            c, IDA_CONFLICT,
            "A row of that identity exists already, or one that it refers to does not.");
    }
    s->head.broken = (rc & 0xff) != SQLITE_CONSTRAINT;
    if (is_environment(rc)) {
        static _Atomic int64_t said[256]; /* by primary code: a full disk is logged once a
                                             minute, not with each request; other faults at once */
        if (db_say_now(&said[rc & 0xff], 60000)) {
            ida_log(s->head.env, IDA_LOG_ERROR, "IDA0102", "store: %s: %s: %s (%d)", s->path, what,
                    sqlite3_errmsg(s->handle), rc);
        }
        c->retry_after = 1;
        return ida_fail(
            c, IDA_SERVICE_UNAVAILABLE,
            "The store cannot be used at the moment; the error log of the server has the reason.");
    }
    ida_log(s->head.env, IDA_LOG_ERROR, "IDA0103", "store: statement %s failed: %s (%d)", what,
            sqlite3_errmsg(s->handle), rc);
    return ida_fail(c, IDA_INTERNAL_ERROR, "The store refused a statement of ours (%s).", what);
}

ida_kind sqlite_take_gate(sqlite_db *s, ida_ctx *c, const char *what)
{
    int error = db_gate_take(&s->gate, DB_PATIENCE_MS);
    if (error == ETIMEDOUT) {
        return busy(s, c, what);
    }
    if (error) {
        s->head.broken = 1;
        ida_log(s->head.env, IDA_LOG_ERROR, "IDA0104",
                "store: the write gate %s.gate cannot be locked: %s", s->path, strerror(error));
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The store cannot be written at the moment; the error log of the server "
                        "has the reason.");
    }
    return IDA_OK;
}

int sqlite_again(int rc, int64_t deadline)
{
    if (rc == SQLITE_READONLY_RECOVERY) {
        db_sleep(1);
    } else if (!sqlite_is_busy(rc) || rc == SQLITE_BUSY_SNAPSHOT) {
        return 0;
    }
    return db_clock() < deadline;
}

int sqlite_exec(sqlite_db *s, const char *sql)
{
    int64_t deadline = db_clock() + DB_PATIENCE_MS;
    int rc;
    do {
        rc = sqlite3_exec(s->handle, sql, NULL, NULL, NULL);
    } while (sqlite_again(rc, deadline));
    return rc;
}
