/* Preloaded into one program: at its Nth write, fsync, rename, unlink, send or commit of a
 * transaction it dies, or the call fails; its clocks can be set and made faster, and its naps with
 * them. What shall happen stands in a file that the test changes while the program runs
 * (t/lib/Idadmin/Test/Fault.pm). Knows nothing of what the program does. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Kinds of calls, as bits. */
enum { WRITE = 1, SYNC = 2, RENAME = 4, UNLINK = 8, SEND = 16, COMMIT = 32, CONNECT = 64 };
/* What happens; an errno from here on stands for a call that fails with it. KILL_WITHIN is of
 * commits: the word is out (PostgreSQL), or its first bytes are (SQLite), and no answer came. */
enum { KILL_BEFORE, KILL_AFTER, ABORT, SEGFAULT, KILL_WITHIN, FAIL = 1000 };

/* The file: numbers of 64 bits, in this order. */
typedef struct plan {
    _Atomic int64_t kinds; /* that count; 0: none */
    _Atomic int64_t at;    /* it happens from this one on; 0: they are only counted */
    _Atomic int64_t times; /* how often; 0: until the plan is changed */
    _Atomic int64_t how;
    _Atomic int64_t whole; /* killed with all processes of its group */
    _Atomic int64_t port;  /* of CONNECT */
    _Atomic int64_t count, happened;
    _Atomic int64_t commits;            /* of those counted and others */
    _Atomic int64_t real_ms;            /* the wall clock is ahead by this */
    _Atomic int64_t speed;              /* of the monotonic clock; 0: it stands still */
    _Atomic int64_t since_ns, shown_ns; /* when the speed was set (0: never), and what the clock
                                           said */
    _Atomic int64_t spared;             /* the process whose calls do not count */
} plan;

static plan none, *now = &none;

/* Of a commit that shall not come back: SQLite is within it; the descriptor, + 1, on which
 * PostgreSQL's answer to it is awaited. */
static _Thread_local int within, awaited;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("IDADMIN_FAULT"), *program = getenv("IDADMIN_FAULT_PROGRAM");
    if (!path || !program || strcmp(program, program_invocation_short_name) != 0) {
        return;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory = fd < 0 ? MAP_FAILED
                          : mmap(NULL, sizeof(plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        _exit(127);
    }
    close(fd);
    now = memory;
}

static void die(int how)
{
    if (how == ABORT) {
        abort();
    }
    if (how == SEGFAULT) {
        raise(SIGSEGV); /* in this thread */
    }
    kill(now->whole ? 0 : getpid(), SIGKILL);
    while (1) {
        pause();
    }
}

/* 0: nothing; else 1 + what shall happen at this call. */
static int64_t falls_due(int64_t kind)
{
    if (now->spared == getpid()) {
        return 0;
    }
    if (now->kinds && kind & COMMIT) {
        now->commits++;
    }
    if (!(now->kinds & kind)) {
        return 0;
    }
    int64_t count = ++now->count, at = now->at, times = now->times;
    if (!at || count < at || (times && count >= at + times)) {
        return 0;
    }
    now->happened++;
    return 1 + now->how;
}

/* 1: the call fails with errno; else *after says whether to die behind it. */
static int before(int64_t kind, int *after)
{
    int64_t due = falls_due(kind);
    *after = due == 1 + KILL_AFTER || due == 1 + KILL_WITHIN;
    if (due > FAIL) {
        errno = (int)(due - 1 - FAIL);
        return 1;
    }
    if (due && !*after) {
        die((int)due - 1);
    }
    return 0;
}

/* Of what is written to this descriptor; 0: it is none that matters (a log, a pipe). */
static int64_t kind_of(int fd, const void *bytes, size_t size)
{
    struct stat st;
    if (!now->kinds || fd <= 2 || fstat(fd, &st) != 0) {
        return 0;
    }
    if (S_ISREG(st.st_mode)) {
        return WRITE;
    }
    return !S_ISSOCK(st.st_mode) ? 0
           /* as a message of its own, the NUL included: no COMMITTED */
           : bytes && size < 256 && memmem(bytes, size, "COMMIT", 7) ? SEND | COMMIT
                                                                     : SEND;
}

#define REAL(name)                                 \
    static __typeof__(&name) real;                 \
    if (!real) {                                   \
        *(void **)&real = dlsym(RTLD_NEXT, #name); \
    }

/* A call with this kind: fails, dies before it or behind it, or is as it always was. */
#define GUARDED(type, name, kind, call) \
    REAL(name)                          \
    int after;                          \
    if (before(kind, &after)) {         \
        return -1;                      \
    }                                   \
    type result = real call;            \
    if (after || within) {              \
        die(KILL_AFTER);                \
    }                                   \
    return result;

EXPORT ssize_t write(int fd, const void *bytes, size_t size){
    GUARDED(ssize_t, write, kind_of(fd, bytes, size), (fd, bytes, size))}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at){
    GUARDED(ssize_t, pwrite, kind_of(fd, NULL, 0), (fd, bytes, size, at))}

EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at){
    GUARDED(ssize_t, pwrite64, kind_of(fd, NULL, 0), (fd, bytes, size, at))}

EXPORT ssize_t writev(int fd, const struct iovec *parts,
                      int count){GUARDED(ssize_t, writev, kind_of(fd, NULL, 0), (fd, parts, count))}

EXPORT int ftruncate(int fd, off_t size){GUARDED(int, ftruncate, kind_of(fd, NULL, 0), (fd, size))}

EXPORT int ftruncate64(int fd,
                       off64_t size){GUARDED(int, ftruncate64, kind_of(fd, NULL, 0), (fd, size))}

EXPORT int fsync(int fd){GUARDED(int, fsync, SYNC, (fd))}

EXPORT int fdatasync(int fd){GUARDED(int, fdatasync, SYNC, (fd))}

EXPORT int rename(const char *from, const char *to){GUARDED(int, rename, RENAME, (from, to))}

EXPORT int unlink(const char *path){GUARDED(int, unlink, UNLINK, (path))}

EXPORT int unlinkat(int dir, const char *path,
                    int flags){GUARDED(int, unlinkat, UNLINK, (dir, path, flags))}

EXPORT ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
    REAL(send)
    int after;
    int64_t kind = kind_of(fd, bytes, size);
    if (before(kind, &after)) {
        return -1;
    }
    ssize_t result = real(fd, bytes, size, flags);
    if (after && kind & now->kinds & COMMIT && now->how == KILL_AFTER) {
        awaited = fd + 1;
    } else if (after) {
        die(KILL_AFTER);
    }
    return result;
}

EXPORT ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
    REAL(recv)
    ssize_t result = real(fd, bytes, size, flags);
    if (awaited == fd + 1 && result > 0) {
        die(KILL_AFTER);
    }
    return result;
}

EXPORT ssize_t sendto(int fd, const void *bytes, size_t size, int flags, const struct sockaddr *to,
                      socklen_t length){
    GUARDED(ssize_t, sendto, kind_of(fd, bytes, size), (fd, bytes, size, flags, to, length))}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags){
    GUARDED(ssize_t, sendmsg, kind_of(fd, NULL, 0), (fd, message, flags))}

EXPORT int connect(int fd, const struct sockaddr *to, socklen_t length)
{
    int64_t port = to->sa_family == AF_INET ? ntohs(((const struct sockaddr_in *)to)->sin_port) : 0;
    GUARDED(int, connect, port &&port == now->port ? CONNECT : 0, (fd, to, length))
}

/* --- commits of SQLite --- */

typedef struct sqlite3_stmt sqlite3_stmt;
typedef struct sqlite3 sqlite3;
extern int sqlite3_step(sqlite3_stmt *), sqlite3_stmt_readonly(sqlite3_stmt *),
    sqlite3_get_autocommit(sqlite3 *);
extern const char *sqlite3_sql(sqlite3_stmt *);
extern sqlite3 *sqlite3_db_handle(sqlite3_stmt *);

#define THEIRS(name)                                       \
    static __typeof__(&name) their_##name;                 \
    if (!their_##name) {                                   \
        *(void **)&their_##name = dlsym(RTLD_NEXT, #name); \
    }

/* COMMIT, or a statement that is a transaction by itself. */
static int commits(sqlite3_stmt *stmt)
{
    THEIRS(sqlite3_sql)
    THEIRS(sqlite3_stmt_readonly)
    THEIRS(sqlite3_get_autocommit)
    THEIRS(sqlite3_db_handle)
    const char *sql = their_sqlite3_sql(stmt);
    return sql && (strcmp(sql, "COMMIT") == 0 ||
                   (strncmp(sql, "BEGIN", 5) != 0 && !their_sqlite3_stmt_readonly(stmt) &&
                    their_sqlite3_get_autocommit(their_sqlite3_db_handle(stmt))));
}

EXPORT int sqlite3_step(sqlite3_stmt *stmt)
{
    REAL(sqlite3_step)
    int64_t due = now->kinds && commits(stmt) ? falls_due(COMMIT) : 0;
    if (due == 1 + KILL_BEFORE) {
        die(KILL_BEFORE);
    }
    within = due == 1 + KILL_WITHIN;
    int result = real(stmt);
    if (due) {
        die(KILL_AFTER);
    }
    return result;
}

/* --- clocks --- */

/* What the monotonic clock shows at this instant. Read until twice the same: the test may be
 * writing. */
static int64_t monotonic(int64_t ns)
{
    int64_t speed, since, shown;
    do {
        speed = now->speed;
        since = now->since_ns;
        shown = now->shown_ns;
    } while (speed != now->speed || since != now->since_ns || shown != now->shown_ns);
    return since ? shown + (ns - since) * speed : ns;
}

EXPORT int clock_gettime(clockid_t id, struct timespec *out)
{
    REAL(clock_gettime)
    int failed = real(id, out);
    int64_t ns = (int64_t)out->tv_sec * 1000000000 + out->tv_nsec;
    if (failed || (id != CLOCK_REALTIME && id != CLOCK_MONOTONIC)) {
        return failed;
    }
    if (id == CLOCK_REALTIME) {
        ns += now->real_ms * 1000000;
    } else {
        ns = monotonic(ns);
    }
    *out = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return 0;
}

EXPORT time_t time(time_t *out)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (out) {
        *out = at.tv_sec;
    }
    return at.tv_sec;
}

/* A nap of the program's clock. */
static struct timespec shorter(const struct timespec *nap)
{
    int64_t speed = now->speed > 1 ? now->speed : 1,
            ns = ((int64_t)nap->tv_sec * 1000000000 + nap->tv_nsec) / speed;
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

EXPORT int nanosleep(const struct timespec *nap, struct timespec *left)
{
    REAL(nanosleep)
    struct timespec for_now = shorter(nap);
    return real(&for_now, left);
}

EXPORT int sigtimedwait(const sigset_t *signals, siginfo_t *info, const struct timespec *nap)
{
    REAL(sigtimedwait)
    struct timespec for_now = shorter(nap);
    return real(signals, info, &for_now);
}

/* Until data comes, or for so long of the program's clock. */
EXPORT int poll(struct pollfd *all, nfds_t count, int ms)
{
    REAL(poll)
    int speed = now->speed > 1 ? (int)now->speed : 1;
    return real(all, count, ms > 0 ? (ms + speed - 1) / speed : ms);
}

/* The same call in libraries that were built with checks of sizes. */
int __poll_chk(struct pollfd *all, nfds_t count, int ms, size_t size);
EXPORT int __poll_chk(struct pollfd *all, nfds_t count, int ms, size_t size)
{
    if (count > size / sizeof *all) {
        abort();
    }
    return poll(all, count, ms);
}
