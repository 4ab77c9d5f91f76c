/* Seats, names, locks and fences over random lives of many tasks, against a model of a few
 * lines: after every operation the store's counts equal the model's, and nothing remains at the
 * end. */
#include "t/unit/queue_setup.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#define TASKS 60
#define OPERATIONS 600

typedef struct life {
    char id[40];
    ida_task_type type;
    ida_task_state state;
    int seat, names, sent,
        made;      /* sent: createSent is on disk; made: the step createAccount is done */
    ida_task *run; /* as claimed, while it runs */
} life;

static store *s;
static apr_pool_t *long_pool;
static life lives[TASKS];
static int count, faults;
static unsigned dice;

static int roll(int sides)
{
    dice = dice * 1664525u + 1013904223u;
    return (int)((dice >> 12) % (unsigned)sides);
}

static ida_ctx *lasting(void)
{
    return ida_ctx_make(&env, long_pool);
}

static void expect(ida_kind got, ida_kind wanted, const char *what, const life *l)
{
    if (got != wanted && faults++ < 10) {
        printf("# %s of %s: got %d, wanted %d\n", what, l->id, (int)got, (int)wanted);
    }
}

static life *some(ida_task_state state)
{
    int start = count ? roll(count) : 0;
    for (int i = 0; i < count; i++) {
        life *l = &lives[(start + i) % count];
        if (l->state == state) {
            return l;
        }
    }
    return NULL;
}

static int possible(const life *l)
{
    return l->sent || l->made;
}

static void freed(life *l)
{
    l->seat = l->names = 0;
}

static ida_kind enter(store *st, ida_ctx *c, void *baton)
{
    ida_task *t = baton;
    ida_kind kind = store_tenant_lock(st, c, t->tenant);
    kind = kind ? kind : queue_task_insert(st, c, t);
    return kind || t->type != IDA_USER_CREATE
               ? kind
               : queue_address_reserve(st, c, t->tenant, t->upn, t->id);
}

static void queue(void)
{
    if (count == TASKS) {
        return;
    }
    life *l = &lives[count];
    ida_ctx *c = lasting();
    int creation = roll(3) > 0;
    const char *upn = apr_psprintf(long_pool,
                                   creation ? "new%d@corp.example" : "person%d@corp.example",
                                   creation ? count : roll(4));
    ida_task *t = make_task(c, "contoso", creation ? IDA_USER_CREATE : IDA_USER_DELETE, upn,
                            test_now_ms);
    t->seat = creation;
    *l = (life){.type = t->type, .state = IDA_QUEUED, .seat = creation, .names = creation};
    strcpy(l->id, t->id);
    expect(store_transaction(s, c, enter, t), IDA_OK, "queue", l);
    count++;
}

static void claim(void)
{
    ida_task *t = NULL;
    int braked;
    ida_kind kind = queue_claim(s, lasting(), "worker", test_now_ms, LEASE, 5000, &t, &braked);
    for (int i = 0; !kind && i < count; i++) {
        if (strcmp(lives[i].id, t->id) == 0) {
            expect(lives[i].state == IDA_QUEUED ? IDA_OK : IDA_CONFLICT, IDA_OK, "claim",
                   &lives[i]);
            lives[i].state = IDA_RUNNING;
            lives[i].run = t;
        }
    }
}

static void cancel(void)
{
    life *l = &lives[roll(count)];
    int may = l->state == IDA_QUEUED || l->state == IDA_FAILED || l->state == IDA_ATTENTION;
    expect(queue_task_cancel(s, fresh(), "contoso", l->id), may ? IDA_OK : IDA_CONFLICT, "cancel",
           l);
    if (may) {
        l->state = IDA_CANCELLED;
        if (!possible(l)) {
            freed(l);
        }
    }
}

static void retry(void)
{
    life *l = &lives[roll(count)];
    int may = l->state == IDA_FAILED || l->state == IDA_ATTENTION;
    expect(queue_task_retry(s, fresh(), "contoso", l->id), may ? IDA_OK : IDA_CONFLICT, "retry", l);
    if (may) {
        l->state = IDA_QUEUED;
        if (l->type == IDA_USER_CREATE && !possible(l)) {
            l->seat = l->names = 1;
        }
    }
}

static void mark_sent(life *l, int sent)
{
    queue_task_change change = {
        .marker = l->id, .progress = sent ? "{\"createSent\":true}" : "{\"createSent\":false}"};
    if (l->type == IDA_USER_CREATE && !l->made) {
        expect(queue_change(s, fresh(), l->run, &change), IDA_OK, "change", l);
        l->sent = sent;
    }
}

static void make(life *l)
{
    ida_step step = {.position = 1,
                     .name = "createAccount",
                     .outcome = IDA_STEP_DONE,
                     .detail = "made",
                     .at = test_now_ms};
    if (l->type == IDA_USER_CREATE && l->sent) {
        expect(queue_account_made(s, fresh(), l->run, &step, l->id, 0, NULL), IDA_OK, "made", l);
        l->made = 1;
        freed(l);
    }
}

static void finish(life *l)
{
    int success = l->type == IDA_USER_DELETE || l->made;
    ida_task_state state = success && roll(2) ? IDA_DONE : roll(3) ? IDA_FAILED : IDA_ATTENTION;
    expect(queue_finish(s, fresh(), l->run, state, state == IDA_DONE ? NULL : "why", NULL, NULL),
           IDA_OK, "finish", l);
    l->state = state;
    if (state == IDA_DONE || (state == IDA_FAILED && !possible(l))) {
        freed(l);
    }
}

static void again(life *l)
{
    expect(queue_again(s, fresh(), l->run, test_now_ms, "later", 1, NULL), IDA_OK, "again", l);
    l->state = IDA_QUEUED;
}

/* The worker was killed or suspended: one that resumes late cannot write anything. */
static void take_over(life *l)
{
    const queue_running_task *rows;
    int found = 0;
    ida_task *old = l->run, *now = NULL;
    queue_running(s, fresh(), TASKS, &rows, &found);
    for (int i = 0; i < found; i++) {
        if (strcmp(rows[i].task_id, l->id) == 0) {
            expect(queue_take_over(s, lasting(), &rows[i], "other", test_now_ms, LEASE, &now),
                   IDA_OK, "take over", l);
        }
    }
    if (!now) {
        faults++;
        return;
    }
    l->run = now;
    ida_step step = {.position = 1,
                     .name = old->steps[0].name,
                     .outcome = IDA_STEP_DONE,
                     .detail = "late",
                     .at = test_now_ms};
    queue_task_change change = {.progress = "{}"};
    expect(queue_renew(s, fresh(), "contoso", l->id, old->fence, test_now_ms, LEASE), IDA_CONFLICT,
           "late heartbeat", l);
    expect(queue_step(s, fresh(), old, &step, "{}", NULL), IDA_CONFLICT, "late step", l);
    expect(queue_change(s, fresh(), old, &change), IDA_CONFLICT, "late change", l);
    expect(queue_account_made(s, fresh(), old, &step, "x", 0, NULL), IDA_CONFLICT, "late account",
           l);
    expect(queue_finish(s, fresh(), old, IDA_DONE, NULL, NULL, NULL), IDA_CONFLICT, "late end", l);
    expect(queue_again(s, fresh(), old, test_now_ms, "late", 1, NULL), IDA_CONFLICT, "late try", l);
}

static void move(void)
{
    life *l = &lives[roll(count)];
    expect(queue_task_move(s, fresh(), "contoso", l->id,
                           &(zone_due){.date = "2026-11-21",
                                       .time = "10:30",
                                       .zone = "Europe/Stockholm",
                                       .at_ms = test_now_ms},
                           NULL),
           l->state == IDA_QUEUED ? IDA_OK : IDA_CONFLICT, "move", l);
}

static void live(life *l)
{
    switch (l ? roll(7) : 6) {
    case 0: mark_sent(l, 1); break;
    case 1: mark_sent(l, roll(3) > 0); break;
    case 2: make(l); break;
    case 3: finish(l); break;
    case 4: again(l); break;
    case 5: take_over(l); break;
    default: claim(); break;
    }
}

static void look(const char *after)
{
    int64_t seats = 0, running = 0, names = 0;
    for (int i = 0; i < count; i++) {
        seats += lives[i].seat;
        names += lives[i].names;
        running += lives[i].state == IDA_RUNNING;
    }
    /* One query, because each is a connection of its own: three digits for each number. */
    int64_t want = (((seats * 1000 + seats) * 1000 + names) * 1000 + running) * 1000 + running;
    int64_t got = ask(
        "SELECT ((((SELECT seats_held FROM tenant WHERE id = 'contoso') * 1000 + (SELECT count(*) "
        "FROM task WHERE seat = 1)) * 1000 + (SELECT count(*) FROM reservation)) * 1000 + (SELECT "
        "count(*) FROM user_lock l JOIN task t ON t.id = l.task_id AND t.who = l.person AND "
        "t.state = 'running')) * 1000 + (SELECT count(*) FROM user_lock)");
    if (got != want && faults++ < 10) {
        printf("# after %s: seats, tasks with one, names, running with a lock, locks are %lld, not "
               "%lld\n",
               after, (long long)got, (long long)want);
    }
}

static void end_all(void)
{
    for (int i = 0; i < count; i++) {
        life *l = &lives[i];
        if (l->state == IDA_RUNNING) {
            finish(l);
        }
        if (l->state == IDA_QUEUED || l->state == IDA_ATTENTION) {
            expect(queue_task_cancel(s, fresh(), "contoso", l->id), IDA_OK, "last cancel", l);
        }
    }
    int removed = 0;
    is_int(queue_retain(s, fresh(), "contoso", test_now_ms + HOUR, 10 * TASKS, &removed), IDA_OK,
           "retention");
    is_int(removed, count, "takes them all away");
    is_int(ask("SELECT seats_held FROM tenant WHERE id = 'contoso'"), 0, "no seat is left behind");
    is_int(ask("SELECT count(*) FROM reservation") + ask("SELECT count(*) FROM user_lock") +
               ask("SELECT count(*) FROM task_step") + ask("SELECT count(*) FROM task_payload"),
           0, "nor a name, a lock, a step or a payload");
}

static void lives_of(unsigned seed)
{
    static void (*const asked[])(void) = {queue, queue, cancel, retry, move};
    static const char *const names[] = {"queue", "queue", "cancel", "retry", "move"};
    dice = seed;
    count = faults = 0;
    queue();
    for (int i = 0; i < OPERATIONS; i++) {
        int n = roll(12);
        if (n < 5) {
            asked[n]();
        } else {
            live(n < 10 ? some(IDA_RUNNING) : NULL);
        }
        if (i % 4 == 0) {
            look(n < 5 ? names[n] : "a run's write");
        }
    }
    look("all");
    int ran = 0, ended = 0;
    for (int i = 0; i < count; i++) {
        ran += lives[i].run != NULL;
        ended += lives[i].state == IDA_DONE || lives[i].state == IDA_FAILED;
    }
    ok(count == TASKS && ran > TASKS / 3 && ended > TASKS / 10,
       "%d tasks were queued, %d ran, %d ended", count, ran, ended);
    is_int(faults, 0, apr_psprintf(pool, "what is held is what must be held (seed %u)", seed));
    end_all();
}

int main(void)
{
    setup();
    apr_pool_create(&long_pool, NULL);
    for (int i = 0; i < store_engines(); i++) {
        dsn = store_upgraded(i, &engine);
        printf("# %s\n", engine);
        s = store_make(pool, dsn, DB_REQUEST);
        add_tenant("contoso", "");
        for (unsigned seed = 1; seed <= 3; seed++) {
            lives_of(seed);
        }
    }
    return done();
}
