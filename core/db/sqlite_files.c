/* Owns the location, ownership and access rights of a SQLite store's files. Must not know
 * libsqlite3. */
#include "core/db/sqlite_files.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/text.h"
#include "core/base/web_user.h"

#define MODE 0640 /* of its files: one user writes them, httpd's children read */
/* Of the main file where the writer's group writes it: httpd's user, let in by the directory's
 * group, reads as one of the others. */
#define SHARED 0664
#define GATE_MODE(mode) ((mode)&S_IWGRP ? 0660 : 0600)
#define MARK_AT 68 /* where the header of a SQLite file has the program's mark (application_id) */

const char *sqlite_dsn_fault(const char *rest)
{
    return !*rest || strcmp(rest, ":memory:") == 0 || rest[strlen(rest) - 1] == '/'
               ? "must name a file behind sqlite3:"
               : NULL;
}

char *sqlite_path(apr_pool_t *pool, const char *path, db_file file)
{
    if (file == DB_MAIN) {
        return apr_pstrdup(pool, path);
    }
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && dot > (slash ? slash + 1 : path) ? (size_t)(dot - path) : strlen(path);
    return apr_psprintf(pool, "%.*s-%s%s", (int)stem, path, db_file_name(file), path + stem);
}

char *sqlite_uri(apr_pool_t *pool, const char *path, const char *mode)
{
    /* an empty authority: a path that begins with // is none */
    return apr_pstrcat(pool, *path == '/' ? "file://" : "file:", ida_percent(pool, path, "/"),
                       "?mode=", mode, NULL);
}

static const char *directory_of(apr_pool_t *pool, const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash          ? "."
           : slash == path ? "/"
                           : apr_pstrmemdup(pool, path, (apr_size_t)(slash - path));
}

ida_kind sqlite_placement(sqlite_place *place, const char *path, ida_ctx *c)
{
    struct stat st;
    const char *directory = directory_of(c->pool, path);
    if (stat(directory, &st) != 0) {
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The directory %s of the store cannot be used: %s. Make it, owned by the "
                        "worker's user with the group that httpd's user is in, mode 2750.",
                        directory, strerror(errno));
    }
    if (st.st_mode &
        (S_IWGRP | S_IWOTH)) { /* a reader could put another file into the place of one */
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The directory %s of the store may be written by others than its owner: "
                        "chmod g-w,o-w %s.",
                        directory, directory);
    }
    *place = (sqlite_place){st.st_uid, st.st_gid, !(st.st_mode & S_IRWXO)};
    return IDA_OK;
}

void sqlite_settle(const char *path, const sqlite_place *place, db_file file, apr_pool_t *pool)
{
    static const char *const parts[] = {"", "-wal", "-shm", ".gate"};
    gid_t writer = file == DB_MAIN && place->closed ? ida_writer_group() : (gid_t)-1;
    int shared = writer != (gid_t)-1 && writer != place->group &&
                 ida_file_share(path, writer, SHARED) == 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        mode_t mode = shared ? SHARED : MODE;
        ida_file_share(apr_pstrcat(pool, path, parts[i], NULL), shared ? writer : place->group,
                       i == 3 ? GATE_MODE(mode) : mode);
    }
}

ida_kind sqlite_create(const char *path, const sqlite_place *place, ida_ctx *c)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST) {
        return IDA_OK;
    }
    int error = fd < 0 ? errno : ida_file_place(fd, MODE, place->owner, place->group);
    if (fd >= 0) {
        close(fd);
    }
    if (error) {
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The file %s of the store cannot be created: %s.", path, strerror(error));
    }
    return IDA_OK;
}

/* SQLite, unless root runs it, leaves the group of log and index to the directory: so they are made
 * here, and those that another program has made get what their file has. Closed before they have
 * their name, because that frees the locks that another thread has got by it. */
static int keep_part(apr_pool_t *pool, const char *part, const struct stat *file, mode_t mode)
{
    struct stat st;
    char *fresh = apr_pstrcat(pool, part, ".XXXXXX", NULL);
    if (stat(part, &st) == 0) {
        return (st.st_gid == file->st_gid && (st.st_mode & 0777) == mode) ||
               ida_file_share(part, file->st_gid, mode) == 0;
    }
    int fd = mkostemp(fresh, O_CLOEXEC);
    int made = fd >= 0 && ida_file_place(fd, mode, file->st_uid, file->st_gid) == 0;
    if (fd >= 0) {
        close(fd);
        made = made && link(fresh, part) == 0; /* of two the first wins */
        unlink(fresh);
    }
    return made;
}

ida_kind sqlite_check(const char *path, db_file file, int may_write, ida_ctx *c)
{
    static const char *const parts[] = {"", "-wal", "-shm", ".gate"};
    struct stat st;
    int makes = stat(path, &st) == 0 && access(directory_of(c->pool, path), W_OK) == 0;
    for (int i = 0; i < 3 + may_write; i++) {
        const char *part = apr_pstrcat(c->pool, path, parts[i], NULL);
        if (i > 0 && makes) {
            mode_t mode = st.st_mode & 0666;
            keep_part(c->pool, part, &st, i == 3 ? GATE_MODE(mode) : mode);
        }
        if (access(part, may_write ? R_OK | W_OK : R_OK) == 0) {
            continue;
        }
        c->retry_after = 1;
        if (errno == ENOENT) {
            return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                            "The file %s of the store does not exist: %s.", part,
                            i > 0 || file != DB_MAIN ? "start idadmin-worker, which makes it"
                                                     : "run idadminctl schema upgrade");
        }
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The file %s of the store cannot be %s by the user with ID %ld: %s. "
                        "idadminctl doctor names what is wrong; httpd needs a restart after its "
                        "users have got a group.",
                        part, may_write ? "written" : "read", (long)geteuid(), strerror(errno));
    }
    return IDA_OK;
}

/* A file without its own mark is empty, or has everything in its log; then a reader finds it
 * complete. */
int sqlite_cache_absent(const char *rest)
{
    unsigned char mark[4] = {0};
    apr_pool_t *pool;
    apr_pool_create(&pool, NULL);
    const char *cache = sqlite_path(pool, rest, DB_CACHE);
    int made = access(rest, R_OK | W_OK) == 0 && access(directory_of(pool, rest), W_OK) == 0;
    int fd = made ? open(cache, O_RDONLY | O_CLOEXEC) : -1;
    int absent = made && (fd < 0 ? errno == ENOENT
                                 : pread(fd, mark, sizeof mark, MARK_AT) < 4 ||
                                       !(mark[0] | mark[1] | mark[2] | mark[3]));
    if (fd >= 0) {
        close(fd);
    }
    apr_pool_destroy(pool);
    return absent;
}
