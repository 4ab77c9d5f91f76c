/* The commands of `idadminctl audit` about chains, their keys and their checkpoints. */
#ifndef WORKER_CTL_CHAIN_H
#define WORKER_CTL_CHAIN_H

#include "worker/ctl/ctl.h"

int ctl_chain_verify(ctl_call *ctl);
int ctl_chain_accept(ctl_call *ctl);
int ctl_chain_checkpoints(ctl_call *ctl);
int ctl_chain_public_key(ctl_call *ctl);
int ctl_chain_rotate_key(ctl_call *ctl);

/* Before an export: writes a checkpoint of the present end of the chain, to be copied off this
 * machine. */
ida_kind ctl_chain_sign(ctl_call *ctl, const char *tenant);

#endif
