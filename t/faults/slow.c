/* Preloaded into every process of a run: each fsync and each connect takes so many milliseconds
 * longer, as on a slow disk and a far network (IDADMIN_SLOW="fsync=20 connect=10"). No test may
 * fail by it. Knows nothing of what the programs do. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define REAL(name)                                 \
    static __typeof__(&name) real;                 \
    if (!real) {                                   \
        *(void **)&real = dlsym(RTLD_NEXT, #name); \
    }

static void slow_down(const char *what)
{
    int saved = errno;
    const char *plan = getenv("IDADMIN_SLOW"), *at = plan ? strstr(plan, what) : NULL;
    long ms = at ? strtol(at + strlen(what), NULL, 10) : 0;
    if (ms > 0) {
        struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap,
                        NULL); /* not the nap that faults/kill.c shortens */
    }
    errno = saved;
}

EXPORT int fsync(int fd)
{
    REAL(fsync)
    slow_down("fsync=");
    return real(fd);
}

EXPORT int fdatasync(int fd)
{
    REAL(fdatasync)
    slow_down("fsync=");
    return real(fd);
}

EXPORT int connect(int fd, const struct sockaddr *to, socklen_t length)
{
    REAL(connect)
    slow_down("connect=");
    return real(fd, to, length);
}
