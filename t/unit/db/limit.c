/* How long a read may take: on SQLite an endless read is aborted, the caller is asked to retry,
 * and the connection stays usable; a write is not aborted. Time is the test's. And what all runs
 * of synchronisations of a process may use together, and how long a log may grow. */
#include "t/unit/setup.h"

#include "t/unit/db_setup.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/db/sqlite.h"
#include "core/store/tenant.h"

static _Atomic int64_t step_ms, ahead_ms; /* added by each reading of the clock, and their sum so
                                             far */

/* The clock of the whole program. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);
    int64_t ms = id == CLOCK_MONOTONIC ? atomic_fetch_add(&ahead_ms, step_ms) + step_ms : 0;
    ts->tv_sec += (time_t)(ms / 1000);
    return rc;
}

/* Replaces the table by a view with so many rows. */
static const char view[] =
    "ALTER TABLE setting RENAME TO setting_kept; CREATE TABLE many (n INTEGER); INSERT INTO many "
    "VALUES (1000000000000000); CREATE VIEW setting AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL "
    "SELECT i + 1 FROM n WHERE i < (SELECT n FROM many)) SELECT 'n' || i AS name, '' AS value FROM "
    "n";

static void test_read(store *s)
{
    const char *value;
    is_int(sql_write(s, view), IDA_OK, "a read without end");
    step_ms = 1000;
    ida_ctx *c = fresh();
    is_int(store_setting_get(s, c, "nobody", &value), IDA_SERVICE_UNAVAILABLE, "is ended");
    says(c, "with what to do", "took too long", "Try again", NULL);
    is_int(c->retry_after, 1, "and when");
    is_int(logged[106], 1, "the log reports which statement");
    step_ms = 0;
    is_int(sql_write(s, "UPDATE many SET n = 10"), IDA_OK, "it has an end");
    is_int(store_setting_get(s, fresh(), "n10", &value), IDA_OK,
           "the connection goes on, and each read has the whole time");
    is_int(logged[106], 1, "nothing more is ended");
}

/* Longer than a read may take, in SQLite's readings of the clock. */
static void test_write(store *s)
{
    step_ms = 60000;
    is_int(sql_write(s, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                        "300000) INSERT INTO setting_kept (name, value) SELECT 'n' || i, '' FROM n "
                        "WHERE i % 1000 = 0"),
           IDA_OK, "a write goes on to its end");
    is_int(logged[106], 1, "and is not ended");
}

/* --- runs of synchronisations --- */

enum { RUNS = 4, MB = 1024 };

static int room_of(db *d)
{
    must(db_run_begins(d, fresh()), NULL, "a run begins");
    return ((sqlite_db *)d)->run_kb / MB;
}

static void test_runs(db *const *of)
{
    is_int(room_of(of[0]), 96, "a run keeps 96 MB of pages");
    is_int(room_of(of[1]), 32, "a second one what is left of 128 MB");
    is_int(room_of(of[2]), 0, "a third one nothing more");
    is_int(room_of(of[0]), 96, "one that begins again has its room once");
    must(db_run_ends(of[0], fresh()), NULL, "a run ends");
    is_int(room_of(of[2]), 96, "what it had is another one's");
    db_close(of[1]);
    is_int(room_of(of[3]), 32, "so is that of a connection that was closed");
    must(db_run_ends(of[2], fresh()), NULL, "a run ends");
    must(db_run_ends(of[3], fresh()), NULL, "a run ends");
}

static int64_t tried(sqlite_db *s, int64_t logged_mb)
{
    s->logged = logged_mb * MB * MB;
    sqlite_relieve_log(s);
    return s->log_tried / MB / MB;
}

/* The length of the log is the test's. */
static void test_log(db *writer, db *reader)
{
    sqlite_db *s = (sqlite_db *)writer;
    db_result r;
    const db_args none = DB_ARGS(DB_T("contoso"), DB_T("none"));
    is_int(tried(s, 500), 0, "a checkpoint that came through leaves no limit behind");
    must(db_begin_read(reader, fresh()), NULL, "a reader");
    must(db_run(reader, fresh(), STMT_counter_get, none, &r), NULL, "reads");
    must(db_run(writer, fresh(), STMT_counter_set, DB_ARGS(DB_T("contoso"), DB_T("some"), DB_I(1)),
                &r),
         NULL, "a row more");
    is_int(tried(s, 50), 0, "a short log is left alone");
    is_int(tried(s, 100), 100, "a reader holds up the checkpoint of a long one");
    is_int(tried(s, 103), 100, "which is not tried with each write");
    is_int(tried(s, 104), 104, "but after 4 MB");
    is_int(tried(s, 20), 0, "a log that began anew is as at first");
    must(db_run_begins(writer, fresh()), NULL, "a run begins");
    is_int(tried(s, 255), 0, "it may log 256 MB");
    is_int(tried(s, 256), 256, "and no more");
    must(db_run_ends(writer, fresh()), NULL, "the run ends");
    db_end_read(reader);
    is_int(tried(s, 300), 0, "without the reader the log is written back");
}

int main(void)
{
    db *of[RUNS];
    setup();
    env.log = count_log;
    is_sqlite = 1;
    const char *dsn = store_upgraded(0, &engine);
    store *s = store_make(pool, dsn, DB_REQUEST);
    printf("# %s\n", engine);
    test_read(s);
    test_write(s);
    store_disconnect(s);
    for (int i = 0; i < RUNS; i++) {
        must(db_open(&of[i], dsn, DB_SYNC, fresh(), pool), NULL, "opened");
    }
    test_runs(of);
    test_log(of[0], of[2]);
    return done();
}
