/* Shared by the tests of the queue: a tenant, tasks in one line, a cache written by hand, and
 * SQL on the store without the tested code. Included after store_setup.h. */
#ifndef T_UNIT_QUEUE_SETUP_H
#define T_UNIT_QUEUE_SETUP_H

#include <apr_strings.h>
#include <apr_thread_proc.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/queue/claim.h"
#include "core/store/tenant.h"
#include "t/unit/store_setup.h"

#define HOUR INT64_C(3600000)
#define LEASE 60000

static const char *dsn;    /* of the current engine */
static const char *engine; /* its name */

/* One number by the given SQL. */
__attribute__((unused)) static int64_t ask(const char *sql)
{
    int64_t value = INT64_MIN;
    if (store_sqlite_path(dsn)) {
        sqlite3 *file;
        sqlite3_stmt *stmt = NULL;
        if (sqlite3_open(store_sqlite_path(dsn), &file) == SQLITE_OK &&
            sqlite3_prepare_v2(file, sql, -1, &stmt, NULL) == SQLITE_OK &&
            sqlite3_step(stmt) == SQLITE_ROW) {
            value = sqlite3_column_int64(stmt, 0);
        } else {
            printf("# %s: %s\n", sql, sqlite3_errmsg(file));
        }
        sqlite3_finalize(stmt);
        sqlite3_close(file);
        return value;
    }
    PGconn *conn = PQconnectdb(dsn + strlen("pgsql:"));
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1) {
        value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    } else {
        printf("# %s: %s\n", sql, PQerrorMessage(conn));
    }
    PQclear(result);
    PQfinish(conn);
    return value;
}

/* Runs the given SQL in one transaction of the role; 1 if it succeeded. */
__attribute__((unused)) static int script(db_role role, const char *sql)
{
    apr_pool_t *own;
    apr_pool_create(&own, NULL);
    ida_ctx *c = ida_ctx_make(&env, own);
    store *s = store_make(own, dsn, role);
    ida_kind kind = store_connect(s, c);
    kind = kind ? kind : db_begin(s->db, c);
    kind = kind ? kind : db_script(s->db, c, sql);
    kind = kind ? kind : db_commit(s->db, c);
    if (kind) {
        printf("# %s: %s\n", sql, c->message ? c->message : ida_kind_code(kind));
    }
    apr_pool_destroy(own);
    return !kind;
}

/* A tenant with a cloud and an on-premises directory; `extra` are more members of its document,
 * each followed by a comma. */
__attribute__((unused)) static void add_tenant(const char *id, const char *extra)
{
    ok(script(DB_REQUEST,
              apr_psprintf(
                  pool,
                  "INSERT INTO tenant (id, document, seal, revision, created_at, updated_at) "
                  "VALUES ('%s', "
                  "'{\"companyId\":\"%s\",\"name\":\"%s\",%s\"upnDomain\":\"corp.example\","
                  "\"createUsersIn\":\"cloud\",\"directories\":{\"cloud\":{\"directoryId\":"
                  "\"7d1e2f10-0b63-4c92-9d0b-6a0f6a3c1a01\",\"clientId\":\"7d1e2f10-0b63-4c92-9d0b-"
                  "6a0f6a3c1a02\",\"clientSecretFile\":\"/etc/idadmin/"
                  "secret\"},\"onPremises\":{\"urls\":[\"ldaps://"
                  "dc1.corp.example\"],\"dialect\":\"activeDirectory\",\"bindDn\":\"cn=a\","
                  "\"bindPasswordFile\":\"/etc/idadmin/"
                  "password\",\"userBase\":\"dc=corp\",\"groupBase\":\"dc=corp\"}}}', '', 1, 1, 1)",
                  id, id, id, extra)),
       "%s: tenant %s", engine, id);
}

/* Like the worker's write-through: the person and the counter in one transaction of the cache. */
__attribute__((unused)) static int cache_person(const char *tenant, const char *id, const char *upn,
                                                int enabled, int count)
{
    const char *folded = ida_fold_address(pool, upn);
    return script(
        DB_SYNC,
        apr_psprintf(
            pool,
            "INSERT INTO cache.directory_user (tenant_id, directory, id, upn, upn_key, enabled) "
            "VALUES ('%s', 'cloud', '%s', '%s', '%s', %d);INSERT INTO cache.address (tenant_id, "
            "address, directory, owner_id) VALUES ('%s', '%s', 'cloud', '%s');INSERT INTO "
            "cache.counter (tenant_id, name, value) VALUES ('%s', 'enabled_members', %d) ON "
            "CONFLICT (tenant_id, name) DO UPDATE SET value = counter.value + excluded.value",
            tenant, id, upn, folded, enabled, tenant, folded, id, tenant, count));
}

/* A task as an operation would make it: steps of its type, due at `due`. Change members before
 * inserting. */
__attribute__((unused)) static ida_task *make_task(ida_ctx *c, const char *tenant,
                                                   ida_task_type type, const char *upn, int64_t due)
{
    ida_task *t = apr_pcalloc(c->pool, sizeof *t);
    ida_tenant nothing = {.id = tenant};
    t->id = ida_new_id(c->pool, c->env);
    t->tenant = tenant;
    t->type = type;
    t->state = IDA_QUEUED;
    t->directory = IDA_DIR_CLOUD;
    t->upn = upn;
    t->person = ida_fold_address(c->pool, upn);
    t->mail = type == IDA_USER_CREATE ? upn : NULL;
    t->display_name = "Anna Berg";
    t->wall_date = "2026-11-21";
    t->wall_time = "10:30";
    t->zone = "Europe/Stockholm";
    t->wall_fixed = 1;
    t->due_at = due;
    t->seat = type == IDA_USER_CREATE;
    t->payload = "{\"firstname\":\"Anna\",\"surname\":\"Berg\"}";
    t->username = "hr";
    t->label = "HR system";
    ida_task_plan(c->pool, &nothing, t);
    return t;
}

__attribute__((unused)) static ida_task *add_task(store *s, const char *tenant, ida_task_type type,
                                                  const char *upn, int64_t due)
{
    ida_ctx *c = fresh();
    ida_task *t = make_task(c, tenant, type, upn, due);
    if (queue_task_insert(s, c, t)) {
        printf("# insert: %s\n", c->message);
        return NULL;
    }
    return t;
}

__attribute__((unused)) static ida_task *get_task(store *s, const ida_task *t)
{
    ida_task *now = NULL;
    queue_task_get(s, fresh(), t->tenant, t->id, 1, &now);
    return now;
}

/* Any task that may be claimed. */
__attribute__((unused)) static ida_kind queue_claim(store *s, ida_ctx *c, const char *owner,
                                                    int64_t now, int64_t lease_ms, int64_t probe_ms,
                                                    ida_task **task, int *braked)
{
    const queue_claimer by = {owner, now, lease_ms, probe_ms, NULL, NULL};
    return queue_claim_among(s, c, &by, task, braked);
}

/* Claims at the test's clock; NULL if there is nothing to do. */
__attribute__((unused)) static ida_task *claim_at(store *s, const char *owner, int64_t now,
                                                  int *braked)
{
    ida_task *t = NULL;
    ida_ctx *c = fresh();
    int dummy;
    ida_kind kind = queue_claim(s, c, owner, now, LEASE, 5000, &t, braked ? braked : &dummy);
    if (kind && kind != IDA_NOT_FOUND) {
        printf("# claim: %s\n", c->message);
    }
    return kind ? NULL : t;
}

/* A thread's own pool, context and connections. */
typedef struct crew {
    int number;
    void *shared;
    store *main;
    apr_pool_t *pool;
    ida_ctx *c;
    int failures; /* read by the test after the threads have ended */
    void (*run)(struct crew *);
} crew;

static void *crew_thread(apr_thread_t *thread, void *data)
{
    crew *m = data;
    m->run(m);
    apr_thread_exit(thread, APR_SUCCESS);
    return NULL;
}

__attribute__((unused)) static void crew_work(void (*run)(crew *), crew *members, int count,
                                              void *shared, apr_thread_t **threads)
{
    for (int i = 0; i < count; i++) {
        crew *m = &members[i];
        *m = (crew){.number = i, .shared = shared, .run = run};
        apr_pool_create_unmanaged_ex(&m->pool, NULL, NULL);
        m->c = ida_ctx_make(&env, m->pool);
        m->main = store_make(m->pool, dsn, DB_REQUEST);
        apr_thread_create(&threads[i], NULL, crew_thread, m, pool);
    }
}

/* Sum of the failures. */
__attribute__((unused)) static int crew_join(crew *members, int count, apr_thread_t **threads)
{
    int failures = 0;
    for (int i = 0; i < count; i++) {
        apr_status_t status;
        apr_thread_join(&status, threads[i]);
        failures += members[i].failures;
        apr_pool_destroy(members[i].pool);
    }
    return failures;
}

#endif
