/* Directories that are held because of a credential or a setting: when one of the files that their
 * settings name is put right, they are tried at once. */
#ifndef WORKER_HOLD_AMENDS_H
#define WORKER_HOLD_AMENDS_H

#include "worker/hold/worker.h"

/* This worker was refused just now and holds the directory until `until` (ms UTC). */
void hold_amends_wanted(worker *w, const char *tenant, ida_directory_kind where, int64_t until);
/* Ends holds of that kind whose files were changed since. For the housekeeper. */
void hold_amends_look(worker *w, store *main, apr_pool_t *pool);

#endif
