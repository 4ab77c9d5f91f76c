/* Owns how a file next to a key is read, checked and replaced. Must not know its content. */
#include "core/base/beside.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"

/* 100,000 tenants with IDs of 64 characters are half of it */
#define FILE_MAX (32 * 1024 * 1024)

static char *path_of(apr_pool_t *pool, const ida_beside *file)
{
    return apr_pstrcat(pool, file->key_file, file->ending, NULL);
}

ida_kind ida_beside_fail(ida_ctx *c, const ida_beside *file, const char *how)
{
    return ida_fail(c, IDA_INTERNAL_ERROR, "The %s %s %s", file->what, path_of(c->pool, file), how);
}

static ida_kind system_fail(ida_ctx *c, const ida_beside *file, const char *how)
{
    return ida_beside_fail(
        c, file,
        ida_printf(c->pool,
                   "%s: %s. Its directory must be writable for idadmin-worker and idadminctl.", how,
                   strerror(errno)));
}

ida_kind ida_beside_read(ida_ctx *c, const ida_beside *file, const char **text)
{
    struct stat status;
    int fd = open(path_of(c->pool, file), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *text = NULL;
    if (fd < 0 && errno == ENOENT) {
        return IDA_OK;
    }
    if (fd < 0 || fstat(fd, &status) != 0) {
        ida_kind kind = system_fail(c, file, "cannot be read");
        if (fd >= 0) {
            close(fd);
        }
        return kind;
    }
    if (!S_ISREG(status.st_mode) || (status.st_mode & (S_IWGRP | S_IWOTH))) {
        close(fd);
        return ida_beside_fail(c, file,
                               "may be written by others than its owner; run: chmod go-w on it.");
    }
    size_t room = status.st_size > 0 && status.st_size < FILE_MAX ? (size_t)status.st_size : 0,
           used = 0;
    char *all = apr_pcalloc(c->pool, room + 1);
    ssize_t got;
    while (used < room && (got = read(fd, all + used, room - used)) > 0) {
        used += (size_t)got;
    }
    close(fd);
    *text = all;
    return used == room && strlen(all) == room ? IDA_OK
                                               : ida_beside_fail(c, file, "cannot be read whole.");
}

/* The file gets the key's owner, and its group, which may read it if it may read the key. */
static ida_kind replace(ida_ctx *c, const ida_beside *file, const char *text,
                        const struct stat *key)
{
    const char *path = path_of(c->pool, file);
    char *fresh = apr_pstrcat(c->pool, path, ".XXXXXX", NULL);
    int fd = mkostemp(fresh, O_CLOEXEC); /* O_EXCL, mode 0600 */
    if (fd < 0) {
        return system_fail(c, file, "cannot be written");
    }
    size_t len = strlen(text);
    int placed = ida_file_place(fd, 0600 | (key->st_mode & S_IRGRP), key->st_uid, key->st_gid) == 0;
    int good = placed && write(fd, text, len) == (ssize_t)len && fsync(fd) == 0 &&
               rename(fresh, path) == 0;
    ida_kind kind = good ? IDA_OK : system_fail(c, file, "cannot be written");
    if (!good) {
        unlink(fresh);
    }
    close(fd);
    return kind;
}

ida_kind ida_beside_update(ida_ctx *c, const ida_beside *file, ida_beside_change change,
                           void *baton)
{
    struct stat key;
    const char *text = NULL, *changed = NULL;
    ida_kind kind = IDA_OK;
    /* The lock ends with the descriptor: workers and idadminctl write one after the other. */
    int fd = open(file->key_file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, &key) != 0) {
        kind = system_fail(c, file, "cannot be locked by its key");
    }
    kind = kind ? kind : ida_beside_read(c, file, &text);
    kind = kind ? kind : change(c, text, &changed, baton);
    kind = kind || !changed ? kind : replace(c, file, changed, &key);
    if (fd >= 0) {
        close(fd);
    }
    return kind;
}
