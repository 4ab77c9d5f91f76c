/* The tick ledger: never more than the limit in any span of the period, over all processes and
 * threads that share the memory block; survives the death of any process at any instruction.
 * Works on memory that the caller owns; knows neither shm nor httpd. */
#ifndef CORE_LIMIT_LIMIT_H
#define CORE_LIMIT_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/rate.h"

typedef struct rate_limiter
    rate_limiter; /* handle in private memory; the tables themselves lie in the block */

/* Keys and companies share one table, addresses and failures another: a flood of addresses cannot
 * push out keys. */
typedef enum limit_kind {
    LIMIT_KEY,
    LIMIT_COMPANY,
    LIMIT_ADDRESS,
    LIMIT_FAILURES,
    LIMIT_PERSON /* user who is signed in to the console */
} limit_kind;

typedef struct limit_cost {
    int admitted;
    unsigned remaining; /* admissions left right now; UINT_MAX without a limit */
    /* refused: seconds until a place is free; admitted: seconds until the window is empty again
     * ("t" of RateLimit) */
    unsigned retry_after_s;
    int shared; /* 1: neighbourhood was full and the line's shared record was used */
} limit_cost;

/* Bytes needed for `slots` records (rounded up to a power of two, at least 64) in each of the two
 * tables. */
size_t limit_size(unsigned slots);

/* Formats a zeroed block. Once for each block. `hash_key` is 16 random bytes, stored in the
 * block. */
void limit_format(void *block, size_t size, unsigned slots, const unsigned char hash_key[16]);

/* Number of slots of a formatted block, 0 when it is none. */
unsigned limit_slots(const void *block, size_t size);

/* Handle on a formatted block (after fork, or in a new generation). `tick_ns` is 0 for the real
 * tick (period/60 of the rate, on CLOCK_MONOTONIC), other values only in tests. NULL when the block
 * was not formatted. */
rate_limiter *limit_attach(apr_pool_t *pool, void *block, size_t size, uint64_t tick_ns);

/* Charges one admission for (kind, period, name). A rate that is off or not set admits. */
void limit_charge(rate_limiter *l, limit_kind kind, const char *name, const ida_rate *rate,
                  limit_cost *out);

/* What a charge would find, without charging. */
void limit_peek(rate_limiter *l, limit_kind kind, const char *name, const ida_rate *rate,
                limit_cost *out);

/* How many records of a table hold a name, idle ones included: a walk over all of them. Table 0:
 * keys, companies and persons; 1: addresses and failures. */
#define LIMIT_TABLES 2
uint64_t limit_used(const rate_limiter *l, int which);

/* How often a full neighbourhood sent a charge to a shared record since the block was formatted. */
uint64_t limit_overflows(const rate_limiter *l);

#endif
