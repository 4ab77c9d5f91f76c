/* The spool under attack by a process with httpd's user: locks held, endless segments; the
 * outbox under a flood of one company's records. Ingestion continues or logs the reason, at a
 * bounded rate. Clocks are set by hand. */
#include "t/unit/setup.h"

#include "t/unit/store_setup.h"

#include "core/store/rows.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "core/audit/spool.h"
#include "core/store/audit.h"
#include "worker/housekeep.h"
#include "worker/ingest.h"

#define MB (1024 * 1024)

static worker w;
static store *s, *audit;
static store_audit_turns turns;
static const char *spool;
static int told[2]; /* IDA0413, IDA0414 */
static int torn;    /* IDA0600 */

static void count_log(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton, (void)level, (void)message;
    told[0] += id && strcmp(id, "IDA0413") == 0;
    told[1] += id && strcmp(id, "IDA0414") == 0;
    torn += id && strcmp(id, "IDA0600") == 0;
}

/* One pass, `seconds` after the last. */
static int pass(int seconds)
{
    test_monotonic_ms += seconds * 1000;
    return housekeep_ingest(&w, s, audit, pool, &turns);
}

/* A segment of the minute `ago` with a genuine record, not ingested yet. */
static const char *honest(int ago)
{
    char name[AUDIT_SPOOL_NAME_SIZE];
    audit_record *record = audit_make(fresh(), "kept", AUDIT_SPOOL_CATEGORY);
    record->at = test_now_ms;
    record->actor = "hr";
    record->action = "user.get";
    record->outcome = "ok";
    audit_spool_writer *writer = audit_spool_writer_make(pool, spool);
    const char *text = audit_encode(pool, record, AUDIT_SPOOL_JSON_MAX);
    is_int(audit_spool_append(writer, test_now_ms - ago * 60000, text, strlen(text)), 0,
           "a record");
    audit_spool_close_old(writer, test_now_ms + 60000);
    audit_spool_name(test_now_ms - ago * 60000, name);
    return apr_pstrcat(pool, spool, "/", name, NULL);
}

static int64_t waiting(void)
{
    ingest_waiting left;
    is_int(ingest_backlog(audit, fresh(), spool, &left), IDA_OK, "what waits");
    return left.bytes;
}

static int hold(const char *path, mode_t mode)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode);
    fchmod(fd, mode);
    ok(flock(fd, LOCK_EX | LOCK_NB) == 0, "held: %s", strrchr(path, '/') + 1);
    return fd;
}

/* The lock is for readers: a process that can open another file cannot block them with it. */
static void reader_lock(void)
{
    struct stat st;
    const char *path = apr_pstrcat(pool, spool, "/" AUDIT_SPOOL_READER_LOCK, NULL),
               *other = apr_pstrcat(pool, spool, "/other", NULL);
    static const mode_t open_to[] = {0660, 0640, 0604};
    for (size_t i = 0; i < sizeof open_to / sizeof open_to[0]; i++) {
        unlink(path);
        int fd = hold(path, open_to[i]);
        honest(0);
        ok(pass(1) == 0, "a lock file of mode %o that somebody holds", (unsigned)open_to[i]);
        is_int(waiting(), 0, "keeps no record from the worker");
        close(fd);
    }
    ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600, "the lock file is the reader's alone");
    int fd = hold(other, 0600);
    unlink(path);
    ok(link(other, path) == 0, "another file of the worker's under its name");
    is_int(pass(1), 0, "is not taken for it");
    close(fd);
    unlink(other);
    unlink(path);
    ok(symlink("/etc/passwd", path) == 0 && pass(1) == 0, "nor is a link");
    unlink(path);
    ok(mkdir(path, 0700) == 0 && pass(1) != 0, "a directory is a fault");
    rmdir(path);
    if (geteuid() == 0) {
        ok(chown(spool, 33, 33) == 0 && pass(1) == 0, "made by root");
        ok(stat(path, &st) == 0 && st.st_uid == 33 && (st.st_mode & 07777) == 0600,
           "it is the owner's of the spool");
        ok(chown(path, 34, 33) == 0 && (fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0 &&
               flock(fd, LOCK_EX) == 0 && pass(1) == 0,
           "a stranger's is replaced");
        close(fd);
        ok(chown(spool, 0, 0) == 0, "given back");
        unlink(path);
    }
    pass(1);
    is_int(told[0], 0, "nothing of this is logged");

    fd = hold(path, 0600);
    for (int i = 0; i < 60; i++) {
        pass(1);
    }
    is_int(told[0], 0, "a reader may read for a minute");
    pass(1);
    is_int(told[0], 1, "then it is logged");
    for (int i = 0; i < 59; i++) {
        pass(1);
    }
    is_int(told[0], 1, "once");
    for (int i = 0; i < 3; i++) {
        pass(1);
    }
    is_int(told[0], 2, "a minute");
    close(fd);
    for (int i = 0; i < 100; i++) {
        is_int(pass(1), 0, "free again");
    }
    is_int(told[0], 2, "and silent");
    told[0] = 0;
}

static void held_segment(void)
{
    const char *segment = honest(4);
    int fd = open(segment, O_RDONLY | O_CLOEXEC);
    flock(fd, LOCK_SH);
    pass(100);
    is_int(waiting(), 0, "a segment that somebody holds is read");
    is_int(told[1], 0, "httpd has time to let go");
    test_now_ms += 2 * 60000;
    pass(1);
    is_int(told[1], 1, "later it is logged");
    pass(1);
    is_int(told[1], 1, "once a minute");
    close(fd);
    pass(100);
    ok(access(segment, F_OK) != 0, "and removed when it is free");
    is_int(told[1], 1, "which ends it");
    told[1] = 0;
}

/* A sparse file costs no disk: a segment may be larger than can be read. */
static void endless(void)
{
    const char *path = apr_pstrcat(pool, spool, "/200001010000.audit", NULL);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
    ok(ftruncate(fd, 64 * MB) == 0, "64 MB of nothing");
    close(fd);
    const char *later = honest(2);
    torn = 0;
    pass(1);
    ok(access(later, F_OK) != 0, "the segment behind it is taken in the same pass");
    int64_t left = waiting();
    ok(left > 0 && left < 64 * MB, "before all of it was read: %" APR_INT64_T_FMT " bytes are left",
       left);
    is_int(torn, 1, "one line for all that is torn in a pass");
    for (int i = 0; i < 20 && access(path, F_OK) == 0; i++) {
        pass(1);
    }
    ok(access(path, F_OK) != 0, "after some more it is gone");
}

#define FLOOD 9000 /* records: more than one pass takes */

static int64_t outbox(const char *tenant)
{
    db_result r;
    is_int(store_read(s, fresh(), STMT_audit_outbox_read, DB_ARGS(DB_T(tenant), DB_I(2 * FLOOD)),
                      &r),
           IDA_OK, tenant);
    return r.rows;
}

static struct crowd {
    const char *tenant;
    int count, put;
} crowd;

static ida_kind put_crowd(store *to, ida_ctx *c, void *baton)
{
    audit_record *record = audit_make(c, crowd.tenant, "workflow");
    ida_kind kind = IDA_OK;
    (void)baton;
    record->actor = "worker";
    record->action = "task.step";
    record->outcome = "ok";
    for (int i = 0; !kind && i < crowd.count; i++) {
        record->rid = ida_printf(c->pool, "%s%020d", crowd.tenant, crowd.put + i);
        kind = store_audit_add(to, c, record);
    }
    return kind;
}

static void put(const char *tenant, int count)
{
    crowd = (struct crowd){tenant, count, crowd.put + crowd.count};
    is_int(store_transaction(s, fresh(), put_crowd, NULL), IDA_OK, tenant);
}

/* After a flood of one company's records, others wait for one batch, and httpd's for one pass. */
static void flood(void)
{
    put("a-flood", FLOOD);
    put("zealous", 3);
    honest(0);
    is_int(pass(1), 0, "a pass");
    is_int(outbox("zealous"), 0, "the other company's records have got in");
    is_int(waiting(), 0, "httpd's too");
    int64_t left = outbox("a-flood");
    ok(left > 0 && left < FLOOD && turns.more,
       "while %" APR_INT64_T_FMT " records of the flood still wait", left);
    put("zealous", 3);
    pass(1);
    is_int(outbox("zealous"), 0, "they need not be there first");
    for (int i = 0; i < 10 && turns.more; i++) {
        pass(0);
    }
    is_int(outbox("a-flood"), 0, "the flood gets in as well");
    ok(!turns.more, "which is known");
}

/* --- who is told of what was put into a chain --- */

static int heard, undo;
static int64_t last;

static void hear(ida_ctx *c, const apr_array_header_t *rows)
{
    (void)c;
    heard += rows->nelts;
    last = APR_ARRAY_IDX(rows, rows->nelts - 1, audit_row).seq;
}

static ida_kind take_two(store *handle, ida_ctx *c, void *baton)
{
    ida_kind kind = store_audit_spool_batch(handle, c, "node", "told", 1, 0, baton, 2);
    return kind || !undo ? kind : ida_fail(c, IDA_CONFLICT, "undone");
}

static void telling(void)
{
    audit_record *two[2];
    for (int i = 0; i < 2; i++) {
        two[i] = audit_make(fresh(), "told", AUDIT_SPOOL_CATEGORY);
        two[i]->outcome = "ok";
    }
    heard = 0;
    audit->chained = hear;
    undo = 1;
    is_int(store_transaction(audit, fresh(), take_two, two), IDA_CONFLICT, "undone");
    is_int(heard, 0, "nothing is told of what was undone");
    undo = 0;
    is_int(store_transaction(audit, fresh(), take_two, two), IDA_OK, "committed");
    is_int(heard, 2, "told of each record");
    is_int(last, 2, "with its number");
    is_int(store_transaction(audit, fresh(), take_two, two), IDA_OK, "the same again");
    is_int(heard, 2, "not told again");
}

static void test_engine(int engine)
{
    const char *name, *dsn = store_upgraded(engine, &name);
    printf("# %s\n", name);
    s = store_with_key(dsn, DB_REQUEST);
    audit = store_with_key(dsn, DB_INGEST);
    spool = apr_pstrcat(pool, unit_store.dir, "/spool-", name, NULL);
    mkdir(spool, 0700);
    worker_config config = {
        .store = dsn, .spool = spool, .spool_given = 1, .seal_key = "/nonexistent"};
    worker_init(&w, &env, &config, pool);
    reader_lock();
    held_segment();
    endless();
    flood();
    telling();
    store_disconnect(s);
    store_disconnect(audit);
}

int main(void)
{
    setup();
    env.monotonic = test_monotonic;
    env.log = count_log;
    for (int i = 0; i < store_engines(); i++) {
        test_engine(i);
    }
    return done();
}
