/* Owns the copying of a SQLite store's files and putting copies in their place. Must not know what
 * is in them. */
#include <apr_strings.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/db/sqlite.h"
#include "core/db/sqlite_files.h"

static const db_file kept[] = {DB_MAIN, DB_AUDIT}; /* in this order: see db_save */
#define KEPT (sizeof kept / sizeof *kept)

static const char *name_of(apr_pool_t *pool, db_file file)
{
    return apr_pstrcat(pool, db_file_name(file), ".db", NULL);
}

/* A copy that does not open is no backup: looked through while the original is there. */
static int looked_through(sqlite3 *copy)
{
    sqlite3_stmt *check;
    int rc = sqlite3_prepare_v2(copy, "PRAGMA quick_check(1)", -1, &check, NULL);
    if (rc == SQLITE_OK) {
        const unsigned char *word = sqlite3_step(check) == SQLITE_ROW
                                        ? sqlite3_column_text(check, 0)
                                        : NULL;
        rc = word && strcmp((const char *)word, "ok") == 0 ? SQLITE_OK : SQLITE_CORRUPT;
        sqlite3_finalize(check);
    }
    return rc;
}

static int copy_file(sqlite_db *s, const char *schema, const char *path)
{
    sqlite3 *copy;
    int rc = sqlite3_open_v2(path, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_backup *work = sqlite3_backup_init(copy, "main", s->handle, schema);
        rc = work ? sqlite3_backup_step(work, -1) : sqlite3_errcode(copy);
        sqlite3_backup_finish(work);
        rc = rc == SQLITE_DONE ? looked_through(copy) : rc;
    }
    /* Its log, which is empty then, goes with the last connection. */
    sqlite3_close(copy);
    return rc;
}

ida_kind sqlite_save(db *d, ida_ctx *c, const char *directory, apr_array_header_t *names)
{
    sqlite_db *s = (sqlite_db *)d;
    for (size_t i = 0; i < KEPT; i++) {
        const char *name = name_of(c->pool, kept[i]);
        const char *path = apr_pstrcat(c->pool, directory, "/", name, NULL);
        int rc = copy_file(s, db_file_name(kept[i]), path);
        if (rc != SQLITE_OK) {
            unlink(path);
            return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The copy %s could not be made: %s.", path,
                            sqlite3_errstr(rc));
        }
        APR_ARRAY_PUSH(names, const char *) = name;
    }
    return IDA_OK;
}

/* Every connection keeps its file locked; only the last one can leave the mode of a log. */
ida_kind sqlite_in_use(const char *rest, ida_ctx *c, apr_pool_t *pool, const char **by)
{
    *by = NULL;
    for (size_t i = 0; i < KEPT; i++) {
        const char *path = sqlite_path(pool, rest, kept[i]);
        sqlite3 *file;
        if (access(path, F_OK) != 0) {
            continue;
        }
        int rc = sqlite3_open_v2(path, &file, SQLITE_OPEN_READWRITE, NULL);
        if (rc == SQLITE_OK) {
            rc = sqlite3_exec(file, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
        }
        sqlite3_close(file);
        if (sqlite_is_busy(rc)) {
            *by = ida_printf(c->pool, "another program has %s open", path);
            return IDA_OK;
        }
    }
    return IDA_OK; /* a damaged file is in nobody's use */
}

/* Moves every file of the store there: what its name's stem begins. */
static ida_kind put_aside(const char *path, const char *aside, ida_ctx *c, apr_pool_t *pool)
{
    const char *slash = strrchr(path, '/');
    const char *directory = slash ? apr_pstrmemdup(pool, path, (apr_size_t)(slash - path)) : ".";
    const char *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    size_t stem = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    DIR *open = opendir(directory);
    struct dirent *entry;
    int error = open ? 0 : errno, made = 0;
    while (!error && (entry = readdir(open)) != NULL) {
        const char *from = apr_pstrcat(pool, directory, "/", entry->d_name, NULL);
        struct stat st;
        if (strncmp(entry->d_name, name, stem) != 0 || !strchr("-.", entry->d_name[stem]) ||
            lstat(from, &st) != 0 || !S_ISREG(st.st_mode)) {
            continue;
        }
        error = made || mkdir(aside, 0700) == 0 ? 0 : errno;
        made = 1;
        if (!error && rename(from, apr_pstrcat(pool, aside, "/", entry->d_name, NULL)) != 0) {
            error = errno;
        }
    }
    if (open) {
        closedir(open);
    }
    return error ? ida_fail(c, IDA_CONFLICT,
                            "The files of the store in %s cannot be moved to %s: "
                            "%s. Nothing was restored.",
                            directory, aside, strerror(error))
                 : IDA_OK;
}

ida_kind sqlite_bring_back(const char *rest, ida_ctx *c, const db_return *from, const char **aside)
{
    sqlite_place place;
    const char *slash = strrchr(rest, '/');
    *aside = ida_printf(c->pool, "%.*sbefore-%s", slash ? (int)(slash - rest + 1) : 0, rest,
                        from->stamp);
    ida_kind kind = sqlite_placement(&place, rest, c);
    kind = kind ? kind : put_aside(rest, *aside, c, c->pool);
    for (size_t i = 0; !kind && i < KEPT; i++) {
        const char *copy = apr_pstrcat(c->pool, from->directory, "/", name_of(c->pool, kept[i]),
                                       NULL);
        const char *path = sqlite_path(c->pool, rest, kept[i]);
        int error = ida_file_copy(copy, path, 0640, place.owner, place.group);
        kind = error ? ida_fail(c, IDA_CONFLICT,
                                "%s cannot be copied to %s: %s. What was there is in %s: move it "
                                "back, or run the command again.",
                                copy, path, strerror(error), *aside)
                     : IDA_OK;
    }
    return kind;
}
