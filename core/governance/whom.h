/* Who is meant: the one place that answers it. A person is the directory's ID. An address leads to
 * who has it now, and may have been somebody else's when a task was asked for under it: where both
 * are in question the answer is a refusal that names both. Role DB_REQUEST. */
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

/* Whom a write means by an ID or a UPN. IDA_NOT_FOUND; IDA_CONFLICT when an open task was asked for
 * under the UPN and is of somebody else. */
ida_kind governance_whom(store *s, ida_ctx *c, const char *tenant, const char *named,
                         ida_user **user);

/* Whom a question about what has happened means by an ID or a UPN: people who are gone, too. *user
 * NULL: the cache knows no such account. IDA_CONFLICT when several had the address and nobody has
 * it now. */
ida_kind governance_whom_past(store *s, ida_ctx *c, const char *tenant, const char *named,
                              queue_person *person, ida_user **user);

/* Before a person changes a task: what its person is called by now goes into it. IDA_CONFLICT when
 * the account is gone and somebody else has the address. In the transaction that changes it. */
ida_kind governance_whom_again(store *s, ida_ctx *c, const ida_task *task);

#endif
