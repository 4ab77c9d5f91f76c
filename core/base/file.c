/* Owns owner and mode of files that one user creates and others use, and copying them. */
#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int ida_file_place(int fd, mode_t mode, uid_t owner, gid_t group)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return errno;
    }
    /* Two processes may arrive here together: both set the same owner, and the one that is not
     * the owner finds it set by the other. Only root can give a file away; a group of which the
     * process is not a member cannot be set: then the file keeps the creator's. */
    uid_t to = geteuid() == 0 ? owner : st.st_uid;
    if ((to != st.st_uid || group != st.st_gid) && fchown(fd, to, group) != 0) {
        if (errno != EPERM) {
            return errno;
        }
        mode = mode & S_IWGRP ? (mode & ~(mode_t)S_IRWXG) | (mode & S_IRWXO) << 3 : mode;
    }
    return fchmod(fd, mode) == 0 || errno == EPERM ? 0 : errno;
}

int ida_file_share(const char *path, gid_t group, mode_t mode)
{
    struct stat st;
    char name[32];
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int error = fstat(fd, &st) != 0 ? errno : !S_ISREG(st.st_mode) || st.st_nlink != 1 ? EPERM : 0;
    int moves = !error && st.st_gid != group;
    if ((moves && (chmod(name, st.st_mode & mode) != 0 ||
                   fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH) != 0)) ||
        (!error && (moves || (st.st_mode & 07777) != mode) && chmod(name, mode) != 0)) {
        error = errno;
    }
    close(fd);
    return error;
}

/* 0 or errno. */
static int write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t done = write(fd, bytes, len);
        if (done < 0 && errno != EINTR) {
            return errno;
        }
        bytes += done > 0 ? done : 0;
        len -= done > 0 ? (size_t)done : 0;
    }
    return 0;
}

static int pass_on(int in, int out)
{
    char piece[65536];
    ssize_t got;
    int error = 0;
    while (!error && (got = read(in, piece, sizeof piece)) != 0) {
        if (got < 0 && errno != EINTR) {
            return errno;
        }
        error = got > 0 ? write_all(out, piece, (size_t)got) : 0;
    }
    return error;
}

/* `in` -1: the bytes. */
static int fill(const char *to, int in, const void *bytes, size_t len, const struct stat *as)
{
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (out < 0) {
        return errno;
    }
    int error = in < 0 ? write_all(out, bytes, len) : pass_on(in, out);
    error = error ? error : ida_file_place(out, as->st_mode, as->st_uid, as->st_gid);
    error = error || fsync(out) == 0 ? error : errno;
    close(out);
    if (error) {
        unlink(to);
    }
    return error;
}

int ida_file_copy(const char *from, const char *to, mode_t mode, uid_t owner, gid_t group)
{
    const struct stat as = {.st_mode = mode, .st_uid = owner, .st_gid = group};
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) {
        return errno;
    }
    int error = fill(to, in, NULL, 0, &as);
    close(in);
    return error;
}

int ida_file_write(const char *to, const void *bytes, size_t len, mode_t mode, uid_t owner,
                   gid_t group)
{
    const struct stat as = {.st_mode = mode, .st_uid = owner, .st_gid = group};
    return fill(to, -1, bytes, len, &as);
}
