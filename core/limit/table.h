/* Inside of the rate limiter, shared by core/limit/limit.c (what to charge), core/limit/ledger.c
 * (one record) and core/limit/table.c (finding, inserting and recycling records). Everything
 * here is in shared memory unless noted: indexes, never pointers. */
#ifndef CORE_LIMIT_TABLE_H
#define CORE_LIMIT_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Tests put random pauses between the atomic steps. */
#ifndef LIMIT_STEP
#define LIMIT_STEP() ((void)0)
#endif

#define LEDGER_MARKS 62
#define LEDGER_WINDOW 61     /* ticks that are counted: the present one and 60 before */
#define LEDGER_IDLE 62       /* ticks after which a record may be recycled */
#define LEDGER_FIRST_TICK 64 /* so that tick 0 always lies before any window: "never" */

#define TABLE_LINE 8
#define TABLE_STRIPES 64

/* One 64-bit word {tick: 32, total: 32}. Totals only grow, over all owners of a record;
 * comparisons are modulo 2^32. Ticks of 1/60 s (a period of 1 s) last for 828 days after
 * formatting, those of 1 s for 136 years. */
static inline uint64_t word_make(uint32_t tick, uint32_t total)
{
    return (uint64_t)tick << 32 | total;
}

static inline uint32_t word_tick(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static inline uint32_t word_total(uint64_t word)
{
    return (uint32_t)word;
}

/* 512 bytes whatever the limit. */
typedef struct ledger {
    _Atomic uint64_t state; /* {tick of the last admission, admissions ever} */
    _Atomic uint64_t
        mark[LEDGER_MARKS]; /* mark[tick % 62]: {tick, total at the start of that tick} */
    /* unit of the present owner, to find out whether it is idle; written under the stripe's
     * mutex */
    _Atomic uint64_t tick_ns;
} ledger;

/* Private memory: the time base of one charge. */
typedef struct ledger_clock {
    uint64_t epoch_ns; /* when the block was formatted */
    uint64_t tick_ns;
} ledger_clock;

uint64_t limit_ledger_now(const ledger_clock *clock); /* ns since epoch */

typedef enum ledger_answer { LEDGER_ADMITTED, LEDGER_REFUSED, LEDGER_GONE } ledger_answer;

typedef struct ledger_view {
    uint32_t used;    /* admissions inside the window */
    uint64_t free_ns; /* refused: until a place is free; otherwise: until the window is empty */
} ledger_view;

/* One admission under `limit`, as long as *id_word is `id`; LEDGER_GONE when it is not: look the
 * record up again. */
ledger_answer limit_ledger_charge(ledger *l, const _Atomic uint64_t *id_word, uint64_t id,
                                  const ledger_clock *clock, uint32_t limit, ledger_view *view);
/* What a charge would find. */
ledger_answer limit_ledger_look(const ledger *l, const _Atomic uint64_t *id_word, uint64_t id,
                                const ledger_clock *clock, uint32_t limit, ledger_view *view);

int limit_ledger_is_idle(const ledger *l, const ledger_clock *clock);

/* Call these three under the stripe's mutex, while the id word has its claim bit set or is 0. */
int limit_ledger_retire(
    ledger *l,
    const ledger_clock *clock);     /* 1: was idle and is reset; 0: still in use, untouched */
void limit_ledger_reset(ledger *l); /* everything in it becomes "never" */
/* first tick of a new owner, which has used so much already */
void limit_ledger_begin(ledger *l, const ledger_clock *clock, uint32_t used);

/* A table: stripes' mutexes, lines of eight ids, one ledger an id. */
typedef struct table_place {
    size_t mutexes, ids, ledgers; /* offsets from the block's begin */
    uint32_t lines, stripes;      /* powers of two */
} table_place;

typedef struct table { /* private memory */
    pthread_mutex_t *mutexes;
    _Atomic uint64_t *ids;
    ledger *ledgers;
    uint32_t lines, stripes;
} table;

/* Lays a table of `slots` records out from `at` on; returns the offset after it. */
size_t limit_table_lay_out(table_place *place, uint32_t slots, size_t at);
void limit_table_format(void *block, const table_place *place);
void limit_table_attach(table *t, void *block, const table_place *place);

/* lowest bit of an id word: being set up or taken down by the holder of the stripe's mutex */
#define TABLE_CLAIM 1u
#define TABLE_NONE UINT32_MAX

uint32_t limit_table_home(const table *t, uint64_t id); /* line where the id belongs */

/* Slot of the id, or TABLE_NONE. *claimed: it is there, but only the holder of the mutex may touch
 * it now. */
uint32_t limit_table_find(const table *t, uint64_t id, int *claimed);

/* How much an id that gets its own record has used elsewhere; called while its claim is visible
 * to all. */
typedef uint32_t (*table_used)(void *baton);

/* Slot of the id, inserted when needed; TABLE_NONE when all neighbours are active (or the mutex is
 * unusable). `clock` is the new owner's. */
uint32_t limit_table_insert(table *t, uint64_t id, const ledger_clock *clock, table_used used,
                            void *baton);

#endif
