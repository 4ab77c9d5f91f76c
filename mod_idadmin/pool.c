/* Owns this child's few store connections and who writes through which. Must not know statements.
 */
#include "mod_idadmin/module.h"

#include <pthread.h>
#include <time.h>

#include "core/store/commit_queue.h"

APLOG_USE_MODULE(idadmin);

#define CONNECTIONS 4 /* of readers: as many served as many requests as 25 */
#define WRITERS 2     /* of them may be with writers, so that reads find the others */
#define WAIT_S 5

/* Handles are made once and connect at their first use. The one given back last goes out first:
 * what it read is still in the processor's reach. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t given_back;
    store *idle[CONNECTIONS];
    int count;   /* of idle ones */
    int writing; /* writers who have one */
    int waiting;
} connections;

/* SQLite has one writer at a time: those of this child share a connection and their commits. NULL
 * with PostgreSQL, where each takes a connection for itself. */
static store_commit_queue *commits;

void pool_init(apr_pool_t *pool, server_rec *s)
{
    const char *dsn = config_store(s);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&connections.lock, NULL);
    pthread_cond_init(&connections.given_back, &attr);
    pthread_condattr_destroy(&attr);
    connections.writing = connections.waiting = 0;
    for (connections.count = 0; connections.count < CONNECTIONS; connections.count++) {
        connections.idle[connections.count] = store_make(pool, dsn, DB_REQUEST);
        connections.idle[connections.count]->task_keys = task_key_ring();
    }
    commits = store_sqlite_path(dsn)
                  ? store_commit_queue_make(pool, dsn, DB_REQUEST, task_key_ring())
                  : NULL;
}

static int available(int writes)
{
    return connections.count && !(writes && connections.writing == WRITERS);
}

static store *take(int writes)
{
    store *s = NULL;
    pthread_mutex_lock(&connections.lock);
    if (!available(writes)) {
        struct timespec end;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec += WAIT_S;
        connections.waiting++;
        while (!available(writes) &&
               pthread_cond_timedwait(&connections.given_back, &connections.lock, &end) == 0) {}
        connections.waiting--;
    }
    if (available(writes)) {
        s = connections.idle[--connections.count];
        connections.writing += writes;
    }
    pthread_mutex_unlock(&connections.lock);
    return s;
}

static void give_back(store *s, int writes)
{
    pthread_mutex_lock(&connections.lock);
    connections.idle[connections.count++] = s;
    connections.writing -= writes;
    int waiting = connections.waiting;
    pthread_mutex_unlock(&connections.lock);
    if (waiting) {
        pthread_cond_broadcast(
            &connections
                 .given_back); /* to all: the next in line may be a writer who must not have it */
    }
}

static ida_kind acquire(ida_ctx *c, store **s, int writes)
{
    store *taken = take(writes);
    if (!taken) {
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The store is busy at the moment.");
    }
    ida_kind kind = store_connect(taken, c);
    if (kind) {
        give_back(taken, writes);
    } else {
        *s = taken;
    }
    return kind;
}

void pool_refused(request_rec *r, ida_ctx *c)
{
    ida_kind kind = c->kind;
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, "no store connection: %s", c->message);
    ida_ctx_clear(c); /* what is wrong with the store is the log's business */
    c->retry_after = 1;
    ida_fail(c, kind, "%s", ida_kind_text(kind));
}

ida_kind pool_acquire(void *baton, ida_ctx *c, store **s)
{
    (void)baton;
    return acquire(c, s, 0);
}

void pool_release(void *baton, store *s)
{
    (void)baton;
    give_back(s, 0);
}

void pool_give_back(ida_call *call)
{
    if (call->store) {
        give_back(call->store, 0);
        call->store = NULL;
    }
}

/* store_transaction for a caller without a connection: few of them write at a time, so that reads
 * never queue behind them. */
static ida_kind transaction(ida_call *call, store_work work, void *baton)
{
    store *s = NULL;
    pool_give_back(call); /* reads find it while this one waits for its turn to write */
    if (commits) {
        return store_commit_queue_run(commits, call->c, work, baton);
    }
    ida_kind kind = acquire(call->c, &s, 1);
    if (!kind) {
        kind = store_transaction(s, call->c, work, baton);
        give_back(s, 1);
    }
    return kind;
}

ida_kind pool_serve(ida_call *call)
{
    call->release = pool_give_back;
    call->transaction = transaction;
    return acquire(call->c, &call->store, 0);
}
