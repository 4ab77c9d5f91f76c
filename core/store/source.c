/* Owns a process's connections to the store and their users. Must not know statements. */
#include "core/store/source.h"

#include "core/limit/share.h"
#include "core/store/commit_queue.h"

#define WAIT_MS 5000

typedef struct store_pool {
    store_source source;
    store *at[SHARE_PLACES_MAX]; /* made once; each connects at its first use */
    share *places;
    store_commit_queue *commits; /* NULL: each transaction has a connection for itself */
} store_pool;

static void release(store_source *from, store *s)
{
    store_pool *all = (store_pool *)from;
    int place = 0;
    while (all->at[place] != s) {
        place++;
    }
    share_leave(all->places, place);
}

static ida_kind acquire(store_source *from, ida_ctx *c, const char *company, store **s)
{
    store_pool *all = (store_pool *)from;
    int place = share_take(all->places, company, WAIT_MS);
    if (place < 0) {
        c->retry_after = 1;
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "The store is busy at the moment.");
    }
    ida_kind kind = store_connect(all->at[place], c);
    if (kind) {
        share_leave(all->places, place);
    } else {
        *s = all->at[place];
    }
    return kind;
}

static ida_kind transaction(store_source *from, ida_ctx *c, const char *company, store_work work,
                            void *baton)
{
    store_pool *all = (store_pool *)from;
    store *s;
    if (all->commits) {
        return store_commit_queue_run(all->commits, c, work, baton);
    }
    ida_kind kind = acquire(from, c, company, &s);
    if (!kind) {
        kind = store_transaction(s, c, work, baton);
        release(from, s);
    }
    return kind;
}

store_source *store_pool_make(apr_pool_t *pool, const char *dsn, db_role role, int connections,
                              int of_company)
{
    store_pool *all = apr_pcalloc(pool, sizeof *all);
    all->source = (store_source){acquire, release, transaction};
    all->places = share_make(pool, (share_size){.places = connections, .of_company = of_company});
    for (int i = 0; i < connections; i++) {
        all->at[i] = store_make(pool, dsn, role);
    }
    if (role == DB_REQUEST && store_sqlite_path(dsn)) {
        all->commits = store_commit_queue_make(pool, dsn, role);
    }
    return &all->source;
}

/* --- of one connection --- */

typedef struct single {
    store_source source;
    store *s;
} single;

static ida_kind acquire_single(store_source *from, ida_ctx *c, const char *company, store **s)
{
    (void)c;
    (void)company;
    *s = ((single *)from)->s;
    return IDA_OK;
}

static void release_single(store_source *from, store *s)
{
    (void)from;
    (void)s;
}

static ida_kind transaction_single(store_source *from, ida_ctx *c, const char *company,
                                   store_work work, void *baton)
{
    (void)company;
    return store_transaction(((single *)from)->s, c, work, baton);
}

store_source *store_source_of(apr_pool_t *pool, store *s)
{
    single *one = apr_palloc(pool, sizeof *one);
    *one = (single){{acquire_single, release_single, transaction_single}, s};
    return &one->source;
}
