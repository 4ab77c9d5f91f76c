/* Owns a run's memory of entry numbers: an open hash table from ID to number. Only IDs that are
 * UUIDs in their usual form are remembered, because these fit exactly into 16 bytes; other IDs are
 * looked up in the store each time. Must not know the store. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/cache/numbers.h"

#define SLOTS_FIRST 4096
#define SLOTS_MAX (INT64_C(1) << 20) /* of one run: 24 MB */
#define SLOTS_ALL (INT64_C(1) << 21) /* of all runs of this process together */

typedef struct slot {
    uint64_t key[2];
    int64_t number; /* 0: the slot is free */
} slot;

struct cache_numbers {
    slot *slots;
    int64_t room, used; /* room: a power of two, or 0 */
};

static _Atomic int64_t given; /* slots of all runs */

/* 1 and the 16 bytes if the ID is the text of a UUID as it would be written again. */
static int pack(const char *id, uint64_t key[2])
{
    int digits = 0;
    key[0] = key[1] = 0;
    for (int i = 0; i < 36; i++) {
        char ch = id[i];
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (ch != '-') {
                return 0;
            }
            continue;
        }
        int value = ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
        if (value < 0) {
            return 0; /* also at an early end */
        }
        key[digits / 16] = key[digits / 16] << 4 | (uint64_t)value;
        digits++;
    }
    return !id[36];
}

/* The slot of that key, or the free one where it would be. */
static slot *place_of(slot *slots, int64_t room, const uint64_t key[2])
{
    uint64_t mixed = (key[0] ^ (key[1] * UINT64_C(0x9e3779b97f4a7c15))) *
                     UINT64_C(0xbf58476d1ce4e5b9);
    uint64_t i = (mixed ^ mixed >> 32) & (uint64_t)(room - 1);
    while (slots[i].number && (slots[i].key[0] != key[0] || slots[i].key[1] != key[1])) {
        i = (i + 1) & (uint64_t)(room - 1);
    }
    return &slots[i];
}

void cache_numbers_forget(cache_numbers *n)
{
    if (n) {
        free(n->slots);
        atomic_fetch_sub(&given, n->room);
        *n = (cache_numbers){0};
    }
}

static apr_status_t forget(void *n)
{
    cache_numbers_forget(n);
    return APR_SUCCESS;
}

cache_numbers *cache_numbers_make(apr_pool_t *pool)
{
    cache_numbers *n = apr_pcalloc(pool, sizeof *n);
    apr_pool_cleanup_register(pool, n, forget, apr_pool_cleanup_null);
    return n;
}

int64_t cache_numbers_get(const cache_numbers *n, const char *id)
{
    uint64_t key[2];
    return n && n->room && pack(id, key) ? place_of(n->slots, n->room, key)->number : 0;
}

/* Room for one more; 0: there is none. */
static int grow(cache_numbers *n)
{
    int64_t room = n->room ? 2 * n->room : SLOTS_FIRST, more = room - n->room;
    if (n->used < n->room / 8 * 7) {
        return 1;
    }
    if (room > SLOTS_MAX) {
        return 0;
    }
    int free_yet = atomic_fetch_add(&given, more) + more <= SLOTS_ALL;
    slot *slots = free_yet ? calloc((size_t)room, sizeof *slots) : NULL;
    if (!slots) {
        atomic_fetch_sub(&given, more);
        return 0;
    }
    for (int64_t i = 0; i < n->room; i++) {
        if (n->slots[i].number) {
            *place_of(slots, room, n->slots[i].key) = n->slots[i];
        }
    }
    free(n->slots);
    n->slots = slots;
    n->room = room;
    return 1;
}

void cache_numbers_keep(cache_numbers *n, const char *id, int64_t number)
{
    uint64_t key[2];
    if (n && pack(id, key) && grow(n)) {
        slot *place = place_of(n->slots, n->room, key);
        n->used += !place->number;
        *place = (slot){{key[0], key[1]}, number};
    }
}
