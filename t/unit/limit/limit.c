/* The rate limiter: edges of the limit, and its guarantee under attack. Processes with several
 * threads charge keys on one shared block with short ticks and random pauses between the atomic
 * steps; processes are killed all the time; every admission is logged with the times before and
 * after it. A checker then looks for one admission too many inside one window. */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static void pause_at_random(void);
static __thread int pausing;
#define LIMIT_STEP() pause_at_random()

#include <stdint.h>
#include <time.h>

/* The clock of tests with one caller: it stands until a test advances it. 0: the real one. */
static uint64_t standing_ns;

static int limit_clock(clockid_t id, struct timespec *out)
{
    if (!standing_ns) {
        return clock_gettime(id, out);
    }
    *out = (struct timespec){.tv_sec = (time_t)(standing_ns / 1000000000),
                             .tv_nsec = (long)(standing_ns % 1000000000)};
    return 0;
}
#define clock_gettime limit_clock

#include "core/limit/ledger.c"
#include "core/limit/limit.c"
#include "core/limit/table.c"
#undef clock_gettime

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "t/unit/setup.h"

static __thread unsigned seed;

/* Advances the standing clock. */
static void pass_ms(unsigned ms)
{
    standing_ns += (uint64_t)ms * 1000000;
}

/* At its n-th step from now on this thread sleeps for so long. */
static __thread int sleep_at;
static __thread unsigned sleep_ms;

static void pause_at_random(void)
{
    if (sleep_at && --sleep_at == 0) {
        pass_ms(sleep_ms);
    }
    if (!pausing) {
        return;
    }
    int dice = rand_r(&seed) % 512;
    if (dice == 0) {
        usleep((useconds_t)(rand_r(&seed) % 30000)); /* three ticks */
    } else if (dice < 20) {
        sched_yield();
    }
}

static void *shared_memory(size_t size)
{
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

static const unsigned char hash_key[16] = "0123456789abcde";

static rate_limiter *limiter(unsigned slots, uint64_t tick_ns)
{
    size_t size = limit_size(slots);
    void *block = shared_memory(size);
    limit_format(block, size, slots, hash_key);
    return limit_attach(pool, block, size, tick_ns);
}

static limit_cost charged(rate_limiter *l, limit_kind kind, const char *name, unsigned limit,
                          unsigned period_s)
{
    ida_rate rate = {limit, period_s, 0};
    limit_cost answer;
    limit_charge(l, kind, name, &rate, &answer);
    return answer;
}

static limit_cost peeked(rate_limiter *l, const char *name, unsigned limit, unsigned period_s)
{
    ida_rate rate = {limit, period_s, 0};
    limit_cost answer;
    limit_peek(l, LIMIT_KEY, name, &rate, &answer);
    return answer;
}

static int admissions(rate_limiter *l, limit_kind kind, const char *name, unsigned limit,
                      unsigned period_s, int tries)
{
    int n = 0;
    for (int i = 0; i < tries; i++) {
        n += charged(l, kind, name, limit, period_s).admitted;
    }
    return n;
}

static void edges(void)
{
    rate_limiter *l = limiter(1024, 0);
    limit_cost a = peeked(l, "contoso:hr", 120, 60);
    ok(a.admitted && a.remaining == 120, "before the first request all 120 are left");
    a = charged(l, LIMIT_KEY, "contoso:hr", 120, 60);
    ok(a.admitted && a.remaining == 119 && a.retry_after_s >= 60 && a.retry_after_s <= 61,
       "the first leaves 119, the window is empty after a minute");
    is_int(admissions(l, LIMIT_KEY, "contoso:hr", 120, 60, 118), 118, "119 are admitted");
    a = charged(l, LIMIT_KEY, "contoso:hr", 120, 60);
    ok(a.admitted && a.remaining == 0, "the 120th is admitted and leaves none");
    a = charged(l, LIMIT_KEY, "contoso:hr", 120, 60);
    ok(!a.admitted && a.remaining == 0 && a.retry_after_s >= 58 && a.retry_after_s <= 61,
       "the 121st is refused, with the seconds to wait (%u)", a.retry_after_s);
    a = peeked(l, "contoso:hr", 120, 60);
    ok(!a.admitted && a.retry_after_s >= 58, "a look says the same");
    is_int(admissions(l, LIMIT_KEY, "contoso:hr", 121, 60, 10), 1, "a raised limit holds at once");
    is_int(admissions(l, LIMIT_KEY, "contoso:hr", 119, 60, 10), 0, "so does a lowered one");
    is_int(admissions(l, LIMIT_KEY, "contoso:hr", 120, 120, 200), 120,
           "another period starts anew");
    is_int(admissions(l, LIMIT_KEY, "contoso:payroll", 120, 60, 200), 120,
           "another key has its own");
    is_int(admissions(l, LIMIT_COMPANY, "contoso:hr", 120, 60, 200), 120,
           "so has another kind of the same name");
    is_int(admissions(l, LIMIT_KEY, "one", 1, 3600, 5), 1, "one an hour");
    ida_rate off = {0, 0, 1}, unset = {0, 0, 0};
    limit_charge(l, LIMIT_KEY, "contoso:hr", &off, &a);
    ok(a.admitted && a.remaining == UINT_MAX, "off admits");
    limit_charge(l, LIMIT_KEY, "contoso:hr", &unset, &a);
    ok(a.admitted, "so does a rate that is not set");

    size_t size = limit_size(100);
    void *block = shared_memory(size);
    ok(limit_attach(pool, block, size, 0) == NULL, "no handle on a block that was not formatted");
    limit_format(block, size, 100, hash_key);
    is_int(limit_slots(block, size), 128, "slots are rounded up to a power of two");
    ok(limit_attach(pool, block, size - 1, 0) == NULL, "nor on one of another size");
    is_int(limit_slots(block, 8), 0, "nor on a few bytes");
}

#define TICK_NS 10000000u
#define WINDOW_NS (60 * (uint64_t)TICK_NS)

static uint64_t now_ns(void)
{
    ledger_clock boot = {0, 1};
    return limit_ledger_now(&boot);
}

static void over_time(void)
{
    rate_limiter *l = limiter(64, TICK_NS);
    is_int(admissions(l, LIMIT_KEY, "k", 50, 60, 60), 50, "50 at once");
    pass_ms(400);
    is_int(admissions(l, LIMIT_KEY, "k", 50, 60, 60), 0, "none after 40 of 60 ticks");
    pass_ms(240);
    is_int(admissions(l, LIMIT_KEY, "k", 50, 60, 60), 50, "50 again after the window");
    pass_ms(300);
    is_int(admissions(l, LIMIT_KEY, "late", 50, 60, 20), 20, "20 of another");
    pass_ms(300);
    is_int(admissions(l, LIMIT_KEY, "late", 50, 60, 60), 30, "30 more half a window later");
    limit_cost a = charged(l, LIMIT_KEY, "late", 10, 60);
    ok(!a.admitted && a.retry_after_s == 1,
       "with a limit lowered far below, the wait is that for the later ones");
    pass_ms(330);
    is_int(admissions(l, LIMIT_KEY, "late", 50, 60, 60), 20,
           "the first 20 are free again, the 30 not yet");
}

static void floods(void)
{
    rate_limiter *l = limiter(64, TICK_NS);
    char name[32];
    is_int(admissions(l, LIMIT_KEY, "key", 5, 60, 9), 5, "a key uses its 5");
    int refused = 0, shared = 0;
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "2001:db8:%x::", (unsigned)i);
        limit_cost a = charged(l, i % 2 ? LIMIT_ADDRESS : LIMIT_FAILURES, name, 10, 60);
        refused += !a.admitted;
        shared += a.shared;
    }
    ok(shared > 2000 && limit_overflows(l) == (uint64_t)shared,
       "3000 addresses overflow a table of 64: %d shared, all counted", shared);
    ok(refused > 0, "and the shared records have the same limit (%d refused)", refused);
    ok(!charged(l, LIMIT_KEY, "key", 5, 60).admitted, "but the key is still known, and refused");
    pass_ms(700);
    int admitted = 0, own = 0;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "good %d", i);
        limit_cost a = charged(l, LIMIT_ADDRESS, name, 10, 60);
        admitted += a.admitted;
        own += !a.shared;
    }
    ok(admitted == 20 && own == 20,
       "when the flood is over everybody has a record of his own again");
}

/* A caller that sleeps between reading the clock and its compare-and-swap, for longer than the
 * window. */
static void sleeper(void)
{
    rate_limiter *l = limiter(64, TICK_NS);
    charged(l, LIMIT_KEY, "other", 2, 60);
    is_int(admissions(l, LIMIT_KEY, "k", 2, 60, 1), 1, "one long ago");
    pass_ms(640);
    sleep_at = 4; /* state read, judged, mark raised: the next step counts */
    sleep_ms = 700;
    is_int(admissions(l, LIMIT_KEY, "k", 2, 60, 1), 1,
           "one that slept over a window is admitted when it wakes");
    is_int(admissions(l, LIMIT_KEY, "k", 2, 60, 5), 1,
           "and counts from then on: one more and no other");
}

/* A key moves from the shared record to its own in the middle of a window. */
static void moving(void)
{
    rate_limiter *l = limiter(64, TICK_NS);
    char name[32];
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "filler %d", i);
        charged(l, LIMIT_KEY, name, 10, 61); /* another period, so another shared record */
    }
    pass_ms(350);
    limit_cost a = charged(l, LIMIT_KEY, "mover", 10, 60);
    ok(a.admitted && a.shared, "in a full table a key is admitted by its line's shared record");
    is_int(admissions(l, LIMIT_KEY, "mover", 10, 60, 20), 9, "up to its limit");
    pass_ms(330);
    a = charged(l, LIMIT_KEY, "mover", 10, 60);
    ok(!a.admitted && !a.shared,
       "with a record of its own meanwhile it is still refused in the same window");
    pass_ms(680);
    is_int(admissions(l, LIMIT_KEY, "mover", 10, 60, 20), 10, "and admitted after it");
}

/* --- the property --- */

#define NAMES_MAX 256
#define LOG_MAX 200000

typedef struct event {
    uint64_t before, after;
    uint32_t name;
    _Atomic uint32_t whole; /* written last: 0 in one whose writer was killed */
} event;

typedef struct storm {
    rate_limiter *limiter[2]; /* even names: ticks of 10 ms, odd ones: 7 ms */
    int names, processes, threads, pauses;
    unsigned limit;
    uint64_t lasts_ns;
    _Atomic uint64_t *end_ns; /* 0: nobody has begun */
    _Atomic uint32_t *logged;
    _Atomic uint32_t *shared;
    event *log;
} storm;

static const uint64_t tick_of[2] = {10000000, 7000000};
static storm *weather;

static void *attack(void *baton)
{
    storm *s = weather;
    seed = (unsigned)now_ns() ^ (unsigned)(intptr_t)baton * 7919u ^ (unsigned)getpid() << 8;
    pausing = s->pauses;
    uint64_t none = 0; /* from the first that runs, as a busy machine may start all of them late */
    atomic_compare_exchange_strong(s->end_ns, &none, now_ns() + s->lasts_ns);
    while (now_ns() < *s->end_ns) {
        uint32_t name = (uint32_t)rand_r(&seed) % (uint32_t)s->names;
        char text[16];
        snprintf(text, sizeof text, "key %u", (unsigned)name);
        ida_rate rate = {s->limit, name % 2 ? 42 : 60, 0};
        limit_cost a;
        uint64_t before = now_ns();
        limit_charge(s->limiter[name % 2], LIMIT_KEY, text, &rate, &a);
        uint64_t after = now_ns();
        if (a.shared) {
            atomic_fetch_add(s->shared, 1);
        }
        if (!a.admitted) {
            if (rand_r(&seed) % 8 == 0) {
                usleep(500);
            }
            continue;
        }
        uint32_t at = atomic_fetch_add(s->logged, 1);
        if (at < LOG_MAX) {
            s->log[at].before = before;
            s->log[at].after = after;
            s->log[at].name = name;
            atomic_store(&s->log[at].whole, 1);
        }
    }
    return NULL;
}

static pid_t start(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t threads[16];
        for (int i = 0; i < weather->threads; i++) {
            pthread_create(&threads[i], NULL, attack, (void *)(intptr_t)i);
        }
        for (int i = 0; i < weather->threads; i++) {
            pthread_join(threads[i], NULL);
        }
        _exit(0);
    }
    return pid;
}

static int by_name_and_time(const void *a, const void *b)
{
    const event *x = a, *y = b;
    if (x->name != y->name) {
        return x->name < y->name ? -1 : 1;
    }
    return x->before < y->before ? -1 : x->before > y->before;
}

/* Leaves out what a killed thread did not write to the end; returns how many are left. */
static uint32_t whole_ones(event *log, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (atomic_load(&log[i].whole)) {
            log[kept++] = log[i];
        }
    }
    return kept;
}

/* Names with more than `limit` admissions that certainly lie inside one window; *most: the
 * largest such number. */
static int violations(event *log, uint32_t count, unsigned limit, unsigned *most)
{
    int bad = 0;
    *most = 0;
    qsort(log, count, sizeof *log, by_name_and_time);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t end = log[i].before + 60 * tick_of[log[i].name % 2];
        unsigned inside = 0;
        for (uint32_t j = i; j < count && log[j].name == log[i].name && log[j].before < end; j++) {
            inside += log[j].after < end;
        }
        *most = inside > *most ? inside : *most;
        bad += inside > limit;
    }
    return bad;
}

typedef struct storm_plan {
    const char *what;
    unsigned slots, limit;
    int names, milliseconds;
    int kill_us; /* mean time between two kills, 0 for none */
    int must_share;
} storm_plan;

static void run_storm(const storm_plan *plan)
{
    const char *what = plan->what;
    int names = plan->names, processes = 4, threads = 4, kill_us = plan->kill_us;
    unsigned slots = plan->slots, limit = plan->limit;
    storm s = {.names = names,
               .processes = processes,
               .threads = threads,
               .pauses = kill_us != 0,
               .limit = limit};
    rate_limiter *first = limiter(slots, tick_of[0]);
    s.limiter[0] = first;
    s.limiter[1] = limit_attach(pool, first->head, first->head->size, tick_of[1]);
    s.logged = shared_memory(4096);
    s.shared = s.logged + 1;
    s.log = shared_memory(LOG_MAX * sizeof *s.log);
    s.end_ns = (_Atomic uint64_t *)(s.logged + 2);
    s.lasts_ns = (uint64_t)plan->milliseconds * 1000000u;
    weather = &s;
    pid_t pids[16];
    int kills = 0, failed = 0, status;
    for (int i = 0; i < processes; i++) {
        pids[i] = start();
    }
    seed = 1;
    while (kill_us && (*s.end_ns == 0 || now_ns() < *s.end_ns)) {
        usleep((useconds_t)(rand_r(&seed) % (2 * kill_us)));
        int victim = rand_r(&seed) % processes;
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], &status, 0);
        kills++;
        pids[victim] = start();
    }
    for (int i = 0; i < processes; i++) {
        waitpid(pids[i], &status, 0);
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    uint32_t count = atomic_load(s.logged);
    unsigned most;
    ok(count < LOG_MAX && failed == 0,
       "%s: every process ended well, the log was large enough (%u admissions, %d kills)", what,
       (unsigned)count, kills);
    count = whole_ones(s.log, count < LOG_MAX ? count : LOG_MAX);
    int bad = violations(s.log, count, limit, &most);
    is_int(bad, 0, "never more than the limit in any window");
    for (uint32_t i = 0; bad && i < count; i++) {
        printf("# key %u: %.3f to %.3f ms\n", s.log[i].name, (double)s.log[i].before / 1e6,
               (double)s.log[i].after / 1e6);
    }
    if (!kill_us) {
        is_int(most, limit, "and the limit is really reached");
    } else {
        ok(most > limit / 2,
           "and most of it is reached although killed charges are wasted (%u of %u)", most, limit);
    }
    if (plan->must_share) {
        ok(atomic_load(s.shared) > 0, "shared records were in use (%u times)",
           (unsigned)atomic_load(s.shared));
    }
    munmap(s.log, LOG_MAX * sizeof *s.log);
}

/* The checker itself must detect a window with one admission too many. */
static void checker(void)
{
    event log[4] = {{0, 10, 0, 1},
                    {100, 110, 0, 1},
                    {500000000, 500000010, 0, 1},
                    {599999980, 599999990, 0, 1}};
    unsigned most;
    is_int(violations(log, 4, 3, &most), 1, "the checker finds 4 admissions in a window of 3");
    log[3].after = 600000000;
    is_int(violations(log, 4, 3, &most), 0, "and not when the fourth may lie outside");
}

int main(void)
{
    setup();
    standing_ns = 1000 * (uint64_t)1000000000;
    edges();
    over_time();
    floods();
    sleeper();
    moving();
    standing_ns = 0;
    checker();
    static const storm_plan storms[] = {
        {"one key", 1024, 120, 2, 800, 0, 0},
        {"one key, killed", 1024, 120, 2, 1500, 12000, 0},
        {"many keys in a small table", 64, 5, 250, 1500, 0, 1},
        {"many keys in a small table, killed", 64, 8, 90, 2500, 12000, 1},
    };
    for (size_t i = 0; i < sizeof storms / sizeof *storms; i++) {
        run_storm(&storms[i]);
    }
    return done();
}
