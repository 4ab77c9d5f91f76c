/* Owns the location, ownership and access rights of a SQLite store's files. Must not know
 * libsqlite3. */
#include "core/db/sqlite_files.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/text.h"

#define MODE 0640  /* of its files: one user writes them, httpd's children read */
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
    *place = (sqlite_place){st.st_uid, st.st_gid};
    return IDA_OK;
}

/* A store of before: httpd's group could write it. */
static void take_back(const char *path, apr_pool_t *pool)
{
    static const struct {
        const char *ending;
        mode_t mode;
    } parts[] = {{"", MODE}, {"-wal", MODE}, {"-shm", MODE}, {".gate", 0600}};
    struct stat st;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *part = apr_pstrcat(pool, path, parts[i].ending, NULL);
        if (stat(part, &st) == 0 && (st.st_mode & S_IWGRP)) {
            chmod(part, parts[i].mode);
        }
    }
}

ida_kind sqlite_create(const char *path, const sqlite_place *place, ida_ctx *c)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST) {
        take_back(path, c->pool);
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

ida_kind sqlite_check(const char *path, db_file file, int may_write, ida_ctx *c)
{
    static const char *const parts[] = {"", "-wal", "-shm"};
    int makes = access(directory_of(c->pool, path), W_OK) == 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *part = apr_pstrcat(c->pool, path, parts[i], NULL);
        if (access(part, may_write ? R_OK | W_OK : R_OK) == 0 ||
            (errno == ENOENT && i > 0 && makes)) {
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
                        "The file %s of the store cannot be %s by the user with ID %ld: %s. It "
                        "belongs to the worker's user; httpd's user needs the group of the store's "
                        "directory, and httpd a restart after it has got it.",
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
