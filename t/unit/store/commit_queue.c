/* Many threads write through one connection: every answer is its caller's own, what was refused is
 * undone alone, and a fault of one is not its neighbours'. */
#include <apr_thread_proc.h>
#include <stdatomic.h>

#include "core/store/commit_queue.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#define THREADS 16
#define ROUNDS 120

typedef enum sort { GOOD, REFUSED, FAULTY, SORTS } sort;

typedef struct writer {
    store_group *group;
    int number;
    atomic_int *begun;
    int answers[SORTS]; /* as they ought to be */
    int wrong;
    const char *said; /* the last of the wrong ones; NULL: none */
    apr_pool_t *pool;
} writer;

typedef struct job {
    const char *name;
    sort sort;
} job;

static ida_kind write_one(store *s, ida_ctx *c, void *baton)
{
    const job *j = baton;
    ida_kind kind = store_write(s, c, STMT_setting_add, DB_ARGS(DB_T(j->name), DB_T("x")), NULL);
    if (!kind && j->sort == REFUSED) {
        kind = ida_fail(c, IDA_FORBIDDEN, "%s is refused", j->name);
    }
    if (!kind && j->sort == FAULTY) {
        kind = db_script(s->db, c, "THIS IS NO SQL");
    }
    return kind;
}

static void *run_writer(apr_thread_t *thread, void *data)
{
    static const ida_kind wanted[SORTS] = {IDA_OK, IDA_FORBIDDEN, IDA_INTERNAL_ERROR};
    writer *w = data;
    (void)thread;
    atomic_fetch_add(w->begun, 1);
    while (atomic_load(w->begun) < THREADS) {}
    for (int i = 0; i < ROUNDS; i++) {
        ida_ctx *c = ida_ctx_make(&env, w->pool);
        int faulty = w->number == 3 && i % 20 == 7;
        job j = {apr_psprintf(w->pool, "%d-%d", w->number, i), faulty                ? FAULTY
                                                               : (w->number + i) % 3 ? GOOD
                                                                                     : REFUSED};
        ida_kind kind = store_transaction(store_group_door(w->group), c, write_one, &j);
        int own_words = j.sort != REFUSED ||
                        (c->message && strstr(c->message, j.name) == c->message);
        w->answers[j.sort] += kind == wanted[j.sort];
        if (kind != wanted[j.sort] || !own_words || (kind == IDA_OK && c->message)) {
            w->wrong++;
            w->said = apr_psprintf(w->pool, "%s: %s, not %s (%s)", j.name, ida_kind_code(kind),
                                   ida_kind_code(wanted[j.sort]),
                                   c->message ? c->message : "no message");
        }
    }
    return NULL;
}

static void quiet(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton, (void)level, (void)id, (void)message;
}

static int64_t rows(const char *dsn)
{
    db_result r;
    store *s = store_make(pool, dsn, DB_REQUEST);
    int64_t found = 0;
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < ROUNDS; i++) {
            const char *name = apr_psprintf(pool, "%d-%d", t, i);
            found += store_read(s, fresh(), STMT_setting_get, DB_ARGS(DB_T(name)), &r) == IDA_OK &&
                     r.rows == 1;
        }
    }
    return found;
}

static void run_all(writer *writers, store_group *group)
{
    apr_thread_t *threads[THREADS];
    apr_status_t status;
    atomic_int begun = 0;
    for (int t = 0; t < THREADS; t++) {
        writers[t] = (writer){.group = group, .number = t, .begun = &begun};
        apr_pool_create_unmanaged_ex(&writers[t].pool, NULL, NULL);
        apr_thread_create(&threads[t], NULL, run_writer, &writers[t], pool);
    }
    for (int t = 0; t < THREADS; t++) {
        apr_thread_join(&status, threads[t]);
        writers[t].said = apr_pstrdup(pool, writers[t].said);
        apr_pool_destroy(writers[t].pool);
    }
}

static void test_together(void)
{
    const char *engine, *dsn = store_upgraded(0, &engine);
    writer writers[THREADS];
    int good = 0, wrong = 0;
    run_all(writers, store_group_make(pool, dsn, DB_REQUEST));
    for (int t = 0; t < THREADS; t++) {
        good += writers[t].answers[GOOD];
        wrong += writers[t].wrong;
        if (writers[t].said) {
            printf("# %s\n", writers[t].said);
        }
    }
    is_int(wrong, 0, "every caller gets the answer to its own work");
    ok(good > THREADS * ROUNDS / 2, "most of it good");
    is_int(rows(dsn), good, "what was answered as written is there, and nothing else");
}

static void test_statements(void)
{
    const char *engine, *dsn = store_upgraded(0, &engine);
    store *door = store_group_door(store_group_make(pool, dsn, DB_REQUEST));
    db_result r;
    is_int(store_write(door, fresh(), STMT_setting_add, DB_ARGS(DB_T("one"), DB_T("1")), NULL),
           IDA_OK, "a single statement");
    is_int(store_read(door, fresh(), STMT_setting_get, DB_ARGS(DB_T("one")), &r), IDA_OK, "a read");
    is_str(db_text(&r, 0, 0), "1", "sees it");
}

static ida_kind write_and_look(store *s, ida_ctx *c, void *door)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_setting_add, DB_ARGS(DB_T("two"), DB_T("2")), NULL);
    kind = kind ? kind : store_read(door, c, STMT_setting_get, DB_ARGS(DB_T("two")), &r);
    return kind ? kind : r.rows == 1 ? IDA_OK : ida_fail(c, IDA_NOT_FOUND, "not seen");
}

static void test_door_inside(void)
{
    const char *engine, *dsn = store_upgraded(0, &engine);
    store *door = store_group_door(store_group_make(pool, dsn, DB_REQUEST));
    is_int(store_transaction(door, fresh(), write_and_look, door), IDA_OK,
           "the door inside a work joins its transaction");
}

static ida_kind write_and_look_alone(store *s, ida_ctx *c, void *baton)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_setting_add, DB_ARGS(DB_T("three"), DB_T("3")), NULL);
    kind = kind ? kind : store_read(baton, c, STMT_setting_get, DB_ARGS(DB_T("three")), &r);
    return kind          ? kind
           : r.rows == 1 ? ida_fail(c, IDA_FORBIDDEN, "seen, and undone")
                         : ida_fail(c, IDA_NOT_FOUND, "not seen");
}

static void test_joined(void)
{
    const char *engine, *dsn = store_upgraded(0, &engine);
    store *joined = store_make(pool, dsn, DB_REQUEST);
    db_result r;
    store_group_join(store_group_make(pool, dsn, DB_REQUEST), joined);
    is_int(store_write(joined, fresh(), STMT_setting_add, DB_ARGS(DB_T("one"), DB_T("1")), NULL),
           IDA_OK, "a handle that joined writes");
    is_int(store_read(joined, fresh(), STMT_setting_get, DB_ARGS(DB_T("one")), &r) || r.rows != 1,
           0, "its own connection reads what is committed");
    is_int(store_transaction(joined, fresh(), write_and_look_alone, joined), IDA_FORBIDDEN,
           "inside a work it sees what the work wrote");
    is_int(store_read(joined, fresh(), STMT_setting_get, DB_ARGS(DB_T("three")), &r) || r.rows != 0,
           0, "which is undone with the work");
}

static void test_store_away(void)
{
    writer writers[THREADS];
    int good = 0;
    run_all(writers, store_group_make(pool, "sqlite3:/nonexistent/idadmin.db", DB_REQUEST));
    for (int t = 0; t < THREADS; t++) {
        good += writers[t].answers[GOOD];
    }
    is_int(good, 0, "without a store nothing is said to be written");
    ida_ctx *c = fresh();
    job j = {"late", GOOD};
    is_int(store_transaction(store_group_door(writers[0].group), c, write_one, &j),
           IDA_SERVICE_UNAVAILABLE, "503");
    ok(c->message && c->retry_after > 0, "with a reason and a time");
}

int main(void)
{
    setup();
    env.log = quiet;
    ok(store_group_make(pool, "pgsql:dbname=x", DB_REQUEST) == NULL,
       "PostgreSQL has many writers and needs no group");
    test_statements();
    test_door_inside();
    test_joined();
    test_together();
    test_store_away();
    return done();
}
