/* Owns one record of the rate limiter: lock-free admission, and the change of a record's owner.
 * Must not know tables.
 *
 * Why it is correct: totals only grow, so each proposal for a mark is at most the total at the
 * real step into its tick, and the largest proposal is that total; a mark is read only after
 * `state` has reached its tick; a process that dies leaves at most a proposal or one wasted
 * charge behind. Marks are ordered by (total, tick): the same order as (tick, total) while ticks
 * are those of one owner, and still an order when the next owner's ticks have another length,
 * because a reset raises the total above everything that a sleeping thread of the former owner
 * can still propose. */
#include "core/limit/table.h"

#include <time.h>

uint64_t limit_ledger_now(const ledger_clock *clock)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec - clock->epoch_ns;
}

static uint32_t tick_at(const ledger_clock *clock, uint64_t now)
{
    return (uint32_t)(now / clock->tick_ns) + LEDGER_FIRST_TICK;
}

/* 1 when a comes before b. */
static int mark_before(uint64_t a, uint64_t b)
{
    int32_t difference = (int32_t)(word_total(b) - word_total(a));
    return difference ? difference > 0 : word_tick(a) < word_tick(b);
}

static void mark_raise(_Atomic uint64_t *mark, uint64_t proposal)
{
    uint64_t seen = atomic_load(mark);
    while (mark_before(seen, proposal)) {
        LIMIT_STEP();
        if (atomic_compare_exchange_weak(mark, &seen, proposal)) {
            return;
        }
    }
}

/* ns from `now` until tick `tick` begins; at least 1. */
static uint64_t until_tick(const ledger_clock *clock, uint32_t tick, uint64_t now)
{
    uint64_t begin = (uint64_t)(tick - LEDGER_FIRST_TICK) * clock->tick_ns;
    return begin > now ? begin - now : 1;
}

/* Admissions of state s inside the window that ends with tick k, and the tick in which there is
 * room below `limit` again. */
static uint32_t window_used(const ledger *l, uint64_t s, uint32_t k, uint32_t limit,
                            uint32_t *free_tick)
{
    uint32_t t = word_tick(s), c = word_total(s), used = 0, last = 0;
    *free_tick = k;
    if (k - t >= LEDGER_WINDOW) {
        return 0;
    }
    for (uint32_t j = k - (LEDGER_WINDOW - 1); j <= t; j++) {
        uint64_t mark = atomic_load(&l->mark[j % LEDGER_MARKS]);
        if (word_tick(mark) != j) {
            continue;
        }
        uint32_t since = c - word_total(mark);
        if (!last) {
            used = since;
        }
        if (since < limit) {
            break; /* once the ticks up to `last` have left the window, this is the sum */
        }
        last = j;
    }
    *free_tick = last ? last + LEDGER_WINDOW : k;
    return used;
}

static void view_set(ledger_view *view, const ledger_clock *clock, uint32_t used, uint32_t tick,
                     uint64_t now)
{
    view->used = used;
    view->free_ns = until_tick(clock, tick, now);
}

ledger_answer limit_ledger_charge(ledger *l, const _Atomic uint64_t *id_word, uint64_t id,
                                  const ledger_clock *clock, uint32_t limit, ledger_view *view)
{
    for (;;) {
        uint64_t s = atomic_load(&l->state);
        LIMIT_STEP();
        if (atomic_load(id_word) != id) {
            return LEDGER_GONE;
        }
        uint32_t t = word_tick(s), c = word_total(s), free_tick;
        uint64_t now = limit_ledger_now(clock);
        uint32_t k = tick_at(clock, now);
        if (k < t) {
            k = t; /* another thread's clock reading was later than ours */
        }
        uint32_t used = window_used(l, s, k, limit, &free_tick);
        if (used >= limit) {
            view_set(view, clock, used, free_tick, now);
            return LEDGER_REFUSED;
        }
        LIMIT_STEP();
        if (k != t) {
            mark_raise(&l->mark[k % LEDGER_MARKS], word_make(k, c));
        }
        LIMIT_STEP();
        if (!atomic_compare_exchange_strong(&l->state, &s, word_make(k, c + 1))) {
            continue;
        }
        LIMIT_STEP();
        now = limit_ledger_now(clock);
        if (tick_at(clock, now) == k) {
            view_set(view, clock, used + 1, k + LEDGER_WINDOW, now);
            return LEDGER_ADMITTED;
        }
        /* The thread slept through a tick: the charge may be in a window that others have judged
         * already. It is wasted, never lost. */
    }
}

ledger_answer limit_ledger_look(const ledger *l, const _Atomic uint64_t *id_word, uint64_t id,
                                const ledger_clock *clock, uint32_t limit, ledger_view *view)
{
    uint64_t s = atomic_load(&l->state);
    if (atomic_load(id_word) != id) {
        return LEDGER_GONE;
    }
    uint64_t now = limit_ledger_now(clock);
    uint32_t k = tick_at(clock, now), t = word_tick(s), free_tick;
    uint32_t used = window_used(l, s, k < t ? t : k, limit, &free_tick);
    int full = used >= limit;
    view_set(view, clock, used, full ? free_tick : used ? t + LEDGER_WINDOW : k, now);
    return full ? LEDGER_REFUSED : LEDGER_ADMITTED;
}

/* Moves beyond every total seen so far: compare-and-swap on an older state then fails, and older
 * proposals are not raised. */
static int reset_from(ledger *l, uint64_t s)
{
    uint32_t total = word_total(s) + 1;
    if (!atomic_compare_exchange_strong(&l->state, &s, word_make(0, total))) {
        return 0;
    }
    for (int i = 0; i < LEDGER_MARKS; i++) {
        LIMIT_STEP();
        mark_raise(&l->mark[i], word_make(0, total));
    }
    return 1;
}

static int idle_at(const ledger *l, uint64_t s, const ledger_clock *clock)
{
    ledger_clock owner = {clock->epoch_ns, atomic_load(&l->tick_ns)};
    if (!owner.tick_ns) {
        return 1; /* never had one */
    }
    uint32_t k = tick_at(&owner, limit_ledger_now(&owner)), t = word_tick(s);
    return k >= t && k - t >= LEDGER_IDLE;
}

int limit_ledger_is_idle(const ledger *l, const ledger_clock *clock)
{
    return idle_at(l, atomic_load(&l->state), clock);
}

int limit_ledger_retire(ledger *l, const ledger_clock *clock)
{
    uint64_t s = atomic_load(&l->state);
    if (!idle_at(l, s, clock)) {
        return 0;
    }
    LIMIT_STEP();
    return reset_from(l, s); /* fails if an admission came in between */
}

void limit_ledger_reset(ledger *l)
{
    while (!reset_from(l, atomic_load(&l->state))) {}
}

void limit_ledger_begin(ledger *l, const ledger_clock *clock, uint32_t used)
{
    uint32_t total = word_total(atomic_load(&l->state)),
             k = tick_at(clock, limit_ledger_now(clock));
    atomic_store(&l->tick_ns, clock->tick_ns);
    LIMIT_STEP();
    mark_raise(&l->mark[k % LEDGER_MARKS], word_make(k, total));
    LIMIT_STEP();
    atomic_store(&l->state, word_make(k, total + used));
}
