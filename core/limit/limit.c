/* Owns the layout of the shared block and the path of one charge: its own record, or the record
 * that a full neighbourhood shares. Must not know where the memory comes from or who is limited. */
#include "core/limit/limit.h"

#include <apr_siphash.h>
#include <limits.h>
#include <string.h>

#include "core/limit/table.h"

#define MAGIC UINT64_C(0x314b434954414449) /* "IDATICK1" */
#define SLOTS_MIN 64
#define SLOTS_MAX (1u << 24)
#define SHARED_PART 8 /* a table of shared records has one for each line of its table */
#define TABLES LIMIT_TABLES

typedef struct block_head {
    uint64_t magic, size, epoch_ns;
    unsigned char hash_key[APR_SIPHASH_KSIZE];
    uint32_t slots;
    _Atomic uint64_t overflows;
    struct {
        table_place own, shared;
    } tables[TABLES];
} block_head;

struct rate_limiter {
    block_head *head;
    uint64_t tick_ns; /* tests; 0: by the rate */
    struct {
        table own, shared;
    } tables[TABLES];
};

static uint32_t rounded(unsigned slots)
{
    uint32_t n = SLOTS_MIN;
    while (n < slots && n < SLOTS_MAX) {
        n *= 2;
    }
    return n;
}

static size_t lay_out(block_head *head, unsigned slots)
{
    uint32_t n = rounded(slots), shared = n / SHARED_PART < SLOTS_MIN ? SLOTS_MIN : n / SHARED_PART;
    size_t at = (sizeof *head + 511) & ~(size_t)511;
    head->slots = n;
    for (int i = 0; i < TABLES; i++) {
        at = limit_table_lay_out(&head->tables[i].own, n, at);
        at = limit_table_lay_out(&head->tables[i].shared, shared, at);
    }
    return at;
}

size_t limit_size(unsigned slots)
{
    block_head head;
    return lay_out(&head, slots);
}

void limit_format(void *block, size_t size, unsigned slots, const unsigned char hash_key[16])
{
    block_head *head = block;
    ledger_clock boot = {0, 1};
    if (lay_out(head, slots) > size) {
        return; /* stays unformatted: attach reports it */
    }
    memcpy(head->hash_key, hash_key, sizeof head->hash_key);
    head->epoch_ns = limit_ledger_now(&boot);
    for (int i = 0; i < TABLES; i++) {
        limit_table_format(block, &head->tables[i].own);
        limit_table_format(block, &head->tables[i].shared);
    }
    head->size = size;
    head->magic = MAGIC;
}

unsigned limit_slots(const void *block, size_t size)
{
    const block_head *head = block;
    return block && size >= sizeof *head && head->magic == MAGIC && head->size == size ? head->slots
                                                                                       : 0;
}

rate_limiter *limit_attach(apr_pool_t *pool, void *block, size_t size, uint64_t tick_ns)
{
    if (!limit_slots(block, size)) {
        return NULL;
    }
    rate_limiter *l = apr_pcalloc(pool, sizeof *l);
    l->head = block;
    l->tick_ns = tick_ns;
    for (int i = 0; i < TABLES; i++) {
        limit_table_attach(&l->tables[i].own, block, &l->head->tables[i].own);
        limit_table_attach(&l->tables[i].shared, block, &l->head->tables[i].shared);
    }
    return l;
}

/* Everything one charge needs to know. */
typedef struct charging {
    const unsigned char *hash_key;
    limit_kind kind;
    uint32_t period_s;
    table *own, *shared;
    uint64_t id;
    ledger_clock clock;
    uint32_t limit;
} charging;

static uint64_t id_of(const charging *ch, uint64_t kind, uint64_t what)
{
    uint64_t words[3] = {kind, ch->period_s, what};
    uint64_t id = apr_siphash24(words, sizeof words, ch->hash_key) & ~(uint64_t)TABLE_CLAIM;
    return id ? id : 2 * TABLE_CLAIM; /* 0 is a free slot */
}

/* Differs from the kinds of names, so that no name can be hashed into a line. */
static uint64_t shared_id(const charging *ch)
{
    return id_of(ch, 16u + ch->kind, limit_table_home(ch->own, ch->id));
}

static void charging_begin(charging *ch, rate_limiter *l, limit_kind kind, const char *name,
                           const ida_rate *rate)
{
    int which = kind == LIMIT_ADDRESS || kind == LIMIT_FAILURES;
    ch->hash_key = l->head->hash_key;
    ch->kind = kind;
    ch->period_s = rate->period_s;
    ch->own = &l->tables[which].own;
    ch->shared = &l->tables[which].shared;
    ch->id = id_of(ch, kind, apr_siphash24(name, strlen(name), ch->hash_key));
    ch->clock.epoch_ns = l->head->epoch_ns;
    ch->clock.tick_ns = l->tick_ns ? l->tick_ns : (uint64_t)rate->period_s * 1000000000u / 60;
    ch->limit = rate->limit;
}

/* Window of the shared record, all of which a new owner has to count, because its users are
 * unknown. Also for a claimed record: an admission may be saving it from being recycled. */
static uint32_t used_in_shared(void *baton)
{
    const charging *ch = baton;
    uint64_t id = shared_id(ch);
    for (;;) {
        ledger_view view;
        int claimed;
        uint32_t slot = limit_table_find(ch->shared, id, &claimed);
        if (slot == TABLE_NONE) {
            return 0;
        }
        uint64_t word = claimed ? id | TABLE_CLAIM : id;
        if (limit_ledger_look(&ch->shared->ledgers[slot], &ch->shared->ids[slot], word, &ch->clock,
                              UINT32_MAX, &view) != LEDGER_GONE) {
            return view.used;
        }
    }
}

static ledger_answer charge_shared(charging *ch, ledger_view *view)
{
    uint64_t id = shared_id(ch);
    for (;;) {
        int claimed;
        uint32_t slot = limit_table_find(ch->shared, id, &claimed);
        if (slot == TABLE_NONE || claimed) {
            slot = limit_table_insert(ch->shared, id, &ch->clock, NULL, NULL);
        }
        if (slot == TABLE_NONE) { /* more periods in use at once than there are shared records
                                     nearby: nowhere to count */
            view->used = ch->limit;
            view->free_ns = ch->clock.tick_ns;
            return LEDGER_REFUSED;
        }
        ledger_answer answer = limit_ledger_charge(&ch->shared->ledgers[slot],
                                                   &ch->shared->ids[slot], id, &ch->clock,
                                                   ch->limit, view);
        if (answer != LEDGER_GONE) {
            return answer;
        }
    }
}

static ledger_answer charge(rate_limiter *l, charging *ch, ledger_view *view, int *shared)
{
    for (;;) {
        int claimed;
        uint32_t slot = limit_table_find(ch->own, ch->id, &claimed);
        if (slot == TABLE_NONE || claimed) {
            slot = limit_table_insert(ch->own, ch->id, &ch->clock, used_in_shared, ch);
        }
        *shared = slot == TABLE_NONE;
        ledger_answer answer;
        if (slot != TABLE_NONE) {
            answer = limit_ledger_charge(&ch->own->ledgers[slot], &ch->own->ids[slot], ch->id,
                                         &ch->clock, ch->limit, view);
        } else {
            answer = charge_shared(ch, view);
            LIMIT_STEP();
            /* Got a record of its own meanwhile, which may not know of this charge: it is wasted,
             * the own record decides. */
            if (answer == LEDGER_ADMITTED &&
                limit_table_find(ch->own, ch->id, &claimed) != TABLE_NONE) {
                continue;
            }
            atomic_fetch_add(&l->head->overflows, 1);
        }
        if (answer != LEDGER_GONE) {
            return answer;
        }
    }
}

static unsigned seconds(uint64_t ns)
{
    return (unsigned)((ns + 999999999u) / 1000000000u);
}

static void report(limit_cost *out, ledger_answer answer, const ledger_view *view, uint32_t limit)
{
    out->admitted = answer != LEDGER_REFUSED;
    out->remaining = view->used < limit ? limit - view->used : 0;
    out->retry_after_s = seconds(view->free_ns);
}

static int unlimited(const ida_rate *rate, limit_cost *out)
{
    memset(out, 0, sizeof *out);
    if (rate->limit && !rate->off) {
        return 0;
    }
    out->admitted = 1;
    out->remaining = UINT_MAX;
    return 1;
}

void limit_charge(rate_limiter *l, limit_kind kind, const char *name, const ida_rate *rate,
                  limit_cost *out)
{
    charging ch;
    ledger_view view;
    if (unlimited(rate, out)) {
        return;
    }
    charging_begin(&ch, l, kind, name, rate);
    ledger_answer answer = charge(l, &ch, &view, &out->shared);
    report(out, answer, &view, ch.limit);
}

void limit_peek(rate_limiter *l, limit_kind kind, const char *name, const ida_rate *rate,
                limit_cost *out)
{
    charging ch;
    ledger_view view = {0, 0};
    int claimed;
    if (unlimited(rate, out)) {
        return;
    }
    charging_begin(&ch, l, kind, name, rate);
    table *t = ch.own;
    uint64_t id = ch.id;
    uint32_t slot = limit_table_find(t, id, &claimed);
    if (slot == TABLE_NONE) { /* nothing of its own: in a full neighbourhood the shared record would
                                 decide */
        t = ch.shared;
        id = shared_id(&ch);
        slot = limit_table_find(t, id, &claimed);
        out->shared = slot != TABLE_NONE;
    }
    ledger_answer answer = LEDGER_ADMITTED;
    if (slot != TABLE_NONE) {
        answer = limit_ledger_look(&t->ledgers[slot], &t->ids[slot], id, &ch.clock, ch.limit,
                                   &view);
        if (answer == LEDGER_GONE) { /* recycled under our eyes: it was idle */
            memset(&view, 0, sizeof view);
        }
    }
    report(out, answer, &view, ch.limit);
}

uint64_t limit_used(const rate_limiter *l, int which)
{
    const table *t = &l->tables[which].own;
    uint64_t used = 0;
    for (size_t i = 0; i < (size_t)t->lines * TABLE_LINE; i++) {
        used += atomic_load_explicit(&t->ids[i], memory_order_relaxed) != 0;
    }
    return used;
}

uint64_t limit_overflows(const rate_limiter *l)
{
    return atomic_load(&l->head->overflows);
}
