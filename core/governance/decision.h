/* Assigning role templates, making and deciding access requests: what is recorded, with its time.
 * Inside a transaction of the caller's. */
#ifndef CORE_GOVERNANCE_DECISION_H
#define CORE_GOVERNANCE_DECISION_H

#include "core/cache/person.h"
#include "core/governance/governance.h"
#include "core/model/task.h"

typedef struct governance_assignee {
    queue_person person;
    const char *upn, *user_id;
    const char *by, *task_id; /* who assigned it; the task that carries it out, NULL: none (yet) */
} governance_assignee;

/* *added is 0 when the template was assigned to the person before, under this UPN or another. */
ida_kind governance_role_assign(store *s, ida_ctx *c, const char *tenant,
                                const ida_role_template *template, const governance_assignee *who,
                                int *added);
/* The task that carries an assignment out; NULL: none, or not assigned. */
ida_kind governance_role_task_of(store *s, ida_ctx *c, const char *tenant,
                                 const ida_role_template *template, const governance_assignee *who,
                                 const char **task_id);
/* Notes the task that carries an assignment out. */
ida_kind governance_role_task(store *s, ida_ctx *c, const char *tenant,
                              const ida_role_template *template, const governance_assignee *who);
/* IDA_NOT_FOUND if the person (`upn`: for the message) does not have it. *task_id: that of the
 * assignment, or NULL. */
ida_kind governance_role_unassign(store *s, ida_ctx *c, const char *tenant,
                                  const ida_role_template *template, const queue_person *person,
                                  const char *upn, const char **task_id);
/* The person to whom the template (NULL: any) was assigned under a UPN that no account has now:
 * ID, or folded UPN if no ID was known; *who NULL: none. IDA_CONFLICT: several. */
ida_kind governance_role_holder(store *s, ida_ctx *c, const char *tenant,
                                const ida_role_template *template, const char *named,
                                const char **who);
/* The person whose assignments an ID or UPN refers to, also one who has left or has another UPN
 * now (*user NULL: the cache has no such account). */
ida_kind governance_role_person(store *s, ida_ctx *c, const char *tenant, const char *named,
                                queue_person *person, ida_user **user);
/* All templates of the person of a run, each with its audit record. */
ida_kind governance_role_unassign_all(store *s, ida_ctx *c, const ida_task *task, int *count);

/* IDA_CONFLICT if the same has been requested already. *id is that of the new request. */
ida_kind governance_request_create(store *s, ida_ctx *c, const char *tenant,
                                   const ida_access_service *service, const ida_user *user,
                                   const char *justification, const char **id);
/* The caller checks who may decide; `reason` may be NULL. IDA_CONFLICT if it is decided already. */
ida_kind governance_request_decide(store *s, ida_ctx *c, const char *tenant, const char *id,
                                   int approved, const char *by, const char *reason);
/* The task that carries an approved request out. */
ida_kind governance_request_task(store *s, ida_ctx *c, const char *tenant, const char *id,
                                 const char *task_id);
/* An approved request ends, an open one is withdrawn. IDA_CONFLICT when it is neither. */
ida_kind governance_request_end(store *s, ida_ctx *c, const char *tenant, const char *id);
/* Removes requests that were denied, withdrawn or ended before `before`; one that grants stays as
 * long as it does. */
ida_kind governance_request_retain(store *s, ida_ctx *c, const char *tenant, int64_t before,
                                   int max, int *removed);

#endif
