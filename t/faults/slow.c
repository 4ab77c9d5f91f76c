/* Preloaded into every process of a run: each fsync, connect, begin and commit takes so many
 * milliseconds longer, as on a slow disk and a far network (IDADMIN_SLOW="fsync=20 connect=10
 * begin=20 commit=50"). A transaction then begins late and its process learns late that it is
 * done: what several of them write, or a directory and they, is seen half done by everybody else.
 * No test may fail by it. Knows nothing of what the programs do. */
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

/* --- transactions --- */

EXPORT ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
    REAL(send)
    /* libpq's messages to PostgreSQL */
    if (size < 256 && memmem(bytes, size, "BEGIN", 5)) {
        slow_down("begin=");
    }
    ssize_t sent = real(fd, bytes, size, flags);
    if (size < 64 && memmem(bytes, size, "COMMIT", 7)) { /* the NUL included */
        slow_down("commit=");
    }
    return sent;
}

typedef struct sqlite3_stmt sqlite3_stmt;
extern int sqlite3_step(sqlite3_stmt *);
extern const char *sqlite3_sql(sqlite3_stmt *);

/* A module of httpd brings SQLite along where RTLD_NEXT does not look. */
static void *of_sqlite(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    void *library = found ? NULL : dlopen("libsqlite3.so.0", RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : found;
}

EXPORT int sqlite3_step(sqlite3_stmt *stmt)
{
    static __typeof__(&sqlite3_step) step;
    static __typeof__(&sqlite3_sql) sql;
    if (!step || !sql) {
        *(void **)&sql = of_sqlite("sqlite3_sql");
        *(void **)&step = of_sqlite("sqlite3_step");
    }
    const char *text = sql(stmt) ? sql(stmt) : "";
    if (strncmp(text, "BEGIN", 5) == 0) {
        slow_down("begin=");
    }
    int commits = strcmp(text, "COMMIT") == 0, result = step(stmt);
    if (commits) {
        slow_down("commit=");
    }
    return result;
}
