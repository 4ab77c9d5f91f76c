/* Rehired people: creations with their employeeId, and what an offboarding revoked. Main file. */
#ifndef CORE_QUEUE_REHIRE_H
#define CORE_QUEUE_REHIRE_H

#include <jansson.h>

#include "core/queue/change.h"

/* Creations with this employeeId that are open (queued, running, waiting for attention): UPN and ID
 * of the task, at most 20. */
typedef struct queue_coming {
    const char *upn, *task_id;
} queue_coming;
ida_kind queue_rehire_coming(store *s, ida_ctx *c, const char *tenant, const char *employee_id,
                             queue_coming **rows, int *count);

#define QUEUE_MEMBERSHIPS_MAX 10000

typedef struct queue_membership {
    ida_directory_kind directory; /* the group's */
    const char *group_id, *group_name;
    const char *retained; /* why the offboarding could not revoke it; NULL: it was revoked */
    int owned;            /* 1: no membership: the account owns the group */
} queue_membership;

/* What the offboarding that disabled this account found in either directory, with those after it,
 * and no rehire gave back yet. */
ida_kind queue_rehire_memberships(store *s, ida_ctx *c, const char *tenant,
                                  ida_directory_kind directory, const char *object_id,
                                  queue_membership **rows, int *count);

/* ID of an offboarding of the task's person that was requested after the task and has begun,
 * otherwise NULL: the later request decides. */
ida_kind queue_offboarded_since(store *s, ida_ctx *c, const ida_task *task, const char **id);

/* Member of an offboarding's progress: attributes that it took, each a list of values in base64. */
#define QUEUE_LEAVER_ATTRIBUTES "leaverAttributes"
/* That of the person's last offboarding that has one; *kept NULL: there is none. */
ida_kind queue_rehire_attributes(store *s, ida_ctx *c, const ida_task *task, const json_t **kept);

/* For a task that enables an account: the sentence that a new password is needed, because the last
 * offboarding replaced the old one and no action of the task sends a new one. *text NULL: none is.
 */
ida_kind queue_rehire_password(store *s, ida_ctx *c, const ida_task *task, const char **text);

#endif
