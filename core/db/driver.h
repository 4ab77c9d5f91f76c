/* What db.c and the two drivers share: the head of every connection, the table of a driver's
 * functions, the builder of results. Only they include this. */
#ifndef CORE_DB_DRIVER_H
#define CORE_DB_DRIVER_H

#include "core/db/db.h"
#include "core/db/migrations.h"

/* How long a write waits for its turn, and a busy engine is tried again. */
#define DB_PATIENCE_MS 5000

typedef struct db_driver {
    const char *prefix; /* of the DSN */
    const ida_migration *migrations;
    const char *roles; /* script of rights; NULL: the engine has no users */
    const char *(*dsn_fault)(const char *rest);
    /* Value of a parameter, NULL: not given. NULL: it has no parameters. */
    const char *(*dsn_option)(apr_pool_t *pool, const char *rest, const char *keyword);
    /* Opens a connection; *out is NULL on failure. The pool closes it. `rest`: the DSN after the
     * prefix. */
    ida_kind (*open)(db **out, const char *rest, db_role role, int unchecked, ida_ctx *c,
                     apr_pool_t *pool);
    void (*close)(db *d);
    int (*cache_absent)(const char *rest); /* NULL: the cache cannot be absent alone */
    ida_kind (*run)(db *d, ida_ctx *c, db_statement statement, db_args args, db_result *result);
    ida_kind (*begin)(db *d, ida_ctx *c);
    ida_kind (*commit)(db *d, ida_ctx *c);
    void (*rollback)(db *d);
    ida_kind (*begin_read)(db *d, ida_ctx *c);
    void (*end_read)(db *d);
    ida_kind (*script)(db *d, ida_ctx *c, const char *sql);
    /* NULL: the engine has no need of it, or nothing to wait on. */
    ida_kind (*notify)(db *d, ida_ctx *c, const char *channel);
    void (*wait)(db *d, ida_ctx *c, const char *channel, int ms);
    ida_kind (*checkpoint)(db *d, ida_ctx *c);
    ida_kind (*compact)(db *d, ida_ctx *c);
    ida_kind (*run_begins)(db *d, ida_ctx *c);
    ida_kind (*run_ends)(db *d, ida_ctx *c);
    ida_kind (*empty_staging)(db *d, ida_ctx *c); /* NULL: staging is a table like others */
    ida_kind (*save)(db *d, ida_ctx *c, const char *directory, apr_array_header_t *names);
    ida_kind (*in_use)(const char *rest, ida_ctx *c, apr_pool_t *pool, const char **by);
    ida_kind (*bring_back)(const char *rest, ida_ctx *c, const db_return *from, const char **aside);
    ida_kind (*schema_begin)(db *d, ida_ctx *c);
    ida_kind (*schema_version)(db *d, ida_ctx *c, db_file file, int *version);
    ida_kind (*schema_set_version)(db *d, ida_ctx *c, db_file file, int version);
    ida_kind (*schema_wipe)(db *d, ida_ctx *c, db_file file);
    unsigned files[DB_ROLE_COUNT]; /* bit mask of the db_file a connection of that role sees */
} db_driver;

#define DB_SEES(file) (1u << (file))

/* Head of a driver's own structure. */
struct db {
    const db_driver *driver;
    apr_pool_t *pool;
    const ida_env *env;
    const char *rest; /* DSN after the prefix, without passwords: for messages */
    db_role role;
    int in_write, in_read; /* a transaction is open */
    int broken;            /* not to be used again */
    int must_repeat;       /* the transaction failed in a way that a second try may heal */
    int poisoned;          /* a statement failed, the engine refuses all more of this transaction */
};

/* What one statement may take: on PostgreSQL each, on SQLite those of requests that only read. */
extern const int db_statement_ms[DB_ROLE_COUNT];

extern const db_driver db_sqlite, db_postgresql;

/* Monotonic milliseconds of the machine: the bounds of waits in the kernel, which no injected clock
 * may stop. */
int64_t db_clock(void);
/* 1 at the first call and then once in every_ms, over all threads. *said is 0 at first. */
int db_say_now(_Atomic int64_t *said, int64_t every_ms);
void db_sleep(int ms);

/* Appends `columns` values to a result that grows in the context's pool; returns the row to fill
 * in. */
typedef struct db_rows {
    db_result *result;
    apr_pool_t *pool;
    db_value *values;
    int capacity;
} db_rows;
db_value *db_rows_add(db_rows *rows);

#endif
