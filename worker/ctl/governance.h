/* What `role` and `request` share: people as the cache knows them, and the sentence about what a record does not do yet. */
#ifndef WORKER_CTL_GOVERNANCE_H
#define WORKER_CTL_GOVERNANCE_H

#include "core/store_user.h"
#include "worker/ctl/ctl.h"

/* By UPN (any case); IDA_NOT_FOUND with a sentence. */
ida_kind ctl_person(ctl_call *ctl, store *s, const char *tenant, const char *upn, ida_user **user);

/* IDA_FORBIDDEN naming the access governance module unless the tenant has it. */
ida_kind ctl_governed(ctl_call *ctl, store *s, const char *tenant);

/* The directory is not touched by these commands; whoever reads their answer must know. */
extern const char ctl_not_carried_out[];

#endif
