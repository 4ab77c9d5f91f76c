/* Owns names and framing of the audit spool and the reader's locks: what reader and writer must
 * agree on. Knows no audit record's inside. */
#include "core/audit/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"

#define MINUTE_MS 60000
#define DIGITS 12

void audit_spool_name(int64_t at_ms, char name[AUDIT_SPOOL_NAME_SIZE])
{
    time_t seconds = (time_t)(at_ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(name, AUDIT_SPOOL_NAME_SIZE, "%Y%m%d%H%M" AUDIT_SPOOL_SUFFIX, &tm);
}

int64_t audit_spool_minute(const char *name)
{
    if (strlen(name) != DIGITS + sizeof AUDIT_SPOOL_SUFFIX - 1 ||
        strcmp(name + DIGITS, AUDIT_SPOOL_SUFFIX) != 0 || strspn(name, "0123456789") != DIGITS) {
        return -1;
    }
    struct tm tm = {0};
    const char *end = strptime(name, "%Y%m%d%H%M", &tm);
    if (!end || end != name + DIGITS) {
        return -1;
    }
    int64_t at_ms = (int64_t)timegm(&tm) * 1000;
    char again[AUDIT_SPOOL_NAME_SIZE];
    audit_spool_name(at_ms, again); /* 31 February and its like come back as another day */
    return at_ms >= 0 && strcmp(name, again) == 0 ? at_ms : -1;
}

int audit_spool_is_over(const char *name, int64_t now_ms)
{
    int64_t minute = audit_spool_minute(name);
    return minute >= 0 && now_ms >= minute + MINUTE_MS;
}

int audit_spool_may_hold(const audit_record *record)
{
    int of_api = strcmp(record->category, AUDIT_SPOOL_CATEGORY) == 0;
    int of_console = strcmp(record->category, "portal") == 0 && record->endpoint &&
                     strncmp(record->endpoint, AUDIT_CONSOLE_ENDPOINT,
                             strlen(AUDIT_CONSOLE_ENDPOINT)) == 0;
    return (of_api || of_console) && !record->marks;
}

size_t audit_spool_frame(const char *json, size_t len, char out[AUDIT_MAX])
{
    if (!len || len > AUDIT_SPOOL_JSON_MAX || memchr(json, AUDIT_SPOOL_RS, len) ||
        memchr(json, '\n', len)) {
        return 0;
    }
    out[0] = AUDIT_SPOOL_RS;
    memcpy(out + 1, json, len);
    out[len + 1] = '\n';
    return len + 2;
}

int audit_spool_next(audit_spool_scan *scan, const char **json, size_t *json_len)
{
    while (scan->at < scan->len) {
        const char *begin = scan->bytes + scan->at;
        size_t left = scan->len - scan->at;
        if (*begin != AUDIT_SPOOL_RS) { /* the tail of something torn: on to the next beginning */
            const char *next = memchr(begin, AUDIT_SPOOL_RS, left);
            scan->torn++;
            scan->at = next ? (size_t)(next - scan->bytes) : scan->len;
            continue;
        }
        const char *text = begin + 1;
        const char *end = memchr(text, '\n', left - 1);
        const char *next = memchr(text, AUDIT_SPOOL_RS, end ? (size_t)(end - text) : left - 1);
        if (!next && !end && !scan->final && left < AUDIT_MAX) {
            return 0; /* may still be in flight */
        }
        if (!next && end && end - begin < AUDIT_MAX && end > text) {
            scan->at = (size_t)(end + 1 - scan->bytes);
            *json = text;
            *json_len = (size_t)(end - text);
            return 1;
        }
        scan->torn++;
        scan->at = next  ? (size_t)(next - scan->bytes)
                   : end ? (size_t)(end + 1 - scan->bytes)
                         : scan->len;
    }
    return 0;
}

int audit_spool_open(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        errno = errno == ELOOP || errno == ENXIO ? EINVAL : errno; /* a link, a socket */
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

/* Whose lock counts: a file that only the spool's owner, the caller or root can open, under one
 * name. */
static int is_readers(const struct stat *st, const struct stat *directory)
{
    return S_ISREG(st->st_mode) && st->st_nlink == 1 && !(st->st_mode & 077) &&
           (st->st_uid == directory->st_uid || st->st_uid == geteuid() || st->st_uid == 0);
}

/* Descriptor of the lock file; -1 with errno, EAGAIN if it was changed meanwhile. */
static int open_reader_lock(const char *path, const struct stat *directory)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        int why = ida_file_place(fd, 0600, directory->st_uid, directory->st_gid);
        if (why) {
            close(fd);
            errno = why;
            return -1;
        }
        return fd;
    }
    if (errno != EEXIST) {
        return -1;
    }
    if (lstat(path, &st) == 0 && !is_readers(&st, directory) && unlink(path) != 0 &&
        errno != ENOENT) {
        return -1;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !is_readers(&st, directory))) {
        close(fd);
        fd = -1;
        errno = EAGAIN;
    } else if (fd < 0 && (errno == ENOENT || errno == ELOOP)) {
        errno = EAGAIN;
    }
    return fd;
}

int audit_spool_reader_lock(const char *directory)
{
    struct stat st;
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", directory, AUDIT_SPOOL_READER_LOCK) >=
        (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (stat(directory, &st) != 0) {
        return -1;
    }
    int fd = -1;
    for (int i = 0; fd < 0 && i < 8 && (i == 0 || errno == EAGAIN); i++) {
        fd = open_reader_lock(path, &st);
    }
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int why = errno;
        close(fd);
        errno = why;
        fd = -1;
    }
    return fd;
}

int audit_spool_seal(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        return 1;
    }
    return errno == EWOULDBLOCK ? 0 : -1;
}
