/* Owns the memory for bodies: a total, half of it for one company. A write that finds none
 * waits, and its child with it. Must not know the content of a body. */
#include <string.h>
#include <time.h>

#include "writer/writer.h"

#define ALL_BYTES ((size_t)64 << 20)
#define COMPANIES 64 /* that have bodies at the same time; those beyond share one count */
#define NAME_LEN 72

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

/* The count of a company: its own, a free one, or the one for all others. */
static size_t *count_of(const char *company)
{
    int unused = COMPANIES;
    for (int i = 0; i < COMPANIES; i++) {
        if (room.companies[i].taken == 0) {
            unused = unused < COMPANIES ? unused : i;
        } else if (strncmp(room.companies[i].name, company, NAME_LEN - 1) == 0) {
            return &room.companies[i].taken;
        }
    }
    if (unused < COMPANIES) {
        strncpy(room.companies[unused].name, company, NAME_LEN - 1);
    }
    return &room.companies[unused].taken;
}

int room_take(const char *company, size_t bytes, int end)
{
    int got = 1;
    pthread_mutex_lock(&room.lock);
    size_t *own = count_of(company);
    while (room.taken + bytes > ALL_BYTES || *own + bytes > ALL_BYTES / 2) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&room.left, &room.lock, &until);
        if (wire_is_left(end)) {
            got = 0;
            break;
        }
        own = count_of(company);
    }
    if (got) {
        room.taken += bytes;
        *own += bytes;
    }
    pthread_mutex_unlock(&room.lock);
    return got;
}

void room_leave(const char *company, size_t bytes)
{
    pthread_mutex_lock(&room.lock);
    room.taken -= bytes;
    *count_of(company) -= bytes;
    pthread_cond_broadcast(&room.left);
    pthread_mutex_unlock(&room.lock);
}
