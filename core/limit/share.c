/* Owns whose turn it is: first the company with the fewest places, of those the one whose last
 * turn was longest ago; within a company the order of arrival. Must not know what a place is. */
#include "core/limit/share.h"

#include <apr_strings.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURNS 64 /* of companies, by a hash of their names: two that share one share their turn */
#define NAME_MAX_LEN 72

/* A thread that waits, on its own stack. */
typedef struct waiter {
    const char *company;
    int place; /* -1: not yet */
    pthread_cond_t given;
    struct waiter *next; /* that came later */
} waiter;

struct share {
    share_size size;
    pthread_mutex_t lock;
    pthread_condattr_t monotonic;
    int idle[SHARE_PLACES_MAX], idle_count;
    struct {
        int taken;
        char company[NAME_MAX_LEN];
    } places[SHARE_PLACES_MAX];
    waiter *first;
    uint64_t turn, turns[TURNS]; /* the last turn, and that of each company */
};

share *share_make(apr_pool_t *pool, share_size size)
{
    share *s = apr_pcalloc(pool, sizeof *s);
    s->size = size;
    pthread_condattr_init(&s->monotonic);
    pthread_condattr_setclock(&s->monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    while (s->idle_count < size.places) {
        s->idle[s->idle_count] = s->idle_count;
        s->idle_count++;
    }
    return s;
}

static uint64_t *turn_of(share *s, const char *company)
{
    uint32_t hash = 5381;
    for (const char *at = company; *at; at++) {
        hash = hash * 33 + (unsigned char)*at;
    }
    return &s->turns[hash % TURNS];
}

/* Places of the company. */
static int has(const share *s, const char *company)
{
    int count = 0;
    for (int i = 0; i < s->size.places; i++) {
        count += s->places[i].taken && strcmp(s->places[i].company, company) == 0;
    }
    return count;
}

/* NULL: no waiter may have a place now. */
static waiter **next_waiter(share *s)
{
    waiter **best = NULL;
    int fewest = 0;
    for (waiter **at = &s->first; *at; at = &(*at)->next) {
        const waiter *one = *at;
        int count = has(s, one->company);
        if (count >= s->size.of_company) {
            continue;
        }
        if (!best || count < fewest ||
            (count == fewest && *turn_of(s, one->company) < *turn_of(s, (*best)->company))) {
            best = at;
            fewest = count;
        }
    }
    return best;
}

static void hand_out(share *s)
{
    waiter **at;
    while (s->idle_count && (at = next_waiter(s)) != NULL) {
        waiter *one = *at;
        *at = one->next;
        one->place = s->idle[--s->idle_count];
        s->places[one->place].taken = 1;
        apr_cpystrn(s->places[one->place].company, one->company, NAME_MAX_LEN);
        *turn_of(s, one->company) = ++s->turn;
        pthread_cond_signal(&one->given);
    }
}

static void give_up(share *s, const waiter *one)
{
    waiter **at = &s->first;
    while (*at != one) {
        at = &(*at)->next;
    }
    *at = one->next;
}

int share_take(share *s, const char *company, int wait_ms)
{
    struct timespec end;
    waiter me = {.company = company, .place = -1}, **last = &s->first;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += wait_ms / 1000;
    end.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_cond_init(&me.given, &s->monotonic);
    pthread_mutex_lock(&s->lock);
    while (*last) {
        last = &(*last)->next;
    }
    *last = &me;
    hand_out(s);
    while (me.place < 0 && pthread_cond_timedwait(&me.given, &s->lock, &end) == 0) {}
    if (me.place < 0) {
        give_up(s, &me);
    }
    pthread_mutex_unlock(&s->lock);
    pthread_cond_destroy(&me.given);
    return me.place;
}

void share_leave(share *s, int place)
{
    pthread_mutex_lock(&s->lock);
    if (!s->places[place].taken) {
        abort(); /* left twice, it would be given to two */
    }
    s->places[place].taken = 0;
    s->idle[s->idle_count++] = place;
    hand_out(s);
    pthread_mutex_unlock(&s->lock);
}

int share_waiting(share *s)
{
    int count = 0;
    pthread_mutex_lock(&s->lock);
    for (const waiter *one = s->first; one; one = one->next) {
        count++;
    }
    pthread_mutex_unlock(&s->lock);
    return count;
}
