/* Work that a synchronisation leaves: removed memberships are recorded, and objects whose report
 * contradicted the worker's own writes are read again one by one. */
#ifndef WORKER_RECHECKS_H
#define WORKER_RECHECKS_H

#include "worker/run/session.h"

typedef struct rechecks {
    worker *w;
    store *main, *cache;
    apr_pool_t *pool;
    const char *tenant;
    ida_directory_kind directory;
    int (*must_stop)(void *baton);
    void *baton;
} rechecks;

/* Before the cache is emptied, and after each run. */
void rechecks_note_removed(const rechecks *of);
/* After a run that was applied. */
void rechecks_carry_out(const rechecks *of, session *s);

#endif
