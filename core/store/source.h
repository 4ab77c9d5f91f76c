/* Where a process takes its connections from: the one way to the store for callers' work. */
#ifndef CORE_STORE_SOURCE_H
#define CORE_STORE_SOURCE_H

#include "core/store/store.h"

typedef struct store_source store_source;
struct store_source {
    /* `company`: whose share the connection comes from; "": for requests without a company.
     * IDA_SERVICE_UNAVAILABLE if none is free within five seconds, or the store is unreachable. */
    ida_kind (*acquire)(store_source *from, ida_ctx *c, const char *company, store **s);
    void (*release)(store_source *from, store *s);
    /* Like store_transaction, on a connection of its own, or with others in one commit
     * (core/store/commit_queue.h); not while the caller has one acquired. */
    ida_kind (*transaction)(store_source *from, ida_ctx *c, const char *company, store_work work,
                            void *baton);
};

/* The few connections of a process, for any thread; `of_company`: how many may be with one company,
 * so that others find the rest. With SQLite, writes (role DB_REQUEST) share commits. */
store_source *store_pool_make(apr_pool_t *pool, const char *dsn, db_role role, int connections,
                              int of_company);

/* One connection for everything, of a single thread. */
store_source *store_source_of(apr_pool_t *pool, store *s);

#endif
