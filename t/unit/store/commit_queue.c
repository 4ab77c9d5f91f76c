/* Many threads write through one connection: every answer belongs to its caller, a refused write
 * is rolled back alone, and a fault of one does not affect its neighbours. */
#include <apr_thread_proc.h>
#include <stdatomic.h>

#include "core/store/commit_queue.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#define THREADS 16
#define ROUNDS 120

typedef enum sort { GOOD, REFUSED, FAULTY, SORTS } sort;

typedef struct writer {
    store_commit_queue *queue;
    int number;
    atomic_int *begun;
    int answers[SORTS]; /* as they ought to be */
    int wrong;
    const char *said; /* the last wrong answer; NULL: none */
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
        ida_kind kind = store_commit_queue_run(w->queue, c, write_one, &j);
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

static void run_all(writer *writers, store_commit_queue *queue)
{
    apr_thread_t *threads[THREADS];
    apr_status_t status;
    atomic_int begun = 0;
    for (int t = 0; t < THREADS; t++) {
        writers[t] = (writer){.queue = queue, .number = t, .begun = &begun};
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
    run_all(writers, store_commit_queue_make(pool, dsn, DB_REQUEST));
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

static void test_store_away(void)
{
    writer writers[THREADS];
    int good = 0;
    run_all(writers, store_commit_queue_make(pool, "sqlite3:/nonexistent/idadmin.db", DB_REQUEST));
    for (int t = 0; t < THREADS; t++) {
        good += writers[t].answers[GOOD];
    }
    is_int(good, 0, "without a store nothing is said to be written");
    ida_ctx *c = fresh();
    job j = {"late", GOOD};
    is_int(store_commit_queue_run(writers[0].queue, c, write_one, &j), IDA_SERVICE_UNAVAILABLE,
           "503");
    ok(c->message && c->retry_after > 0, "with a reason and a time");
}

int main(void)
{
    setup();
    env.log = quiet;
    test_together();
    test_store_away();
    return done();
}
