/* Who is meant: the one place that decides it. A person is the directory's ID. An address leads
 * to the account that has it now, but may have belonged to another person when a task was
 * requested under it: if both are possible, the answer is a refusal that names both. Role
 * DB_REQUEST. */
#ifndef CORE_GOVERNANCE_WHOM_H
#define CORE_GOVERNANCE_WHOM_H

#include "core/cache/person.h"
#include "core/queue/change.h"

/* A user of the cache, for questions to the queue and to what was granted. `id` is that of the
 * account where the person is mastered. */
queue_person governance_person(apr_pool_t *pool, const ida_user *user);

/* The person of a task, with the IDs of both accounts as far as they are known. */
ida_kind governance_person_of_task(store *s, ida_ctx *c, const ida_task *task,
                                   queue_person *person);

/* The person that a write refers to by an ID or a UPN. IDA_NOT_FOUND; IDA_CONFLICT if an open
 * task was requested under the UPN for another person. */
ida_kind governance_whom(store *s, ida_ctx *c, const char *tenant, const char *named,
                         ida_user **user);

/* The person that a question about the past refers to by an ID or a UPN, including people who
 * have left. *user NULL: the cache has no such account. IDA_CONFLICT if several had the address
 * and no account has it now. */
ida_kind governance_whom_past(store *s, ida_ctx *c, const char *tenant, const char *named,
                              queue_person *person, ida_user **user);

/* Called before a person changes a task: updates the present names of the task's person.
 * IDA_CONFLICT if the account is gone and another one has the address. In the transaction that
 * changes it. */
ida_kind governance_whom_again(store *s, ida_ctx *c, const ida_task *task);

#endif
