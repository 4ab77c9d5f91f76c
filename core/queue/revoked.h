/* Outcomes of the memberships that offboardings found, as lists for answers. Main file. */
#ifndef CORE_QUEUE_REVOKED_H
#define CORE_QUEUE_REVOKED_H

#include <jansson.h>

#include "core/store/store.h"

typedef struct queue_revoked queue_revoked;

/* Of the tenant's tasks with these IDs, in one statement. */
ida_kind queue_revoked_load(store *s, ida_ctx *c, const char *tenant, const char *const *task_ids,
                            int count, const queue_revoked **out);
#define QUEUE_REVOKED_SWEEP 0
#define QUEUE_REVOKED_ALL (-1)
/* For one of the tasks, in one directory (NULL: both): [{id, name, directory}] of revoked
 * memberships, and the same with `reason` for those that could not be. `position`: revoked by
 * the action at this position, or one of the values above. A licence has `kind` "license" and is
 * its own ID. Allocated in the pool. */
void queue_revoked_lists(ida_ctx *c, const queue_revoked *of, const char *task_id,
                         const char *directory, int position, json_t **revoked,
                         json_t **not_revoked);

#endif
