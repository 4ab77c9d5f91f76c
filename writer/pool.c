/* Owns the writer's connections to the store, and who writes through which. Must not know
 * statements. */
#include "core/store/commit_queue.h"
#include "writer/writer.h"

#define CONNECTIONS 8
#define OF_COMPANY 2 /* writes of one company wait for its row: more of them would only wait there */
#define WAIT_MS 5000

/* Handles are made once and connect at their first use. */
static struct {
    store *of_place[CONNECTIONS];
    share *places;
} connections;

/* SQLite has one writer at a time: all writes of this machine's httpd share a connection and their
 * commits. NULL with PostgreSQL, where each takes a connection for itself. */
static store_commit_queue *commits;

void pool_start(apr_pool_t *pool, const char *dsn)
{
    connections.places = share_make(
        pool,
        (share_size){.places = CONNECTIONS, .writers = CONNECTIONS, .of_company = OF_COMPANY});
    for (int i = 0; i < CONNECTIONS; i++) {
        connections.of_place[i] = store_make(pool, dsn, DB_REQUEST);
    }
    commits = store_sqlite_path(dsn) ? store_commit_queue_make(pool, dsn, DB_REQUEST) : NULL;
}

static void give_back(store *s)
{
    int place = 0;
    while (connections.of_place[place] != s) {
        place++;
    }
    share_leave(connections.places, place);
}

ida_kind pool_acquire(void *company, ida_ctx *c, store **s)
{
    int place = share_take(connections.places, company, 0, WAIT_MS);
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

ida_kind pool_transaction(ida_call *call, store_work work, void *baton)
{
    store *s = NULL;
    pool_give_back(call); /* reads find it while this one waits for its turn to write */
    if (commits) {
        return store_commit_queue_run(commits, call->c, work, baton);
    }
    ida_kind kind = pool_acquire((void *)call->principal->company, call->c, &s);
    if (!kind) {
        kind = store_transaction(s, call->c, work, baton);
        give_back(s);
    }
    return kind;
}

ida_kind pool_serve(ida_call *call)
{
    call->release = pool_give_back;
    return pool_acquire((void *)call->principal->company, call->c, &call->store);
}
