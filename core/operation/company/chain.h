/* How the chain of a company's audit records stands, as the workers verified it last. */
#ifndef CORE_OPERATION_COMPANY_CHAIN_H
#define CORE_OPERATION_COMPANY_CHAIN_H

#include <jansson.h>

#include "core/store/chain_check.h"

/* "whole", "broken", "unverified": nobody has looked yet. */
const char *ida_chain_state(const store_chain_check *check);

/* {state, firstId, lastId, verifiedTo, verifiedAt, brokenAt, reason, requestedAt, checkpoint}:
 * firstId and lastId of the records there are now, null when there are none; requestedAt while
 * somebody waits for a verification from the beginning; checkpoint {number, hash, at}, the newest,
 * or null. In the context's pool. */
ida_kind ida_chain_json(store *s, ida_ctx *c, const char *tenant, json_t **out);

#endif
