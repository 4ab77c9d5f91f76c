/* Seats: how many requests of a name are under way at the same time, over all processes and threads
 * that share the memory block. A seat is one word, so that whoever dies with one leaves it whole,
 * and whoever wants it finds out that its holder is dead. Works on memory the caller owns; knows
 * neither shm nor httpd. */
#ifndef CORE_LIMIT_SEATS_H
#define CORE_LIMIT_SEATS_H

#include <apr_pools.h>
#include <stddef.h>

typedef struct seats seats; /* handle in private memory */

size_t seats_size(void);
/* Formats a zeroed block. Once per block. `hash_key`: 16 random bytes, kept in the block. */
void seats_format(void *block, const unsigned char hash_key[16]);
/* A handle of this process, until the pool goes. To be called by the thread whose end is the end of
 * the process: its death is what others see. NULL: more processes than there is room for. */
seats *seats_attach(apr_pool_t *pool, void *block);

/* A seat for one more, or -1 when `limit` requests of the name have one. */
int seats_take(seats *s, const char *name, unsigned limit);
/* By the same process, from any thread; harmless the second time only if nobody took it since. */
void seats_give_back(seats *s, int seat);

#endif
