/* Seats: never more than the limit at the same time, for each name separately, even if processes
 * release, exit or are killed at any instruction. Under attack processes take and leave seats
 * with random pauses between the steps and are killed all the time; each process has a bit of
 * one word while it is inside, so that each can count the others. */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static void pause_at_random(void);
#define LIMIT_STEP() pause_at_random()

#include "core/limit/seats.c"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "t/unit/setup.h"

static __thread unsigned seed;
static int pausing;

static void pause_at_random(void)
{
    if (pausing && rand_r(&seed) % 16 == 0) {
        usleep((useconds_t)(rand_r(&seed) % 3000));
    }
}

static const unsigned char key[16] = "0123456789abcde";

static void *shared_memory(size_t size)
{
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

static void *new_block(void)
{
    void *block = shared_memory(seats_size());
    seats_format(block, key);
    return block;
}

static int take_all(seats *s, const char *name, unsigned limit)
{
    int n = 0;
    while (n < 5000 && seats_take(s, name, limit) >= 0) {
        n++;
    }
    return n;
}

static void edges(void)
{
    seats *s = seats_attach(pool, new_block());
    int first = seats_take(s, "contoso:hr", 3);
    ok(first >= 0, "the first of three");
    is_int(take_all(s, "contoso:hr", 3), 2, "two more, and no fourth");
    is_int(seats_take(s, "contoso:hr", 1), -1, "a lowered limit holds at once");
    is_int(take_all(s, "contoso:hr", 5), 2, "so does a raised one");
    is_int(take_all(s, "contoso:payroll", 3), 3, "another name has its own");
    seats_give_back(s, first);
    is_int(seats_take(s, "contoso:hr", 4), -1, "four are left");
    ok(seats_take(s, "contoso:hr", 5) >= 0, "what was given back is free");
    is_int(take_all(s, "many", 1000), 1000, "a thousand of one");
    for (int i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        take_all(s, name, 2);
    }
    is_int(seats_take(s, "contoso:payroll", 3), -1, "others take none of mine, nor give me any");

    int taken[ROW_SEATS];
    s = seats_attach(pool, new_block());
    for (int i = 0; i < ROW_SEATS; i++) {
        taken[i] = seats_take(s, "all", ROW_SEATS);
    }
    const row *r = &s->block->rows[taken[0] / ROW_SEATS];
    is_int(r->end, ROW_SEATS, "a row can be full");
    for (int i = 0; i < ROW_SEATS; i++) {
        seats_give_back(s, taken[i]);
    }
    ok(seats_take(s, "all", 1) >= 0 && r->end == 1, "a count ends at the last seat that is taken");
}

/* Starts a process that takes seats and keeps them; returns its ID. */
static pid_t holder(void *block, const char *name, unsigned limit, int how_many)
{
    int ready[2];
    char byte;
    if (pipe(ready)) {
        abort();
    }
    pid_t child = fork();
    if (!child) {
        seats *s = seats_attach(pool, block);
        for (int i = 0; i < how_many; i++) {
            byte = seats_take(s, name, limit) >= 0 ? '+' : '-';
            if (write(ready[1], &byte, 1) != 1) {
                _exit(1);
            }
        }
        while (1) {
            pause();
        }
    }
    for (int i = 0; i < how_many; i++) {
        if (read(ready[0], &byte, 1) != 1 || byte != '+') {
            ok(0, "a holder gets its seat");
        }
    }
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void kill_it(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void deaths(void)
{
    apr_pool_t *own;
    void *block = new_block();
    apr_pool_create(&own, pool);
    seats *s = seats_attach(pool, block);
    pid_t a = holder(block, "k", 5, 3), b = holder(block, "k", 5, 2);
    is_int(seats_take(s, "k", 5), -1, "three and two are five");
    kill_it(a);
    is_int(take_all(s, "k", 5), 3, "the seats of a killed process come back, the others' do not");
    kill_it(b);
    is_int(take_all(s, "k", 5), 2, "then those");
    seats *guest = seats_attach(own, block);
    ok(guest && guest->lodger != s->lodger, "each process its own place");
    is_int(take_all(guest, "g", 4), 4, "four of another");
    is_int(seats_take(s, "g", 4), -1, "which are taken");
    apr_pool_destroy(own);
    is_int(take_all(s, "g", 4), 4, "who goes leaves none behind");
    int before = (int)s->lodger;
    for (int i = 0; i < 1200; i++) {
        pid_t child = fork();
        if (!child) {
            _exit(seats_attach(pool, block) ? 0 : 1); /* without running its cleanups */
        }
        int status;
        waitpid(child, &status, 0);
        before = status ? -1 : before;
    }
    is_int(before, (int)s->lodger, "the places of a thousand dead are lived in again");
}

#define LIMIT 5
#define AT_ONCE 10
#define LIVES 60

typedef struct scene {
    _Atomic uint64_t inside, doomed, worst, entries;
} scene;

static void live(scene *of, void *block, int life)
{
    apr_pool_t *own;
    uint64_t mine = UINT64_C(1) << life;
    seed = (unsigned)life * 7919 + 1;
    pausing = 1;
    apr_pool_create(&own, NULL);
    seats *s = seats_attach(own, block);
    while (1) {
        int seat = seats_take(s, "k", LIMIT);
        if (seat < 0) {
            sched_yield();
            continue;
        }
        uint64_t seen = atomic_fetch_or(&of->inside, mine) | mine;
        uint64_t count = (uint64_t)__builtin_popcountll(seen & ~atomic_load(&of->doomed));
        uint64_t worst = atomic_load(&of->worst);
        while (count > worst && !atomic_compare_exchange_weak(&of->worst, &worst, count)) {}
        atomic_fetch_add(&of->entries, 1);
        usleep((useconds_t)(rand_r(&seed) % 2000));
        atomic_fetch_and(&of->inside, ~mine);
        seats_give_back(s, seat);
    }
}

static void attacked(void)
{
    void *block = new_block();
    scene *of = shared_memory(sizeof *of);
    pid_t lives[LIVES];
    seed = 42;
    for (int life = 0; life < LIVES; life++) {
        lives[life] = fork();
        if (!lives[life]) {
            live(of, block, life);
        }
        int victim = life - AT_ONCE;
        if (victim >= 0) {
            usleep((useconds_t)(rand_r(&seed) % 60000));
            atomic_fetch_or(&of->doomed, UINT64_C(1) << victim);
            kill_it(lives[victim]);
        }
    }
    for (int life = LIVES - AT_ONCE; life < LIVES; life++) {
        atomic_fetch_or(&of->doomed, UINT64_C(1) << life);
        kill_it(lives[life]);
    }
    printf("# %lld times one came in\n", (long long)of->entries);
    is_int((int64_t)of->worst, LIMIT, "never more than five inside, and five were");
    seats *s = seats_attach(pool, block);
    is_int(take_all(s, "k", LIMIT), LIMIT, "all dead: all five are free");
}

int main(void)
{
    setup();
    edges();
    deaths();
    attacked();
    return done();
}
