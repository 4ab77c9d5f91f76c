/* Which person a stored request or the tenant document means: the directory's ID, never who has
 * the address now. */
#ifndef WORKER_RUN_MEANT_H
#define WORKER_RUN_MEANT_H

#include "core/cache/person.h"
#include "worker/run/step.h"

typedef struct meant {
    const char *named; /* as it was written: an address or an ID */
    ida_user *user;    /* NULL: the cache does not know them */
    int known;         /* 1: by ID */
    int moved;         /* 1: the person has another address now than `named` */
    const char *fault; /* why nothing may be given to them, as a sentence; NULL: nothing */
} meant;

/* The person whom `named` meant. `id` NULL: who has the address now. STEP_ON; STEP_LATER while
 * the cache cannot tell. */
step_end run_meant(run *r, const char *named, const char *id, meant *m);
/* The manager of a stored request, which names one. */
step_end run_meant_manager(run *r, const json_t *stored, meant *m);
/* The person whom an address in the tenant document means. */
step_end run_meant_document(run *r, const char *named, meant *m);
/* The present address, for people. */
const char *run_meant_shown(const meant *m);
/* What the account's directory finds the person by: the ID of an account there, else the address.
 */
const char *run_meant_here(run *r, const meant *m);

#endif
