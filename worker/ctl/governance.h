/* What `role` and `request` share: people as the cache knows them, and the tasks that carry
 * decisions into the directories. */
#ifndef WORKER_CTL_GOVERNANCE_H
#define WORKER_CTL_GOVERNANCE_H

#include "core/cache/person.h"
#include "core/governance/grant.h"
#include "worker/ctl/ctl.h"

/* By UPN (any case); IDA_NOT_FOUND with a sentence. */
ida_kind ctl_person(ctl_call *ctl, store *s, const char *tenant, const char *upn, ida_user **user);

/* IDA_FORBIDDEN naming the access governance module unless the tenant has it. */
ida_kind ctl_governed(ctl_call *ctl, store *s, const char *tenant);

/* What a decision has set in motion. */
typedef struct ctl_orders {
    json_t *tasks;     /* IDs; belongs to the pool */
    json_t *homeless;  /* names of what cannot be given, because the person has no account in that
                          directory */
    const char *first; /* the first task, NULL: none */
} ctl_orders;

/* The account of a person in a directory; NULL: none. */
const char *ctl_account(const ida_user *user, ida_directory_kind directory);

/* Queues a task a directory for those of the items that it has. Inside the caller's transaction
 * under the tenant's lock; `orders` is added to, after ctl_no_orders. */
void ctl_no_orders(ctl_call *ctl, ctl_orders *orders);
ida_kind ctl_order(ctl_call *ctl, store *s, ida_ctx *c, ida_task_type type, const ida_user *user,
                   const access_grantor *by, const access_item *items, int count,
                   ctl_orders *orders);

/* What the grantor gave a person, over both directories. */
ida_kind ctl_given(ctl_call *ctl, store *s, ida_ctx *c, const ida_user *user,
                   const access_grantor *by, const access_item **items, int *count);

#endif
