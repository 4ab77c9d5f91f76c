/* Owns the table of the rate limiter: open addressing over lines of eight id words, insertion and
 * recycling under robust process-shared mutexes that the admission path never takes. Must not know
 * what an id stands for.
 *
 * An id is in its home line or in one second line of the same stripe, so that one mutex covers
 * all places of an id. Only the holder of a stripe's mutex writes its id words. A process that
 * dies holding it leaves at most one id word with the claim bit; the next holder (EOWNERDEAD)
 * completes that. */
#include "core/limit/table.h"

#include <errno.h>

#define MUTEX_SPAN 64 /* bytes a mutex gets: one cache line */

_Static_assert(sizeof(ledger) == 512, "a record is 512 bytes");
_Static_assert(sizeof(pthread_mutex_t) <= MUTEX_SPAN, "a mutex fits its cache line");
_Static_assert(sizeof(_Atomic uint64_t) == 8, "id words are plain 64-bit words");

static pthread_mutex_t *mutex_of(const table *t, uint32_t stripe)
{
    return (pthread_mutex_t *)((char *)t->mutexes + (size_t)stripe * MUTEX_SPAN);
}

size_t limit_table_lay_out(table_place *place, uint32_t slots, size_t at)
{
    place->lines = slots / TABLE_LINE;
    place->stripes = place->lines / 2 < TABLE_STRIPES ? place->lines / 2 : TABLE_STRIPES;
    place->mutexes = at;
    place->ids = place->mutexes + (size_t)place->stripes * MUTEX_SPAN;
    place->ledgers = (place->ids + (size_t)slots * sizeof(uint64_t) + 511) & ~(size_t)511;
    return place->ledgers + (size_t)slots * sizeof(ledger);
}

void limit_table_format(void *block, const table_place *place)
{
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    for (uint32_t i = 0; i < place->stripes; i++) {
        pthread_mutex_init(
            (pthread_mutex_t *)((char *)block + place->mutexes + (size_t)i * MUTEX_SPAN), &shared);
    }
    pthread_mutexattr_destroy(&shared);
}

void limit_table_attach(table *t, void *block, const table_place *place)
{
    t->mutexes = (pthread_mutex_t *)((char *)block + place->mutexes);
    t->ids = (_Atomic uint64_t *)((char *)block + place->ids);
    t->ledgers = (ledger *)((char *)block + place->ledgers);
    t->lines = place->lines;
    t->stripes = place->stripes;
}

uint32_t limit_table_home(const table *t, uint64_t id)
{
    return (uint32_t)(id >> 1) & (t->lines - 1);
}

/* The other line of an id: of the same stripe, never the home line. */
static uint32_t second_line(const table *t, uint64_t id)
{
    uint32_t choices = t->lines / t->stripes - 1; /* at least 1 */
    return limit_table_home(t, id) ^ (t->stripes * (1 + (uint32_t)(id >> 33) % choices));
}

static uint32_t find_in_line(const table *t, uint32_t line, uint64_t id, int *claimed)
{
    for (uint32_t i = line * TABLE_LINE; i < (line + 1) * TABLE_LINE; i++) {
        uint64_t word = atomic_load(&t->ids[i]);
        if ((word & ~(uint64_t)TABLE_CLAIM) == id) {
            *claimed = (word & TABLE_CLAIM) != 0;
            return i;
        }
    }
    return TABLE_NONE;
}

uint32_t limit_table_find(const table *t, uint64_t id, int *claimed)
{
    *claimed = 0;
    uint32_t slot = find_in_line(t, limit_table_home(t, id), id, claimed);
    return slot != TABLE_NONE ? slot : find_in_line(t, second_line(t, id), id, claimed);
}

/* Repairs what a dead holder left: a record being removed (idle) is removed, one being set up is
 * removed, one whose state had begun stays. */
static void finish_claims(table *t, uint32_t stripe, const ledger_clock *clock)
{
    for (uint32_t line = stripe; line < t->lines; line += t->stripes) {
        for (uint32_t i = line * TABLE_LINE; i < (line + 1) * TABLE_LINE; i++) {
            uint64_t word = atomic_load(&t->ids[i]);
            if (!(word & TABLE_CLAIM)) {
                continue;
            }
            if (word_tick(atomic_load(&t->ledgers[i].state)) == 0) {
                limit_ledger_reset(&t->ledgers[i]);
                atomic_store(&t->ids[i], 0);
            } else {
                int gone = limit_ledger_retire(&t->ledgers[i], clock);
                atomic_store(&t->ids[i], gone ? 0 : word & ~(uint64_t)TABLE_CLAIM);
            }
        }
    }
}

/* 0 when the mutex cannot be had at all. */
static int lock_stripe(table *t, uint32_t stripe, const ledger_clock *clock)
{
    int failed = pthread_mutex_lock(mutex_of(t, stripe));
    if (failed == EOWNERDEAD) {
        finish_claims(t, stripe, clock);
        failed = pthread_mutex_consistent(mutex_of(t, stripe));
    }
    return !failed;
}

/* Takes an idle record down; 1 when the slot is free. Those in use are left alone without showing a
 * claim, which would send their callers here. */
static int recycle(table *t, uint32_t slot, const ledger_clock *clock)
{
    if (!limit_ledger_is_idle(&t->ledgers[slot], clock)) {
        return 0;
    }
    uint64_t word = atomic_load(&t->ids[slot]);
    atomic_store(&t->ids[slot], word | TABLE_CLAIM);
    LIMIT_STEP();
    int gone = limit_ledger_retire(&t->ledgers[slot], clock);
    LIMIT_STEP();
    atomic_store(&t->ids[slot], gone ? 0 : word);
    return gone;
}

static uint32_t free_slot(table *t, uint64_t id, const ledger_clock *clock)
{
    const uint32_t lines[2] = {limit_table_home(t, id), second_line(t, id)};
    for (int look_at_idle = 0; look_at_idle < 2; look_at_idle++) {
        for (int l = 0; l < 2; l++) {
            for (uint32_t i = lines[l] * TABLE_LINE; i < (lines[l] + 1) * TABLE_LINE; i++) {
                if (look_at_idle ? recycle(t, i, clock) : atomic_load(&t->ids[i]) == 0) {
                    return i;
                }
            }
        }
    }
    return TABLE_NONE;
}

uint32_t limit_table_insert(table *t, uint64_t id, const ledger_clock *clock, table_used used,
                            void *baton)
{
    uint32_t stripe = limit_table_home(t, id) & (t->stripes - 1);
    int claimed;
    if (!lock_stripe(t, stripe, clock)) {
        return TABLE_NONE;
    }
    uint32_t slot = limit_table_find(t, id, &claimed);
    if (slot == TABLE_NONE) {
        slot = free_slot(t, id, clock);
        if (slot != TABLE_NONE) {
            /* Claim first, then ask for the use elsewhere, because charges elsewhere check for
             * the claim afterwards. */
            atomic_store(&t->ids[slot], id | TABLE_CLAIM);
            LIMIT_STEP();
            limit_ledger_begin(&t->ledgers[slot], clock, used ? used(baton) : 0);
            LIMIT_STEP();
            atomic_store(&t->ids[slot], id);
        }
    }
    pthread_mutex_unlock(mutex_of(t, stripe));
    return slot;
}
