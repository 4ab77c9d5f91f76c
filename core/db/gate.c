/* Owns the write gate. The lock is flock(2) on the gate file: the kernel releases it with its
 * holder, whatever way that dies. flock cannot wait with a bound, so waiters sleep in futex(2)
 * on a counter in the mapped gate file, which every departing holder increments. The counter is
 * only a hint: a process that overwrites it can at worst make a waiter check again after
 * LOOK_AGAIN_MS. Must not know SQLite. */
#include "core/db/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"

/* A killed holder wakes no waiter: the longest time that they keep sleeping. */
#define LOOK_AGAIN_MS 20

/* Without a pause, a thread that re-enters at once always beats the waiter that was just woken
 * (starvation). */
#define COURTESY_NS 30000

static int64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int db_gate_open(db_gate *gate, const char *path, mode_t mode, uid_t owner, gid_t group)
{
    struct stat st;
    gate->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (gate->fd < 0 && errno == ENOENT) {
        gate->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (gate->fd >= 0 && (errno = ida_file_place(gate->fd, mode, owner, group)) != 0) {
            goto failed;
        }
    }
    if (gate->fd < 0) {
        return errno;
    }
    if (fstat(gate->fd, &st) != 0 ||
        (st.st_size < (off_t)sizeof(uint32_t) && ftruncate(gate->fd, sizeof(uint32_t)) != 0)) {
        goto failed;
    }
    void *map = mmap(NULL, sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED, gate->fd, 0);
    if (map == MAP_FAILED) {
        goto failed;
    }
    gate->turn = map;
    gate->held = 0;
    return 0;

failed:;
    int error = errno;
    close(gate->fd);
    gate->fd = -1;
    return error;
}

void db_gate_close(db_gate *gate)
{
    if (gate->fd >= 0) {
        db_gate_leave(gate);
        munmap((void *)gate->turn, sizeof(uint32_t));
        close(gate->fd);
        gate->fd = -1;
    }
}

int db_gate_take(db_gate *gate, int patience_ms)
{
    int64_t deadline = now_ms() + patience_ms;
    if (gate->polite && gate->courtesy_ms) { /* until another holder has left */
        struct timespec courtesy = {0, gate->courtesy_ms * 1000000L};
        syscall(SYS_futex, (void *)gate->turn, FUTEX_WAIT, gate->departure, &courtesy, NULL, 0);
    } else if (gate->polite) {
        struct timespec courtesy = {0, COURTESY_NS};
        nanosleep(&courtesy, NULL);
    }
    for (;;) {
        /* Read before the attempt: a departure between attempt and sleep changes it, and the
         * sleep ends at once. */
        uint32_t turn = atomic_load(gate->turn);
        if (flock(gate->fd, LOCK_EX | LOCK_NB) == 0) {
            gate->held = 1;
            return 0;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return errno;
        }
        int64_t left = deadline - now_ms();
        if (left <= 0) {
            return ETIMEDOUT;
        }
        struct timespec nap = {0, (left < LOOK_AGAIN_MS ? left : LOOK_AGAIN_MS) * 1000000};
        syscall(SYS_futex, (void *)gate->turn, FUTEX_WAIT, turn, &nap, NULL, 0);
    }
}

void db_gate_leave(db_gate *gate)
{
    if (gate->held) {
        gate->held = 0;
        flock(gate->fd, LOCK_UN);
        gate->departure = atomic_fetch_add(gate->turn, 1) + 1;
        gate->polite = syscall(SYS_futex, (void *)gate->turn, FUTEX_WAKE, 1, NULL, NULL, 0) > 0;
    }
}
