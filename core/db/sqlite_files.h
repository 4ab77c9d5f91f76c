/* The files of a SQLite store: their names, owners and rights. For core/db/sqlite.c. */
#ifndef CORE_DB_SQLITE_FILES_H
#define CORE_DB_SQLITE_FILES_H

#include <sys/types.h>

#include "core/db/db.h"

/* Owner and group of the store's files, also when root creates them: those of the directory.
 * httpd's user is in its group (mode 2750): it reads the files and makes nothing there
 * itself, not even a journal that another process would roll back into a file. */
typedef struct sqlite_place {
    uid_t owner;
    gid_t group;
    int closed; /* to users outside the group */
} sqlite_place;

const char *sqlite_dsn_fault(const char *rest);
/* Of one of the three files: "idadmin.db" -> "idadmin-cache.db". */
char *sqlite_path(apr_pool_t *pool, const char *path, db_file file);
char *sqlite_uri(apr_pool_t *pool, const char *path, const char *mode);
ida_kind sqlite_placement(sqlite_place *place, const char *path, ida_ctx *c);
/* Makes an empty one when there is none. SQLite would do so with the umask alone. */
ida_kind sqlite_create(const char *path, const sqlite_place *place, ida_ctx *c);
/* Lets the group of the writer's user write the main file, its log and its gate, and no other. */
void sqlite_settle(const char *path, const sqlite_place *place, db_file file, apr_pool_t *pool);
/* Whether this process may use the file with its log, the log's index and, to write, the gate. The
 * owner makes those that are missing; the two other users use those that the worker leaves. */
ida_kind sqlite_check(const char *path, db_file file, int may_write, ida_ctx *c);
/* See db_cache_absent. Also 1 for an empty file, because its creator may have been killed. */
int sqlite_cache_absent(const char *rest);

#endif
