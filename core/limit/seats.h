/* Seats: how many requests of a name are being served at the same time, over all processes and
 * threads that share the memory block. A seat is one word, so that a process that dies leaves it
 * complete, and others can find out that its holder is dead. Works on memory that the caller
 * owns; knows neither shm nor httpd. */
#ifndef CORE_LIMIT_SEATS_H
#define CORE_LIMIT_SEATS_H

#include <apr_pools.h>
#include <stddef.h>

typedef struct seats seats; /* handle in private memory */

size_t seats_size(void);
/* Formats a zeroed block. Once for each block. `hash_key`: 16 random bytes, stored in the block. */
void seats_format(void *block, const unsigned char hash_key[16]);
/* A handle of this process, valid until the pool is destroyed. Call it in the thread whose end
 * is the end of the process, because others detect that thread's death. NULL: more processes
 * than there is room for. */
seats *seats_attach(apr_pool_t *pool, void *block);

/* A seat for one more, or -1 when `limit` requests of the name have one. */
int seats_take(seats *s, const char *name, unsigned limit);
/* From the same process, any thread. A second call is harmless only if the seat was not taken
 * since. */
void seats_give_back(seats *s, int seat);

#endif
