/* The commands of `idadminctl audit` that are about chains, their keys and their checkpoints. */
#ifndef WORKER_CTL_CHAIN_H
#define WORKER_CTL_CHAIN_H

#include "worker/ctl/ctl.h"

int ctl_chain_verify(ctl_call *ctl);
int ctl_chain_accept(ctl_call *ctl);
int ctl_chain_checkpoints(ctl_call *ctl);
int ctl_chain_public_key(ctl_call *ctl);
int ctl_chain_rotate_key(ctl_call *ctl);

/* A checkpoint of where the chain ends now, on its way out of the machine: before an export. */
ida_kind ctl_chain_sign(ctl_call *ctl, const char *tenant);

#endif
