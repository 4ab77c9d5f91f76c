/* Open sessions with directories, kept by one thread and used again while the tenant's document
 * stays the same. */
#ifndef WORKER_RUN_SESSION_H
#define WORKER_RUN_SESSION_H

#include "worker/hold/worker.h"

typedef struct session {
    struct session *next;
    apr_pool_t *pool, *dir_pool; /* dir_pool: of the present connection */
    char tenant_id[72];
    ida_directory_kind kind;
    int64_t revision, epoch, used_at; /* monotonic ms; epoch: ida_seal_epoch */
    ida_tenant *tenant;               /* as sealed; lives as long as the session */
    const directory_ops *ops;
    directory *dir;
} session;

typedef struct session_cache {
    worker *w;
    const ida_env *env; /* of directories; must live as long as this */
    session *first;
    int count;
} session_cache;

/* The session of a tenant's directory by its present document. On failure `e` has the reason
 * (CONFIG: not sealed, no connector; LOCAL: the store). The cache keeps the session and may
 * close it during the next call. */
directory_class run_session_get(session_cache *cache, store *main, apr_pool_t *pool,
                                const char *tenant, ida_directory_kind kind, session **out,
                                directory_error *e);

/* Closes the connection and opens a new one with the same settings. On failure s->dir is NULL
 * and the next call tries again. */
directory_class run_session_renew(session_cache *cache, session *s, directory_error *e);

void run_session_close_all(session_cache *cache);

#endif
