/* The queue as callers see it, on both engines: seats, names, lists, rescheduling, cancelling,
 * retrying; exact under concurrency. */
#include "core/model/payload.h"
#include "t/unit/queue_setup.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

static store *s;
static int64_t due;

static int64_t seats_used(const char *tenant)
{
    int64_t used = -1;
    queue_seats_used(s, fresh(), tenant, &used);
    return used;
}

static int64_t held(void)
{
    return ask("SELECT seats_held FROM tenant WHERE id = 'contoso'");
}

static void test_seats(void)
{
    is_int(seats_used("contoso"), 0, "nothing is in use at first");
    cache_person("contoso", "u1", "eva@corp.example", 1, 1);
    is_int(seats_used("contoso"), 1, "an enabled member");
    ida_task *t = add_task(s, "contoso", IDA_USER_CREATE, "seat.one@corp.example", due);
    is_int(seats_used("contoso"), 2, "and a queued creation");
    cache_person("contoso", "u2", "Seat.One@corp.example", 1, 1);
    is_int(seats_used("contoso"), 3,
           "an account of that name that is not the task's own is another person");
    ida_task *run = claim_at(s, "w", due, NULL);
    is_str(run ? run->id : NULL, t->id, "claimed");
    queue_task_change change = {.marker = "m1", .progress = "{\"createSent\":true}"};
    is_int(queue_change(s, fresh(), run, &change), IDA_OK, "marker on disk");
    is_int(seats_used("contoso"), 2,
           "from then on the account in the cache is its own: counted once");
    ida_step step = {.position = 1,
                     .name = "createAccount",
                     .outcome = IDA_STEP_DONE,
                     .detail = "made",
                     .at = due};
    is_int(queue_account_made(s, fresh(), run, &step, "u2", 0, NULL), IDA_OK, "account made");
    is_int(seats_used("contoso"), 2, "still once");
    is_int(held(), 0, "the seat is given back");
    is_int(queue_account_made(s, fresh(), run, &step, "u2", 0, NULL), IDA_OK, "said twice");
    is_int(held(), 0, "given back once");
    is_int(queue_finish(s, fresh(), run, IDA_DONE, NULL, NULL, NULL), IDA_OK, "done");
    is_int(ask("SELECT count(*) FROM reservation"), 0, "no reservation is left");
}

typedef struct end_of_run {
    const ida_task *run;
    ida_step step;
} end_of_run;

static ida_kind made_and_done(store *main, ida_ctx *c, void *baton)
{
    const end_of_run *e = baton;
    ida_kind kind = queue_account_made(main, c, e->run, &e->step, "u3", 1, NULL);
    return kind ? kind : queue_finish(main, c, e->run, IDA_DONE, NULL, NULL, NULL);
}

/* Account and end in one transaction: the end releases what the account would have released. */
static void test_seat_at_the_end(void)
{
    add_task(s, "contoso", IDA_USER_CREATE, "seat.two@corp.example", due);
    ida_task *run = claim_at(s, "w", due, NULL);
    queue_task_change change = {.marker = "m2", .progress = "{\"createSent\":true}"};
    is_int(queue_change(s, fresh(), run, &change), IDA_OK, "another one, marker on disk");
    is_int(queue_address_reserve(s, fresh(), "contoso", "seat.two@corp.example", run->id), IDA_OK,
           "a name");
    is_int(held(), 1, "a seat is held");
    end_of_run e = {run,
                    {.position = 1,
                     .name = "createAccount",
                     .outcome = IDA_STEP_DONE,
                     .detail = "made",
                     .at = due}};
    is_int(store_transaction(s, fresh(), made_and_done, &e), IDA_OK, "account and end");
    is_int(held(), 0, "the seat is given back");
    is_int(ask("SELECT count(*) FROM reservation"), 0, "and the name");
    is_int(ask("SELECT count(*) FROM user_lock"), 0, "and the person");
}

static const char *choose(const char *local, const char *task)
{
    char *address = NULL;
    ida_ctx *c = fresh();
    if (queue_address_choose(s, c, "contoso", local, "Corp.example", task, &address)) {
        printf("# %s\n", c->message);
    }
    return address;
}

static void test_names(void)
{
    ida_task *t = add_task(s, "contoso", IDA_USER_CREATE, "anna.berg@corp.example", due);
    is_str(choose("anna.berg", NULL), "anna.berg@Corp.example", "free");
    is_int(queue_address_reserve(s, fresh(), "contoso", "Anna.Berg@corp.example", t->id), IDA_OK,
           "reserved");
    is_int(queue_address_reserve(s, fresh(), "contoso", "anna.berg@corp.example", t->id), IDA_OK,
           "again by the same task");
    is_int(queue_address_reserve(s, fresh(), "contoso", "anna.berg@corp.example", "other"),
           IDA_CONFLICT, "not by another");
    is_str(choose("anna.berg", NULL), "anna.berg2@Corp.example", "numbers begin at 2");
    is_str(choose("anna.berg", t->id), "anna.berg@Corp.example",
           "one's own reservation does not count");
    cache_person("contoso", "n2", "ANNA.BERG2@corp.example", 0, 0);
    is_str(choose("anna.berg", NULL), "anna.berg3@Corp.example",
           "a disabled user's name is taken too");
    int taken = -1;
    queue_address_taken(s, fresh(), "contoso", "anna.Berg2@CORP.example", NULL, &taken);
    is_int(taken, 1, "taken in any case");
    queue_address_taken(s, fresh(), "contoso", "anna.berg3@corp.example", NULL, &taken);
    is_int(taken, 0, "free");
    queue_address_taken(s, fresh(), "contoso", "anna.berg@corp.example", t->id, &taken);
    is_int(taken, 0, "one's own");
    const char *sql = "INSERT INTO cache.address (tenant_id, address, directory, owner_id) VALUES "
                      "('contoso', 'bo.ek@corp.example', 'cloud', 'b1')";
    for (int n = 2; n <= 3000; n++) {
        if (n != 2345) {
            sql = n % 100
                      ? apr_psprintf(pool,
                                     "%s, ('contoso', 'bo.ek%d@corp.example', 'cloud', 'b%d')", sql,
                                     n, n)
                      : (script(DB_SYNC, sql),
                         apr_psprintf(
                             pool,
                             "INSERT INTO cache.address (tenant_id, address, directory, owner_id) "
                             "VALUES ('contoso', 'bo.ek%d@corp.example', 'cloud', 'b%d')",
                             n, n));
        }
    }
    script(DB_SYNC, sql);
    is_str(choose("bo.ek", NULL), "bo.ek2345@Corp.example", "the lowest free one among thousands");
    is_int(queue_task_cancel(s, fresh(), "contoso", t->id), IDA_OK, "cancelled");
    is_str(choose("anna.berg", NULL), "anna.berg@Corp.example", "the name is free again");
    char *other;
    is_int(queue_address_choose(s, fresh(), "fabrikam", "bo.ek", "corp.example", NULL, &other),
           IDA_OK, "another tenant");
    is_str(other, "bo.ek@corp.example", "is another world");
}

static void test_reading(void)
{
    ida_task *made[5];
    for (int i = 0; i < 5; i++) {
        test_now_ms += 10;
        made[i] = add_task(s, "fabrikam", i % 2 ? IDA_USER_DELETE : IDA_USER_UPDATE,
                           apr_psprintf(pool, "p%d@corp.example", i / 2), due + i);
    }
    ida_task *t = get_task(s, made[1]);
    ok(t && t->step_count == 4 && strcmp(t->steps[0].name, "disableAccount") == 0 &&
           strcmp(t->steps[3].name, "verify") == 0,
       "steps in order");
    is_str(t->payload, made[1]->payload, "payload");
    ok(t->due_at == due + 1 && t->next_at == due + 1 && t->state == IDA_QUEUED &&
           t->wall_fixed == 1 && !t->hold && !t->error,
       "as inserted");
    ida_ctx *c = fresh();
    is_int(queue_task_get(s, c, "contoso", made[1]->id, 0, &t), IDA_NOT_FOUND,
           "another tenant does not see it");
    says(c, "and the message says so", made[1]->id, NULL);

    queue_task_filter all = {.limit = 2};
    ida_task *list;
    int count;
    int64_t total;
    is_int(queue_task_list(s, fresh(), "fabrikam", &all, &list, &count, &total), IDA_OK, "list");
    ok(count == 2 && total == 5 && strcmp(list[0].id, made[4]->id) == 0 &&
           strcmp(list[1].id, made[3]->id) == 0,
       "newest first, all counted");
    ok(list[1].step_count == 4 && list[0].step_count == 4 && !list[0].payload,
       "with steps, without payload");
    all.before_id = list[1].id;
    queue_task_list(s, fresh(), "fabrikam", &all, &list, &count, &total);
    ok(count == 2 && total == 5 && strcmp(list[0].id, made[2]->id) == 0, "next page");
    queue_task_filter deletes = {.type = "userDelete", .limit = 10};
    queue_task_list(s, fresh(), "fabrikam", &deletes, &list, &count, &total);
    ok(count == 2 && total == 2, "by type");
    const queue_person p1 = {.address = "p1@corp.example"}, p0 = {.address = "p0@corp.example"};
    queue_task_filter person = {.person = &p1, .state = "queued", .limit = 10};
    queue_task_list(s, fresh(), "fabrikam", &person, &list, &count, &total);
    ok(count == 2 && total == 2, "by person");
    queue_task_filter state = {.state = "cancelled", .limit = 10};
    queue_task_cancel(s, fresh(), "fabrikam", made[0]->id);
    queue_task_list(s, fresh(), "fabrikam", &state, &list, &count, &total);
    ok(count == 1 && total == 1 && strcmp(list[0].id, made[0]->id) == 0, "by state");
    state.type = "userDelete";
    queue_task_list(s, fresh(), "fabrikam", &state, &list, &count, &total);
    ok(count == 0 && total == 0, "by state and type");

    is_int(queue_task_open(s, fresh(), "fabrikam", &p1, IDA_USER_DELETE, &t), IDA_OK,
           "the open offboarding");
    is_str(t->id, made[3]->id, "of that person");
    is_int(queue_task_open(s, fresh(), "fabrikam", &p0, IDA_USER_UPDATE, &t), IDA_NOT_FOUND,
           "a cancelled one is not open");
    for (int i = 1; i < 5; i++) {
        queue_task_cancel(s, fresh(), "fabrikam", made[i]->id);
    }
}

static ida_task *running(const char *upn)
{
    ida_task *t = add_task(s, "contoso", IDA_USER_CREATE, upn, due);
    queue_address_reserve(s, fresh(), "contoso", upn, t->id);
    ida_task *run = claim_at(s, "w", due, NULL);
    return run && strcmp(run->id, t->id) == 0 ? run : NULL;
}

static int64_t reserved(const ida_task *t)
{
    return ask(apr_psprintf(pool, "SELECT count(*) FROM reservation WHERE task_id = '%s'", t->id));
}

#define DUE(day, clock, place, at) \
    (&(zone_due){.date = (day), .time = (clock), .zone = (place), .at_ms = (at)})

static void test_moving(void)
{
    ida_task *t = add_task(s, "contoso", IDA_USER_DELETE, "move@corp.example", due), *now;
    is_int(queue_task_move(s, fresh(), "contoso", t->id,
                           DUE("2027-01-02", "08:15", "Europe/Stockholm", due + HOUR),
                           "{\"new\":1}"),
           IDA_OK, "moved");
    now = get_task(s, t);
    ok(now->due_at == due + HOUR && now->next_at == due + HOUR &&
           !strcmp(now->wall_date, "2027-01-02") && !strcmp(now->wall_time, "08:15"),
       "as asked");
    is_str(now->payload, "{\"new\":1}", "with its new payload");
    queue_task_move(s, fresh(), "contoso", t->id,
                    DUE("2027-01-02", "08:15", "Europe/Stockholm", due), NULL);
    is_str(get_task(s, t)->payload, "{\"new\":1}", "or the one it has");
    now = claim_at(s, "w", due, NULL);
    ida_ctx *c = fresh();
    is_int(queue_task_move(s, c, "contoso", t->id, DUE("2027-01-02", "08:15", "UTC", due), NULL),
           IDA_CONFLICT, "too late while it runs");
    says(c, "which is said", "running", NULL);
    is_int(queue_task_cancel(s, fresh(), "contoso", t->id), IDA_CONFLICT,
           "nor can it be cancelled");
    is_int(queue_task_retry(s, fresh(), "contoso", t->id), IDA_CONFLICT, "nor tried again");
    is_int(queue_task_release(s, fresh(), "contoso", t->id, NULL), IDA_CONFLICT, "nor released");
    queue_finish(s, fresh(), now, IDA_DONE, NULL, NULL, NULL);
    is_int(queue_task_cancel(s, fresh(), "contoso", t->id), IDA_CONFLICT,
           "nor cancelled when done");
    is_int(queue_task_move(s, fresh(), "contoso", "nothing", DUE("2027-01-02", "08:15", "UTC", due),
                           NULL),
           IDA_NOT_FOUND, "unknown task");
}

static void test_cancel(void)
{
    int64_t before = held();
    ida_task *t = running("cancel.a@corp.example");
    is_int(queue_finish(s, fresh(), t, IDA_FAILED, "no", NULL, NULL), IDA_OK,
           "failed before anything was sent");
    ok(held() == before && reserved(t) == 0, "gives back seat and names");
    is_int(queue_task_cancel(s, fresh(), "contoso", t->id), IDA_OK, "and can be cancelled");
    is_int(queue_task_cancel(s, fresh(), "contoso", t->id), IDA_CONFLICT, "once");

    t = running("cancel.b@corp.example");
    queue_task_change sent = {.marker = "m", .progress = "{\"createSent\":true}"};
    queue_change(s, fresh(), t, &sent);
    queue_again(s, fresh(), t, due, "lost the answer", 1, NULL);
    is_int(queue_task_cancel(s, fresh(), "contoso", t->id), IDA_OK,
           "cancelled after the create call went out");
    ok(held() == before + 1 && reserved(t) == 1, "keeps seat and name: the account may exist");
    is_int(get_task(s, t)->attempts, 1, "the try counted");

    t = running("cancel.c@corp.example");
    ida_step unknown = {.position = 1,
                        .name = "createAccount",
                        .outcome = IDA_STEP_UNKNOWN,
                        .detail = "no answer",
                        .at = due};
    queue_step(s, fresh(), t, &unknown, NULL, NULL);
    queue_finish(s, fresh(), t, IDA_ATTENTION, "outcome unknown", "[\"look\"]", NULL);
    ida_task *now = get_task(s, t);
    ok(now->state == IDA_ATTENTION && !now->finished_at && !strcmp(now->error, "outcome unknown") &&
           !strcmp(now->warnings, "[\"look\"]"),
       "attention");
    ok(held() == before + 2 && reserved(t) == 1, "keeps both too");
    is_int(queue_task_release(s, fresh(), "contoso", t->id, NULL), IDA_CONFLICT,
           "not the brake's: not to be released");
    is_int(queue_task_retry(s, fresh(), "contoso", t->id), IDA_OK, "but to be retried");
    now = get_task(s, t);
    ok(now->state == IDA_QUEUED && !now->attempts && !now->error && now->seat == 1 &&
           held() == before + 2,
       "queued with the seat it kept");
    queue_task_cancel(s, fresh(), "contoso", t->id);

    t = running("cancel.d@corp.example");
    queue_task_change looked = {.progress = "{\"createSent\":false}"};
    queue_change(s, fresh(), t, &sent);
    queue_change(s, fresh(), t, &looked);
    queue_finish(s, fresh(), t, IDA_FAILED, "refused", NULL, NULL);
    ok(held() == before + 2 && reserved(t) == 0, "refused and looked: given back");
    int removed;
    test_now_ms += HOUR;
    is_int(queue_retain(s, fresh(), "contoso", test_now_ms, 1000, &removed), IDA_OK,
           "what is over is removed in time");
    ok(removed >= 4 && held() == before, "with the seats it still held");
    is_int(ask("SELECT count(*) FROM reservation"), 0, "and the names");
    is_int(ask("SELECT count(*) FROM task_step WHERE task_id NOT IN (SELECT id FROM task)") +
               ask("SELECT count(*) FROM task_payload WHERE task_id NOT IN (SELECT id FROM task)"),
           0, "steps and payloads go with their tasks");
    test_now_ms -= HOUR;
}

static void test_retry(void)
{
    int64_t used = seats_used("tight");
    ida_task *t = add_task(s, "tight", IDA_USER_CREATE, "retry@corp.example", due);
    queue_address_reserve(s, fresh(), "tight", "retry@corp.example", t->id);
    ida_task *run = claim_at(s, "w", due, NULL);
    queue_finish(s, fresh(), run, IDA_FAILED, "refused", NULL, NULL);
    is_int(seats_used("tight"), used, "a failed creation holds no seat");
    ida_task *rival = add_task(s, "tight", IDA_USER_CREATE, "rival@corp.example", due + HOUR);
    queue_address_reserve(s, fresh(), "tight", "retry@corp.example", rival->id);
    ida_ctx *c = fresh();
    is_int(queue_task_retry(s, c, "tight", t->id), IDA_FORBIDDEN, "no seat is left for it");
    says(c, "used and limit are named", "1 of 1", NULL);
    is_int(get_task(s, t)->state, IDA_FAILED, "and it stays as it was");
    queue_task_cancel(s, fresh(), "tight", rival->id);
    is_int(queue_task_retry(s, fresh(), "tight", t->id), IDA_OK, "with a seat free");
    ok(seats_used("tight") == used + 1 && reserved(t) == 1, "takes seat and name again");
    queue_task_cancel(s, fresh(), "tight", t->id);
    is_int(seats_used("tight"), used, "cancelled");
}

/* --- 64 creations for 10 seats, while others claim and finish them through the cache --- */

#define MAKERS 8
#define EACH 8
#define RUNNERS 3

typedef struct contest {
    int64_t limit;
    int accepted, refused, makers_left, overshoot;
} contest;

typedef struct entry {
    contest *contest;
    ida_task *task;
} entry;

static ida_kind enter(store *own, ida_ctx *c, void *baton)
{
    entry *e = baton;
    char *upn;
    int64_t used;
    ida_kind kind = store_tenant_lock(own, c, "race");
    kind = kind ? kind
                : queue_address_choose(own, c, "race", "anna.berg", "corp.example", NULL, &upn);
    kind = kind ? kind : queue_seats_used(own, c, "race", &used);
    if (!kind && used >= e->contest->limit) {
        kind = ida_fail(c, IDA_FORBIDDEN, "full");
    }
    if (kind) {
        return kind;
    }
    e->task = make_task(c, "race", IDA_USER_CREATE, upn, test_now_ms);
    kind = queue_task_insert(own, c, e->task);
    return kind ? kind : queue_address_reserve(own, c, "race", upn, e->task->id);
}

static void make_many(crew *m)
{
    contest *race = m->shared;
    for (int i = 0; i < EACH; i++) {
        entry e = {race, NULL};
        ida_kind kind = store_transaction(m->main, m->c, enter, &e);
        if (kind && kind != IDA_FORBIDDEN) {
            m->failures++;
            printf("# create: %s\n", m->c->message);
        }
        __atomic_add_fetch(kind ? &race->refused : &race->accepted, 1, __ATOMIC_SEQ_CST);
        ida_ctx_clear(m->c);
    }
    __atomic_sub_fetch(&race->makers_left, 1, __ATOMIC_SEQ_CST);
}

typedef struct made {
    store *cache;
    const ida_task *task;
} made;

static ida_kind put_account(store *cache, ida_ctx *c, void *baton)
{
    const made *m = baton;
    return db_script(
        cache->db, c,
        apr_psprintf(
            c->pool,
            "INSERT INTO cache.directory_user (tenant_id, directory, id, upn, upn_key) VALUES "
            "('race', 'cloud', 'id-%s', '%s', '%s');INSERT INTO cache.address (tenant_id, address, "
            "directory, owner_id) VALUES ('race', '%s', 'cloud', 'id-%s');UPDATE cache.counter SET "
            "value = value + 1 WHERE tenant_id = 'race' AND name = 'enabled_members'",
            m->task->id, m->task->upn, m->task->person, m->task->person, m->task->id));
}

static int run_one(crew *m, store *cache)
{
    contest *race = m->shared;
    ida_task *t;
    int braked;
    int64_t used;
    ida_ctx_clear(m->c);
    if (queue_claim(m->main, m->c, "w", test_now_ms, LEASE, 5000, &t, &braked)) {
        m->failures += m->c->kind != IDA_NOT_FOUND;
        return 0;
    }
    made account = {cache, t};
    ida_step step = {.position = 1,
                     .name = "createAccount",
                     .outcome = IDA_STEP_DONE,
                     .detail = "made",
                     .at = test_now_ms};
    queue_task_change change = {.marker = t->id, .progress = "{\"createSent\":true}"};
    m->failures += queue_change(m->main, m->c, t, &change) != IDA_OK;
    m->failures += store_transaction(cache, m->c, put_account, &account) != IDA_OK;
    queue_seats_used(m->main, m->c, "race", &used);
    __atomic_add_fetch(&race->overshoot, used > race->limit, __ATOMIC_SEQ_CST);
    m->failures += queue_account_made(m->main, m->c, t, &step, t->id, 0, NULL) != IDA_OK;
    m->failures += queue_finish(m->main, m->c, t, IDA_DONE, NULL, NULL, NULL) != IDA_OK;
    return 1;
}

static void run_many(crew *m)
{
    contest *race = m->shared;
    store *cache = store_make(m->pool, dsn, DB_SYNC);
    for (int done_once = 0; !done_once;) {
        done_once = __atomic_load_n(&race->makers_left, __ATOMIC_SEQ_CST) == 0;
        while (run_one(m, cache)) {}
    }
}

static void test_contest(void)
{
    contest race = {.limit = 15, .makers_left = MAKERS};
    crew makers[MAKERS], runners[RUNNERS];
    apr_thread_t *maker_threads[MAKERS], *runner_threads[RUNNERS];
    script(
        DB_SYNC,
        "INSERT INTO cache.counter (tenant_id, name, value) VALUES ('race', 'enabled_members', 5)");
    crew_work(run_many, runners, RUNNERS, &race, runner_threads);
    crew_work(make_many, makers, MAKERS, &race, maker_threads);
    is_int(crew_join(makers, MAKERS, maker_threads) + crew_join(runners, RUNNERS, runner_threads),
           0, "64 creations beside a busy worker: no failure");
    is_int(race.accepted, 10, "exactly 10 accepted");
    is_int(race.refused, MAKERS * EACH - 10, "the others refused");
    is_int(race.overshoot, 0, "never more in use than there are");
    is_int(seats_used("race"), 15, "all seats in use in the end");
    is_int(ask("SELECT seats_held FROM tenant WHERE id = 'race'"), 0,
           "none of them held by a task");
    is_int(ask("SELECT count(DISTINCT upn) FROM task WHERE tenant_id = 'race' AND state = 'done'"),
           10, "every name once");
    is_int(ask("SELECT count(*) FROM user_lock") +
               ask("SELECT count(*) FROM reservation WHERE tenant_id = 'race'"),
           0, "no lock, no reservation left");
}

static ida_kind with_photo(ida_ctx *c, const char *upn, ida_task **t)
{
    char *bytes = apr_palloc(pool, 400 * 1024 + 1);
    memset(bytes, 'A', 400 * 1024);
    bytes[400 * 1024] = '\0';
    *t = make_task(c, "small", IDA_USER_CREATE, upn, due);
    (*t)->payload = apr_psprintf(pool, "{\"firstname\":\"Anna\",\"profilePhoto\":\"%s\"}", bytes);
    return queue_task_insert(s, c, *t);
}

static int has_photo(const ida_task *t)
{
    const ida_task *now = get_task(s, t);
    return now && strstr(now->payload, "profilePhoto") != NULL;
}

/* As a run does it: the photo is set, then something else fails, in one transaction. */
static ida_kind set_then_fail(store *to, ida_ctx *c, void *baton)
{
    const ida_task *run = baton;
    ida_step photo = {0};
    for (int i = 0; i < run->step_count; i++) {
        photo = strcmp(run->steps[i].name, "setPhoto") == 0 ? run->steps[i] : photo;
    }
    photo.outcome = IDA_STEP_DONE;
    ida_kind kind = queue_step(to, c, run, &photo, NULL, NULL);
    return kind ? kind : queue_finish(to, c, run, IDA_FAILED, "no", NULL, NULL);
}

/* A photo that was set is not needed again; one that waits for another attempt is removed in the
 * end, and the next attempt is informed. */
static void test_photo_of_failed(void)
{
    ida_task *one, *two;
    int left = -1;
    ok(!with_photo(fresh(), "photo.set@corp.example", &one), "with a photo");
    ida_task *run = claim_at(s, "w", due, NULL);
    ok(run && !store_transaction(s, fresh(), set_then_fail, run), "set, and then failed");
    ok(!has_photo(one), "the photo is gone");
    is_int(queue_task_retry(s, fresh(), "small", one->id), IDA_OK, "it may be tried again");
    run = claim_at(s, "w", due, NULL);
    ok(run && !queue_finish(s, fresh(), run, IDA_DONE, NULL, NULL, NULL), "done");

    ok(!with_photo(fresh(), "photo.waits@corp.example", &two), "another");
    run = claim_at(s, "w", due, NULL);
    ok(run && !queue_finish(s, fresh(), run, IDA_FAILED, "no", NULL, NULL),
       "failed before its photo was set");
    is_int(queue_retain_photos(s, fresh(), "small", test_now_ms, 10, &left), IDA_OK, "soon");
    ok(left == 0 && has_photo(two), "its photo waits");
    is_int(queue_retain_photos(s, fresh(), "small", test_now_ms + 1, 10, &left), IDA_OK, "later");
    const ida_task *now = get_task(s, two);
    ok(left == 1 && now && !strstr(now->payload, "profilePhoto") &&
           strstr(now->payload, IDA_PHOTO_LEFT),
       "it leaves, which the payload reports");
    is_int(queue_retain_photos(s, fresh(), "small", test_now_ms + 1, 10, &left), IDA_OK, "again");
    is_int(left, 0, "once");
    is_int(queue_task_retry(s, fresh(), "small", two->id), IDA_OK, "it may be tried again");
    is_int(queue_task_cancel(s, fresh(), "small", two->id), IDA_OK, "cancelled");
}

/* Photos of queued tasks have a budget, and are removed with the task. */
static void test_photos(void)
{
    ida_task *one = NULL, *two = NULL, *three = NULL;
    ida_ctx *c = fresh();
    ok(!with_photo(fresh(), "photo.one@corp.example", &one) &&
           !with_photo(fresh(), "photo.two@corp.example", &two),
       "two photos fit into a megabyte");
    is_int(with_photo(c, "photo.three@corp.example", &three), IDA_FORBIDDEN, "three do not");
    ok(strstr(c->message, "queuedMegabytes") != NULL, "the setting is named: %s", c->message);
    ida_task *bare = add_task(s, "small", IDA_USER_CREATE, "no.photo@corp.example", due + 1);
    ok(bare && !queue_task_cancel(s, fresh(), "small", bare->id), "without one it goes");
    ida_task *run = claim_at(s, "w", due, NULL);
    ok(run && strcmp(run->id, one->id) == 0, "the first runs");
    is_int(queue_finish(s, fresh(), run, IDA_FAILED, "no", NULL, NULL), IDA_OK, "it fails");
    ok(has_photo(one), "the photo waits for another try");
    is_int(with_photo(fresh(), "photo.three@corp.example", &three), IDA_FORBIDDEN, "and counts");
    is_int(queue_task_retry(s, fresh(), "small", one->id), IDA_OK, "tried again");
    run = claim_at(s, "w", due, NULL);
    ok(run && strcmp(run->id, one->id) == 0, "it runs");
    is_int(queue_finish(s, fresh(), run, IDA_DONE, NULL, NULL, NULL), IDA_OK, "done");
    ok(!has_photo(one), "the photo is gone");
    is_int(with_photo(fresh(), "photo.three@corp.example", &three), IDA_OK, "there is room again");
    is_int(queue_task_cancel(s, fresh(), "small", two->id), IDA_OK, "cancelled");
    ok(!has_photo(two), "likewise");
    is_int(queue_task_cancel(s, fresh(), "small", three->id), IDA_OK, "the last one");
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        dsn = store_upgraded(i, &engine);
        printf("# %s\n", engine);
        due = test_now_ms;
        s = store_make(pool, dsn, DB_REQUEST);
        add_tenant("contoso", "");
        add_tenant("fabrikam", "");
        add_tenant("tight", "\"seatLimit\":1,");
        add_tenant("race", "\"seatLimit\":15,");
        add_tenant("small", "\"queuedMegabytes\":1,");
        test_photos();
        test_photo_of_failed();
        test_seats();
        test_seat_at_the_end();
        test_names();
        test_reading();
        test_moving();
        test_cancel();
        test_retry();
        test_contest();
    }
    return done();
}
