/* A store of this version, upgraded to an invented next one (t/unit/store/next/), on both
 * engines: its content remains, new tables exist; a failed migration changes nothing and is
 * resumed; programs refuse a store of another version. */
#include <string.h>

#include "core/db/db.h"
#include "core/db/migrations.h"
#include "core/queue/change.h"
#include "core/store/audit.h"
#include "t/unit/db_setup.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#define MADE_UP 900 /* the first invented number */

static const char rows[] =
    "INSERT INTO tenant (id, document, seal, revision, created_at, updated_at) VALUES ('t', '{}', "
    "'', 1, 0, 0);INSERT INTO task (id, tenant_id, type, state, directory, person, upn, "
    "wall_date, wall_time, zone, due_at, next_at, created_at, username) VALUES ('1', 't', "
    "'userDelete', 'queued', 'cloud', 'a', 'a@x', '', '', '', 1, 1, 1, 'hr'), ('2', 't', "
    "'userUpdate', 'queued', 'cloud', 'a', 'a@x', '', '', '', 1, 1, 1, 'hr');";

static const char records[] =
    "INSERT INTO audit.record (tenant_id, seq, rid, at, category, outcome, actor, salt, "
    "personal_hash, hash) VALUES ('t', 1, 'r1', 1, 'api', 'ok', 'hr', '00', 'aa', 'bb');";

static int cache_migrations; /* the made-up one too */

/* Only the real migrations, as this version runs them; the first one's store has the rows. */
static ida_kind make_present(const char *dsn)
{
    ida_kind kind = IDA_OK;
    for (int file = 0; !kind && file < DB_FILE_COUNT; file++) {
        db *d;
        ida_ctx *c = fresh();
        const char *name = db_file_name((db_file)file);
        int version = 0;
        if ((kind = db_open_unchecked(&d, dsn, db_file_role((db_file)file), c, pool)) != IDA_OK) {
            break;
        }
        kind = db_schema_begin(d, c);
        cache_migrations = 0;
        for (const ida_migration *m = db_migrations(d); !kind && m->number; m++) {
            cache_migrations += strcmp(m->file, "cache") == 0;
            if (m->number < MADE_UP && strcmp(m->file, name) == 0) {
                kind = db_script(d, c, m->sql);
                version = m->number;
                kind = kind || version > 1 || file == DB_CACHE
                           ? kind
                           : db_script(d, c, file == DB_MAIN ? rows : records);
            }
        }
        kind = kind ? kind : db_schema_set_version(d, c, (db_file)file, version);
        kind = kind ? kind : db_commit(d, c);
        if (kind) {
            printf("# %s\n", c->message);
        }
        db_close(d);
    }
    return kind;
}

static int version_of(const char *dsn, db_file file)
{
    db *d;
    int version = -1;
    must(db_open_unchecked(&d, dsn, db_file_role(file), fresh(), pool), NULL, "opened");
    must(db_schema_version(d, fresh(), file, &version), NULL, "version");
    db_close(d);
    return version;
}

/* A statement on a connection that does not check the version. */
static ida_kind script(const char *dsn, const char *text)
{
    db *d;
    ida_ctx *c = fresh();
    ida_kind kind = db_open_unchecked(&d, dsn, DB_REQUEST, c, pool);
    if (!kind) {
        kind = db_begin(d, c);
        kind = kind ? kind : db_script(d, c, text);
        kind = kind ? kind : db_commit(d, c);
        db_close(d);
    }
    return kind;
}

static void refused(const char *dsn, const char *word)
{
    db *d;
    ida_ctx *c = fresh();
    is_int(db_open(&d, dsn, DB_REQUEST, c, pool), IDA_SERVICE_UNAVAILABLE, "programs refuse it");
    says(c, "and say why", word, NULL);
}

static void test_upgrade(const char *dsn)
{
    ida_ctx *c = fresh();
    json_t *steps = json_array();
    is_int(make_present(dsn), IDA_OK, "a store of this version");
    int before = version_of(dsn, DB_AUDIT);
    refused(dsn, "idadminctl schema upgrade");

    is_int(store_schema_upgrade(dsn, c, steps), IDA_CONFLICT, "a migration fails");
    says(c, "which is named", "901-unique", "main", "changed nothing", NULL);
    is_int((int64_t)json_array_size(steps), 1, "the one before it is done");
    is_int(version_of(dsn, DB_MAIN), MADE_UP, "and stands");
    is_int(version_of(dsn, DB_AUDIT), before, "the next file waits");
    refused(dsn, "idadminctl schema upgrade");

    is_int(script(dsn, "UPDATE task SET made_up = 'b@x' WHERE id = '2'"), IDA_OK, "mended");
    json_array_clear(steps);
    is_int(store_schema_upgrade(dsn, fresh(), steps), IDA_OK, "the upgrade goes on");
    is_int((int64_t)json_array_size(steps), 3 + cache_migrations,
           "from there: main, audit; the cache is emptied and made of all its own");
    json_array_clear(steps);
    is_int(store_schema_upgrade(dsn, fresh(), steps), IDA_OK, "a second one");
    is_int((int64_t)json_array_size(steps), 0, "has nothing to do");
    json_decref(steps);
}

static void test_upgraded(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    is_int(sql_write(s, "INSERT INTO made_up SELECT id, made_up FROM task WHERE tenant_id = 't'"),
           IDA_CONFLICT, "foreign keys of the new table hold");
    const char *engines = is_sqlite ? "SQLite" : "PostgreSQL";
    is_int(sql_write(s,
                     ida_printf(pool, "INSERT INTO made_up (tenant_id, engine) VALUES ('t', '%s')",
                                engines)),
           IDA_CONFLICT, "it has the row of this engine");
    is_int(sql_write(s, "UPDATE task SET made_up = 'a@x' WHERE id = '2'"), IDA_CONFLICT,
           "what the first task had before, its new column has");
    store_disconnect(s);
}

/* What rows of the first version have in columns that later ones added. */
static void test_old_rows(const char *dsn)
{
    ida_ctx *c = fresh();
    store *s = store_make(pool, dsn, DB_REQUEST);
    ida_task *task;
    must(queue_task_get(s, c, "t", "1", 0, &task), c, "an old task");
    ok(!task->correlation && !task->trace, "is of no request that is known");
    const store_audit_filter all = {.limit = 10, .by_time = 1, .questions = 1};
    const audit_row *audit;
    int count;
    must(store_audit_list(s, c, "t", &all, &audit, &count, NULL), c, "an old record");
    ok(count == 1 && !audit[0].record.correlation, "neither");
    store_disconnect(s);
}

static void test_newer(const char *dsn)
{
    db *d;
    ida_ctx *c = fresh();
    must(db_open_unchecked(&d, dsn, DB_INGEST, c, pool), c, "opened");
    must(db_schema_begin(d, c), c, "begun");
    must(db_schema_set_version(d, c, DB_AUDIT, MADE_UP + 2), c, "a number of the future");
    must(db_commit(d, c), c, "committed");
    db_close(d);
    json_t *steps = json_array();
    is_int(store_schema_upgrade(dsn, c, steps), IDA_CONFLICT, "a newer store is refused");
    says(c, "with both numbers", "audit", "902", "900", NULL);
    is_int((int64_t)json_array_size(steps), 0, "and left alone");
    json_decref(steps);
}

int main(void)
{
    setup();
    for (int i = 0, engines = store_engines(); i < engines; i++) {
        const char *dsn = store_engine(i, &engine);
        is_sqlite = i == 0;
        printf("# %s\n", engine);
        test_upgrade(dsn);
        test_upgraded(dsn);
        test_old_rows(dsn);
        test_newer(dsn);
    }
    return done();
}
