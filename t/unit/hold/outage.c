/* Servers that stopped answering: which calls may try, which wait, which count once. */
#include "worker/hold/outage.h"
#include "t/unit/tap.h"

#define TRY 20000

static outages all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void test_one_at_a_time(void)
{
    is_int(hold_outage_wait(&all, "smtp://a", 1000, TRY), 0,
           "a server of which nothing is known is tried");
    is_int(hold_outage_wait(&all, "smtp://a", 1000, TRY), 0, "by as many as like");
    ok(hold_outage_silent(&all, "smtp://a", 1000, 9000, 400), "the first silence is news");
    int64_t wait = hold_outage_wait(&all, "smtp://a", 9000, TRY);
    ok(wait >= 6400 && wait <= 9600, "then all wait (%lld ms)", (long long)wait);
    ok(!hold_outage_silent(&all, "smtp://a", 1001, 9100, 400),
       "who was on the way together says nothing new");
    ok(hold_outage_wait(&all, "smtp://a", 9000 + wait - 1, TRY) == 1, "nor lengthens the wait");
    is_int(hold_outage_wait(&all, "smtp://b", 9000, TRY), 0, "another server is another matter");
    is_int(hold_outage_wait(&all, "smtp://a", 9000 + wait, TRY), 0,
           "after the time one is let through");
    is_int(hold_outage_wait(&all, "smtp://a", 9000 + wait, TRY), TRY, "and no second one");
}

static void test_longer_and_over(void)
{
    int64_t now = 100000, wait = 0, before = 0;
    for (int i = 0; i < 10; i++) {
        now += 400000;
        is_int(hold_outage_wait(&all, "smtp://a", now, TRY), 0, "a probe");
        hold_outage_silent(&all, "smtp://a", now, now + 8000, 200);
        before = wait;
        wait = hold_outage_wait(&all, "smtp://a", now + 8000, TRY);
        ok(wait >= before && wait <= 360000, "waits no shorter than before (%lld)",
           (long long)wait);
    }
    ok(hold_outage_over(&all, "smtp://a"), "it answers");
    ok(!hold_outage_over(&all, "smtp://a"), "which is news once");
    is_int(hold_outage_wait(&all, "smtp://a", now + 9000, TRY), 0, "and nobody waits");
}

static void test_more_servers_than_places(void)
{
    char name[32];
    for (int i = 0; i < OUTAGE_SERVERS + 4; i++) {
        snprintf(name, sizeof name, "smtp://s%d", i);
        ok(hold_outage_silent(&all, name, 1, 2, 0), "%s", name);
    }
    is_int(hold_outage_wait(&all, name, 3, TRY), 0, "for whom there is no place is tried as ever");
}

int main(void)
{
    test_one_at_a_time();
    test_longer_and_over();
    test_more_servers_than_places();
    return done();
}
