/* Events and their deliveries on both engines: numbers become visible in their order while
 * transactions are open, also if one is rolled back; turns at a receiver; and a worker cannot
 * write for a receiver that another one holds. */
#include "t/unit/setup.h"

#include <time.h>

#include "core/queue/delivery.h"
#include "core/queue/event.h"
#include "t/unit/queue_setup.h"

#define TELLERS 6
#define ROUNDS 12

static store *s;

/* --- numbers --- */

typedef struct teller {
    ida_task *task;
    int pause_ms, fails; /* between its number and its end */
} teller;

static ida_kind tell(store *on, ida_ctx *c, void *baton)
{
    const teller *t = baton;
    ida_kind kind = queue_event_tell(on, c, t->task, IDA_DONE, test_now_ms, NULL);
    struct timespec pause = {.tv_nsec = t->pause_ms * 1000000L};
    nanosleep(&pause, NULL);
    return kind ? kind : t->fails ? ida_fail(c, IDA_CONFLICT, "undone") : IDA_OK;
}

/* Holds its number for a while in every other round, and rolls every third back. */
static void tell_often(crew *m)
{
    ida_task **tasks = m->shared;
    for (int i = 0; i < ROUNDS; i++) {
        teller t = {tasks[m->number], (m->number + i) % 2 ? 15 : 0, (m->number + i) % 3 == 0};
        ida_kind kind = store_transaction(m->main, m->c, tell, &t);
        m->failures += kind != (t.fails ? IDA_CONFLICT : IDA_OK);
        ida_ctx_clear(m->c);
    }
}

/* Each read shows consecutive numbers: nothing appears before a number that was seen. */
static void test_numbers(ida_task **tasks)
{
    crew members[TELLERS];
    apr_thread_t *threads[TELLERS];
    int64_t seen = 0, first, last;
    int gaps = 0, looks = 0;
    const int told = TELLERS * ROUNDS * 2 / 3;
    crew_work(tell_often, members, TELLERS, tasks, threads);
    for (apr_time_t until = apr_time_now() + apr_time_from_sec(60);
         seen < told && apr_time_now() < until; looks++) {
        const queue_event *rows;
        int count = 0;
        ida_ctx *c = fresh();
        queue_event_list(s, c, "corp", seen, 5, &rows, &count);
        for (int i = 0; i < count; i++) {
            gaps += rows[i].seq != seen + 1;
            seen = rows[i].seq;
        }
    }
    ok(crew_join(members, TELLERS, threads) == 0, "%s: each was sent, or undone", engine);
    ok(gaps == 0, "no number was seen before the one before it, in %d looks", looks);
    is_int(seen, told, "and those that were undone left no gap");
    queue_event_bounds(s, fresh(), "corp", &first, &last);
    ok(first == 1 && last == told, "which the bounds say");
}

/* --- deliveries --- */

static const queue_event *at(int64_t seq)
{
    const queue_event *rows;
    int count = 0;
    queue_event_list(s, fresh(), "corp", seq - 1, 1, &rows, &count);
    return count ? rows : NULL;
}

static const char *next_task(const queue_receiver *r, queue_delivery *d)
{
    ida_kind kind = queue_delivery_next(s, fresh(), r, d);
    return kind ? NULL : at(d->seq)->task_id;
}

static void told(ida_task *task, const char *person, const char *object_id)
{
    ida_task now = *task;
    teller t = {.task = &now};
    now.who = person;
    now.object_id = object_id;
    is_int(store_transaction(s, fresh(), tell, &t), IDA_OK, "told");
}

static int due(const queue_receiver **rows)
{
    int count = 0;
    queue_receiver_due(s, fresh(), test_now_ms, 10, rows, &count);
    return count;
}

static void failed(queue_receiver *r, const queue_delivery *d, int64_t wait, int64_t all_wait,
                   int give_up)
{
    const queue_delivery_failure f = {"busy", test_now_ms + wait, test_now_ms + all_wait, give_up};
    is_int(queue_delivery_failed(s, fresh(), r, d, &f), IDA_OK, "not taken");
}

static void test_turns(ida_task **tasks)
{
    const queue_receiver *rows;
    queue_delivery d, other;
    is_int(due(&rows), 0, "there was no receiver");
    script(DB_REQUEST, "INSERT INTO notification (tenant_id, url, events) VALUES ('corp', "
                       "'https://a', ',task.done,'), ('corp', 'https://b', ',task.failed,')");
    told(tasks[0], "anna@corp", NULL);
    told(tasks[1], "anna@corp", "id-anna");
    told(tasks[2], "ek@corp", "id-anna"); /* renamed */
    told(tasks[3], "bo@corp", "id-bo");
    is_int(due(&rows), 1, "a receiver that wants them");
    is_str(rows[0].url, "https://a", "and no other");
    queue_receiver mine = rows[0], late = rows[0];
    is_int(queue_receiver_take(s, fresh(), &mine, "w1"), IDA_OK, "taken");
    is_int(queue_receiver_take(s, fresh(), &late, "w2"), IDA_CONFLICT, "once");
    is_int(due(&rows), 1, "it is shown");
    is_str(rows[0].owner, "w1", "with whose it is");

    is_str(next_task(&mine, &d), tasks[0]->id, "the first");
    failed(&mine, &d, HOUR, 0, 0);
    is_str(next_task(&mine, &other), tasks[3]->id, "another person's does not wait for it");
    is_int(queue_delivery_done(s, fresh(), &mine, &other), IDA_OK, "taken");
    is_str(next_task(&mine, &other), NULL, "the person's own do");
    is_int(mine.failures, 0, "a call that was taken begins anew");
    test_now_ms += HOUR;
    for (int i = 0; i < 3; i++) {
        is_str(next_task(&mine, &d), tasks[0]->id, "once more");
        failed(&mine, &d, 0, HOUR, 0);
    }
    is_int(ask("SELECT failed_at FROM event_delivery WHERE tries = 4"), test_now_ms - HOUR,
           "since when is kept");
    is_int(queue_receiver_leave(s, fresh(), &mine), IDA_OK, "left");
    is_int(due(&rows), 0, "and not called for a while");

    mine.fence--;
    is_int(queue_delivery_done(s, fresh(), &mine, &d), IDA_CONFLICT, "a number that has passed");
    is_int(ask("SELECT count(*) FROM event_delivery"), 3, "writes nothing");
    test_now_ms += HOUR;
    is_int(due(&rows), 1, "then it is");
    mine = rows[0];
    is_int(queue_receiver_take(s, fresh(), &mine, "w2"), IDA_OK, "taken");
    is_str(next_task(&mine, &d), tasks[0]->id, "the first");
    failed(&mine, &d, HOUR, 0, 1);
    is_str(next_task(&mine, &d), tasks[1]->id, "given up: the next of the person");
    failed(&mine, &d, HOUR, 0, 0);
    script(DB_REQUEST, "INSERT INTO event_delivery (tenant_id, url, seq, person) "
                       "SELECT 'corp', 'https://a', min(seq), 'x' FROM event");
    next_task(&mine, &other);
    is_int(queue_delivery_done(s, fresh(), &mine, &other), IDA_OK, "it takes another");
    is_str(next_task(&mine, &d), tasks[1]->id, "so what waited for it waits no more");
    is_int(queue_delivery_done(s, fresh(), &mine, &d), IDA_OK, "taken");
    is_str(next_task(&mine, &d), tasks[2]->id, "then under the new name");
    is_int(queue_delivery_done(s, fresh(), &mine, &d), IDA_OK, "taken");
    is_str(next_task(&mine, &d), NULL, "that is all");
}

static void test_administrators(ida_task **tasks)
{
    const queue_undelivered *rows;
    const queue_receiver_state *receivers;
    int count = 0, removed = 0;
    int64_t retried = 0, first, last;
    queue_undelivered_list(s, fresh(), "corp", 1, 10, &rows, &count);
    is_int(count, 1, "what was given up is listed");
    is_str(rows[0].task_id, tasks[0]->id, "by its task");
    ok(rows[0].given_up_at > 0 && rows[0].tries == 5, "with its tries");
    queue_receiver_list(s, fresh(), "corp", &receivers, &count);
    ok(count == 2 && receivers[0].given_up == 1 && !receivers[0].waiting, "and counted");
    is_int(queue_undelivered_retry(s, fresh(), "corp", "evt_none", &retried), IDA_OK, "asked");
    is_int(retried, 0, "an event that is not there");
    queue_undelivered_retry(s, fresh(), "corp", rows[0].id, &retried);
    is_int(retried, 1, "is sent once more");
    queue_undelivered_list(s, fresh(), "corp", 0, 10, &rows, &count);
    ok(count == 1 && !rows[0].given_up_at && !rows[0].tries, "with all its tries");

    queue_event_bounds(s, fresh(), "corp", &first, &last);
    script(DB_REQUEST, "UPDATE event SET at = 1 WHERE seq <= 10 OR seq = 20");
    queue_event_retain(s, fresh(), "corp", 5, 4, &removed);
    is_int(removed, 4, "a part of what is too old");
    queue_event_retain(s, fresh(), "corp", 5, 100, &removed);
    is_int(removed, 6, "the rest, but for what has younger ones before it");
    int64_t kept = 0;
    queue_event_bounds(s, fresh(), "corp", &kept, &last);
    is_int(kept, 11, "what is kept has no holes");
    queue_event_retain(s, fresh(), "corp", INT64_MAX, 1000, &removed);
    is_int(ask("SELECT count(*) FROM event_delivery"), 0, "removed events are not sent");
    queue_event_bounds(s, fresh(), "corp", &first, &kept);
    ok(kept == last && first == last + 1, "and numbers go on where they were");
}

int main(void)
{
    setup();
    for (int i = 0, engines = store_engines(); i < engines; i++) {
        ida_task *tasks[TELLERS];
        dsn = store_upgraded(i, &engine);
        s = store_make(pool, dsn, DB_REQUEST);
        add_tenant("corp", "");
        for (int n = 0; n < TELLERS; n++) {
            tasks[n] = add_task(s, "corp", IDA_USER_CREATE,
                                apr_psprintf(pool, "p%d@corp.example", n), test_now_ms);
        }
        test_numbers(tasks);
        test_turns(tasks);
        test_administrators(tasks);
    }
    return done();
}
