/* Work that a synchronisation leaves: removed memberships are recorded, and objects whose report
 * contradicted the worker's own writes are read again one by one. */
#ifndef WORKER_DOUBTS_H
#define WORKER_DOUBTS_H

#include "worker/run/session.h"

typedef struct doubts_of {
    worker *w;
    store *main, *cache;
    apr_pool_t *pool;
    const char *tenant;
    ida_directory_kind directory;
    int (*must_stop)(void *baton);
    void *baton;
} doubts_of;

/* Before the cache is emptied, and after each run. */
void doubts_note_lost(const doubts_of *of);
/* After a run that was applied. */
void doubts_look(const doubts_of *of, session *s);

#endif
