/* A few slots among many companies: none has more than its share, and waiting requests are
 * served by company, not by arrival. */
#include "t/unit/setup.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "core/limit/share.h"

#define WAIT_MS 600000 /* longer than any test: a wait ends because of a turn */

static share *s;
static atomic_int order;

typedef struct one {
    const char *company;
    int place, turn;
    pthread_t thread;
} one;

static void *want(void *baton)
{
    one *me = baton;
    me->place = share_take(s, me->company, WAIT_MS);
    me->turn = atomic_fetch_add(&order, 1);
    share_leave(s, me->place);
    return NULL;
}

static void wait_for(int waiting)
{
    while (share_waiting(s) < waiting) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void begin(one *w, const char *company)
{
    *w = (one){.company = company, .place = -1};
    pthread_create(&w->thread, NULL, want, w);
}

static void parts(void)
{
    s = share_make(pool, (share_size){.places = 4, .of_company = 2});
    int a = share_take(s, "greedy", 0), b = share_take(s, "greedy", 0);
    ok(a >= 0 && b >= 0 && a != b, "two places");
    is_int(share_take(s, "greedy", 20), -1, "no third, although two are free");
    int c = share_take(s, "other", 0), d = share_take(s, "third", 0);
    ok(c >= 0 && d >= 0, "others have the rest");
    is_int(share_take(s, "fourth", 0), -1, "all are taken");
    share_leave(s, a);
    is_int(share_take(s, "fourth", 0), a, "the one left last is given first");
    share_leave(s, a);
    share_leave(s, b);
    share_leave(s, c);
    share_leave(s, d);
}

/* Thirty requests of one company came first; one of another is next, apart from those with
 * slots. */
static void turns(void)
{
    one greedy[30], other;
    s = share_make(pool, (share_size){.places = 4, .of_company = 4});
    int held[4];
    for (int i = 0; i < 4; i++) {
        held[i] = share_take(s, "greedy", 0);
    }
    for (int i = 0; i < 30; i++) {
        begin(&greedy[i], "greedy");
    }
    wait_for(30);
    begin(&other, "other");
    wait_for(31);
    share_leave(s, held[0]);
    pthread_join(other.thread, NULL);
    is_int(other.turn, 0, "the other company goes first");
    for (int i = 1; i < 4; i++) {
        share_leave(s, held[i]);
    }
    for (int i = 0; i < 30; i++) {
        pthread_join(greedy[i].thread, NULL);
    }
    is_int(order, 31, "and all are served");
}

int main(void)
{
    setup();
    parts();
    turns();
    return done();
}
