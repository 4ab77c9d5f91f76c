/* What `role` and `request` share. */
#ifndef WORKER_CTL_GOVERNANCE_H
#define WORKER_CTL_GOVERNANCE_H

#include "core/governance/act.h"
#include "worker/ctl/ctl.h"

/* The person at the shell, in the tenant of the first argument. */
governance_actor ctl_actor(const ctl_call *ctl);

/* IDA_FORBIDDEN naming the access governance module unless the tenant has it. */
ida_kind ctl_governed(ctl_call *ctl, store *s, const char *tenant);

#endif
