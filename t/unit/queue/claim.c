/* The queue as the worker sees it, on both engines: order, one task for each person, fences,
 * takeover, plans of the statements; and related rows: directory states, sync leases, workers,
 * workflow runs. Holds and the brake: t/unit/queue/holds.c. */
#include "t/unit/queue_claims.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#include "core/queue/workflow.h"
#include "core/store/directory.h"

static void test_order(void)
{
    drain();
    ida_task *late = add_task(s, "contoso", IDA_USER_DELETE, "a@corp.example", due + 10);
    ida_task *first = add_task(s, "fabrikam", IDA_USER_DELETE, "b@corp.example", due);
    queue_outlook at;
    is_str(claimed(due - 1), NULL, "nothing is due");
    test_now_ms = due - 1;
    is_int(queue_look(s, fresh(), &at), IDA_OK, "an outlook");
    ok(!at.due && at.next_at == due, "nothing is due until the earliest");
    test_now_ms = due;
    queue_look(s, fresh(), &at);
    ok(at.due && at.next_at == due + 10, "which is due, then the next of those still to come");
    ida_task *t = claim_at(s, "w1", due + 20, NULL);
    is_str(t ? t->id : NULL, first->id, "earliest first");
    ok(t->state == IDA_RUNNING && t->fence == 1 && t->started_at == due + 20 &&
           t->lease_until == due + 20 + LEASE && t->attempts == 0 &&
           !strcmp(t->lease_owner, "w1") && t->payload && t->step_count == 4,
       "running under a lease");
    is_str(claimed(due + 20), late->id, "then the next");
    is_str(claimed(due + 20), NULL, "then none");
    queue_again(s, fresh(), t, due + 50, "busy", 1, NULL);
    t = get_task(s, t);
    ok(t->state == IDA_QUEUED && t->attempts == 1 && t->next_at == due + 50 &&
           !strcmp(t->error, "busy") && !t->lease_owner,
       "waits for its next try");
    is_str(claimed(due + 49), NULL, "not before");
    t = claim_at(s, "w2", due + 50, NULL);
    ok(t && t->fence == 2 && t->started_at == due + 20 && !t->error, "then under a higher fence");
    queue_again(s, fresh(), t, due + 60, "held", 0, NULL);
    is_int(get_task(s, t)->attempts, 1, "not every wait is a try");
}

static void test_clock_set_back(void)
{
    drain();
    ida_task *made = add_task(s, "contoso", IDA_USER_DELETE, "clock@corp.example", due);
    ida_task *t = claim_at(s, "w1", due, NULL);
    const queue_running_task *rows;
    int count;
    int64_t held = ask("SELECT count(*) FROM task WHERE state = 'attention'");
    test_now_ms = due - HOUR;
    queue_again(s, fresh(), t, test_now_ms + 50, "busy", 0, NULL);
    is_str(claimed(test_now_ms + 49), NULL,
           "begun, and the clock set back: not before its next try");
    is_str(claimed(test_now_ms + 50), made->id, "then it goes on, though it is not yet due again");
    is_int(queue_running(s, fresh(), 10, &rows, &count), IDA_OK, "it runs");
    is_int(queue_take_over(s, fresh(), &rows[0], "w2", test_now_ms, LEASE, &t), IDA_OK,
           "and a worker whose clock is behind may take it over");
    is_int(ask("SELECT count(*) FROM task WHERE state = 'attention'"), held, "none is held");
    test_now_ms = due;
    queue_finish(s, fresh(), t, IDA_DONE, NULL, NULL, NULL);
}

static void test_one_a_person(void)
{
    drain();
    ida_task *second = add_task(s, "contoso", IDA_USER_DELETE, "pat@corp.example", due + 5);
    ida_task *first = add_task(s, "contoso", IDA_USER_UPDATE, "Pat@corp.example", due);
    ida_task *elsewhere = add_task(s, "fabrikam", IDA_USER_UPDATE, "pat@corp.example", due + 7);
    ida_task *t = claim_at(s, "w", due + 10, NULL);
    is_str(t ? t->id : NULL, first->id, "earlier due first");
    is_str(claimed(due + 10), elsewhere->id,
           "while it runs nothing else of the person, but others");
    is_str(claimed(due + 10), NULL, "no more");
    queue_again(s, fresh(), t, due + 1000, "busy", 1, NULL);
    is_str(claimed(due + 500), NULL, "while it waits for its next try the later one waits too");
    t = claim_at(s, "w", due + 1000, NULL);
    is_str(t ? t->id : NULL, first->id, "again the first");
    queue_finish(s, fresh(), t, IDA_FAILED, "refused", NULL, NULL);
    t = claim_at(s, "w", due + 1000, NULL);
    is_str(t ? t->id : NULL, second->id, "a failed one stands in nobody's way");
    queue_finish(s, fresh(), t, IDA_DONE, NULL, "[\"left in one group\"]", NULL);
    ida_task *now = get_task(s, t);
    ok(now->state == IDA_DONE && now->finished_at == test_now_ms &&
           !strcmp(now->warnings, "[\"left in one group\"]"),
       "done with warnings");
    is_int(ask("SELECT count(*) FROM user_lock WHERE tenant_id = 'contoso'"), 0,
           "the person is free");
}

static void test_fence(void)
{
    drain();
    ida_task *made = add_task(s, "contoso", IDA_USER_CREATE, "fence@corp.example", due);
    queue_address_reserve(s, fresh(), "contoso", "fence@corp.example", made->id);
    ida_task *old = claim_at(s, "w1", due, NULL), *mine;
    ida_step step = {.position = 1,
                     .name = "createAccount",
                     .outcome = IDA_STEP_DONE,
                     .detail = "late",
                     .at = due};
    queue_task_change change = {.marker = "late",
                                .progress = "{\"late\":1}",
                                .upn = "late@corp.example"};
    const queue_running_task *rows;
    int count;
    is_int(queue_renew(s, fresh(), old->tenant, old->id, old->fence, due + 100, LEASE), IDA_OK,
           "heartbeat");
    is_int(queue_running(s, fresh(), 10, &rows, &count), IDA_OK, "what runs");
    ok(count == 1 && rows[0].fence == 1 && rows[0].heartbeat == old->heartbeat + 1 &&
           !strcmp(rows[0].owner, "w1") && rows[0].lease_until == due + 100 + LEASE,
       "with fence, heartbeat and owner");
    queue_running_task seen = rows[0];
    queue_renew(s, fresh(), old->tenant, old->id, old->fence, due + 200, LEASE);
    is_int(queue_take_over(s, fresh(), &seen, "w2", due, LEASE, &mine), IDA_NOT_FOUND,
           "a holder that gave a sign of life keeps it");
    seen.heartbeat++;
    is_int(queue_take_over(s, fresh(), &seen, "w2", due + 300, LEASE, &mine), IDA_OK,
           "one that did not loses it");
    ok(mine->fence == 2 && mine->attempts == 1 && !strcmp(mine->lease_owner, "w2") &&
           mine->payload && mine->state == IDA_RUNNING,
       "to the taker");

    is_int(queue_renew(s, fresh(), old->tenant, old->id, old->fence, due, LEASE), IDA_CONFLICT,
           "old fence: no heartbeat");
    is_int(queue_step(s, fresh(), old, &step, "{\"late\":1}", NULL), IDA_CONFLICT, "no step");
    is_int(queue_change(s, fresh(), old, &change), IDA_CONFLICT, "no change");
    is_int(queue_account_made(s, fresh(), old, &step, "late", 0, NULL), IDA_CONFLICT, "no account");
    is_int(queue_finish(s, fresh(), old, IDA_FAILED, "late", NULL, NULL), IDA_CONFLICT, "no end");
    is_int(queue_again(s, fresh(), old, due, "late", 1, NULL), IDA_CONFLICT, "no other try");
    ida_task *now = get_task(s, made);
    ok(now->state == IDA_RUNNING && !now->marker && !strcmp(now->progress, "{}") &&
           now->steps[0].outcome == IDA_STEP_NONE && now->seat == 1 &&
           !strcmp(now->upn, "fence@corp.example") && !now->object_id && !now->error,
       "nothing of it was written");
    is_int(ask("SELECT count(*) FROM reservation") + ask("SELECT count(*) FROM user_lock"), 2,
           "lock and reservation stand");

    change = (queue_task_change){.upn = "fence2@corp.example",
                                 .mail = "Fence2@mail.example",
                                 .display_name = "Fence Two",
                                 .marker = "m"};
    is_int(queue_change(s, fresh(), mine, &change), IDA_OK, "the holder takes another name");
    now = get_task(s, made);
    ok(!strcmp(now->upn, "fence2@corp.example") && !strcmp(now->person, "fence2@corp.example") &&
           !strcmp(now->mail, "Fence2@mail.example") && !strcmp(now->marker, "m") &&
           !strcmp(now->display_name, "Fence Two"),
       "which is on disk");
    is_int(ask("SELECT count(*) FROM reservation WHERE address IN ('fence2@corp.example', "
               "'fence2@mail.example')"),
           2, "and reserved");
    is_int(ask("SELECT count(*) FROM reservation"), 2, "the old one is free");
    is_int(ask("SELECT count(*) FROM user_lock WHERE person = 'fence2@corp.example'"), 1,
           "the lock follows");
    ida_task *other = add_task(s, "contoso", IDA_USER_CREATE, "taken@corp.example", due + HOUR);
    queue_address_reserve(s, fresh(), "contoso", "taken@corp.example", other->id);
    change = (queue_task_change){.upn = "Taken@corp.example"};
    is_int(queue_change(s, fresh(), mine, &change), IDA_UNPROCESSABLE,
           "a name reserved by another is refused");
    is_str(get_task(s, made)->upn, "fence2@corp.example", "and changes nothing");
    is_int(queue_step(s, fresh(), mine, &step, "{\"n\":1}", NULL), IDA_OK, "a step");
    now = get_task(s, made);
    ok(now->steps[0].outcome == IDA_STEP_DONE && now->steps[0].at == due &&
           !strcmp(now->steps[0].detail, "late") && !strcmp(now->progress, "{\"n\":1}") &&
           now->step_count == 3,
       "with progress");
    is_int(queue_finish(s, fresh(), mine, IDA_DONE, NULL, NULL, NULL), IDA_OK, "the end");
    is_int(ask("SELECT count(*) FROM user_lock"), 0, "frees the person under the new name");
    is_int(queue_finish(s, fresh(), mine, IDA_DONE, NULL, NULL, NULL), IDA_CONFLICT, "once");
}

/* --- several workers --- */

#define WORKERS 4
#define PEOPLE 6

typedef struct factory {
    int busy[PEOPLE];     /* running tasks of the person: must never exceed 1 */
    int64_t last[PEOPLE]; /* due time of the last that ran */
    int total, ran, doubled, disordered;
} factory;

/* Claims one task and ends it, or puts it back for a second attempt. IDA_NOT_FOUND if there was
 * none. */
static ida_kind work_one(crew *m, ida_ctx *c)
{
    factory *f = m->shared;
    ida_task *t;
    int braked;
    ida_kind kind = queue_claim(m->main, c, "w", due + HOUR, LEASE, 5000, &t, &braked);
    if (kind) {
        return kind;
    }
    int who = t->person[1] - '0', again = t->attempts == 0 && t->due_at % 3 == 0;
    __atomic_add_fetch(&f->doubled, __atomic_add_fetch(&f->busy[who], 1, __ATOMIC_SEQ_CST) != 1,
                       __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&f->disordered,
                       __atomic_exchange_n(&f->last[who], t->due_at, __ATOMIC_SEQ_CST) > t->due_at,
                       __ATOMIC_SEQ_CST);
    apr_sleep(200);
    __atomic_sub_fetch(&f->busy[who], 1, __ATOMIC_SEQ_CST);
    if (again) {
        return queue_again(m->main, c, t, due + 1, "busy", 1, NULL);
    }
    kind = queue_finish(m->main, c, t, IDA_DONE, NULL, NULL, NULL);
    __atomic_add_fetch(&f->ran, kind == IDA_OK, __ATOMIC_SEQ_CST);
    return kind;
}

static void work_off(crew *m)
{
    factory *f = m->shared;
    apr_pool_t *each;
    apr_pool_create(&each, m->pool);
    while (!m->failures && __atomic_load_n(&f->ran, __ATOMIC_SEQ_CST) < f->total) {
        ida_ctx *c = ida_ctx_make(&env, each);
        ida_kind kind = work_one(m, c);
        if (kind == IDA_NOT_FOUND) {
            apr_sleep(200);
        } else if (kind) {
            printf("# work: %s\n", c->message);
            m->failures++;
        }
        apr_pool_clear(each);
    }
}

static void test_workers(void)
{
    drain();
    factory f = {.total = PEOPLE * 20};
    crew members[WORKERS];
    apr_thread_t *threads[WORKERS];
    for (int i = 0; i < PEOPLE * 20; i++) {
        add_task(s, "contoso", IDA_USER_UPDATE, apr_psprintf(pool, "p%d@corp.example", i % PEOPLE),
                 due + i * 7919 % 1000);
    }
    crew_work(work_off, members, WORKERS, &f, threads);
    is_int(crew_join(members, WORKERS, threads), 0, "four workers over six people: no failure");
    is_int(f.doubled, 0, "never two tasks of a person at once");
    is_int(f.disordered, 0,
           "each person's tasks in the order of their due times, tries again included");
    is_int(ask("SELECT count(*) FROM task WHERE state = 'done'"), PEOPLE * 20, "every task done");
    is_int(ask("SELECT sum(fence - attempts) FROM task"), PEOPLE * 20, "each claimed once a try");
    is_int(ask("SELECT count(*) FROM user_lock"), 0, "nobody locked");
}

/* Tasks that go first arrive while later ones of the same people are being claimed. */
static void test_arrivals(void)
{
    drain();
    factory f = {.total = 240};
    crew members[WORKERS];
    apr_thread_t *threads[WORKERS];
    crew_work(work_off, members, WORKERS, &f, threads);
    for (int i = 0; i < f.total; i++) {
        add_task(s, "contoso", IDA_USER_UPDATE, apr_psprintf(pool, "p%d@corp.example", i % 2),
                 due + 3 * (1000 - i) + 1);
    }
    is_int(crew_join(members, WORKERS, threads), 0,
           "tasks that go first arrive while four workers run: no failure");
    is_int(f.doubled, 0, "never two tasks of a person at once");
    is_int(ask("SELECT count(*) FROM task WHERE state = 'done'"), f.total, "every task done");
}

typedef struct race {
    queue_running_task seen;
    int won;
} race;

static void grab(crew *m)
{
    race *r = m->shared;
    ida_task *t;
    ida_kind kind = queue_take_over(m->main, m->c, &r->seen, "taker", due, LEASE, &t);
    __atomic_add_fetch(&r->won, kind == IDA_OK, __ATOMIC_SEQ_CST);
    m->failures = kind != IDA_OK && kind != IDA_NOT_FOUND;
}

/* A killed worker leaves its row unchanged: running, with a heartbeat that does not advance. */
static void test_takeover(void)
{
    drain();
    crew members[8];
    apr_thread_t *threads[8];
    add_task(s, "contoso", IDA_USER_UPDATE, "gone@corp.example", due);
    ida_task *t = claim_at(s, "killed", due, NULL);
    race r = {.seen = {.tenant = "contoso",
                       .task_id = t->id,
                       .fence = t->fence,
                       .heartbeat = t->heartbeat}};
    crew_work(grab, members, 8, &r, threads);
    is_int(crew_join(members, 8, threads), 0, "eight takers of one abandoned task: no failure");
    is_int(r.won, 1, "exactly one gets it");
    is_int(get_task(s, t)->fence, 2, "under the next fence");
}

static void test_care(void)
{
    drain();
    ida_task *list;
    int count, removed;
    ida_task *a = add_task(s, "contoso", IDA_USER_UPDATE, "wall1@corp.example", due + HOUR);
    ida_task *b = make_task(fresh(), "contoso", IDA_USER_UPDATE, "wall2@corp.example", due + HOUR);
    b->wall_fixed = 0;
    queue_task_insert(s, fresh(), b);
    test_now_ms += 5;
    ida_task *late = add_task(s, "fabrikam", IDA_USER_UPDATE, "wall3@corp.example", due + HOUR);
    is_int(queue_zone_changes_in(s, fresh(), "Europe/Stockholm", NULL, 1, &list, &count), IDA_OK,
           "wall times");
    ok(count == 1 && !strcmp(list[0].id, a->id) && !strcmp(list[0].zone, "Europe/Stockholm"),
       "one at a time");
    queue_zone_changes_in(s, fresh(), "Europe/Stockholm", list[0].id, 10, &list, &count);
    ok(count == 1 && !strcmp(list[0].id, late->id), "those meant as now are left out");
    ida_task before = {.id = a->id, .tenant = a->tenant, .due_at = due + HOUR};
    is_int(queue_set_due(s, fresh(), &before, due + 2 * HOUR), IDA_OK, "a zone's rules changed");
    ida_task *now = get_task(s, a);
    ok(now->due_at == due + 2 * HOUR && now->next_at == due + 2 * HOUR,
       "the task is due at the new instant");
    is_int(queue_set_due(s, fresh(), &before, due + 3 * HOUR), IDA_CONFLICT, "once");
    now = claim_at(s, "w", due + HOUR, NULL);
    ida_step steps[] = {
        {.position = 11, .name = "addToGroup", .workflow = "Join/er 1", .workflow_position = 1},
        {.position = 12, .name = "sendEmail", .workflow = "Join/er 1", .workflow_position = 2},
        {.position = 13, .name = "sendEmail", .workflow = "Other", .workflow_position = 1}};
    for (int i = 0; i < 3; i++) {
        is_int(queue_step(s, fresh(), now, &steps[i], NULL, NULL), IDA_OK, "a workflow's action");
    }
    now = get_task(s, now);
    const ida_step *read = &now->steps[now->step_count - 3];
    is_str(ida_step_shown(pool, &read[0]), "Join/er 1/1 addToGroup", "is shown with its workflow");
    is_str(ida_step_shown(pool, &read[2]), "Other/1 sendEmail", "and the other's");
    queue_workflow_news news = {.workflow = "Join/er 1",
                                .position = 1,
                                .status = "done",
                                .started_at = due,
                                .finished_at = due + 1,
                                .run_status = "running"};
    is_int(queue_workflow_tell(s, fresh(), now, &news), IDA_OK,
           "a workflow run begins with its first news");
    is_int(ask("SELECT count(*) FROM workflow_run_action"), 2,
           "it has the task's actions of that workflow");
    is_int(
        ask("SELECT count(*) FROM workflow_run_action WHERE status = 'pending' AND position = 2"),
        1, "the other one waits");
    news = (queue_workflow_news){.workflow = "Join/er 1",
                                 .position = 2,
                                 .status = "failed",
                                 .started_at = due,
                                 .finished_at = due + 1,
                                 .error = "no mail server",
                                 .run_status = "failed",
                                 .run_ended = 1};
    is_int(queue_workflow_tell(s, fresh(), now, &news), IDA_OK, "and fails");
    is_int(ask("SELECT count(*) FROM workflow_run_action WHERE status = 'failed' AND position = 2 "
               "AND finished_at > 0"),
           1, "with its time");
    is_int(ask("SELECT count(*) FROM workflow_run WHERE status = 'failed' AND finished_at > 0"), 1,
           "the run has ended, and is one");
    ok(!queue_workflow_cancelled(s, fresh(), now) &&
           ask("SELECT count(*) FROM workflow_run WHERE status = 'failed'") == 1,
       "what has ended cannot be cancelled");
    news = (queue_workflow_news){
        .workflow = "Other", .position = 1, .status = "waiting", .run_status = "running"};
    queue_workflow_tell(s, fresh(), now, &news);
    ok(!queue_workflow_cancelled(s, fresh(), now) &&
           ask("SELECT count(*) FROM workflow_run r JOIN workflow_run_action a ON a.run_id = r.id "
               "WHERE r.status = 'cancelled' AND r.finished_at > 0 AND a.status = 'cancelled'") ==
               1,
       "what waits can");
    queue_finish(s, fresh(), now, IDA_DONE, NULL, NULL, NULL);
    is_int(queue_retain(s, fresh(), now->tenant, test_now_ms, 10, &removed), IDA_OK, "retention");
    is_int(removed, 0, "keeps what ended just now");
    queue_retain(s, fresh(), now->tenant, test_now_ms + 1, 10, &removed);
    is_int(removed, 1, "and removes what is older");
    is_int(ask("SELECT count(*) FROM workflow_run") +
               ask("SELECT count(*) FROM workflow_run_action"),
           0, "with its runs");
    test_now_ms = due;
}

static void test_sync_and_workers(void)
{
    drain();
    store_directory state;
    int64_t fence, other;
    store_sync_request(s, fresh(), "contoso", IDA_DIR_CLOUD, 1, 0);
    store_directory_get(s, fresh(), "contoso", IDA_DIR_CLOUD, &state);
    ok(state.sync_requested_at == test_now_ms && state.sync_accept_deletions && !state.sync_reset,
       "a sync is asked for");
    int64_t asked = state.sync_requested_at;
    store_sync_request(s, fresh(), "contoso", IDA_DIR_CLOUD, 0, 1);
    store_sync_request_done(s, fresh(), "contoso", IDA_DIR_CLOUD, asked);
    store_directory_get(s, fresh(), "contoso", IDA_DIR_CLOUD, &state);
    ok(state.sync_requested_at > asked && state.sync_accept_deletions && state.sync_reset,
       "a second request within the same instant is not lost");
    store_sync_request_done(s, fresh(), "contoso", IDA_DIR_CLOUD, state.sync_requested_at);
    store_directory_get(s, fresh(), "contoso", IDA_DIR_CLOUD, &state);
    ok(!state.sync_requested_at && !state.sync_accept_deletions && !state.sync_reset, "done");

    is_int(store_sync_lease(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, "w1", NULL, &fence),
           IDA_OK, "a lease on a directory never heard of");
    is_int(store_sync_lease(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, "w2", NULL, &other),
           IDA_CONFLICT, "not for two");
    store_directory_get(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, &state);
    is_str(state.sync_owner, "w1", "the owner is known");
    is_int(store_sync_renew(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, fence), IDA_OK,
           "heartbeat");
    is_int(store_sync_lease(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, "w2", &state, &other),
           IDA_CONFLICT, "a living one keeps it");
    store_directory_get(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, &state);
    is_int(store_sync_lease(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, "w2", &state, &other),
           IDA_OK, "one that stood still loses it");
    ok(other > fence, "to a higher fence");
    is_int(store_sync_renew(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, fence), IDA_CONFLICT,
           "which it learns");
    store_sync_release(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, fence);
    is_int(store_sync_renew(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, other), IDA_OK,
           "and cannot release it");
    store_sync_release(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, other);
    is_int(store_sync_lease(s, fresh(), "fabrikam", IDA_DIR_ON_PREMISES, "w3", NULL, &fence),
           IDA_OK, "released: free for all");

    const store_worker *rows;
    int count;
    store_worker w = {.id = "w1",
                      .host = "node1",
                      .version = "0.1.0",
                      .pid = 7,
                      .threads = 4,
                      .started_at = due,
                      .seen_at = due},
                 old = w;
    old.id = "w0";
    old.seen_at = due - 8 * 24 * HOUR;
    store_worker_seen(s, fresh(), &old);
    store_worker_seen(s, fresh(), &w);
    w.seen_at = due + 10;
    store_worker_seen(s, fresh(), &w);
    store_worker_list(s, fresh(), &rows, &count);
    ok(count == 1 && rows[0].seen_at == due + 10 && rows[0].pid == 7 && rows[0].threads == 4 &&
           !strcmp(rows[0].host, "node1") && !strcmp(rows[0].version, "0.1.0"),
       "workers that were seen this week");
    store_worker_gone(s, fresh(), "w1");
    store_worker_list(s, fresh(), &rows, &count);
    is_int(count, 0, "gone");
}

/* No statement of the queue scans the whole table of tasks, whatever the planner assumes about
 * its size. */
static void test_plans(void)
{
    sqlite3 *file;
    const char *path = store_sqlite_path(dsn);
    int bad = 0, looked = 0;
    sqlite3_open(path, &file);
    const char *stem = apr_pstrmemdup(pool, path, strlen(path) - strlen(".db"));
    sqlite3_exec(file, apr_psprintf(pool, "ATTACH '%s-cache.db' AS cache", stem), NULL, NULL, NULL);
    for (int i = 0; i < STMT_COUNT; i++) {
        const db_statement_text *text = &db_statements[i];
        sqlite3_stmt *stmt;
        if (strncmp(text->name, "task_", 5) && strncmp(text->name, "queue_", 6) &&
            strncmp(text->name, "seat", 4) && strncmp(text->name, "address_", 8) &&
            strncmp(text->name, "offboardings", 12)) {
            continue;
        }
        looked++;
        if (sqlite3_prepare_v2(file, apr_pstrcat(pool, "EXPLAIN QUERY PLAN ", text->sqlite, NULL),
                               -1, &stmt, NULL) != SQLITE_OK) {
            printf("# %s: %s\n", text->name, sqlite3_errmsg(file));
            bad++;
            continue;
        }
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *line = (const char *)sqlite3_column_text(stmt, 3);
            int small = !strcmp(text->name, "queue_running") &&
                        strstr(line, "USING INDEX task_running");
            int scan = !strncmp(line, "SCAN", 4) &&
                       (strstr(line, "SCAN t ") || strstr(line, "SCAN task") ||
                        strstr(line, "SCAN e ") || !strcmp(line, "SCAN t") ||
                        strstr(line, "SCAN a ") || strstr(line, "SCAN r ") ||
                        strstr(line, "SCAN u ") || strstr(line, "SCAN reservation") ||
                        !strcmp(line, "SCAN e"));
            /* A person has few tasks. */
            int sorts = strstr(line, "TEMP B-TREE FOR ORDER BY") &&
                        !strncmp(text->name, "task_list", 9) &&
                        strncmp(text->name, "task_list_person", 16);
            /* Conditions that select all tasks of a tenant, years of them. */
            int wide = strstr(line, "INDEX task_") && strstr(line, "(tenant_id=?)") &&
                       strcmp(text->name, "task_count") &&
                       strcmp(text->name, "task_count_narrow") && /* stops at the bound */
                       strcmp(text->name, "seats_used");
            if (wide || (scan && !small && !strstr(line, "VIRTUAL TABLE")) || sorts) {
                printf("# %s: %s\n", text->name, line);
                bad++;
            }
            if (!strcmp(text->name, "queue_head") && strstr(line, " t ")) {
                ok(strstr(line, "SEARCH t USING INDEX task_due (next_at<?)") != NULL,
                   "the head of the queue is read from its index: %s", line);
            }
        }
        sqlite3_finalize(stmt);
    }
    sqlite3_close(file);
    ok(looked > 40 && bad == 0, "%d statements of the queue, none scans the tasks", looked);
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        begin_queue(i);
        test_order();
        test_clock_set_back();
        test_one_a_person();
        test_fence();
        test_workers();
        test_arrivals();
        test_takeover();
        test_care();
        test_sync_and_workers();
        if (i == 0) {
            test_plans();
        }
    }
    return done();
}
