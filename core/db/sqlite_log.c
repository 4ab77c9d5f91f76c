/* Owns the care of a SQLite file: its log, its size, the pages kept in memory. */
#include <apr_strings.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "core/db/sqlite.h"

/* growth before a checkpoint that readers held up is tried again */
#define LOG_BYTES_STEP (4 * 1024 * 1024)
#define LOG_WORTH_BYTES (1024 * 1024)    /* below, the worker's checkpoint does nothing */
#define LOG_CUT_BYTES (16 * 1024 * 1024) /* above, the worker cuts the file */

int sqlite_note_frames(void *baton, sqlite3 *handle, const char *schema, int frames)
{
    sqlite_db *s = baton;
    (void)handle;
    if (strcmp(schema, s->schema) == 0) {
        s->logged = (int64_t)frames * sqlite_page_bytes[sqlite_own_file[s->head.role]];
    }
    return SQLITE_OK;
}

/* --- runs of synchronisations --- */

/* Pages of the cache and of staging in memory that all runs of this process may have together, and
 * one of them: indexes grow at random positions, and the few pages that a connection usually keeps
 * would be read and written again for each row. */
#define RUNS_KB (128 * 1024)
#define RUN_KB (96 * 1024)

static _Atomic int runs_kb; /* given out */
static _Atomic int runs;    /* at work */

static int use_pages(sqlite_db *s)
{
    char *sql = sqlite3_mprintf("PRAGMA %s.cache_size = -%d", s->schema,
                                SQLITE_CACHE_KB + s->run_kb - SQLITE_STAGING_KB(s));
    int rc = sql ? sqlite_exec(s, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return rc;
}

void sqlite_run_over(sqlite_db *s)
{
    if (s->at_work) {
        atomic_fetch_sub(&runs_kb, s->run_kb);
        atomic_fetch_sub(&runs, 1);
        s->run_kb = s->at_work = 0;
    }
}

ida_kind sqlite_run_begins(db *d, ida_ctx *c)
{
    sqlite_db *s = (sqlite_db *)d;
    sqlite_run_over(s);
    int before = atomic_fetch_add(&runs_kb, RUN_KB);
    s->run_kb = before + RUN_KB <= RUNS_KB ? RUN_KB : before < RUNS_KB ? RUNS_KB - before : 0;
    atomic_fetch_sub(&runs_kb, RUN_KB - s->run_kb);
    atomic_fetch_add(&runs, 1);
    s->at_work = 1;
    int rc = use_pages(s);
    return rc == SQLITE_OK ? IDA_OK : sqlite_fault(s, c, "page cache", rc);
}

ida_kind sqlite_run_ends(db *d, ida_ctx *c)
{
    sqlite_db *s = (sqlite_db *)d;
    sqlite_run_over(s);
    int rc = use_pages(s);
    return rc == SQLITE_OK ? IDA_OK : sqlite_fault(s, c, "page cache", rc);
}

/* --- the log --- */

/* All connections that write the cache belong to the process of its runs: a small write beside a
 * run must not write back what the run has logged. */
static int64_t longest_log(const sqlite_db *s)
{
    return s->head.role == DB_SYNC && atomic_load(&runs) ? SQLITE_LOG_MAX_RUN : SQLITE_LOG_MAX;
}

/* Under the gate: SQLite before 3.51.3 can corrupt a file when writers and checkpoints coincide,
 * and under the gate they do not. */
void sqlite_relieve_log(sqlite_db *s)
{
    if (s->logged < longest_log(s)) {
        s->log_tried = 0;
    } else if (!s->log_tried || s->logged >= s->log_tried + LOG_BYTES_STEP) {
        int in_log = 0, written = 0;
        static _Atomic int64_t said; /* under a heavy load of writes the log passes the mark between
                                        two rounds of the worker */
        if (s->head.role == DB_REQUEST &&
            db_say_now(&said, 600000)) { /* the other roles are the worker's own */
            ida_log(s->head.env, IDA_LOG_WARN, "IDA0105",
                    "store: the log of %s holds %lld MB: does idadmin-worker run?", s->path,
                    (long long)(s->logged >> 20));
        }
        int rc = sqlite3_wal_checkpoint_v2(s->handle, s->schema, SQLITE_CHECKPOINT_PASSIVE, &in_log,
                                           &written);
        s->log_tried = rc == SQLITE_OK && in_log == written ? 0 : s->logged;
    }
}

ida_kind sqlite_checkpoint(db *d, ida_ctx *c)
{
    sqlite_db *s = (sqlite_db *)d;
    struct stat st;
    if (stat(apr_pstrcat(c->pool, s->path, "-wal", NULL), &st) != 0 ||
        st.st_size < LOG_WORTH_BYTES) {
        return IDA_OK;
    }
    ida_kind kind = sqlite_take_gate(s, c, "checkpoint");
    if (kind) {
        return kind;
    }
    int in_log = 0, written = 0;
    int rc = sqlite3_wal_checkpoint_v2(s->handle, s->schema, SQLITE_CHECKPOINT_PASSIVE, &in_log,
                                       &written);
    if (rc == SQLITE_OK && in_log == written && st.st_size >= LOG_CUT_BYTES) {
        rc = sqlite3_wal_checkpoint_v2(s->handle, s->schema, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                       NULL);
    }
    db_gate_leave(&s->gate);
    /* busy: a reader prevents it, the next round tries again */
    return rc == SQLITE_OK || sqlite_is_busy(rc) ? IDA_OK : sqlite_fault(s, c, "checkpoint", rc);
}

#define COMPACT_TRIES 100 /* of 50 ms: how long readers are waited for */

ida_kind sqlite_compact(db *d, ida_ctx *c)
{
    sqlite_db *s = (sqlite_db *)d;
    ida_kind kind = sqlite_take_gate(s, c, "compact");
    if (kind) {
        return kind;
    }
    int rc = sqlite3_exec(s->handle, apr_pstrcat(c->pool, "VACUUM ", s->schema, NULL), NULL, NULL,
                          NULL);
    for (int i = 0; rc == SQLITE_OK && i < COMPACT_TRIES; i++) {
        rc = sqlite3_wal_checkpoint_v2(s->handle, s->schema, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                       NULL);
        if (!sqlite_is_busy(rc)) {
            break;
        }
        db_sleep(50);
        rc = i + 1 < COMPACT_TRIES ? SQLITE_OK : rc;
    }
    db_gate_leave(&s->gate);
    return rc == SQLITE_OK ? IDA_OK : sqlite_fault(s, c, "compact", rc);
}
