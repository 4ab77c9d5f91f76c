/* Owns the writing end of the audit spool in one process: which segment is open, and its shared
 * lock. Must not know the content of records. */
#include "core/audit/spool.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MINUTE_MS 60000

/* Appending threads hold `lock` shared, so that the descriptor is not closed under them;
 * changing the segment takes it exclusively. */
struct audit_spool_writer {
    pthread_rwlock_t lock;
    char *directory;
    int fd;         /* -1: none */
    int64_t minute; /* of the open segment */
};

static int64_t minute_of(int64_t at_ms)
{
    return at_ms / MINUTE_MS;
}

static apr_status_t destroy(void *baton)
{
    audit_spool_writer *writer = baton;
    if (writer->fd >= 0) {
        close(writer->fd);
    }
    pthread_rwlock_destroy(&writer->lock);
    return APR_SUCCESS;
}

audit_spool_writer *audit_spool_writer_make(apr_pool_t *pool, const char *directory)
{
    audit_spool_writer *writer = apr_pcalloc(pool, sizeof *writer);
    if (pthread_rwlock_init(&writer->lock, NULL) != 0) {
        return NULL;
    }
    writer->directory = apr_pstrdup(pool, directory);
    writer->fd = -1;
    apr_pool_cleanup_register(pool, writer, destroy, apr_pool_cleanup_null);
    return writer;
}

/* A segment that has a name and that we hold with a shared lock; or -1 with errno. */
static int open_segment(const char *directory, int64_t now_ms)
{
    char name[AUDIT_SPOOL_NAME_SIZE], path[4096];
    audit_spool_name(now_ms, name);
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (;;) {
        int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                      0640); /* a FIFO would wait */
        struct stat st;
        int locked;
        if (fd < 0) {
            return -1;
        }
        if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
            close(fd);
            errno = EINVAL;
            return -1;
        }
        /* The reader holds its exclusive lock for one short last batch and an unlink. */
        while ((locked = flock(fd, LOCK_SH)) != 0 && errno == EINTR) {}
        if (locked == 0 && fstat(fd, &st) == 0) {
            if (st.st_nlink > 0) {
                return fd;
            }
            close(fd); /* removed between open and lock */
            continue;
        }
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
}

/* With the lock held exclusively. 0 or errno. */
static int change_segment(audit_spool_writer *writer, int64_t now_ms)
{
    if (writer->fd >= 0 && writer->minute == minute_of(now_ms)) {
        return 0; /* another thread was faster */
    }
    if (writer->fd >= 0) {
        close(writer->fd);
    }
    writer->fd = open_segment(writer->directory, now_ms);
    writer->minute = minute_of(now_ms);
    return writer->fd >= 0 ? 0 : errno;
}

int audit_spool_append(audit_spool_writer *writer, int64_t now_ms, const char *json, size_t len)
{
    char frame[AUDIT_MAX];
    size_t frame_len = audit_spool_frame(json, len, frame);
    if (!frame_len) {
        return EMSGSIZE;
    }
    pthread_rwlock_rdlock(&writer->lock);
    if (writer->fd < 0 || writer->minute != minute_of(now_ms)) {
        pthread_rwlock_unlock(&writer->lock);
        pthread_rwlock_wrlock(&writer->lock);
        int failed = change_segment(writer, now_ms);
        if (failed) {
            pthread_rwlock_unlock(&writer->lock);
            return failed;
        }
        /* This frame is written under the exclusive lock: releasing it first could lose the
         * segment again. */
    }
    ssize_t done;
    while ((done = write(writer->fd, frame, frame_len)) < 0 && errno == EINTR) {}
    int failed = done < 0 ? errno : done == (ssize_t)frame_len ? 0 : EIO;
    pthread_rwlock_unlock(&writer->lock);
    return failed;
}

void audit_spool_close_old(audit_spool_writer *writer, int64_t now_ms)
{
    pthread_rwlock_rdlock(&writer->lock);
    int old = writer->fd >= 0 && writer->minute != minute_of(now_ms);
    pthread_rwlock_unlock(&writer->lock);
    if (!old) {
        return;
    }
    pthread_rwlock_wrlock(&writer->lock);
    if (writer->fd >= 0 && writer->minute != minute_of(now_ms)) {
        close(writer->fd);
        writer->fd = -1;
    }
    pthread_rwlock_unlock(&writer->lock);
}
