/* Checkpoints of chains as the store keeps them. Audit file. */
#ifndef CORE_STORE_CHECKPOINT_H
#define CORE_STORE_CHECKPOINT_H

#include "core/audit/checkpoint.h"
#include "core/store/store.h"

/* Signs where the chain of a tenant ends, when it ends elsewhere than at the checkpoint before
 * (role DB_INGEST); *made 0: it does not. `signing_key`: the file. IDA_CONFLICT: the end is not the
 * one that this node's keys prove, or the newest checkpoint is not one of this signing key. */
ida_kind store_checkpoint_make(store *s, ida_ctx *c, const char *tenant, const char *signing_key,
                               int *made);
/* Up to 1000 with a greater number than `after`, by their numbers. */
ida_kind store_checkpoint_page(store *s, ida_ctx *c, const char *tenant, int64_t after,
                               const audit_checkpoint **list, int *count);
/* NULL: there is none. */
ida_kind store_checkpoint_newest(store *s, ida_ctx *c, const char *tenant,
                                 const audit_checkpoint **newest);
/* Those that have not left the machine yet. */
ida_kind store_checkpoint_unsent(store *s, ida_ctx *c, const audit_checkpoint **list, int *count);
ida_kind store_checkpoint_sent(store *s, ida_ctx *c, const audit_checkpoint *checkpoint);
/* The next tenant with a chain after `tenant`; NULL: none. */
ida_kind store_chain_next(store *s, ida_ctx *c, const char *tenant, const char **next);

#endif
