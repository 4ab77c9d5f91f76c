/* Retention, on both engines, with the clock set by hand: deletes in small steps, nothing young,
 * and keeps the audit chain whole. */
#include "t/unit/setup.h"

#include "t/unit/store_setup.h"

#include "t/unit/queue_setup.h"

#include "core/store/audit.h"
#include "core/store/idempotency.h"
#include "worker/retention.h"

#define DAY (24 * HOUR)
#define OLD_TASKS 130
#define OLD_RECORDS 2500

static worker w;
static store *s, *audit;
static int hurry;

/* Stands, or jumps so that a step's time is over. */
static int64_t stands_or_jumps(void *baton)
{
    test_monotonic_ms += hurry ? RETENTION_STEP_MS / 2 : 0;
    return test_monotonic(baton);
}

static const char *finished_sql = "";

/* Inserted by one script at the end: a connection for each would take long. */
static void add_finished(const char *upn, int64_t finished, const char *state)
{
    ida_task *t = add_task(s, "kept", IDA_USER_UPDATE, upn, finished);
    finished_sql = apr_pstrcat(
        pool, finished_sql,
        apr_psprintf(
            pool,
            "UPDATE task SET state = '%s', finished_at = %" APR_INT64_T_FMT
            " WHERE id = '%s';INSERT INTO workflow_run (id, tenant_id, workflow, event_type, "
            "task_id, upn, started_at, status) VALUES ('r%s', 'kept', 'Changed', 'userUpdate', "
            "'%s', '%s', 1, 'done');INSERT INTO workflow_run_action (tenant_id, run_id, "
            "position, type, status) VALUES ('kept', 'r%s', 1, 'sendEmail', 'done');",
            state, finished, t->id, t->id, t->id, upn, t->id),
        NULL);
}

static void add_key(const char *key, int64_t at)
{
    script(DB_REQUEST,
           apr_psprintf(pool,
                        "INSERT INTO idempotency (tenant_id, username, method, path, key, "
                        "request_hash, answer, created_at) VALUES ('kept', 'hr', 'POST', "
                        "'/v1/api/user', '%s', 'x', '{}', %" APR_INT64_T_FMT ")",
                        key, at));
}

static void add_request(const char *id, const char *state, int64_t decided, int64_t ended)
{
    script(DB_REQUEST,
           apr_psprintf(pool,
                        "INSERT INTO access_request (tenant_id, id, service, group_name, person, "
                        "upn, state, requested_at, decided_at, ended_at) VALUES ('kept', '%s', "
                        "'CRM', 'CRM', 'p', 'P', '%s', 1, %" APR_INT64_T_FMT ", %" APR_INT64_T_FMT
                        ")",
                        id, state, decided, ended));
}

static void add_records(int64_t at, int count)
{
    audit_record **records = apr_palloc(pool, sizeof *records * (size_t)count);
    for (int i = 0; i < count; i++) {
        records[i] = audit_make(fresh(), "kept", "api");
        records[i]->at = at;
        records[i]->actor = "hr";
        records[i]->action = "user.get";
        records[i]->outcome = "ok";
    }
    ok(!store_audit_spool_batch(audit, fresh(), "node", "s", at, 0, records, count), "%d records",
       count);
}

static int64_t verified(void)
{
    int64_t broken = -1, count = -1;
    is_int(store_audit_verify(s, fresh(), "kept", &broken, &count), IDA_OK, "verify");
    is_int(broken, 0, "the chain is whole");
    return count;
}

static int rounds(retention *t)
{
    int steps = 1;
    while (retention_step(t, s, audit, pool) == RETENTION_MORE_MS && steps < 10000) {
        steps++;
    }
    return steps;
}

static void test_engine(int engine_number)
{
    int64_t now = test_now_ms, history = now - 30 * DAY, log = now - 60 * DAY;
    dsn = store_upgraded(engine_number, &engine);
    s = store_with_key(dsn, DB_REQUEST);
    audit = store_with_key(dsn, DB_INGEST);
    add_tenant("kept", "\"retention\":{\"taskHistoryDays\":30,\"auditDays\":60},");
    for (int i = 0; i < OLD_TASKS; i++) {
        add_finished(apr_psprintf(pool, "old%d@corp.example", i), history - 1 - i,
                     i % 3   ? "done"
                     : i % 2 ? "failed"
                             : "cancelled");
    }
    add_finished("edge@corp.example", history, "done");
    add_finished("young@corp.example", now, "done");
    add_task(s, "kept", IDA_USER_DELETE, "waiting@corp.example", history - DAY);
    ok(script(DB_REQUEST, finished_sql), "%s: tasks of all ages", engine);
    finished_sql = "";
    add_key("old", now - DAY - 1);
    add_key("edge", now - DAY);
    add_request("1", "denied", history - 1, 0);
    add_request("2", "ended", 1, history - 1);
    add_request("3", "approved", 1, 0);
    add_request("4", "open", 0, 0);
    add_request("5", "ended", 1, history);
    add_records(log - 1, OLD_RECORDS);
    add_records(log, 10);
    add_records(log - 1, 5); /* arrived late: after younger ones, so it waits for them */
    ok(verified() == OLD_RECORDS + 15, "%s: all records", engine);

    retention *t = retention_make(&w, pool);
    int64_t tasks = ask("SELECT count(*) FROM task");
    w.env.seal_key = "/nonexistent/seal.key";
    rounds(t);
    w.env.seal_key = NULL;
    ok(ask("SELECT count(*) FROM task") == tasks && verified() == OLD_RECORDS + 15,
       "%s: nothing goes by a document that is not to be followed", engine);
    hurry = 1;
    int steps = rounds(t);
    ok(steps > 5 && steps < 100,
       "%s: without time little is done at once, but something (%d steps)", engine, steps);
    is_int(ask("SELECT count(*) FROM task"), 3,
           "old tasks are gone: at the edge, young and waiting ones stay");
    is_int(ask("SELECT count(*) FROM task_step WHERE task_id NOT IN (SELECT id FROM task)"), 0,
           "with their steps");
    is_int(ask("SELECT count(*) FROM workflow_run"), 2, "and runs");
    is_int(ask("SELECT count(*) FROM workflow_run_action"), 2, "and actions");
    is_int(ask("SELECT count(*) FROM idempotency"), 1, "keys of requests: kept for a day");
    is_int(ask("SELECT count(*) FROM access_request"), 3,
           "requests: what is open, granted or young stays");
    is_int(verified(), 15 + 3,
           "old records are gone, what is left is a whole chain, with a record "
           "of each removal");
    const store_audit_filter removals = {.action = "audit.retention", .target = "kept", .limit = 9};
    const audit_row *rows;
    int count;
    store_audit_list(s, fresh(), "kept", &removals, &rows, &count, NULL);
    ok(count == 3 && strstr(rows[0].record.parameters, "\"to\":2500,"),
       "which says up to where: %s", count ? rows[0].record.parameters : "none");
    hurry = 0;
    is_int(rounds(t), 1, "nothing to do: one step");
    test_now_ms += DAY;
    is_int(rounds(t), 1, "a day later");
    is_int(ask("SELECT count(*) FROM task"), 2, "another task");
    is_int(ask("SELECT count(*) FROM idempotency"), 0, "the other key");
    is_int(verified(), 3 + 1, "and the last records");
    test_now_ms += 90 * DAY;
    is_int(rounds(t), 1, "long afterwards");
    is_int(verified(), 4, "records of removals alone are left as they are");
    audit_record *one = audit_make(fresh(), "kept", "api");
    one->action = one->actor = "x";
    one->outcome = "ok";
    store_audit_spool_batch(audit, fresh(), "node", "s2", 1, 0, &one, 1);
    is_int(verified(), 5, "the chain goes on");
    store *away = store_with_key(
        engine_number ? "pgsql:host=/nonexistent" : "sqlite3:/nonexistent/x.db", DB_INGEST);
    is_int(retention_step(t, s, away, pool), RETENTION_AWAY_MS,
           "what a store that is away did not do is tried again soon");
    is_int(retention_step(t, away, audit, pool), RETENTION_AWAY_MS, "nor could it begin");
    is_int(retention_step(t, s, audit, pool), 0, "and then at its own time");
    test_now_ms = now;
    store_disconnect(s);
    store_disconnect(audit);
}

int main(void)
{
    worker_config config = {0};
    setup();
    env.monotonic = stands_or_jumps;
    worker_init(&w, &env, &config, pool);
    for (int i = 0; i < store_engines(); i++) {
        test_engine(i);
    }
    return done();
}
