/* Owns the upgrade of the schema: numbered migrations of three files, forward only; the cache is
 * created again instead. Must not know an engine. */
#include <jansson.h>
#include <openssl/crypto.h>
#include <string.h>

#include "core/base/text.h"
#include "core/db/migrations.h"
#include "core/store/rows.h"
#include "core/store/store.h"

int store_schema_version(void)
{
    int newest = 0;
    for (const ida_migration *m = ida_migrations_sqlite; m->number; m++) {
        newest = m->number > newest ? m->number : newest;
    }
    return newest;
}

ida_kind store_schema_number(store *s, ida_ctx *c, int64_t *number)
{
    return store_number(s, c, STMT_schema_number, DB_NONE, number);
}

int store_schema_version_of(const store *s)
{
    return db_known_version(s->db, DB_MAIN);
}

ida_kind store_schema_is_ours(store *s, ida_ctx *c)
{
    int64_t number;
    ida_kind kind = store_schema_number(s, c, &number);
    if (kind || number == store_schema_version_of(s)) {
        return kind;
    }
    ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The store's schema is number %lld now.",
             (long long)number);
    return ida_because(c, STORE_SCHEMA_CHANGED, NULL);
}

#define REPEATS 10 /* of transactions that the engine undid */
#define WORKER_ALIVE_MS 60000
#define WORKERS_MAX 1000

static void tell(json_t *steps, const char *text)
{
    if (steps) {
        json_array_append_new(steps, json_string(text));
    }
}

static const ida_migration *next_migration(const db *d, db_file file, int version)
{
    const ida_migration *m = db_migrations(d);
    while (m->number && (m->number <= version || strcmp(m->file, db_file_name(file)) != 0)) {
        m++;
    }
    return m->number ? m : NULL;
}

static ida_kind refuse_newer(const db *d, ida_ctx *c, db_file file, int version)
{
    int known = db_known_version(d, file);
    return version <= known ? IDA_OK
                            : ida_fail(c, IDA_CONFLICT,
                                       "The %s schema of the store is number %d, newer than this "
                                       "program, which knows up to %d: install the newer version.",
                                       db_file_name(file), version, known);
}

static ida_kind apply(db *d, ida_ctx *c, db_file file, const ida_migration *m, json_t *steps)
{
    ida_kind kind = db_script(d, c, m->sql);
    if (!kind) {
        kind = db_schema_set_version(d, c, file, m->number);
    }
    if (kind) {
        return ida_fail(c, kind, "The migration %s of the %s schema failed and changed nothing: %s",
                        m->name, db_file_name(file), c->message);
    }
    tell(steps, ida_printf(c->pool, "%s: %s applied", db_file_name(file), m->name));
    return IDA_OK;
}

/* One transaction: the next migration, or for a cache of another version the whole of it. *more:
 * there is another one. */
static ida_kind advance(db *d, ida_ctx *c, db_file file, json_t *steps, int *more)
{
    int version = 0;
    *more = 0;
    ida_kind kind = db_schema_begin(d, c);
    if (kind || (kind = db_schema_version(d, c, file, &version)) != IDA_OK) {
        goto leave;
    }
    if (file == DB_CACHE && version && version != db_known_version(d, file)) {
        if ((kind = db_schema_wipe(d, c, file)) != IDA_OK) {
            goto leave;
        }
        tell(steps, ida_printf(c->pool, "cache: emptied (was number %d); the next sync fills it",
                               version));
        version = 0;
    }
    if ((kind = refuse_newer(d, c, file, version)) != IDA_OK) {
        goto leave;
    }
    for (const ida_migration *m; !kind && (m = next_migration(d, file, version)) != NULL;) {
        kind = apply(d, c, file, m, steps);
        version = m->number;
        if (file != DB_CACHE) {
            *more = next_migration(d, file, version) != NULL;
            break;
        }
    }
leave:
    if (db_in_transaction(d)) {
        if (kind) {
            db_rollback(d);
        } else {
            kind = db_commit(d, c);
        }
    }
    return kind;
}

/* 1: the engine undid the transaction, as in a deadlock with programs that run meanwhile, and it
 * may be tried again. */
static int undone(db *d, ida_ctx *c, ida_kind kind, int *tries)
{
    if (!kind || db_is_broken(d) || !db_must_repeat(d) || (*tries)++ == REPEATS) {
        return 0;
    }
    ida_ctx_clear(c);
    return 1;
}

static ida_kind upgrade_file(db *d, ida_ctx *c, db_file file, json_t *steps)
{
    int more = 1, tries = 0;
    ida_kind kind = IDA_OK;
    while (!kind && more) {
        size_t told = json_array_size(steps);
        kind = advance(d, c, file, steps, &more);
        if (undone(d, c, kind, &tries)) {
            while (json_array_size(steps) > told) {
                json_array_remove(steps, told);
            }
            kind = IDA_OK;
            more = 1;
        }
    }
    return kind;
}

ida_kind store_schema_encoding(const char *dsn, ida_ctx *c)
{
    db *d;
    db_result r;
    if (store_sqlite_path(dsn)) {
        return IDA_OK;
    }
    ida_kind kind = db_open_unchecked(&d, dsn, DB_REQUEST, c, c->pool);
    if (kind) {
        return kind;
    }
    kind = db_run(d, c, STMT_encoding, DB_NONE, &r);
    const char *encoding = kind ? NULL : DB_ROW(id, &r, 0)->id.text;
    if (encoding && strcmp(encoding, "UTF8") != 0) {
        kind = ida_fail(
            c, IDA_CONFLICT,
            "The database has the encoding %s, which cannot hold every name: CREATE "
            "DATABASE idadmin TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8' makes "
            "a right one, to be named as `store`.",
            encoding);
    }
    db_close(d);
    return kind;
}

static ida_kind make_roles(db *d, ida_ctx *c)
{
    int tries = 0;
    ida_kind kind;
    do {
        kind = db_schema_begin(d, c);
        kind = kind ? kind : db_script(d, c, db_roles(d));
        kind = kind ? kind : db_commit(d, c);
        db_rollback(d);
    } while (undone(d, c, kind, &tries));
    return kind;
}

/* Nothing is touched when a file that is not the cache was made by a newer program. *behind: a file
 * of a store that exists is to be migrated. */
static ida_kind check_not_newer(const char *dsn, ida_ctx *c, apr_pool_t *pool, int *behind)
{
    static const db_file kept[] = {DB_MAIN, DB_AUDIT};
    ida_kind kind = IDA_OK;
    *behind = 0;
    for (size_t i = 0; !kind && i < sizeof kept / sizeof *kept; i++) {
        db *d;
        int version = 0;
        if ((kind = db_open_unchecked(&d, dsn, db_file_role(kept[i]), c, pool)) == IDA_OK) {
            kind = db_schema_version(d, c, kept[i], &version);
            kind = kind ? kind : refuse_newer(d, c, kept[i], version);
            *behind |= version && version < db_known_version(d, kept[i]);
            db_close(d);
        }
    }
    return kind;
}

/* A worker of before would go on by the old schema: it sees the new one at its next claim, but may
 * be in the middle of a task. */
static ida_kind check_workers(const char *dsn, ida_ctx *c, apr_pool_t *pool)
{
    db *d;
    db_result r = {.rows = 0};
    int64_t since = ida_now(c->env) - WORKER_ALIVE_MS;
    const char *alive = NULL;
    ida_kind kind = db_open_unchecked(&d, dsn, DB_REQUEST, c, pool);
    if (kind) {
        return kind;
    }
    kind = db_run(d, c, STMT_worker_list, DB_ARGS(DB_I(WORKERS_MAX)), &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_worker *worker = DB_ROW(worker, &r, i);
        if (worker->seen_at.number > since) {
            alive = ida_printf(c->pool, "%s%s%s (version %s)", alive ? alive : "",
                               alive ? ", " : "", worker->id.text, worker->version.text);
        }
    }
    db_close(d);
    return kind || !alive
               ? kind
               : ida_fail(c, IDA_CONFLICT,
                          "The schema is not upgraded while workers of before run: %s. Stop them "
                          "on every node, upgrade, and start the new version. (A worker that died "
                          "is forgotten a minute later.)",
                          alive);
}

ida_kind store_schema_roles(const char *dsn, ida_ctx *c)
{
    apr_pool_t *pool;
    db *d = NULL;
    apr_pool_create(&pool, c->pool);
    ida_kind kind = db_open_unchecked(&d, dsn, DB_REQUEST, c, pool);
    if (!kind && !db_roles(d)) {
        kind = ida_fail(c, IDA_CONFLICT,
                        "Roles are PostgreSQL's; with SQLite the owners and groups of the files "
                        "say who may do what.");
        db_close(d);
    } else if (!kind) {
        kind = make_roles(d, c);
        db_close(d);
    }
    apr_pool_destroy(pool);
    return kind;
}

/* A cache can be made at any time: it holds nothing of its own, and a restored store comes
 * without one. A cache of another version is left to an upgrade. */
void store_cache_make(const char *dsn, ida_ctx *c)
{
    apr_pool_t *pool;
    db *d;
    int version = -1;
    ida_ctx *own = ida_ctx_make(c->env, c->pool);
    if (!db_cache_absent(dsn)) {
        return;
    }
    apr_pool_create(&pool, c->pool);
    if (db_open_unchecked(&d, dsn, DB_SYNC, own, pool) == IDA_OK) {
        if (db_schema_version(d, own, DB_CACHE, &version) == IDA_OK && version == 0 &&
            upgrade_file(d, own, DB_CACHE, NULL) == IDA_OK) {
            ida_log(c->env, IDA_LOG_INFO, NULL,
                    "store: the cache was not there and has been made; the directories will be "
                    "synchronised");
        }
        db_close(d);
    }
    apr_pool_destroy(pool);
}

static ida_kind make_settings(const char *dsn, ida_ctx *c, apr_pool_t *pool)
{
    unsigned char key[32];
    db *d;
    ida_kind kind = db_open(&d, dsn, DB_REQUEST, c, pool);
    if (!kind) {
        ida_random(c->env, key, sizeof key);
        kind = db_run(d, c, STMT_setting_add,
                      DB_ARGS(DB_T("cursor_key"), DB_T(ida_hex(c->pool, key, sizeof key))), NULL);
        OPENSSL_cleanse(key, sizeof key);
        db_close(d);
    }
    return kind;
}

ida_kind store_schema_look(store *s, ida_ctx *c)
{
    ida_kind kind = IDA_OK;
    int version = 0, tries = 0;
    do { /* the connection may have died since it was used last */
        ida_ctx_clear(c);
        kind = store_connect(s, c);
        kind = kind ? kind : db_schema_version(s->db, c, DB_MAIN, &version);
    } while (kind && s->db && db_is_broken(s->db) && !tries++);
    if (!kind && version != db_known_version(s->db, DB_MAIN)) {
        kind = ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The main schema of the store is number %d, this program works with %d.",
                        version, db_known_version(s->db, DB_MAIN));
    }
    return kind;
}

ida_kind store_schema_upgrade(const char *dsn, ida_ctx *c, json_t *steps)
{
    apr_pool_t *pool;
    const char *rule = store_dsn_fault(dsn);
    if (rule) {
        return ida_fail(c, IDA_BAD_REQUEST, "The store's name (DSN) %s.", rule);
    }
    apr_pool_create(&pool, c->pool);
    int behind;
    ida_kind kind = store_schema_encoding(dsn, c);
    kind = kind ? kind : check_not_newer(dsn, c, pool, &behind);
    kind = kind || !behind ? kind : check_workers(dsn, c, pool);
    for (int file = 0; !kind && file < DB_FILE_COUNT; file++) {
        db *d;
        if ((kind = db_open_unchecked(&d, dsn, db_file_role(file), c, pool)) == IDA_OK) {
            kind = upgrade_file(d, c, file, steps);
            db_close(d);
        }
    }
    if (!kind) {
        kind = make_settings(dsn, c, pool);
    }
    apr_pool_destroy(pool);
    return kind;
}
