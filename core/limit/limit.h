/* The tick ledger: never more than the limit in any span of the period, over all processes and threads that share the memory
 * block; survives the death of any process at any instruction. Works on memory the caller owns; knows neither shm nor httpd. */
#ifndef CORE_LIMIT_LIMIT_H
#define CORE_LIMIT_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/rate.h"

typedef struct ida_limiter ida_limiter; /* handle in private memory; the tables themselves lie in the block */

/* Keys and companies share one table, addresses and failures another: a flood of addresses cannot push out keys. */
typedef enum ida_limit_kind { IDA_LIMIT_KEY, IDA_LIMIT_COMPANY, IDA_LIMIT_ADDRESS, IDA_LIMIT_FAILURES } ida_limit_kind;

typedef struct ida_charge {
    int admitted;
    unsigned remaining;     /* admissions left right now; UINT_MAX without a limit */
    /* refused: seconds until a place is free; admitted: seconds until the window is empty again ("t" of RateLimit) */
    unsigned retry_after_s;
    int shared;             /* 1: neighbourhood was full and the line's shared record was used */
} ida_charge;

/* Bytes needed for `slots` records (rounded up to a power of two, at least 64) in each of the two tables. */
size_t ida_limiter_size(unsigned slots);

/* Formats a zeroed block. Once per block. `hash_key` is 16 random bytes, kept in the block. */
void ida_limiter_format(void *block, size_t size, unsigned slots, const unsigned char hash_key[16]);

/* Number of slots of a formatted block, 0 when it is none. */
unsigned ida_limiter_slots(const void *block, size_t size);

/* Handle on a formatted block (after fork, or in a new generation). `tick_ns` is 0 for the real tick (period/60 of the rate, on
 * CLOCK_MONOTONIC), other values only in tests. NULL when the block was not formatted. */
ida_limiter *ida_limiter_attach(apr_pool_t *pool, void *block, size_t size, uint64_t tick_ns);

/* Charges one admission for (kind, period, name). A rate that is off or not set admits. */
void ida_limiter_charge(ida_limiter *l, ida_limit_kind kind, const char *name, const ida_rate *rate, ida_charge *out);

/* What a charge would find, without charging. */
void ida_limiter_peek(ida_limiter *l, ida_limit_kind kind, const char *name, const ida_rate *rate, ida_charge *out);

/* How often a full neighbourhood sent a charge to a shared record since the block was formatted. */
uint64_t ida_limiter_overflows(const ida_limiter *l);

#endif
