/* Owns the memory for bodies: a total, half of it for one company. A write that finds none
 * waits, and its child with it. Must not know the content of a body. */
#include <string.h>
#include <time.h>

#include "core/base/count.h"
#include "writer/writer.h"

#define ALL_BYTES ((size_t)64 << 20)
#define COMPANIES 64 /* that have bodies at the same time; those beyond share one count */
#define NAME_LEN 72
#define WAIT_S 10

static struct {
    pthread_mutex_t lock;
    pthread_cond_t left;
    size_t taken;
    struct {
        char name[NAME_LEN];
        size_t taken;
    } companies[COMPANIES + 1];
} room = {.lock = PTHREAD_MUTEX_INITIALIZER};

void room_start(apr_pool_t *pool)
{
    pthread_condattr_t attr;
    (void)pool;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&room.left, &attr);
    pthread_condattr_destroy(&attr);
}

/* The slot of a company: its own, a free one, or the one for all others. Another one at another
 * time, so that what was taken is left by the slot it was taken in. */
static int slot_of(const char *company)
{
    int unused = COMPANIES;
    for (int i = 0; i < COMPANIES; i++) {
        if (room.companies[i].taken == 0) {
            unused = unused < COMPANIES ? unused : i;
        } else if (strncmp(room.companies[i].name, company, NAME_LEN - 1) == 0) {
            return i;
        }
    }
    if (unused < COMPANIES) {
        strncpy(room.companies[unused].name, company, NAME_LEN - 1);
    }
    return unused;
}

int room_take(const char *company, size_t bytes, int end)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t last = now.tv_sec + WAIT_S;
    pthread_mutex_lock(&room.lock);
    int slot = slot_of(company);
    while (room.taken + bytes > ALL_BYTES || room.companies[slot].taken + bytes > ALL_BYTES / 2) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec++ >= last || wire_is_left(end)) {
            slot = -1;
            break;
        }
        pthread_cond_timedwait(&room.left, &room.lock, &now);
        slot = slot_of(company);
    }
    if (slot >= 0) {
        room.taken += bytes;
        room.companies[slot].taken += bytes;
    }
    pthread_mutex_unlock(&room.lock);
    return slot;
}

void room_leave(int slot, size_t bytes)
{
    pthread_mutex_lock(&room.lock);
    ida_count_lower(&room.taken, bytes);
    ida_count_lower(&room.companies[slot].taken, bytes);
    pthread_cond_broadcast(&room.left);
    pthread_mutex_unlock(&room.lock);
}

size_t room_taken(void)
{
    pthread_mutex_lock(&room.lock);
    size_t taken = room.taken;
    pthread_mutex_unlock(&room.lock);
    return taken;
}
