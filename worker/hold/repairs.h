/* Directories on hold because of a credential or a setting: when a file that their settings name
 * is corrected, they are tried at once. */
#ifndef WORKER_HOLD_REPAIRS_H
#define WORKER_HOLD_REPAIRS_H

#include "worker/hold/worker.h"

/* Records that this worker was refused and holds the directory until `until`; what has changed
 * since `since` may be the correction (ms UTC). */
void hold_until_repaired(worker *w, const char *tenant, ida_directory_kind where, int64_t since,
                         int64_t until);
/* Ends such holds if their files have changed since. For the housekeeper. */
void hold_check_repairs(worker *w, store *main, apr_pool_t *pool);

#endif
