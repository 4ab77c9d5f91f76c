/* Owns what both engines have in common: the choice of the driver by DSN, the check of arguments
 * and of the schema's version. Must not know a database library. */
#include <string.h>

#include "core/db/driver.h"

static const db_driver *const drivers[] = {&db_sqlite, &db_postgresql};

/* NULL: no driver's. *rest: what follows the prefix. */
static const db_driver *driver_of(const char *dsn, const char **rest)
{
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
        size_t len = strlen(drivers[i]->prefix);
        if (dsn && strncmp(dsn, drivers[i]->prefix, len) == 0) {
            *rest = dsn + len;
            return drivers[i];
        }
    }
    return NULL;
}

const char *db_dsn_fault(const char *dsn)
{
    const char *rest;
    const db_driver *driver = driver_of(dsn, &rest);
    return driver ? driver->dsn_fault(rest) : "must be sqlite3:PATH or pgsql:<libpq parameters>";
}

const char *db_dsn_option(apr_pool_t *pool, const char *dsn, const char *keyword)
{
    const char *rest;
    const db_driver *driver = driver_of(dsn, &rest);
    return driver && driver->dsn_option ? driver->dsn_option(pool, rest, keyword) : NULL;
}

int db_dsn_has_password(const char *dsn)
{
    apr_pool_t *pool;
    apr_pool_create(&pool, NULL);
    int has = db_dsn_option(pool, dsn, "password") || db_dsn_option(pool, dsn, "sslpassword");
    apr_pool_destroy(pool);
    return has;
}

const ida_migration *db_migrations(const db *d)
{
    return d->driver->migrations;
}

const char *db_roles(const db *d)
{
    return d->driver->roles;
}

int db_known_version(const db *d, db_file file)
{
    int known = 0;
    for (const ida_migration *m = d->driver->migrations; m->number; m++) {
        if (strcmp(m->file, db_file_name(file)) == 0 && m->number > known) {
            known = m->number;
        }
    }
    return known;
}

static ida_kind check_schema(db *d, ida_ctx *c)
{
    for (int file = 0; file < DB_FILE_COUNT; file++) {
        if (!(d->driver->files[d->role] & DB_SEES(file))) {
            continue;
        }
        int version = 0, known = db_known_version(d, file);
        ida_kind kind = d->driver->schema_version(d, c, file, &version);
        if (kind) {
            return kind;
        }
        if (version == known) {
            continue;
        }
        c->retry_after = 1;
        if (version > known && file != DB_CACHE) {
            return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                            "The %s schema of the store %s%s is number %d, newer than this "
                            "program, which knows up to %d: install the newer version here too.",
                            db_file_name(file), d->driver->prefix, d->rest, version, known);
        }
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The %s schema of the store %s%s is %s (number %d, wanted %d): run "
                        "idadminctl schema upgrade.",
                        db_file_name(file), d->driver->prefix, d->rest,
                        version ? "of another version" : "missing", version, known);
    }
    return IDA_OK;
}

static ida_kind open_with(db **out, const char *dsn, db_role role, int unchecked, ida_ctx *c,
                          apr_pool_t *pool)
{
    const char *rest;
    const db_driver *driver = driver_of(dsn, &rest);
    *out = NULL;
    if (driver) {
        ida_kind kind = driver->open(out, rest, role, unchecked, c, pool);
        if (!kind && !unchecked && (kind = check_schema(*out, c)) != IDA_OK) {
            db_close(*out);
            *out = NULL;
        }
        return kind;
    }
    c->retry_after = 1;
    return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The store's name (DSN) %s", db_dsn_fault(dsn));
}

ida_kind db_open(db **out, const char *dsn, db_role role, ida_ctx *c, apr_pool_t *pool)
{
    return open_with(out, dsn, role, 0, c, pool);
}

ida_kind db_open_unchecked(db **out, const char *dsn, db_role role, ida_ctx *c, apr_pool_t *pool)
{
    return open_with(out, dsn, role, 1, c, pool);
}

ida_kind db_in_use(const char *dsn, ida_ctx *c, apr_pool_t *pool, const char **by)
{
    const char *rest;
    const db_driver *driver = driver_of(dsn, &rest);
    return driver->in_use(rest, c, pool, by);
}

ida_kind db_bring_back(const char *dsn, ida_ctx *c, const db_return *from, const char **aside)
{
    const char *rest;
    const db_driver *driver = driver_of(dsn, &rest);
    return driver->bring_back(rest, c, from, aside);
}

int db_cache_absent(const char *dsn)
{
    const char *rest;
    const db_driver *driver = driver_of(dsn, &rest);
    return driver && driver->cache_absent && driver->cache_absent(rest);
}

void db_close(db *d)
{
    d->driver->close(d);
}

int db_is_postgresql(const db *d)
{
    return d->driver == &db_postgresql;
}

int db_is_broken(const db *d)
{
    return d->broken;
}

int db_in_transaction(const db *d)
{
    return d->in_write;
}

int db_must_repeat(const db *d)
{
    return d->must_repeat;
}

/* Our own misuse of this interface. */
static ida_kind misuse(db *d, ida_ctx *c, const char *what, const char *problem)
{
    ida_log(d->env, IDA_LOG_ERROR, "IDA0100", "store: %s: %s", what, problem);
    return ida_fail(c, IDA_INTERNAL_ERROR, "The store was asked in a wrong way (%s).", what);
}

static ida_kind unusable(ida_ctx *c)
{
    c->retry_after = 1;
    return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The connection to the store is lost.");
}

ida_kind db_run(db *d, ida_ctx *c, db_statement statement, db_args args, db_result *result)
{
    const db_statement_text *text = &db_statements[statement];
    db_result none;
    if (!result) {
        result = &none;
    }
    memset(result, 0, sizeof *result);
    if (d->broken) {
        return unusable(c);
    }
    if (strlen(text->kinds) != args.count) {
        return misuse(d, c, text->name, "wrong number of arguments");
    }
    for (size_t i = 0; i < args.count; i++) {
        if (args.list[i].kind != text->kinds[i]) {
            return misuse(d, c, text->name, "wrong kind of argument");
        }
    }
    if (d->poisoned) {
        return misuse(d, c, text->name,
                      "run in a transaction that a failed statement had already lost");
    }
    if (!*(db_is_postgresql(d) ? text->postgresql : text->sqlite)) {
        return IDA_OK;
    }
    if (!d->in_write && !d->in_read) {
        d->must_repeat = 0;
    }
    ida_kind kind = d->driver->run(d, c, statement, args, result);
    if (!kind && result->columns != db_row_texts[text->row].count) {
        return misuse(d, c, text->name, "answers with other columns than its row has");
    }
    result->kind = text->row;
    return kind;
}

ida_kind db_begin(db *d, ida_ctx *c)
{
    if (d->broken) {
        return unusable(c);
    }
    if (d->in_write || d->in_read) {
        return misuse(d, c, "begin", "a transaction is open already");
    }
    d->must_repeat = d->poisoned = 0;
    ida_kind kind = d->driver->begin(d, c);
    d->in_write = kind == IDA_OK;
    return kind;
}

ida_kind db_commit(db *d, ida_ctx *c)
{
    if (!d->in_write) {
        return misuse(d, c, "commit", "no transaction is open");
    }
    ida_kind kind = d->poisoned ? misuse(d, c, "commit",
                                         "a failed statement had already lost the transaction")
                    : d->broken ? unusable(c)
                                : d->driver->commit(d, c);
    if (kind) {
        db_rollback(d);
    }
    d->in_write = d->poisoned = 0;
    return kind;
}

void db_rollback(db *d)
{
    if (d->in_write) {
        d->driver->rollback(d);
        d->in_write = d->poisoned = 0;
    }
}

ida_kind db_begin_read(db *d, ida_ctx *c)
{
    if (d->broken) {
        return unusable(c);
    }
    if (d->in_write || d->in_read) {
        return misuse(d, c, "begin read", "a transaction is open already");
    }
    d->must_repeat = d->poisoned = 0;
    ida_kind kind = d->driver->begin_read(d, c);
    d->in_read = kind == IDA_OK;
    return kind;
}

void db_end_read(db *d)
{
    if (d->in_read) {
        d->driver->end_read(d);
        d->in_read = d->poisoned = 0;
    }
}

ida_kind db_script(db *d, ida_ctx *c, const char *sql)
{
    return d->broken ? unusable(c) : d->driver->script(d, c, sql);
}

/* What an engine has no need of: its driver names no function. */
typedef ida_kind (*care)(db *d, ida_ctx *c);

static ida_kind maintain(db *d, ida_ctx *c, care how)
{
    if (d->broken) {
        return unusable(c);
    }
    return how ? how(d, c) : IDA_OK;
}

ida_kind db_checkpoint(db *d, ida_ctx *c)
{
    return maintain(d, c, d->driver->checkpoint);
}

ida_kind db_compact(db *d, ida_ctx *c)
{
    return maintain(d, c, d->driver->compact);
}

ida_kind db_run_begins(db *d, ida_ctx *c)
{
    return maintain(d, c, d->driver->run_begins);
}

ida_kind db_run_ends(db *d, ida_ctx *c)
{
    return maintain(d, c, d->driver->run_ends);
}

ida_kind db_empty_staging(db *d, ida_ctx *c)
{
    return maintain(d, c, d->driver->empty_staging);
}

ida_kind db_notify(db *d, ida_ctx *c, const char *channel)
{
    if (d->broken) {
        return unusable(c);
    }
    return d->driver->notify ? d->driver->notify(d, c, channel) : IDA_OK;
}

void db_wait(db *d, ida_ctx *c, const char *channel, int ms)
{
    if (d->broken || !d->driver->wait) {
        db_sleep(ms);
    } else {
        d->driver->wait(d, c, channel, ms);
    }
}

ida_kind db_schema_begin(db *d, ida_ctx *c)
{
    ida_kind kind = d->broken ? unusable(c) : d->driver->schema_begin(d, c);
    d->in_write = kind == IDA_OK;
    return kind;
}

ida_kind db_schema_version(db *d, ida_ctx *c, db_file file, int *version)
{
    return d->driver->schema_version(d, c, file, version);
}

ida_kind db_schema_set_version(db *d, ida_ctx *c, db_file file, int version)
{
    return d->driver->schema_set_version(d, c, file, version);
}

ida_kind db_schema_wipe(db *d, ida_ctx *c, db_file file)
{
    return d->driver->schema_wipe(d, c, file);
}

ida_kind db_save(db *d, ida_ctx *c, const char *directory, apr_array_header_t *names)
{
    return d->broken ? unusable(c) : d->driver->save(d, c, directory, names);
}
