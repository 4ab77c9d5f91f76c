/* Owns concurrent-request seats. Must not know what is done with a seat or where the memory comes
 * from.
 *
 * A seat is a word {holder process: 16, name: 48}; 0 is free. Seats are in rows by the name's
 * hash. Taking one counts those of the name under the row's mutex; giving it back is one store
 * without a lock. Each process ("lodger") holds a robust mutex from its start to its end; the
 * kernel marks it when the process dies in whatever way, so that process IDs need not be
 * trusted. A process that finds no free seat, or starts, checks the holders of taken seats and
 * clears those of dead ones. */
#include "core/limit/seats.h"

#include <apr_siphash.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#ifndef LIMIT_STEP
#define LIMIT_STEP() ((void)0)
#endif

#define ROWS 16
#define ROW_SEATS 1024 /* of all names of a row together: more than httpd has threads */
#define LODGERS 1024
#define NAME_BITS 48

/* All seats from `end` on are free, so a count stops there. Only a holder of the mutex writes
 * `end`: seats_take raises it before it takes the seat below, count lowers it after seats were
 * given back. */
typedef struct row {
    pthread_mutex_t lock;
    int end;
    _Atomic uint64_t seats[ROW_SEATS];
} row;

typedef struct seats_block {
    unsigned char hash_key[APR_SIPHASH_KSIZE];
    pthread_mutex_t lodgers[LODGERS];
    row rows[ROWS];
} seats_block;

struct seats {
    seats_block *block;
    unsigned lodger; /* from 1 */
};

size_t seats_size(void)
{
    return sizeof(seats_block);
}

void seats_format(void *block, const unsigned char hash_key[16])
{
    seats_block *b = block;
    pthread_mutexattr_t shared;
    memcpy(b->hash_key, hash_key, sizeof b->hash_key);
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    for (int i = 0; i < LODGERS; i++) {
        pthread_mutex_init(&b->lodgers[i], &shared);
    }
    for (int i = 0; i < ROWS; i++) {
        pthread_mutex_init(&b->rows[i].lock, &shared);
    }
    pthread_mutexattr_destroy(&shared);
}

static unsigned lodger_of(uint64_t word)
{
    return (unsigned)(word >> NAME_BITS);
}

static uint64_t name_of(uint64_t word)
{
    return word & ((UINT64_C(1) << NAME_BITS) - 1);
}

/* Every word is complete at any time, so there is nothing to repair after a dead holder. */
static int consistent(pthread_mutex_t *lock, int answer)
{
    return answer == EOWNERDEAD ? pthread_mutex_consistent(lock) : answer;
}

static void clear(seats_block *b, unsigned lodger)
{
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < ROW_SEATS; k++) {
            uint64_t word = atomic_load(&b->rows[i].seats[k]);
            if (word && lodger_of(word) == lodger) {
                atomic_compare_exchange_strong(&b->rows[i].seats[k], &word, 0);
            }
        }
    }
}

/* 1: no process has this number; its old seats are cleared, and the caller holds the mutex. */
static int enter(seats_block *b, unsigned lodger)
{
    pthread_mutex_t *lock = &b->lodgers[lodger - 1];
    if (consistent(lock, pthread_mutex_trylock(lock))) {
        return 0;
    }
    LIMIT_STEP();
    clear(b, lodger);
    return 1;
}

static apr_status_t move_out(void *baton)
{
    seats *s = baton;
    clear(s->block, s->lodger);
    pthread_mutex_unlock(&s->block->lodgers[s->lodger - 1]);
    return APR_SUCCESS;
}

seats *seats_attach(apr_pool_t *pool, void *block)
{
    seats *s = apr_pcalloc(pool, sizeof *s);
    s->block = block;
    for (unsigned lodger = 1; lodger <= LODGERS; lodger++) {
        if (enter(s->block, lodger)) {
            s->lodger = lodger;
            apr_pool_cleanup_register(pool, s, move_out, apr_pool_cleanup_null);
            return s;
        }
    }
    return NULL;
}

/* Seats of the name in the row, whose mutex is held; *free_seat: the first free one, or -1. */
static unsigned count(row *r, uint64_t name, int *free_seat)
{
    unsigned taken = 0;
    int free = -1, end = 0;
    for (int i = 0; i < r->end; i++) {
        uint64_t word = atomic_load(&r->seats[i]);
        if (word) {
            end = i + 1;
            taken += name_of(word) == name;
        } else if (free < 0) {
            free = i;
        }
    }
    r->end = end;
    *free_seat = free >= 0 && free < end ? free : end < ROW_SEATS ? end : -1;
    return taken;
}

/* What dead lodgers have in a row. */
static void bury(const seats *s, const row *r)
{
    unsigned before = s->lodger;
    for (int i = 0; i < r->end; i++) {
        unsigned lodger = lodger_of(atomic_load(&r->seats[i]));
        if (lodger && lodger != s->lodger && lodger != before && enter(s->block, lodger)) {
            pthread_mutex_unlock(&s->block->lodgers[lodger - 1]);
        }
        before = lodger ? lodger : before;
    }
}

int seats_take(seats *s, const char *name, unsigned limit)
{
    uint64_t hash = apr_siphash24(name, strlen(name), s->block->hash_key);
    uint64_t of = name_of(hash);
    int index = (int)(hash >> NAME_BITS) % ROWS, seat;
    row *r = &s->block->rows[index];
    if (consistent(&r->lock, pthread_mutex_lock(&r->lock))) {
        return -1;
    }
    unsigned taken = count(r, of, &seat);
    if (taken >= limit || seat < 0) {
        bury(s, r);
        taken = count(r, of, &seat);
    }
    LIMIT_STEP();
    if (taken >= limit || seat < 0) {
        seat = -1;
    } else {
        r->end = seat < r->end ? r->end : seat + 1;
        LIMIT_STEP();
        atomic_store(&r->seats[seat], (uint64_t)s->lodger << NAME_BITS | of);
        LIMIT_STEP();
        seat += index * ROW_SEATS;
    }
    pthread_mutex_unlock(&r->lock);
    return seat;
}

void seats_give_back(seats *s, int seat)
{
    _Atomic uint64_t *at = &s->block->rows[seat / ROW_SEATS].seats[seat % ROW_SEATS];
    uint64_t word = atomic_load(at);
    if (lodger_of(word) == s->lodger) {
        atomic_compare_exchange_strong(at, &word, 0);
    }
}
