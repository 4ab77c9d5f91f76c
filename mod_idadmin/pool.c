/* Owns this child's few store connections and who writes through which. Must not know statements.
 */
#include "mod_idadmin/module.h"

#include "core/limit/share.h"
#include "core/store/commit_queue.h"

APLOG_USE_MODULE(idadmin);

#define CONNECTIONS 4 /* of readers: as many served as many requests as 25 */
#define WRITERS 2     /* of them may be with writers, so that reads find the others */
#define OF_COMPANY                                                                 \
    2 /* of them may be with requests of one company, so that others find the rest \
       */
#define WAIT_MS 5000

/* Handles are made once and connect at their first use. */
static struct {
    store *of_place[CONNECTIONS];
    share *places;
} connections;

/* SQLite has one writer at a time: those of this child share a connection and their commits. NULL
 * with PostgreSQL, where each takes a connection for itself. */
static store_commit_queue *commits;

void pool_init(apr_pool_t *pool, server_rec *s)
{
    const char *dsn = config_store(s);
    connections.places = share_make(
        pool, (share_size){.places = CONNECTIONS, .writers = WRITERS, .of_company = OF_COMPANY});
    for (int i = 0; i < CONNECTIONS; i++) {
        connections.of_place[i] = store_make(pool, dsn, DB_REQUEST);
        connections.of_place[i]->task_keys = task_key_ring();
    }
    commits = store_sqlite_path(dsn)
                  ? store_commit_queue_make(pool, dsn, DB_REQUEST, task_key_ring())
                  : NULL;
}

static void give_back(store *s)
{
    int place = 0;
    while (connections.of_place[place] != s) {
        place++;
    }
    share_leave(connections.places, place);
}

static ida_kind acquire(ida_ctx *c, const char *company, store **s, int writes)
{
    int place = share_take(connections.places, company, writes, WAIT_MS);
    if (place < 0) {
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The store is busy at the moment.");
    }
    store *taken = connections.of_place[place];
    ida_kind kind = store_connect(taken, c);
    if (kind) {
        give_back(taken);
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

ida_kind pool_acquire(void *company, ida_ctx *c, store **s)
{
    return acquire(c, company, s, 0);
}

void pool_release(void *company, store *s)
{
    (void)company;
    give_back(s);
}

void pool_give_back(ida_call *call)
{
    if (call->store) {
        give_back(call->store);
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
    ida_kind kind = acquire(call->c, call->principal->company, &s, 1);
    if (!kind) {
        kind = store_transaction(s, call->c, work, baton);
        give_back(s);
    }
    return kind;
}

ida_kind pool_serve(ida_call *call)
{
    call->release = pool_give_back;
    call->transaction = transaction;
    return acquire(call->c, call->principal->company, &call->store, 0);
}
