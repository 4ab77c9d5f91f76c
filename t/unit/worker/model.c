/* Model check: random sequences of creations, rehires, updates, offboardings, cancelled,
 * rescheduled and retried tasks over REST, run by the worker's own engine against a directory in
 * memory, with lost answers, outages and deaths of either process at any moment. After every
 * life seats, names, tasks and directory are consistent with each other and with what was
 * promised. Parameters: `rounds`, operations on each engine; `seed`, the source of all
 * randomness including task IDs and waits, so that the same seed gives the same lives; `log`. */
#include "t/unit/model_directory.h"
#include "t/unit/queue_setup.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

const char *__asan_default_options(void);

/* A dying process does not clean up. */
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "core/cache/sync.h"
#include "core/face/rest.h"
#include "core/zone/schedule.h"
#include "core/zone/zone.h"
#include "worker/run/run.h"

#define ROUNDS_A_LIFE 200
#define PROMISES_MAX 1200
#define SEATS 12

#include "t/unit/model_company.h"

/* The promise of a 200. */
typedef struct promise {
    char id[40], employee[20], title[40];
    ida_task_type type;
    int enabled;          /* -1: as it is */
    unsigned groups;      /* for a restore: memberships given back */
    int seen_done, whose; /* whose: account, once done */
} promise;

/* The required state of each account, by its changes, and their times (ms UTC): a task may be
 * finished long after it took effect, when a later one has ended before it. */
typedef struct person {
    int known, enabled, fuzzy; /* fuzzy: one of the person's tasks stopped in the middle for good */
    unsigned groups;
    char title[40], employee[20];
    int64_t enabled_at, title_at, employee_at;
} person;

static promise promises[PROMISES_MAX];
static person people[ACCOUNTS_MAX];
static int promise_count, life_number;
static long accepted, refused_count, ran, crashes_of_requests;
static session *the_session;

/* The engine's randomness, a separate sequence from the dice. splitmix64. */
static uint64_t random_state;

static void told_random(void *baton, void *bytes, size_t len)
{
    unsigned char *out = bytes;
    (void)baton;
    for (size_t i = 0; i < len; i++) {
        uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
        z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
        out[i] = (unsigned char)((z ^ (z >> 31)) >> 56);
    }
}

/* Starts a process: connections, sessions, leases. */
static void start_process(void)
{
    store_disconnect(main_store);
    store_disconnect(cache_store);
    the_session = start_worker(IDA_DIR_CLOUD);
}

#include "t/unit/model_requests.h"

/* --- the worker --- */

static int64_t took_effect(const ida_task *t, const account *a)
{
    for (int i = 0; t->type == IDA_USER_UPDATE && i < t->step_count; i++) {
        if (strcmp(t->steps[i].name, "updateAccount") == 0) {
            return t->steps[i].at;
        }
    }
    return t->type == IDA_USER_CREATE ? a->born : test_now_ms;
}

/* 1 if nothing later has happened to it. */
static int is_latest(int64_t at, int64_t *last)
{
    int latest = at >= *last;
    *last = latest ? at : *last;
    return latest;
}

static void came_true(const ida_task *t)
{
    promise *p = promise_of(t->id);
    account *a = t->object_id ? by_id(t->object_id) : NULL;
    if (!p || !a) {
        complain("task %s is done, but %s", t->id,
                 p ? "there is no account" : "it was not requested");
        return;
    }
    person *who = &people[a - accounts];
    p->seen_done = 1;
    p->whose = (int)(a - accounts);
    for (promise *later = p + 1;
         p->type == IDA_USER_UPDATE && p->enabled == 1 && later < promises + promise_count;
         later++) {
        if (later->seen_done && later->whose == p->whose && later->type == IDA_USER_DELETE) {
            complain("task %s enabled %s, whose offboarding %s was asked for after it and is done",
                     p->id, a->upn, later->id);
        }
    }
    int64_t at = took_effect(t, a);
    who->known |= p->type == IDA_USER_CREATE;
    if (p->type == IDA_USER_DELETE) {
        who->groups = 0;
    }
    who->groups |= p->groups;
    if (p->enabled >= 0 && is_latest(at, &who->enabled_at)) {
        who->enabled = p->enabled;
    }
    if (*p->title && is_latest(at, &who->title_at)) {
        strcpy(who->title, p->title);
    }
    if (*p->employee && is_latest(at, &who->employee_at)) {
        strcpy(who->employee, p->employee);
    }
}

static void look_at(const char *id)
{
    ida_task *t;
    if (!queue_task_get(main_store, ctx(), company, id, 0, &t) && t->state == IDA_DONE) {
        came_true(t);
    }
}

/* Runs a task; 0 if the process died during it. */
static int run_one(ida_task *t)
{
    static char id[40];
    test_now_ms++; /* no two runs in one millisecond: took_effect */
    snprintf(id, sizeof id, "%s", t->id);
    death_in = roll(4) == 0 && faulty ? 1 + roll(30) : 0;
    dies_unheard |= roll(8) == 0 && faulty;
    if (setjmp(death)) {
        start_process();
        look_at(id);
        /* The cause of a worker's death may keep the next one from the directory: then people
         * decide before the service could read it. */
        outage_rounds = roll(2) ? 2 + roll(12) : 0;
        return 0;
    }
    ran++;
    the_session->used_at = test_now_ms;
    run_task(&rn, round_pool, t, test_now_ms);
    death_in = dies_unheard = 0;
    look_at(id);
    return 1;
}

static void work_through(void)
{
    ida_task *t;
    int braked;
    for (int i = 0; i < 40; i++) {
        if (queue_claim(main_store, ctx(), w.id, test_now_ms, LEASE_MS, PROBE_MS, &t, &braked)) {
            return;
        }
        run_one(t);
    }
}

/* Takes over the tasks of dead processes, after their leases. */
static void take_over(void)
{
    const queue_running_task *rows;
    int count = 0;
    ida_task *t;
    if (queue_running(main_store, ctx(), 100, &rows, &count) || !count) {
        return;
    }
    test_now_ms += LEASE_MS + 1000;
    for (int i = 0; i < count; i++) {
        if (!queue_take_over(main_store, ctx(), &rows[i], w.id, test_now_ms, LEASE_MS, &t)) {
            run_one(t);
        }
    }
}

static void time_passes(void)
{
    test_now_ms += (1 + roll(90)) * MINUTE;
    if (roll(3) == 0) {
        take_over();
    }
    work_through();
}

/* --- what must hold --- */

static int enabled_in_directory(void)
{
    int count = 0;
    for (int i = 0; i < account_count; i++) {
        count += accounts[i].enabled;
    }
    return count;
}

static void look_at_seats(void)
{
    int64_t used;
    if (!queue_seats_used(main_store, ctx(), company, &used) && used > SEATS) {
        complain("%lld of %d seats are in use", (long long)used, SEATS);
    }
    if (enabled_in_directory() > SEATS) {
        complain("the directory has %d enabled accounts for %d seats", enabled_in_directory(),
                 SEATS);
    }
}

/* An account that exists only in the directory (its creator died, or got no answer) still holds
 * its seat and its name. */
static void look_at_unseen(void)
{
    int64_t used = 0;
    int enabled = enabled_in_directory();
    for (int i = 0; i < account_count; i++) {
        const char *upn = ida_fold_address(round_pool, accounts[i].upn);
        int taken = 0, counted = 0;
        if (!queue_address_taken(main_store, ctx(), company, upn, NULL, &taken) && !taken) {
            complain("%s stands in the directory and its name is free, made by task %s", upn,
                     accounts[i].marker);
        }
        if (accounts[i].enabled &&
            !queue_seat_of_person(main_store, ctx(), company,
                                  &(queue_person){.id = accounts[i].id, .address = upn}, NULL,
                                  &counted) &&
            !counted) {
            complain("%s is enabled in the directory and has no seat", upn);
        }
    }
    if (!queue_seats_used(main_store, ctx(), company, &used) && used < enabled) {
        complain("%lld seats are counted for %d enabled accounts in the directory", (long long)used,
                 enabled);
    }
}

static void synchronise(void)
{
    cache_sync *all;
    cache_summary summary;
    ida_ctx *c = ctx();
    const cache_guard any = {.accept = 1};
    int64_t seen_at = test_now_ms;
    test_now_ms += 20 * MINUTE; /* write-throughs are no longer protected */
    ida_kind kind = cache_sync_begin(&all, cache_store, c, round_pool, company, IDA_DIR_CLOUD, 1);
    for (int i = 0; !kind && i < account_count; i++) {
        cache_user user;
        shown(&accounts[i], &user);
        kind = cache_sync_user(all, c, &user);
    }
    for (int g = 0; !kind && g < GROUPS; g++) {
        cache_group group = {.id = apr_psprintf(round_pool, "group-%d", g),
                             .name = apr_psprintf(round_pool, "Group %d", g),
                             .kind = "security"};
        cache_member *members = apr_pcalloc(round_pool,
                                            sizeof *members * (apr_size_t)(account_count + 1));
        int count = 0;
        for (int i = 0; i < account_count; i++) {
            if (accounts[i].groups & (1u << g)) {
                members[count++] = (cache_member){.id = accounts[i].id, .kind = "user"};
            }
        }
        kind = cache_sync_group(all, c, &group, members, count);
    }
    kind = kind ? kind : cache_sync_complete(all, c, "user");
    kind = kind ? kind : cache_sync_complete(all, c, "group");
    kind = kind ? kind : cache_sync_commit(all, c, "{}", NULL, &any, 1, &summary);
    if (kind) {
        complain("sync (%lld): %s", (long long)seen_at, c->message);
    }
}

#include "t/unit/model_compare.h"

static void end_of_life(void)
{
    faulty = outage_rounds = 0;
    for (int i = 0; i < 60 && (tasks_in("queued") || tasks_in("running")); i++) {
        apr_pool_clear(round_pool);
        test_now_ms += 8 * MINUTE * (i + 1);
        take_over();
        work_through();
    }
    int fuzzy = find_fuzzy();
    if (fuzzy * 2 > account_count + 4) {
        complain("%d of %d accounts are undefined: the faults are too many to show anything", fuzzy,
                 account_count);
    }
    compare_cache(0);
    compare_people();
    synchronise();
    compare_cache(1);
    look_at_seats();
    if (count_of("SELECT count(*) FROM user_lock WHERE tenant_id = ", "")) {
        complain("a person is still locked");
    }
    if (count_of("SELECT count(*) FROM task WHERE tenant_id = ", "") != promise_count) {
        complain("%lld tasks for %d promises",
                 (long long)count_of("SELECT count(*) FROM task WHERE tenant_id = ", ""),
                 promise_count);
    }
    if (count_of("SELECT count(*) FROM task WHERE tenant_id = ", " AND seat = 1") !=
        count_of("SELECT seats_held FROM tenant WHERE id = ", "")) {
        complain("the count of seats held is wrong");
    }
    /* Seats and names are held only if an account may have been created. */
    if (count_of("SELECT count(*) FROM task t WHERE tenant_id = ",
                 " AND state IN ('done', 'queued', 'running') AND (seat = 1 OR EXISTS (SELECT 1 "
                 "FROM reservation r WHERE r.task_id = t.id))")) {
        complain("a task that is over holds a seat or a name");
    }
    if (count_of("SELECT count(*) FROM task t WHERE tenant_id = ",
                 " AND state IN ('failed', 'cancelled') AND started_at = 0 AND (seat = 1 OR EXISTS "
                 "(SELECT 1 FROM reservation r WHERE r.task_id = t.id))")) {
        complain("a task that never began holds a seat or a name");
    }
    if (counted() != enabled_in_directory()) {
        complain("%lld seats are counted for %d enabled accounts", (long long)counted(),
                 enabled_in_directory());
    }
}

static void begin_life(void)
{
    account_count = promise_count = 0;
    memset(people, 0, sizeof people);
    faulty = outage_rounds = 0;
    snprintf(company, sizeof company, "life%d", ++life_number);
    add_tenant(company, apr_psprintf(round_pool, "\"seatLimit\":%d,", SEATS));
    /* The on-premises directory has no people: read once, and empty. */
    ok(script(DB_SYNC, apr_psprintf(round_pool,
                                    "INSERT INTO cache.sync_state (tenant_id, directory, full_at) "
                                    "VALUES ('%s', 'onPremises', 1)",
                                    company)),
       "%s: the premises' directory of %s", engine, company);
    start_process();
    synchronise();
}

/* --- one that is told step by step --- */

static const char *asked(const char *method, const char *body, ida_task_type type, int enabled)
{
    answer a = request_once(method, "/v1/api/user", NULL, body,
                            apr_psprintf(round_pool, "key-%d", ++keys));
    promise *p = a.status == 200 ? promised(&a, type, enabled, NULL, NULL) : NULL;
    ok(p != NULL, "%s %s%s%s", method, body, p ? "" : ": ", p ? "" : a.message);
    return p ? p->id : "";
}

static int cancelled(const char *id)
{
    return request_once("DELETE", "/v1/api/task", apr_psprintf(round_pool, "id=%s", id), NULL, NULL)
               .status == 200;
}

/* The cache does not know about the enabling: the worker died, and the next one cannot read. */
static void enable_unheard(void)
{
    dies_unheard = 1;
    work_through();
    outage_rounds = 1;
    take_over();
    int64_t used = 0;
    queue_seats_used(main_store, ctx(), company, &used);
    ok(accounts[0].enabled && tasks_in("running") == 0 && used == 1,
       "%s: enabled, its worker is dead, the next one hears nothing; one seat is in use", engine);
}

static int has_seat(void)
{
    int counted = 0;
    return !queue_seat_of_person(main_store, ctx(), company, &(queue_person){.id = accounts[0].id},
                                 NULL, &counted) &&
           counted;
}

static void seat_of_the_unheard(void)
{
    static const char *const
        enable =
            "{\"userPrincipalName\":\"eva.ek@corp.example\",\"accountEnabled\":true,\"time\":null}",
        *const disable = "{\"userPrincipalName\":\"eva.ek@corp.example\",\"accountEnabled\":false,"
                         "\"time\":null}",
        *const later = "{\"userPrincipalName\":\"eva.ek@corp.example\",\"accountEnabled\":true,"
                       "\"date\":\"2032-01-01\",\"time\":\"08:00\"}";
    begin_life();
    asked("POST", "{\"firstname\":\"Eva\",\"surname\":\"Ek\",\"jobTitle\":\"Clerk\",\"time\":null}",
          IDA_USER_CREATE, 1);
    work_through();
    asked("PATCH", disable, IDA_USER_UPDATE, 0);
    work_through();
    ok(!accounts[0].enabled && !has_seat(), "%s: disabled, without a seat", engine);
    const char *one = asked("PATCH", later, IDA_USER_UPDATE, 1);
    asked("PATCH", enable, IDA_USER_UPDATE, 1);
    enable_unheard();
    ok(cancelled(one) && has_seat(),
       "%s: who cancels another task that was to enable the person does not free the seat", engine);

    outage_rounds = 0;
    test_now_ms += 60 * MINUTE;
    work_through();
    asked("PATCH", disable, IDA_USER_UPDATE, 0);
    work_through();
    ok(!accounts[0].enabled && !has_seat(), "%s: disabled once more", engine);
    one = asked("PATCH", enable, IDA_USER_UPDATE, 1);
    enable_unheard();
    ok(cancelled(one) && has_seat(), "%s: nor does who cancels the very task", engine);

    outage_rounds = 0;
    test_now_ms += 60 * MINUTE;
    asked("PATCH", enable, IDA_USER_UPDATE, 1);
    work_through();
    ok(tasks_in("done") == 5 && has_seat() &&
           !count_of("SELECT seats_held FROM tenant WHERE id = ", ""),
       "%s: once the cache counts the person nothing else does", engine);

    asked("PATCH", disable, IDA_USER_UPDATE, 0);
    work_through();
    one = asked("PATCH", enable, IDA_USER_UPDATE, 1);
    enable_unheard();
    ok(cancelled(one) && has_seat(), "%s: a cancelled one keeps it", engine);
    outage_rounds = 0;
    test_now_ms += 60 * MINUTE;
    asked("DELETE", "{\"userPrincipalName\":\"eva.ek@corp.example\",\"time\":\"00:00\"}",
          IDA_USER_DELETE, 0);
    work_through();
    ok(tasks_in("done") == 7 && !accounts[0].enabled && !has_seat() &&
           !count_of("SELECT seats_held FROM tenant WHERE id = ", ""),
       "%s: until the person is offboarded", engine);
}

static void life(int rounds)
{
    static void (*const operations[])(
        void) = {create,      create,      create,      offboard,    offboard, update, update,
                 update,      cancel,      reschedule,  retry,       join,     join,   dry_run,
                 time_passes, time_passes, time_passes, time_passes, take_over};
    begin_life();
    faulty = 1;
    for (int i = 0; i < rounds; i++) {
        apr_pool_clear(round_pool);
        test_now_ms++;
        outage_rounds -= outage_rounds > 0;
        operations[roll((int)(sizeof operations / sizeof *operations))]();
        if (outage_rounds && roll(4) == 0) {
            take_over();
            cancel();
        }
        look_at_seats();
        look_at_unseen();
    }
    end_of_life();
}

int main(void)
{
    const char *wanted = getenv("IDADMIN_ENGINE");
    int rounds = (int)parameter("rounds", 300);
    setenv("TMPDIR", "/dev/shm", 0);
    setup();
    env.now = mortal_clock;
    env.monotonic = steady_clock;
    env.log = silent;
    env.random = told_random;
    zone_init(pool);
    apr_pool_create(&round_pool, pool);
    apr_pool_create(&life_pool, pool);
    for (int i = 0; i < store_engines(); i++) {
        if (wanted && strcmp(wanted, i ? "sqlite" : "postgresql") == 0) {
            continue;
        }
        dsn = store_upgraded(i, &engine);
        if (!store_sqlite_path(dsn)) {
            dsn = apr_pstrcat(pool, dsn, " options='-c synchronous_commit=off'", NULL);
        }
        printf("# %s\n", engine);
        main_store = store_make(pool, dsn, DB_REQUEST);
        cache_store = store_make(pool, dsn, DB_SYNC);
        wrong = 0;
        accepted = refused_count = ran = crashes_of_requests = calls = faults_made = deaths = 0;
        dice = (unsigned)parameter("seed", 1);
        random_state = dice;
        seat_of_the_unheard();
        for (int done_rounds = 0; done_rounds < rounds; done_rounds += ROUNDS_A_LIFE) {
            life(rounds - done_rounds < ROUNDS_A_LIFE ? rounds - done_rounds : ROUNDS_A_LIFE);
        }
        ok(wrong == 0, "%s: after %d rounds seats, names, tasks and directory agree", engine,
           rounds);
        ok(accepted > rounds / 5 && ran > rounds / 5 && deaths > rounds / 50 &&
               faults_made > rounds / 50,
           "%ld writes accepted, %ld refused; %ld runs, %ld directory calls, %ld faults, %ld "
           "deaths (%ld of them in a request)",
           accepted, refused_count, ran, calls, faults_made, deaths, crashes_of_requests);
        store_disconnect(main_store);
        store_disconnect(cache_store);
    }
    return done();
}
