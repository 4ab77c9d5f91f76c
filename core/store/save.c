/* Owns a backup of the store and its return, for both engines. Must not know what else a backup
 * has: keys, a manifest. */
#include "core/store/save.h"

#include <string.h>

#include "core/db/migrations.h"

ida_kind store_save(store *s, ida_ctx *c, const char *directory, store_saved *saved)
{
    saved->names = apr_array_make(c->pool, 2, sizeof(const char *));
    ida_kind kind = db_schema_version(s->db, c, DB_MAIN, &saved->main);
    kind = kind ? kind : db_schema_version(s->db, c, DB_AUDIT, &saved->audit);
    return kind ? kind : db_save(s->db, c, directory, saved->names);
}

void store_known_versions(const char *dsn, int *main, int *audit)
{
    const ida_migration *m = store_sqlite_path(dsn) ? ida_migrations_sqlite
                                                    : ida_migrations_postgresql;
    *main = *audit = 0;
    for (; m->number; m++) {
        int *of = strcmp(m->file, "main") == 0    ? main
                  : strcmp(m->file, "audit") == 0 ? audit
                                                  : NULL;
        if (of && m->number > *of) {
            *of = m->number;
        }
    }
}

int store_opens(const char *dsn, ida_ctx *c)
{
    apr_pool_t *pool;
    db *d;
    apr_pool_create(&pool, c->pool);
    int opens = db_open(&d, dsn, DB_REQUEST, ida_ctx_make(c->env, pool), pool) == IDA_OK;
    if (opens) {
        db_close(d);
    }
    apr_pool_destroy(pool);
    return opens;
}

ida_kind store_free(const char *dsn, ida_ctx *c)
{
    apr_pool_t *pool;
    const char *by;
    apr_pool_create(&pool, c->pool);
    ida_kind kind = db_in_use(dsn, c, pool, &by);
    apr_pool_destroy(pool);
    return kind || !by ? kind
                       : ida_fail(c, IDA_CONFLICT,
                                  "The store is in use: %s. Stop httpd and idadmin-worker on every "
                                  "node first.",
                                  by);
}

/* Those of the backup run no more. */
static ida_kind forget_workers(const char *dsn, ida_ctx *c)
{
    db *d;
    ida_kind kind = db_open_unchecked(&d, dsn, DB_REQUEST, c, c->pool);
    if (!kind) {
        kind = db_run(d, c, STMT_worker_forget, DB_ARGS(DB_I(INT64_MAX)), NULL);
        db_close(d);
    }
    return kind;
}

ida_kind store_bring_back(const char *dsn, ida_ctx *c, const db_return *from, json_t *steps,
                          const char **aside)
{
    ida_kind kind = db_bring_back(dsn, c, from, aside);
    kind = kind ? kind : forget_workers(dsn, c);
    return kind ? kind : store_schema_upgrade(dsn, c, steps);
}

ida_kind store_aside(store *s, ida_ctx *c, int remove, json_t *names)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_aside, DB_NONE, &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        json_array_append_new(names, json_string(DB_ROW(id, &r, i)->id.text));
    }
    return kind || !remove ? kind : store_write(s, c, STMT_aside_drop, DB_NONE, NULL);
}
