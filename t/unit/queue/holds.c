/* Tasks that must not be claimed, on both engines: holds of directories and their probes, the
 * brake, an unreadable tenant. */
#include "t/unit/meter.h"
#include "t/unit/queue_claims.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#include "core/store/directory.h"

static void test_hold(void)
{
    drain();
    int cleared = 0, raised = 0, count = 0;
    queue_outlook at;
    const store_directory *held;
    store_directory state;
    add_task(s, "contoso", IDA_USER_UPDATE, "h1@corp.example", due);
    ida_task *two = add_task(s, "contoso", IDA_USER_UPDATE, "h2@corp.example", due + 1);
    ida_task *free_one = add_task(s, "fabrikam", IDA_USER_UPDATE, "h3@corp.example", due + 2);
    is_int(store_directory_hold(s, fresh(), "contoso", IDA_DIR_CLOUD, "does not answer", due + 5000,
                                1),
           IDA_OK, "a hold");
    is_str(get_task(s, two)->hold, "does not answer", "is seen at the task");
    is_str(claimed(due + 100), free_one->id, "other tenants go on");
    is_str(claimed(due + 100), NULL, "the held one waits");
    test_now_ms = due + 100;
    queue_look(s, fresh(), &at);
    ok(at.due && at.next_at == due + 5000, "what waits is due; until the next probe");
    ida_task *probe = claim_at(s, "w", due + 5000, NULL);
    ok(probe && !strcmp(probe->upn, "h1@corp.example"), "one probe goes");
    is_int(probe->probe_until, due + 10000, "and knows that it is one");
    is_str(claimed(due + 5000), NULL, "one at a time");
    is_int(store_directory_get(s, fresh(), "contoso", IDA_DIR_CLOUD, &state), IDA_OK, "state");
    ok(state.hold_since == due && state.hold_until == due + 10000 && state.hold_failures == 1,
       "the claim pushed the next probe");
    store_directory_hold(s, fresh(), "contoso", IDA_DIR_CLOUD, "refuses the password", due + 60000,
                         2);
    store_directory_held(s, fresh(), &held, &count);
    ok(count == 1 && held[0].hold_failures == 2 && held[0].hold_since == due &&
           !strcmp(held[0].hold_reason, "refuses the password") &&
           held[0].directory == IDA_DIR_CLOUD && !strcmp(held[0].tenant, "contoso"),
       "held on, since the same time");
    store_directory_alarm(s, fresh(), "contoso", IDA_DIR_CLOUD, 0, &raised);
    is_int(raised, 1, "the alarm is raised");
    store_directory_alarm(s, fresh(), "contoso", IDA_DIR_CLOUD, 0, &raised);
    is_int(raised, 0, "by one worker");
    store_directory_clear(s, fresh(), "contoso", IDA_DIR_CLOUD, 0, &cleared);
    is_int(cleared, 1, "it answers again");
    store_directory_clear(s, fresh(), "contoso", IDA_DIR_CLOUD, 0, &cleared);
    is_int(cleared, 0, "said once");
    is_str(claimed(due + 5000), two->id, "and work goes on");
    is_int(store_directory_get(s, fresh(), "contoso", IDA_DIR_ON_PREMISES, &state), IDA_OK,
           "a directory never heard of");
    ok(!state.hold_reason && !state.sync_requested_at, "is not held");
    test_now_ms = due;
}

static void probe_once(crew *m)
{
    ida_task *t;
    int braked;
    ida_kind kind = queue_claim(m->main, m->c, "w", due + 10, LEASE, 5000, &t, &braked);
    __atomic_add_fetch((int *)m->shared, kind == IDA_OK, __ATOMIC_SEQ_CST);
    m->failures = kind != IDA_OK && kind != IDA_NOT_FOUND;
}

static void test_probe(void)
{
    drain();
    crew members[8];
    apr_thread_t *threads[8];
    int probes = 0;
    for (int i = 0; i < 20; i++) {
        add_task(s, "contoso", IDA_USER_UPDATE, apr_psprintf(pool, "pr%d@corp.example", i), due);
    }
    store_directory_hold(s, fresh(), "contoso", IDA_DIR_CLOUD, "down", due + 1, 1);
    crew_work(probe_once, members, 8, &probes, threads);
    is_int(crew_join(members, 8, threads), 0,
           "eight workers at a directory to be probed: no failure");
    is_int(probes, 1, "one probe");
}

/* Puts so many due tasks for a held directory. */
static void put_held(int count)
{
    const char *numbers =
        store_sqlite_path(dsn)
            ? apr_psprintf(pool,
                           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                           "i < %d)",
                           count)
            : apr_psprintf(pool, "WITH n(i) AS (SELECT generate_series(1, %d))", count);
    script(
        DB_REQUEST,
        apr_psprintf(pool,
                     "INSERT INTO task (id, tenant_id, type, state, directory, person, who, "
                     "upn, wall_date, wall_time, zone, due_at, next_at, created_at, username) %s "
                     "SELECT 'held' || i, 'contoso', 'userUpdate', 'queued', 'cloud', 'x' || i, "
                     "'x' || i, 'x' || i, '', '', 'UTC', %" APR_INT64_T_FMT ", %" APR_INT64_T_FMT
                     ", 1, 'hr' FROM n",
                     numbers, due, due));
    if (!store_sqlite_path(dsn)) {
        script(DB_REQUEST, "ANALYZE task");
    }
    store_directory_hold(s, fresh(), "contoso", IDA_DIR_CLOUD, "down", due + HOUR, 1);
}

/* The minimal cost of a claim that finds nothing. */
static double empty_look_ms(void)
{
    const meter m = meter_of(s);
    double least = 1e9;
    int found = 0;
    for (int i = 0; i < 50; i++) {
        double begun = meter_seconds(&m);
        found += claim_at(s, "w", due + 10, NULL) != NULL;
        double took = (meter_seconds(&m) - begun) * 1000;
        least = took < least ? took : least;
    }
    is_int(found, 0, "behind them nothing may go");
    return least;
}

/* Due tasks for a held directory come before the one that may run: a claim does not read each. */
static void test_behind_a_hold(void)
{
    enum { FEW = 200, MANY = 4000 };
    drain();
    put_held(FEW);
    double few = empty_look_ms();
    script(DB_REQUEST, "DELETE FROM task WHERE id LIKE 'held%'");
    put_held(MANY);
    ida_task *behind = add_task(s, "contoso", IDA_USER_UPDATE, "on.premises@corp.example", due + 1);
    script(DB_REQUEST,
           apr_psprintf(pool, "UPDATE task SET directory = 'onPremises' WHERE id = '%s'",
                        behind->id));
    ida_task *other = add_task(s, "fabrikam", IDA_USER_UPDATE, "other@corp.example", due + 2);
    ida_task *t = claim_at(s, "w", due + 10, NULL);
    is_str(t ? t->id : NULL, behind->id, "behind 4,000 held tasks: the first that may go");
    is_str(claimed(due + 10), other->id, "then that of another tenant");
    double many = empty_look_ms();
    ok(many < 8 * few, "a look costs %.2f ms behind %d held tasks, %.2f ms behind %d", many, MANY,
       few, FEW);
}

/* The same if all of them belong to one person with a running task: the cost of a claim grows
 * with them, but no faster. */
static double behind_one_person(int count)
{
    drain();
    put_held(count);
    script(DB_REQUEST, "DELETE FROM directory_state; UPDATE task SET person = 'x1'");
    ok(claimed(due + 10) != NULL, "%d tasks of one person: the first goes", count);
    return empty_look_ms();
}

static void test_one_person(void)
{
    double few = behind_one_person(200), many = behind_one_person(4000);
    ok(many < 60 * few, "a look costs %.2f ms behind 4,000, %.2f ms behind 200", many, few);
}

#define STARTS "SELECT count(*) FROM audit_outbox WHERE tenant_id = 'brake' AND rid LIKE 'start-%'"

static void test_brake(void)
{
    drain();
    ida_task *stopped[4];
    int braked, started = 0, held = 0;
    for (int i = 0; i < 6; i++) {
        add_task(s, "brake", IDA_USER_DELETE, apr_psprintf(pool, "leaver%d@corp.example", i),
                 due + i);
    }
    add_task(s, "contoso", IDA_USER_DELETE, "free@corp.example", due);
    for (ida_task *t; (t = claim_at(s, "w", due + 10, &braked)) != NULL;) {
        if (braked && held < 4) {
            stopped[held++] = t;
        } else {
            started++;
        }
    }
    ida_ctx *c;
    ok(started == 3 && held == 4,
       "two of six offboardings of the tenant begin, another tenant's too");
    ida_task *t = get_task(s, stopped[0]);
    ok(t->state == IDA_ATTENTION && !t->started_at && t->error && strstr(t->error, "brake"),
       "the others wait for attention and say why");
    is_int(ask("SELECT count(*) FROM audit_outbox WHERE tenant_id = 'brake' AND rid NOT LIKE "
               "'start-%' AND record NOT LIKE '%row.change%'"),
           4, "each is audited");
    is_int(ask(STARTS), 2, "and the beginning of the others");
    is_int(ask("SELECT count(*) FROM user_lock WHERE tenant_id = 'brake'"), 2, "and locks nobody");
    c = fresh();
    is_int(queue_task_release(s, c, "brake", t->id, t->username), IDA_FORBIDDEN,
           "who asked cannot release");
    says(c, "and the message names who can", t->id, t->username, "idadminctl task release", NULL);
    is_int(queue_task_release(s, fresh(), "brake", stopped[3]->id, "another-key"), IDA_OK,
           "another key can");
    t = claim_at(s, "w", test_now_ms + 10, &braked);
    ok(t && !braked && !strcmp(t->id, stopped[3]->id), "it goes");
    t = get_task(s, stopped[0]);
    is_int(queue_task_release(s, fresh(), "brake", t->id, NULL), IDA_OK, "released by a person");
    t = claim_at(s, "w", test_now_ms + 10, &braked);
    ok(t && !braked && t->released && !strcmp(t->id, stopped[0]->id), "it goes");
    is_int(ask(STARTS), 2, "and does not count");
    /* A process that can write rows of tasks cannot reset the brake. */
    script(DB_REQUEST, "UPDATE task SET started_at = 1, disables = 0 WHERE tenant_id = 'brake'");
    is_int(queue_task_retry(s, fresh(), "brake", stopped[1]->id), IDA_OK, "merely retried");
    t = claim_at(s, "w", test_now_ms + 10, &braked);
    ok(t && braked, "it is stopped again");
    queue_task_retry(s, fresh(), "brake", stopped[1]->id);
    t = claim_at(s, "w", due + HOUR + 10, &braked);
    ok(t && !braked, "unless the hour is over");
}

/* A damaged row of one tenant must not stop the others. */
static void test_damaged(void)
{
    drain();
    int braked = 0;
    add_task(s, "damaged", IDA_USER_DELETE, "who@corp.example", due);
    ida_task *strange = add_task(s, "contoso", IDA_USER_UPDATE, "strange@corp.example", due);
    ida_task *good = add_task(s, "contoso", IDA_USER_DELETE, "good@corp.example", due + 1);
    script(DB_REQUEST, apr_psprintf(pool, "UPDATE task SET type = 'userTeleport' WHERE id = '%s'",
                                    strange->id));
    ida_task *t = claim_at(s, "w", due + 1, &braked);
    ok(t && braked && strstr(t->error, "idadminctl tenant apply"),
       "a damaged tenant document stops its own offboarding and says what to do");
    t = claim_at(s, "w", due + 1, &braked);
    is_str(t && !braked ? t->id : NULL, good->id,
           "work of other tenants goes on, past a task of an unknown type");
}

static void brake_claims(crew *m)
{
    ida_task *t;
    int braked;
    while (!queue_claim(m->main, m->c, "w", due + 3 * HOUR, LEASE, 5000, &t, &braked)) {
        __atomic_add_fetch((int *)m->shared, !braked, __ATOMIC_SEQ_CST);
    }
    m->failures = m->c->kind != IDA_NOT_FOUND;
}

static void test_brake_race(void)
{
    drain();
    crew members[6];
    apr_thread_t *threads[6];
    int started = 0;
    for (int i = 0; i < 30; i++) {
        add_task(s, "brake", IDA_USER_DELETE, apr_psprintf(pool, "mass%d@corp.example", i), due);
    }
    crew_work(brake_claims, members, 6, &started, threads);
    is_int(crew_join(members, 6, threads), 0, "six workers at thirty offboardings: no failure");
    is_int(started, 2, "exactly as many as the brake lets go");
    is_int(ask("SELECT count(*) FROM task WHERE state = 'attention'"), 28, "all others held");
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        begin_queue(i);
        test_hold();
        test_probe();
        test_behind_a_hold();
        test_one_person();
        test_brake();
        test_damaged();
        test_brake_race();
    }
    return done();
}
