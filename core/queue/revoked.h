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
 * its own ID, a group that the account owns has "owned". Allocated in the pool. */
void queue_revoked_lists(ida_ctx *c, const queue_revoked *of, const char *task_id,
                         const char *directory, int position, json_t **revoked,
                         json_t **not_revoked);

#define QUEUE_OWNED "owner:" /* before the group's ID, of which a membership can be a row too */

/* Groups that disabled people owned when their last offboarding looked; `accounts`: of these
 * (JSON), or of all ("[]"). group_id "": they were not looked at. */
typedef struct queue_owned {
    const char *user_id, *upn, *task_id, *directory, *group_id, *group_name, *reason;
} queue_owned;
ida_kind queue_owned_list(store *s, ida_ctx *c, const char *tenant, const char *accounts, int most,
                          const queue_owned **rows, int *count);

#endif
