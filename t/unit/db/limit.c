/* How long a read may take: on SQLite an endless read is aborted, the caller is asked to retry,
 * and the connection stays usable; a write is not aborted. Time is the test's. */
#include "t/unit/setup.h"

#include "t/unit/db_setup.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

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

int main(void)
{
    setup();
    env.log = count_log;
    is_sqlite = 1;
    store *s = store_make(pool, store_upgraded(0, &engine), DB_REQUEST);
    printf("# %s\n", engine);
    test_read(s);
    test_write(s);
    store_disconnect(s);
    return done();
}
